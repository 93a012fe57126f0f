//! Byte-window admission in front of a host's posts (`docs/admission.md`): what the sender's credit allows waits here until the
//! controller admits it.
//!
//! A slice is what a permit of the credit covers. Each receiver is a route of the host's one device. A slice that is deferred
//! or whose path is to be avoided stays in its queue: RDCC has no other rail to take.
//!
//! | module | what it is |
//! |---|---|
//! | `heard` | the reports that move windows, from whom they are believed |
//! | `view` | what others may read: domains, counters, tasks |

mod heard;
mod view;

pub use heard::{Heard, ReportPorts};
pub use view::{AdmissionView, DomainView, TaskView};

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use admission::classify::Scope;
use admission::evidence::{Reason, TaskEvidence};
use admission::feedback::Grants;
use admission::{
    Capacity, Config, ConfigError, Controller, DeviceId, DeviceSpec, Generation, Notice, OpenError, PeerId,
    RouteId, RouteSpec, Subject, Ticket, Verdict, What,
};
use rdcc::sender::{Binding, SendPermit};
use roce::WcStatus;
use wire::rdcc::MessageId;
use wire::units::{Nanos, Octets};

use super::event::Event;
use super::transport::Completed;

/// The one port of a host's interface.
const PORT: u8 = 1;

/// What the admission of a host is told.
#[derive(Clone, Debug)]
pub struct AdmissionSettings {
    /// The controller's parameters; a mode other than off.
    pub config: Config,
    /// Where reports come to, besides the RDCC port.
    pub ports: ReportPorts,
    /// The domain's switches: only their reports are believed.
    pub trusted: Vec<IpAddr>,
}

/// A control epoch takes a base round-trip time, and at least this.
const SHORTEST_EPOCH: Nanos = Nanos(1_000_000);

/// An admission that can't start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionError {
    /// Its parameters can't be.
    #[error("admission: {0}")]
    Config(#[from] ConfigError),
    /// More devices or routes than it has room for.
    #[error("admission: {0}")]
    Open(#[from] OpenError),
}

/// A slice that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    permit: SendPermit,
    dscp: u8,
}

/// A slice that is posted.
#[derive(Debug)]
struct Posted {
    ticket: Ticket,
    message: MessageId,
    generation: Generation,
}

/// A receiver.
#[derive(Debug)]
struct Way {
    route: RouteId,
    generation: Generation,
    /// By queue pair, as its number at the receiver: what waits for it.
    waiting: BTreeMap<u32, VecDeque<Waiting>>,
    /// By queue pair, in the order of posting: so completions come.
    posted: BTreeMap<u32, VecDeque<Posted>>,
    grants: Grants,
}

/// The admission of a host.
#[derive(Debug)]
pub struct Admission {
    controller: Controller,
    device: DeviceId,
    ways: BTreeMap<Ipv4Addr, Way>,
    trusted: Vec<IpAddr>,
    ports: ReportPorts,
    heard: Heard,
    /// Evidence of messages under way that credit has come for.
    tasks: BTreeMap<(Ipv4Addr, MessageId), TaskEvidence>,
    /// Slices that wait, and slices that are posted.
    slices: (usize, usize),
    epoch: Nanos,
    epoch_end: Nanos,
    events: VecDeque<Event>,
}

impl Admission {
    /// Opens the domain of the host's device.
    ///
    /// # Errors
    /// [`AdmissionError`].
    pub fn new(
        settings: AdmissionSettings,
        address: Ipv4Addr,
        base_rtt: Nanos,
        now: Nanos,
    ) -> Result<Self, AdmissionError> {
        let controller = Controller::new(settings.config, Capacity::default())?;
        let device = controller.open_device(DeviceSpec { addresses: vec![address.into()] }, now)?;
        let epoch = base_rtt.max(SHORTEST_EPOCH);
        Ok(Self {
            controller,
            device,
            ways: BTreeMap::new(),
            trusted: settings.trusted,
            ports: settings.ports,
            heard: Heard::default(),
            tasks: BTreeMap::new(),
            slices: (0, 0),
            epoch,
            epoch_end: now + epoch,
            events: VecDeque::new(),
        })
    }

    /// The transport began anew with a receiver: a new generation. What waited or was posted before belongs to messages that
    /// start over, so it only gives its reservations back.
    ///
    /// # Errors
    /// [`OpenError`] when there are more receivers than the controller has room for.
    pub fn connected(&mut self, peer: Ipv4Addr, now: Nanos) -> Result<(), OpenError> {
        if let Some(way) = self.ways.get_mut(&peer) {
            self.slices.0 -= way.waiting.values().map(VecDeque::len).sum::<usize>();
            way.waiting.clear();
            for posted in core::mem::take(&mut way.posted).into_values().flatten() {
                self.controller.attach(posted.ticket).cancel();
                self.slices.1 -= 1;
            }
            way.generation = self.controller.renew_route(way.route)?;
            way.grants = Grants::default();
            return Ok(());
        }
        let number = PeerId(u32::from(peer).into());
        let spec = RouteSpec { device: self.device, port: PORT, peer: number };
        let (route, generation) = self.controller.open_route(spec, now)?;
        let way = Way {
            route,
            generation,
            waiting: BTreeMap::new(),
            posted: BTreeMap::new(),
            grants: Grants::default(),
        };
        self.ways.insert(peer, way);
        Ok(())
    }

