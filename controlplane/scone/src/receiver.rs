//! The host that receives RDMA data: records Rate Signals and returns them (SCONE, Feedback Loop).
//!
//! The driver keeps one beside its RoCEv2 endpoint:
//!
//! - It names the queue pairs ([`Receiver::add_qp`]) and records the signal of every data packet that the endpoint took in
//!   ([`Receiver::record`], [`Receiver::record_unreadable`]): what the endpoint refused is from nobody whose path matters.
//! - It shows every packet that the endpoint gives out to [`Receiver::attach`], before the ICRC is computed: an acknowledgement
//!   or a CNP that goes anyway may take feedback along. No packet is sent for the sake of those two forms.
//! - It sends what [`Receiver::poll_transmit`] gives, and calls that again at [`Receiver::poll_timeout`].

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wire::roce::{BTH_OCTETS, Bth, CNP_RESERVED_OCTETS, Opcode};
use wire::scone::{DecodeError, Feedback, RateSignal, Unreadable, ack_code};
use wire::units::{MbitPerSec, Nanos};

use crate::Datagram;
use crate::sender::ConfigError;

/// How the receiver returns rates. The sender understands all three at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FeedbackForm {
    /// A datagram of its own to the SCONE port.
    Dedicated,
    /// In a CNP that is due anyway.
    Cnp,
    /// As a code in an acknowledgement.
    Ack,
}

/// Parameters of a [`Receiver`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// The type octet of the Rate Signal extension in this domain.
    pub extension_type: u8,
    /// The SCONE port of senders.
    pub port: u16,
    /// A rate below this, 0 apart, is taken for forged and not returned: as a code in an acknowledgement it would come back as
    /// 100 Mbit/s. The domain's floor, as senders have it.
    pub floor: MbitPerSec,
    /// How rates go back. Where no acknowledgement flows (data that RDMA READ brings), always as a datagram.
    pub form: FeedbackForm,
    /// Between two datagrams for a queue pair pass at least so much.
    pub interval: Nanos,
    /// How long a rate waits for an acknowledgement or a CNP to go with; then it says nothing about now any more.
    pub keep: Nanos,
}

impl ReceiverConfig {
    /// Datagrams every 50 us at most, rates kept for 1 ms, floor 10 Mbit/s.
    pub const fn new(extension_type: u8, port: u16, form: FeedbackForm) -> Self {
        let (floor, interval, keep) = (MbitPerSec(10), Nanos(50_000), Nanos(1_000_000));
        Self { extension_type, port, floor, form, interval, keep }
    }
}

/// A queue pair that receives. The BTH names no source queue pair, so the connection has to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverQp {
    /// Its number here.
    pub qp: u32,
    /// The host of the other end.
    pub peer: IpAddr,
    /// The number at the other end.
    pub peer_qp: u32,
}

/// Whose data brought a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// A SEND or an RDMA WRITE, which is acknowledged.
    Request,
    /// An RDMA READ response, which is not.
    ReadResponse,
}

/// Why a signal was not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unrecorded {
    /// An extension of another type.
    #[error("extension type {0:#04x} is not this domain's Rate Signal")]
    WrongType(u8),
    /// What stands there is no extension of version 1.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// A rate that no honest element gives.
    #[error("a rate of {rate}; it should be at least the floor, {floor}")]
    BelowFloor {
        /// The rate.
        rate: MbitPerSec,
        /// The configured floor.
        floor: MbitPerSec,
    },
    /// Not one of the queue pairs that were named.
    #[error("queue pair {0:#x} doesn't receive on this host")]
    UnknownQp(u32),
    /// From elsewhere than the other end.
    #[error("data for queue pair {qp:#x} from {from}; it should come from {peer}")]
    WrongPeer {
        /// The queue pair.
        qp: u32,
        /// Where the data came from.
        from: IpAddr,
        /// The queue pair's other end.
        peer: IpAddr,
    },
}

/// Counts since the receiver began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Signals recorded that carried a rate.
    pub recorded: u64,
    /// Signals that were not recorded.
    pub unrecorded: u64,
    /// Rates returned in datagrams.
    pub dedicated: u64,
    /// Rates returned in CNPs.
    pub cnps: u64,
    /// Rates returned in acknowledgements.
    pub acks: u64,
}

