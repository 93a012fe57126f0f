//! The monitor's side: the end of a control epoch, notices of what changed, snapshots.

use wire::units::{Nanos, Octets};

use super::{Controller, DeviceId, Generation, Mode, OpenError, Ordering, PeerId, RouteId, lock};
use crate::policy::Change;
use crate::state::{Event, State};

/// Whose state changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A device's.
    Device(DeviceId),
    /// A route's.
    Route(RouteId),
}

/// What there is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A domain went from one state to another.
    Changed {
        /// Which.
        subject: Subject,
        /// From this state.
        from: State,
        /// Because of this.
        on: Event,
        /// To this state.
        to: State,
    },
    /// Every route through this port is quarantined: its owner may isolate the port or the device
    /// ([`Controller::isolate_device`]). The controller doesn't by itself.
    NoUsableRoute {
        /// The device.
        device: DeviceId,
        /// The port.
        port: u8,
    },
    /// Every route to this peer is quarantined: a matter for the endpoint's owner and the control plane, and no proof that
    /// the peer is gone.
    PeerUnreachable {
        /// The peer.
        peer: PeerId,
    },
}

/// Something that the monitor or the control plane wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// When; of a probe that came back, the time of the last tick.
    pub at: Nanos,
    /// What.
    pub what: What,
}

/// A domain at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its state.
    pub state: State,
    /// Its generation.
    pub generation: Generation,
    /// Its window.
    pub window: Octets,
    /// Octets in flight.
    pub in_flight: Octets,
    /// Octets that completed with success on their generation, since the slot was first used.
    pub completed: Octets,
    /// Timeouts and hard errors counted toward the threshold.
    pub errors: u32,
    /// Software deadlines that a stalled poller excused.
    pub suppressed: u32,
    /// Posts that had to wait for room (observe: would have had to).
    pub deferred: u32,
    /// Posts kept off by a quarantine (observe: that would have been); of a device always zero.
    pub avoided: u32,
    /// What is left of the cooldown, in a quarantine.
    pub cooldown: Option<Nanos>,
}

impl Controller {
    /// The completion poller of the device ran. Cheap enough for every round of polling; a device whose poller reported
    /// once and then neither reports nor completes anything in an epoch counts as stalled in it.
    pub fn polled(&self, id: DeviceId) {
        if self.mode != Mode::Off
            && let Some(device) = self.device(id)
        {
            device.polls.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The poller of the device was seen to stall: software deadlines of this epoch don't count.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn poller_stalled(&self, id: DeviceId) -> Result<(), OpenError> {
        self.device_inner(id)?.1.stalled = true;
        Ok(())
    }

    /// The end of a control epoch: computes pressure, windows and states of all domains. Call it at a steady pace, for
    /// example each millisecond; a time that isn't later than the last one's changes nothing.
    //= ADMISSION, Controller and Transport Responsibilities: 3e393ab0
    pub fn tick(&self, now: Nanos) {
        if self.clock.fetch_max(now.0, Ordering::Relaxed) >= now.0 || self.mode == Mode::Off {
            return;
        }
        let mut changes = Vec::new();
        let mut stalled = Vec::new();
        for (index, device) in self.devices.iter() {
            let mut inner = lock(&device.inner);
            let polled = device.polls.load(Ordering::Relaxed);
            let released = device.domain.totals().released;
            let silent = polled > 0 && polled == inner.polled && released == inner.released;
            (inner.polled, inner.released) = (polled, released);
            let stall = core::mem::take(&mut inner.stalled) || silent;
            if stall {
                stalled.push(index);
            }
            if device.domain.gate().is_open() {
                inner.policy.tick(&device.domain, &self.config, now, stall, &mut changes);
                let id = DeviceId { index, incarnation: inner.policy.incarnation };
                self.tell(Subject::Device(id), now, changes.drain(..));
            }
        }
        for (id, route) in self.open_routes() {
            let mut inner = lock(&route.inner);
            if !route.domain.gate().is_open_for(id.incarnation) {
                continue;
            }
            let stall = stalled.binary_search(&inner.device.index).is_ok();
            inner.policy.tick(&route.domain, &self.config, now, stall, &mut changes);
            drop(inner);
            for change in core::mem::take(&mut changes) {
                self.tell(Subject::Route(id), now, [change]);
                self.escalate(id, now, Some(change));
            }
        }
        self.reclaim();
    }

    /// The next notice, the oldest first. Those that nobody fetches are kept up to a bound.
    pub fn poll_notice(&self) -> Option<Notice> {
        lock(&self.notices).waiting.pop_front()
    }

    /// Notices that were dropped because nobody fetched them.
    pub fn lost_notices(&self) -> u64 {
        lock(&self.notices).lost
    }

    /// The last two steps of the ladder, for a route that has just been quarantined.
    pub(super) fn escalate(&self, id: RouteId, now: Nanos, change: Option<Change>) {
        if change.is_some_and(|change| change.to == State::Quarantined && change.from != State::Quarantined) {
            self.escalate_to(id, now);
        }
    }

    //= ADMISSION, Recovery Escalation: d7d01a32 de6c33a3
    pub(super) fn escalate_to(&self, id: RouteId, now: Nanos) {
        let Ok((_, inner)) = self.route_inner(id) else { return };
        let (device, port, peer) = (inner.device, inner.port, inner.peer);
        drop(inner);
        let (mut port_lives, mut peer_lives) = (false, false);
        for (_, route) in self.open_routes() {
            let inner = lock(&route.inner);
            if inner.policy.state != State::Quarantined {
                port_lives |= inner.device == device && inner.port == port;
                peer_lives |= inner.peer == peer;
            }
        }
        if !port_lives {
            self.notify(Notice { at: now, what: What::NoUsableRoute { device, port } });
        }
        if !peer_lives {
            self.notify(Notice { at: now, what: What::PeerUnreachable { peer } });
        }
    }

    /// A route at this moment.
    ///
    /// # Errors
    /// When there is no such route.
    pub fn route_snapshot(&self, id: RouteId) -> Result<Snapshot, OpenError> {
        let (route, inner) = self.route_inner(id)?;
        let avoided = route.avoided.load(Ordering::Relaxed);
        Ok(self.snapshot(&inner.policy, &route.domain, avoided))
    }

    /// A device at this moment.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn device_snapshot(&self, id: DeviceId) -> Result<Snapshot, OpenError> {
        let (device, inner) = self.device_inner(id)?;
        Ok(self.snapshot(&inner.policy, &device.domain, 0))
    }

    fn snapshot(
        &self,
        policy: &crate::policy::Policy,
        domain: &crate::domain::Domain,
        avoided: u32,
    ) -> Snapshot {
        let totals = domain.totals();
        let quarantined = policy.state == State::Quarantined;
        Snapshot {
            state: policy.state,
            generation: policy.generation,
            window: Octets(domain.window()),
            in_flight: Octets(domain.in_flight()),
            completed: Octets(totals.released.wrapping_sub(totals.returned)),
            errors: policy.errors,
            suppressed: policy.suppressed,
            deferred: domain.deferred(),
            avoided,
            cooldown: quarantined.then(|| policy.cooldown_until.saturating_sub(self.last_tick())),
        }
    }
}
