//! Batches of messages, and how long each took.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use wire::rdcc::{MessageId, ServiceHint};
use wire::units::{Micros, Nanos};

/// A message of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageShape {
    /// Its length in octets, not zero.
    pub octets: u64,
    /// Whether it may go ahead of credit where U allows.
    pub unscheduled: bool,
    /// Traffic Class, 0 to 7.
    pub class: u8,
    /// Weight within the class, 1 to 255.
    pub weight: u8,
    /// Service Hint.
    pub hint: ServiceHint,
    /// By when it should be delivered, counted from the request; zero for none.
    pub deadline: Micros,
}

impl MessageShape {
    /// A scheduled message of class 0 and weight 1.
    pub const fn new(octets: u64) -> Self {
        Self { octets, unscheduled: false, class: 0, weight: 1, hint: ServiceHint::NONE, deadline: Micros(0) }
    }
}

/// What a host sends: in each batch every message to every receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// The receivers.
    pub to: Vec<Ipv4Addr>,
    /// The messages of a batch to each of them.
    pub messages: Vec<MessageShape>,
    /// How many batches.
    pub batches: u32,
    /// Pause between the end of a batch and the start of the next.
    pub gap: Nanos,
}

/// A message that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// Its length.
    pub(super) octets: u64,
    /// How long it took.
    pub(super) took: Nanos,
    /// Number and duration of the batch that it ends.
    pub(super) batch: Option<(u32, Nanos)>,
}

/// Where a workload stands.
#[derive(Debug)]
pub(super) struct Progress {
    workload: Workload,
    started: u32,
    /// When the next batch is to start.
    next_at: Option<Nanos>,
    /// Batches that may start; none: all.
    released: Option<u32>,
    batch_start: Nanos,
    open: BTreeMap<(SocketAddr, u64), (Nanos, u64)>,
    pub(super) submitted: u64,
    pub(super) aborted: u64,
    pub(super) without_rdcc: u64,
    pub(super) octets_done: u64,
    pub(super) busy: Nanos,
    /// How long each message took.
    pub(super) took: Vec<Nanos>,
}

impl Progress {
    pub(super) fn new(workload: Workload) -> Self {
        let anything = workload.batches > 0 && !workload.messages.is_empty() && !workload.to.is_empty();
        Self {
            workload,
            started: 0,
            next_at: anything.then_some(Nanos(0)),
            released: None,
            batch_start: Nanos(0),
            open: BTreeMap::new(),
            submitted: 0,
            aborted: 0,
            without_rdcc: 0,
            octets_done: 0,
            busy: Nanos(0),
            took: Vec::new(),
        }
    }

    pub(super) fn receivers(&self) -> &[Ipv4Addr] {
        &self.workload.to
    }

    /// Batches that began.
    pub(super) fn batches(&self) -> u32 {
        self.started
    }

    /// No more batches than these may start, until more are released.
    pub(super) fn release(&mut self, batches: u32) {
        self.released = Some(batches);
    }

    fn is_released(&self) -> bool {
        self.released.is_none_or(|released| self.started < released)
    }