/// Rates that wait at most.
const RATES: u64 = 8;

#[derive(Debug)]
struct Qp {
    peer: IpAddr,
    peer_number: u32,
    /// Rates since the last feedback, and when they came: the lowest, the lowest of those that came after it, and so on. So
    /// there is a lowest one whenever an older is forgotten.
    waiting: VecDeque<(MbitPerSec, Nanos)>,
    /// Of these, whether one came where no acknowledgement flows.
    datagram_due: bool,
    last_datagram: Option<Nanos>,
}

/// See the module's text.
#[derive(Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    qps: BTreeMap<u32, Qp>,
    /// Queue pairs with a datagram to send, and from when on.
    due: BTreeSet<(Nanos, u32)>,
    stats: ReceiverStats,
}

impl Receiver {
    /// A receiver without queue pairs.
    ///
    /// # Errors
    /// [`ConfigError::ExtensionType`] for type 0.
    pub fn new(config: ReceiverConfig) -> Result<Self, ConfigError> {
        if config.extension_type == 0 {
            return Err(ConfigError::ExtensionType);
        }
        let stats = ReceiverStats::default();
        Ok(Self { config, qps: BTreeMap::new(), due: BTreeSet::new(), stats })
    }

    /// Adds a queue pair; one with the same number is replaced.
    pub fn add_qp(&mut self, qp: ReceiverQp) {
        self.remove_qp(qp.qp);
        let state = Qp {
            peer: qp.peer,
            peer_number: qp.peer_qp,
            waiting: VecDeque::new(),
            datagram_due: false,
            last_datagram: None,
        };
        self.qps.insert(qp.qp, state);
    }

    /// Forgets a queue pair.
    pub fn remove_qp(&mut self, qp: u32) {
        self.qps.remove(&qp);
        self.due.retain(|&(_, due)| due != qp);
    }

    //= SCONE, Solution 2: Per-QP On-Path Endpoint Feedback: 5e1c965b
    //= SCONE, Security Considerations: 940ef1bd
    /// Records the signal of a data packet that the endpoint took in on `qp` from the host `from`. A rate of 0 is no advice.
    /// Of several rates before the next feedback the lowest is returned: a congestion that ended meanwhile was there.
    ///
    /// # Errors
    /// [`Unrecorded`]: without effect, but counted.
    pub fn record(
        &mut self,
        qp: u32,
        from: IpAddr,
        signal: RateSignal,
        carrier: Carrier,
        now: Nanos,
    ) -> Result<(), Unrecorded> {
        let recorded = self.recorded(qp, from, signal, carrier, now);
        if recorded.is_err() {
            self.stats.unrecorded += 1;
        }
        recorded
    }

    fn recorded(
        &mut self,
        number: u32,
        from: IpAddr,
        signal: RateSignal,
        carrier: Carrier,
        now: Nanos,
    ) -> Result<(), Unrecorded> {
        if signal.extension_type != self.config.extension_type {
            return Err(Unrecorded::WrongType(signal.extension_type));
        }
        let qp = self.qps.get_mut(&number).ok_or(Unrecorded::UnknownQp(number))?;
        if qp.peer != from {
            return Err(Unrecorded::WrongPeer { qp: number, from, peer: qp.peer });
        }
        if signal.rate == MbitPerSec(0) {
            return Ok(());
        }
        let ReceiverConfig { floor, keep, .. } = self.config;
        if signal.rate < floor {
            return Err(Unrecorded::BelowFloor { rate: signal.rate, floor });
        }
        self.stats.recorded += 1;
        qp.wait(signal.rate, keep, now);
        let datagram = self.config.form == FeedbackForm::Dedicated || carrier == Carrier::ReadResponse;
        if datagram && !qp.datagram_due {
            qp.datagram_due = true;
            let earliest = qp.last_datagram.map_or(now, |last| (last + self.config.interval).max(now));
            self.due.insert((earliest, number));
        }
        Ok(())
    }

    /// Counts an extension of a data packet that can't be read.
    pub fn record_unreadable(&mut self, unreadable: Unreadable) -> Unrecorded {
        self.stats.unrecorded += 1;
        let Unreadable { extension_type, error, .. } = unreadable;
        if extension_type == self.config.extension_type {
            error.into()
        } else {
            Unrecorded::WrongType(extension_type)
        }
    }