    /// Takes what the credit allows.
    pub fn submit(&mut self, permit: SendPermit, dscp: u8) {
        let (IpAddr::V4(peer), Binding::RoceV2 { destination_qp }) = (permit.peer.ip(), permit.binding)
        else {
            return;
        };
        if let Some(way) = self.ways.get_mut(&peer) {
            self.tasks.entry((peer, permit.message)).or_insert_with(|| TaskEvidence::new(true));
            way.waiting.entry(destination_qp).or_default().push_back(Waiting { permit, dscp });
            self.slices.0 += 1;
        }
    }

    /// Hands over what is admitted, one slice of each queue pair in turn. Within a queue pair slices keep their order, by which
    /// the receiver knows them.
    pub fn admit(&mut self, now: Nanos, mut post: impl FnMut(&SendPermit, u8)) {
        let Self { controller, ways, tasks, slices, .. } = self;
        let mut posts = slices.0 > 0;
        while core::mem::take(&mut posts) {
            for (&peer, way) in ways.iter_mut() {
                for (&qp, waiting) in &mut way.waiting {
                    let Some(&Waiting { permit, dscp }) = waiting.front() else { continue };
                    let octets = Octets(permit.octets.into());
                    let reason = match controller.try_acquire(way.route, way.generation, octets) {
                        Verdict::Admit(held) => {
                            let posted = Posted {
                                ticket: held.detach(),
                                message: permit.message,
                                generation: way.generation,
                            };
                            way.posted.entry(qp).or_default().push_back(posted);
                            waiting.pop_front();
                            *slices = (slices.0 - 1, slices.1 + 1);
                            post(&permit, dscp);
                            posts = true;
                            continue;
                        }
                        Verdict::Defer(_) => Reason::ByteWindow,
                        Verdict::Avoid(_) => Reason::PathQuarantined,
                    };
                    let Some(task) = tasks.get_mut(&(peer, permit.message)) else { continue };
                    // Once is enough: it is asked at every turn of the loop.
                    let told = task.detail();
                    let news = told.resolved || told.observation.is_none_or(|seen| seen.reason != reason);
                    if news && let Some(seen) = controller.observe(way.route, reason, Scope::Route, now) {
                        task.record(seen);
                    }
                }
            }
        }
    }

    /// A work request is over: its reservation goes back, and the controller learns how it ended.
    pub fn completed(&mut self, completed: &Completed, now: Nanos) {
        let Some(way) = self.ways.get_mut(&completed.peer) else { return };
        let posted = way.posted.get_mut(&completed.destination_qp).and_then(VecDeque::pop_front);
        let Some(Posted { ticket, message, generation }) = posted else { return };
        self.slices.1 -= 1;
        let settled = self.controller.attach(ticket).complete(completed.status.number(), 0, now);
        // It may be over already: given up, or done before its last acknowledgement came.
        let Some(task) = self.tasks.get_mut(&(completed.peer, message)) else { return };
        if completed.status == WcStatus::Success {
            task.success(way.route, generation, 0);
        } else if let Some(seen) = settled.observation {
            task.record(seen);
        }
    }

    /// A message is over: tells what its task saw, if it saw anything.
    pub fn message_ended(&mut self, peer: IpAddr, message: MessageId, done: bool) {
        let IpAddr::V4(peer) = peer else { return };
        if let Some(way) = self.ways.get_mut(&peer) {
            // Slices of it that wait are posted all the same: the receiver counts posts by their place on the queue pair.
            way.grants.ended(message.0);
        }
        let Some(mut task) = self.tasks.remove(&(peer, message)) else { return };
        if done {
            task.finished();
        }
        let view = TaskView::new(peer, message, &task);
        if view.reason.is_some() {
            self.events.push_back(Event::TaskState(view));
        }
    }

    /// Ends an epoch that is over; to be called at every turn of the loop.
    pub fn handle_turn(&mut self, now: Nanos) {
        if !self.is_busy() || now < self.epoch_end {
            return;
        }
        self.epoch_end = now + self.epoch;
        self.controller.polled(self.device);
        self.controller.tick(now);
        while let Some(Notice { what, .. }) = self.controller.poll_notice() {
            self.noticed(what);
        }
    }

    fn noticed(&mut self, what: What) {
        // Of the rest, there is no other rail to take, and nobody to tell but who reads the domains' states.
        let What::Changed { subject, from, on, to } = what else { return };
        let peer = match subject {
            Subject::Route(route) => self.ways.iter_mut().find(|(_, way)| way.route == route),
            Subject::Device(_) => None,
        };
        let peer = peer.map(|(&peer, way)| {
            if to == admission::state::State::Probing
                && let Ok(generation) = self.controller.renew_route(way.route)
            {
                way.generation = generation;
            }
            peer
        });
        self.events.push_back(Event::PathState {
            peer: peer.map(IpAddr::V4),
            from: from.name(),
            to: to.name(),
            because: on.label(),
        });
    }

    /// When there must be a turn for [`Admission::handle_turn`] if nothing else causes one, while there is something to measure.
    ///
    /// That is half an epoch after its end: under load turns come all the time, and one of an epoch's own would cost a wake and its
    /// system calls each millisecond, several percent of a transfer.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.is_busy().then_some(self.epoch_end + Nanos(self.epoch.0 / 2))
    }

    /// What there is to tell.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn is_busy(&self) -> bool {
        self.slices != (0, 0)
    }
}
