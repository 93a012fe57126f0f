//! How fast a queue pair may send: the lower of what DCQCN allows and of a bound that the user sets.

use wire::roce::{Bth, Opcode, Psn};
use wire::units::{BitPerSec, Nanos, Octets};

use crate::config::QpConfig;
use crate::dcqcn::{Config, NotificationPoint, Phase, ReactionPoint};
use crate::packet::{PacketHead, TxContent, TxPacket};

/// The congestion control of one queue pair, as sender and as receiver.
#[derive(Debug)]
pub(crate) struct Pacer {
    dcqcn: Option<(Config, ReactionPoint, NotificationPoint)>,
    /// The user's bound (SCONE, Sending and Processing).
    bound: Option<BitPerSec>,
    /// The last data packet: when it left, and its octets on the link.
    last: (Nanos, Octets),
    /// Before this no data leaves.
    free_at: Nanos,
    /// A CNP is to go to the other end.
    cnp_due: bool,
}

impl Pacer {
    pub(crate) fn new(dcqcn: Option<Config>) -> Self {
        let dcqcn = dcqcn.map(|config| (config, ReactionPoint::new(&config), NotificationPoint::new()));
        Self { dcqcn, bound: None, last: (Nanos(0), Octets(0)), free_at: Nanos(0), cnp_due: false }
    }

    /// A bound of nothing would stop the queue pair for ever: it counts as 1 bit/s.
    pub(crate) fn set_bound(&mut self, bound: Option<BitPerSec>, now: Nanos) {
        self.bound = bound.map(|rate| rate.max(BitPerSec(1)));
        self.pace(now);
    }

    /// What applies at `now`; `None` when nothing limits the queue pair but the link.
    pub(crate) fn rate(&mut self, now: Nanos) -> Option<BitPerSec> {
        [self.dcqcn_rate(now), self.bound].into_iter().flatten().min()
    }

    /// What DCQCN allows at `now`.
    pub(crate) fn dcqcn_rate(&mut self, now: Nanos) -> Option<BitPerSec> {
        self.dcqcn.as_mut().map(|(config, point, _)| point.rate(config, now))
    }

    /// When the next data packet may leave.
    pub(crate) const fn free_at(&self) -> Nanos {
        self.free_at
    }

    /// A data packet leaves at `now`.
    pub(crate) fn sent(&mut self, packet: &TxPacket, now: Nanos) {
        self.last = (now, packet.link_octets());
        if let Some((config, point, _)) = &mut self.dcqcn {
            point.sent(config, self.last.1, now);
        }
        self.pace(now);
    }

    /// A CNP came: DCQCN cuts at once, and what waits for its time waits longer.
    pub(crate) fn notified(&mut self, now: Nanos) {
        if let Some((config, point, _)) = &mut self.dcqcn {
            point.notified(config, now);
            self.pace(now);
        }
    }

    /// Marked data came: a CNP may be due.
    pub(crate) fn marked(&mut self, now: Nanos) {
        if let Some((config, _, point)) = &mut self.dcqcn {
            self.cnp_due |= point.marked(config.cnp_interval, now);
        }
    }

    pub(crate) const fn cnp_due(&self) -> bool {
        self.cnp_due
    }

    /// The congestion notification that is due. It has no packet number of its own.
    pub(crate) fn take_cnp(&mut self, config: &QpConfig) -> Option<TxPacket> {
        if !core::mem::take(&mut self.cnp_due) {
            return None;
        }
        let bth = Bth { becn: true, ..Bth::new(Opcode::CNP, config.remote_qp, Psn::new(0)) };
        Some(TxPacket {
            qp: config.local_qp,
            destination: config.remote,
            source_port: config.source_port,
            dscp: config.ack_dscp,
            head: PacketHead::cnp(&bth),
            payload_octets: 0,
            content: TxContent::Cnp,
        })
    }

    /// Puts the next packet behind the last one, by the rate now. Time that passed unused is not made up for: that would be
    /// a burst. A sender that DCQCN doesn't limit has the link to pace it.
    fn pace(&mut self, now: Nanos) {
        let rate = self.rate(now);
        let limited = self.bound.is_some()
            || self.dcqcn.as_ref().is_some_and(|(config, point, _)| point.phase(config) != Phase::Unlimited);
        let (at, octets) = self.last;
        let time = rate.filter(|_| limited).and_then(|rate| rate.transmission_time(octets));
        self.free_at = at + time.unwrap_or_default();
    }
}