    //= SCONE, Feedback Loop: 41ec8734 8210a986 64f5bdf8 6dd699cf
    //= SCONE, Solution 2: Per-QP On-Path Endpoint Feedback: 5bc3a3c9
    /// Puts a rate that waits into a packet that the endpoint gives out on `qp`, if the packet is of the form that takes one.
    /// `head` is its UDP payload from the BTH on; a CNP must be there with its reserved octets. Gives whether it did.
    pub fn attach(&mut self, qp: u32, head: &mut [u8], now: Nanos) -> bool {
        let Ok(mut bth) = Bth::decode(head) else { return false };
        let form = match bth.opcode {
            Opcode::ACKNOWLEDGE => FeedbackForm::Ack,
            Opcode::CNP => FeedbackForm::Cnp,
            _ => return false,
        };
        if form != self.config.form {
            return false;
        }
        let Some(state) = self.qps.get_mut(&qp).filter(|state| state.peer_number == bth.destination_qp)
        else {
            return false;
        };
        let Some(rate) = state.fresh(self.config.keep, now) else { return false };
        match form {
            FeedbackForm::Cnp => {
                let signal = RateSignal { extension_type: self.config.extension_type, rate };
                let reserved = head.get_mut(BTH_OCTETS..BTH_OCTETS + CNP_RESERVED_OCTETS);
                let Some(reserved) = reserved else { return false };
                reserved.copy_from_slice(&signal.to_cnp());
                self.stats.cnps += 1;
            }
            FeedbackForm::Ack | FeedbackForm::Dedicated => {
                bth.reserved6 = ack_code::encode(rate);
                let Some(start) = head.first_chunk_mut() else { return false };
                *start = bth.to_octets();
                self.stats.acks += 1;
            }
        }
        // A datagram that is due for an RDMA READ has nothing left to say.
        state.waiting.clear();
        true
    }

    //= SCONE, Feedback Loop: 58ed0933
    //= SCONE, Solution 2: Per-QP On-Path Endpoint Feedback: 5bc3a3c9
    /// The next datagram that is due at `now`.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Datagram> {
        while let Some(&(at, number)) = self.due.first() {
            if at > now {
                return None;
            }
            self.due.pop_first();
            let Some(qp) = self.qps.get_mut(&number) else { continue };
            qp.datagram_due = false;
            let Some(rate) = qp.fresh(self.config.keep, now) else { continue };
            qp.waiting.clear();
            qp.last_datagram = Some(now);
            self.stats.dedicated += 1;
            let signal = RateSignal { extension_type: self.config.extension_type, rate };
            let octets = Feedback { signal, destination_qp: qp.peer_number }.to_octets().to_vec();
            return Some(Datagram { to: SocketAddr::new(qp.peer, self.config.port), octets });
        }
        None
    }

    /// When [`Receiver::poll_transmit`] has something next.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.due.first().map(|&(at, _)| at)
    }

    /// Counts since the receiver began.
    pub const fn stats(&self) -> &ReceiverStats {
        &self.stats
    }
}

impl Qp {
    /// The lowest of the rates that wait and aren't too old.
    fn fresh(&self, keep: Nanos, now: Nanos) -> Option<MbitPerSec> {
        // The rates rise with their times.
        let fresh = |&&(_, since): &&(_, Nanos)| now.saturating_sub(since) < keep;
        self.waiting.iter().find(fresh).map(|&(rate, _)| rate)
    }

    fn wait(&mut self, rate: MbitPerSec, keep: Nanos, now: Nanos) {
        while self.waiting.front().is_some_and(|&(_, since)| now.saturating_sub(since) >= keep) {
            self.waiting.pop_front();
        }
        while self.waiting.back().is_some_and(|&(before, _)| before >= rate) {
            self.waiting.pop_back();
        }
        // A few at most: one that comes this soon after a lower one would be forgotten only this much later.
        let recent =
            self.waiting.back().is_some_and(|&(_, since)| now.saturating_sub(since).0 < keep.0 / RATES);
        if !recent {
            self.waiting.push_back((rate, now));
        }
    }
}