    /// When [`Progress::start`] gives something.
    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        self.next_at.filter(|_| self.is_released())
    }

    /// The messages of the next batch, if its time has come.
    pub(super) fn start(&mut self, now: Nanos) -> Vec<(Ipv4Addr, MessageShape)> {
        if !self.is_released() || self.next_at.is_none_or(|at| now < at) {
            return Vec::new();
        }
        self.next_at = None;
        self.started += 1;
        self.batch_start = now;
        // All receivers get a shape before any gets the next, as an application handing over a step does.
        let Workload { to, messages, .. } = &self.workload;
        messages.iter().flat_map(|&shape| to.iter().map(move |&to| (to, shape))).collect()
    }

    pub(super) fn submitted(&mut self, peer: SocketAddr, message: MessageId, octets: u64, now: Nanos) {
        self.submitted += 1;
        self.open.insert((peer, message.0), (now, octets));
    }

    /// A message of the batch couldn't even be submitted.
    pub(super) fn refused(&mut self, now: Nanos) -> Option<(u32, Nanos)> {
        self.submitted += 1;
        self.aborted += 1;
        self.batch_end(now)
    }

    /// A message ended, delivered or not.
    pub(super) fn ended(
        &mut self,
        peer: SocketAddr,
        message: MessageId,
        delivered: bool,
        now: Nanos,
    ) -> Option<Ended> {
        let (since, octets) = self.open.remove(&(peer, message.0))?;
        let took = now - since;
        if delivered {
            self.octets_done += octets;
            self.took.push(took);
        }
        let batch = self.batch_end(now);
        Some(Ended { octets, took, batch })
    }

    fn batch_end(&mut self, now: Nanos) -> Option<(u32, Nanos)> {
        if !self.open.is_empty() || self.next_at.is_some() {
            return None;
        }
        let took = now - self.batch_start;
        self.busy += took;
        self.next_at = (self.started < self.workload.batches).then_some(now + self.workload.gap);
        Some((self.started, took))
    }

    /// No more batches start.
    pub(super) fn stop(&mut self) {
        self.next_at = None;
        self.workload.batches = self.started;
    }

    /// The messages under way.
    pub(super) fn open(&self) -> Vec<(SocketAddr, MessageId)> {
        self.open.keys().map(|&(peer, message)| (peer, MessageId(message))).collect()
    }

    /// Whether all batches have ended.
    pub(super) fn is_finished(&self) -> bool {
        self.open.is_empty() && self.next_at.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_follow_each_other_after_a_pause_and_end() {
        let peer = SocketAddr::from(([10, 0, 0, 9], 52_100));
        let mut progress = Progress::new(Workload {
            to: vec![Ipv4Addr::new(10, 0, 0, 9)],
            messages: vec![MessageShape::new(10); 2],
            batches: 2,
            gap: Nanos(50),
        });
        assert_eq!(progress.start(Nanos(0)).len(), 2);
        progress.submitted(peer, MessageId(1), 10, Nanos(0));
        progress.submitted(peer, MessageId(2), 10, Nanos(0));
        assert_eq!(progress.ended(peer, MessageId(1), true, Nanos(7)).and_then(|ended| ended.batch), None);
        let last = progress.ended(peer, MessageId(2), true, Nanos(9));
        assert_eq!(last, Some(Ended { octets: 10, took: Nanos(9), batch: Some((1, Nanos(9))) }));
        assert_eq!(progress.ended(peer, MessageId(2), true, Nanos(9)), None);
        assert_eq!(progress.poll_timeout(), Some(Nanos(59)));
        assert!(progress.start(Nanos(58)).is_empty());
        assert_eq!(progress.start(Nanos(59)).len(), 2);
        progress.submitted(peer, MessageId(3), 10, Nanos(59));
        progress.stop();
        assert!(!progress.is_finished());
        progress.ended(peer, MessageId(3), false, Nanos(60));
        assert!(progress.is_finished());
        assert_eq!((progress.octets_done, progress.took.len()), (20, 2));
    }

    #[test]
    fn a_batch_that_isnt_released_waits() {
        let to = vec![Ipv4Addr::new(10, 0, 0, 9)];
        let messages = vec![MessageShape::new(10)];
        let mut progress = Progress::new(Workload { to, messages, batches: 2, gap: Nanos(50) });
        progress.release(0);
        assert_eq!(progress.poll_timeout(), None);
        assert!(progress.start(Nanos(7)).is_empty());
        assert!(!progress.is_finished());
        progress.release(1);
        assert_eq!(progress.poll_timeout(), Some(Nanos(0)));
        assert_eq!(progress.start(Nanos(7)).len(), 1);
        let peer = SocketAddr::from(([10, 0, 0, 9], 52_100));
        progress.submitted(peer, MessageId(1), 10, Nanos(7));
        progress.ended(peer, MessageId(1), true, Nanos(9));
        assert!(progress.start(Nanos(1000)).is_empty());
        progress.stop();
        assert!(progress.is_finished());
    }

    #[test]
    fn a_workload_of_nothing_is_finished() {
        assert!(Progress::new(Workload::default()).is_finished());
    }
}
