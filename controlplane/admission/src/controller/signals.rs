//! What the transport and this project's reports tell: completions, asynchronous events, signals, feedback.
//!
//! Each goes to the domain it names and to no wider one; feedback of an old generation changes nothing.

use wire::units::{Nanos, Octets};

use super::{Controller, DeviceId, Generation, Mode, OpenError, Permit, RouteId, Subject, lock};
use crate::classify::{Action, AsyncEvent, Completion, Scope, Signal, SignalRow, completion, event};
use crate::evidence::{Observation, Reason};
use crate::feedback::{Feedback, octets_per_second};
use crate::policy::{Awaited, Change};
use crate::state::{Event, State};

/// What an event or signal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A route, at the generation that the failed object belonged to. Also for a queue pair or completion queue: once for
    /// each route that uses it.
    Route(RouteId, Generation),
    /// A port of a device.
    Port(DeviceId, u8),
    /// A device.
    Device(DeviceId),
}

impl Target {
    const fn name(self) -> &'static str {
        match self {
            Self::Route(..) => "a route",
            Self::Port(..) => "a port",
            Self::Device(_) => "a device",
        }
    }
}

/// A signal that its target can't have. Nothing changed: no scope grows by a wrong call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The target is of another kind.
    #[error("{event} is about {wanted}, not about {got}")]
    Kind {
        /// The event or signal.
        event: &'static str,
        /// What it is about.
        wanted: &'static str,
        /// What was named.
        got: &'static str,
    },
    /// The target isn't open.
    #[error(transparent)]
    Unknown(#[from] OpenError),
}

/// What became of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The row of the matrix: what the transport does with the object.
    pub row: &'static Completion,
    /// The feedback belonged to an old generation: only the account was settled.
    pub stale: bool,
    /// For the task's evidence, where the row leaves any. The attempt is the caller's to fill in.
    pub observation: Option<Observation>,
}

impl Permit<'_> {
    /// The work request completed with `status` (`ibv_wc_status`). Settles the reservation, once, and does what the matrix
    /// says. `vendor_err` is kept as evidence only.
    //= ADMISSION, Completion/WC Handling Matrix: 4aa61c8c dd08c0f7 e65ff976
    pub fn complete(self, status: u32, vendor_err: u32, now: Nanos) -> Settled {
        let row = completion(status);
        let Some(controller) = self.controller else {
            return Settled { row, stale: false, observation: None };
        };
        if row.action == Action::RecordSuccess {
            self.succeed();
            return Settled { row, stale: false, observation: None };
        }
        let held = self.fail();
        let Some(id) = controller.id_of_slot(held.route) else {
            return Settled { row, stale: true, observation: None };
        };
        let stale = !controller.act(row.action, id, held.generation, now);
        // While the device is probed, a failed probe on its current generation is the device's too.
        if !stale && row.action == Action::CountPathError {
            controller.device_probe_failed(held.device, held.device_generation, now);
        }
        let observation = row.evidence.filter(|_| !stale).and_then(|reason| {
            let reason = controller.seen(id, reason);
            let seen = controller.observe(id, reason, row.scope, now)?;
            Some(Observation {
                generation: held.generation,
                vendor_err: Some(vendor_err),
                status: Some(status),
                ..seen
            })
        });
        Settled { row, stale, observation }
    }
}

impl Controller {
    /// An asynchronous event (`ibv_event_type`) about `target`.
    ///
    /// # Errors
    /// When an event of its scope can't be about such a target, or the target isn't open.
    //= ADMISSION, Failure Model, State Machine, and Recovery: 184aa766
    //= ADMISSION, Non-WC and Control-Plane Handling Matrix: 67317a22
    pub fn async_event(
        &self,
        code: u32,
        target: Target,
        now: Nanos,
    ) -> Result<&'static AsyncEvent, TargetError> {
        let row = event(code);
        self.perform(row.name, row.action, target, now)?;
        Ok(row)
    }

    /// A signal that is no completion and no event.
    ///
    /// # Errors
    /// When such a signal can't be about such a target, or the target isn't open.
    pub fn signal(
        &self,
        signal: Signal,
        target: Target,
        now: Nanos,
    ) -> Result<&'static SignalRow, TargetError> {
        let row = signal.row();
        self.perform("this signal", row.action, target, now)?;
        Ok(row)
    }

    /// Isolates a device by decision of its owner, for example after [`super::What::NoUsableRoute`].
    ///
    /// # Errors
    /// When there is no such device.
    pub fn isolate_device(&self, id: DeviceId, now: Nanos) -> Result<(), OpenError> {
        if self.mode == Mode::Off {
            return Ok(());
        }
        let (device, mut inner) = self.device_inner(id)?;
        let change = inner.policy.apply(Event::FatalEvent, &device.domain, &self.config, now);
        inner.policy.awaited = Awaited::Renewal;
        drop(inner);
        self.tell(Subject::Device(id), now, change);
        Ok(())
    }

    fn perform(
        &self,
        event: &'static str,
        action: Action,
        target: Target,
        now: Nanos,
    ) -> Result<(), TargetError> {
        let wrong = |wanted| TargetError::Kind { event, wanted, got: target.name() };
        match (action, target) {
            (Action::Nothing | Action::RecordSuccess | Action::CountPressure, _) => Ok(()),
            (Action::QuarantinePort, Target::Port(device, port)) => {
                Ok(self.set_port(device, port, true, now)?)
            }
            (Action::PortRecovered, Target::Port(device, port)) => {
                Ok(self.set_port(device, port, false, now)?)
            }
            (Action::QuarantinePort | Action::PortRecovered, _) => Err(wrong("a port")),
            (Action::QuarantineDevice, Target::Device(device)) => Ok(self.isolate_device(device, now)?),
            (Action::QuarantineDevice, _) => Err(wrong("a device")),
            (
                Action::CountRoutePressure
                | Action::CountPathError
                | Action::CountDeadline
                | Action::ExcuseDeadlines
                | Action::QuarantineRoute,
                Target::Route(route, generation),
            ) => {
                self.route(route).ok_or(OpenError::NoSuchRoute)?;
                self.act(action, route, generation, now);
                Ok(())
            }
            (
                Action::CountRoutePressure
                | Action::CountPathError
                | Action::CountDeadline
                | Action::ExcuseDeadlines
                | Action::QuarantineRoute,
                _,
            ) => Err(wrong("a route")),
        }
    }

    /// Does what a row asks of a route. False when the feedback is of an old generation, or the route is gone.
    //= ADMISSION, Path State Machine: c0091571 10c024df
    fn act(&self, action: Action, id: RouteId, generation: Generation, now: Nanos) -> bool {
        if self.mode == Mode::Off {
            return true;
        }
        let Ok((route, mut inner)) = self.route_inner(id) else { return false };
        if inner.policy.generation != generation {
            return false;
        }
        let change: Option<Change> = match action {
            Action::CountRoutePressure => {
                route.domain.mark(octets_per_second(None));
                None
            }
            Action::CountPathError => inner.policy.path_error(&route.domain, &self.config, now),
            Action::CountDeadline => {
                inner.policy.deadline();
                None
            }
            Action::ExcuseDeadlines => {
                inner.policy.suppressed = inner.policy.suppressed.saturating_add(1);
                let device = inner.device;
                drop(inner);
                if let Ok((_, mut device)) = self.device_inner(device) {
                    device.stalled = true;
                }
                return true;
            }
            Action::QuarantineRoute => {
                inner.policy.apply(Event::FatalEvent, &route.domain, &self.config, now)
            }
            Action::Nothing
            | Action::RecordSuccess
            | Action::CountPressure
            | Action::QuarantinePort
            | Action::QuarantineDevice
            | Action::PortRecovered => None,
        };
        drop(inner);
        self.tell(Subject::Route(id), now, change);
        self.escalate(id, now, change);
        true
    }

    /// A port went down, or is active again. Down: its routes are quarantined until it is active, the cooldown is over and a
    /// probe came back.
    //= ADMISSION, Async Event Handling Matrix: e4c3d8f4 f6a62e94
    fn set_port(&self, id: DeviceId, port: u8, down: bool, now: Nanos) -> Result<(), OpenError> {
        if self.mode == Mode::Off {
            return Ok(());
        }
        if !(1..64).contains(&port) {
            return Err(OpenError::Port(port));
        }
        let (_, mut device) = self.device_inner(id)?;
        if down {
            device.ports_down |= 1 << port;
        } else {
            device.ports_down &= !(1 << port);
        }
        drop(device);
        let mut last = None;
        for (route_id, route) in self.open_routes() {
            let mut inner = lock(&route.inner);
            if inner.device != id || inner.port != port {
                continue;
            }
            if down {
                self.block_port(route_id, route, &mut inner, now);
                last = Some(route_id);
            } else if inner.policy.awaited == Awaited::Port {
                inner.policy.awaited = Awaited::Nothing;
            }
        }
        if let Some(route) = last {
            self.escalate_to(route, now);
        }
        Ok(())
    }

    /// A report about a route.
    ///
    /// # Errors
    /// When there is no such route.
    //= ADMISSION, Completion/WC Handling Matrix: 0e68a7e0
    pub fn route_feedback(&self, id: RouteId, feedback: Feedback) -> Result<(), OpenError> {
        let route = self.route(id).ok_or(OpenError::NoSuchRoute)?;
        if self.mode != Mode::Off {
            route.domain.mark(octets_per_second(feedback.rate()));
        }
        Ok(())
    }

    /// A report about a device, as Rate Advice is. A receiver's pressure never is, and is ignored here.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn device_feedback(&self, id: DeviceId, feedback: Feedback) -> Result<(), OpenError> {
        let device = self.device(id).ok_or(OpenError::NoSuchDevice)?;
        if self.mode != Mode::Off && matches!(feedback, Feedback::Congestion { .. }) {
            device.domain.mark(octets_per_second(feedback.rate()));
        }
        Ok(())
    }

    /// What was known of the route when it was seen, for a task's evidence; `None` when the route is gone or the
    /// controller is off. The attempt is zero: the caller's to fill in.
    pub fn observe(&self, id: RouteId, reason: Reason, scope: Scope, now: Nanos) -> Option<Observation> {
        if self.mode == Mode::Off {
            return None;
        }
        let (route, inner) = self.route_inner(id).ok()?;
        let quarantined = inner.policy.state == State::Quarantined;
        Some(Observation {
            reason,
            scope,
            path: Some(id),
            at: now,
            attempt: 0,
            generation: inner.policy.generation,
            window: Some(Octets(route.domain.window())),
            in_flight: Some(Octets(route.domain.in_flight())),
            cooldown: quarantined.then(|| inner.policy.cooldown_until.saturating_sub(now)),
            vendor_err: None,
            status: None,
        })
    }

    /// A timeout or fatal error that led into a quarantine is no longer just that.
    //= ADMISSION, Caller Observability: 73ab033e
    fn seen(&self, id: RouteId, reason: Reason) -> Reason {
        let Ok((_, inner)) = self.route_inner(id) else { return reason };
        match (reason, inner.policy.state) {
            (Reason::RouteTimeout | Reason::Fatal, State::Quarantined) if inner.policy.probe_failed => {
                Reason::ProbeFailed
            }
            (Reason::RouteTimeout | Reason::Fatal, State::Quarantined) => Reason::PathQuarantined,
            _ => reason,
        }
    }

    /// A probe on the route came back.
    #[cold]
    pub(super) fn prove_route(&self, slot: u32, generation: Generation) {
        let now = self.last_tick();
        let Some(id) = self.id_of_slot(slot) else { return };
        let Ok((route, mut inner)) = self.route_inner(id) else { return };
        if inner.policy.generation != generation {
            return;
        }
        let change = inner.policy.proof(&route.domain, &self.config, now);
        drop(inner);
        self.tell(Subject::Route(id), now, change);
    }

    /// The same of the device.
    #[cold]
    pub(super) fn prove_device(&self, slot: u32, generation: Generation) {
        let now = self.last_tick();
        self.with_device_slot(slot, generation, now, |policy, domain, config| {
            policy.proof(domain, config, now)
        });
    }

    fn device_probe_failed(&self, slot: u32, generation: Generation, now: Nanos) {
        self.with_device_slot(slot, generation, now, |policy, domain, config| {
            let probing = policy.state == State::Probing;
            probing.then(|| policy.apply(Event::ProbeFailed, domain, config, now)).flatten()
        });
    }

    fn with_device_slot(
        &self,
        slot: u32,
        generation: Generation,
        now: Nanos,
        change: impl FnOnce(
            &mut crate::policy::Policy,
            &crate::domain::Domain,
            &crate::config::Config,
        ) -> Option<Change>,
    ) {
        let Some(device) = self.devices.get(slot) else { return };
        let id = DeviceId { index: slot, incarnation: device.domain.gate().incarnation() };
        let Ok((device, mut inner)) = self.device_inner(id) else { return };
        if inner.policy.generation != generation {
            return;
        }
        let change = change(&mut inner.policy, &device.domain, &self.config);
        drop(inner);
        self.tell(Subject::Device(id), now, change);
    }

    fn id_of_slot(&self, slot: u32) -> Option<RouteId> {
        let gate = self.routes.get(slot)?.domain.gate();
        gate.is_open().then(|| RouteId { index: slot, incarnation: gate.incarnation() })
    }
}
