//! The sending side: associations with receivers, messages, credit, and the pace of posts.
//!
//! The state of each message is that of RDCC, Sender Message State Machine; where the table stands in the code:
//!
//! | row | function |
//! |---|---|
//! | NEW | `requests::begin` |
//! | UNSCHED, report or link pause | `requests::stop_unscheduled` |
//! | UNSCHED and SCHEDULED, all octets transmitted; SCHEDULED, Grant Limit reached | `data::posted` |
//! | WAITING, CREDIT_GRANT | `control::grant` |
//! | WAITING and DRAINED, request timeout; SCHEDULED, Lifetime elapsed | [`Sender::handle_timeout`] |
//! | DRAINED, MSG_DONE | `control::done`; ours: it completes any live state |
//! | CANCEL, ERROR | `control::error`, `requests::abort` |
//! | pool grants, for all of these | `pool` |
//! | UNKNOWN_ASSOCIATION, new Epoch | `establish::lost`, `establish::restart_messages` |

mod association;
mod config;
mod control;
mod data;
mod establish;
mod message;
mod pacer;
mod pool;
mod requests;
mod rtt;
mod status;

pub use config::{Binding, MessageSpec, SendPermit, SenderConfig, SenderEvent, SenderStats, SubmitError};

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use wire::rdcc::{Flags, Header, Message as RdccMessage, MessageId};
use wire::units::Nanos;

use crate::Datagram;
use crate::timers::Timers;
use association::{Association, Phase};
use data::SendQueue;
use message::{Message, State};

/// Association index and Message ID.
type Key = (u32, u64);

/// What a deadline is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// Repetition of `ASSOC_REQUEST`.
    Establish(u32),
    /// Repetition of `CREDIT_REQUEST`.
    Request(Key),
    /// End of a grant's Lifetime.
    Lifetime(Key),
    /// Repetition of `SENDER_STATUS`.
    Status,
}

/// The sender's machine: all associations of one host that sends.
#[derive(Debug)]
pub struct Sender {
    config: SenderConfig,
    rng: ChaCha20Rng,
    associations: Vec<Association>,
    by_peer: BTreeMap<SocketAddr, u32>,
    /// Places of associations that were forgotten.
    free: Vec<u32>,
    timers: Timers<Timer>,
    queue: SendQueue,
    /// When the link has taken the octets permitted so far.
    link_free_at: Nanos,
    /// Associations that hold unused credit.
    holding: BTreeSet<u32>,
    /// Unscheduled messages that a report stops.
    stoppable: BTreeSet<Key>,
    /// Message sequence numbers set before there was an association.
    next_msns: BTreeMap<(SocketAddr, u32), u32>,
    /// Sum of the unused credit of all associations.
    unused: u128,
    /// The values of `N_cu` that receivers advertise, and how many of them do.
    thresholds: BTreeMap<u64, u32>,
    /// Associations last told a Congestion Level above zero.
    told: BTreeSet<u32>,
    /// Associations last told a share and a Congestion Level of zero.
    kept: BTreeSet<u32>,
    /// Whether the Backlog Threshold is exceeded.
    congested: bool,
    transmits: VecDeque<Datagram>,
    events: VecDeque<SenderEvent>,
    stats: SenderStats,
}

impl Sender {
    /// A sender without associations. `seed` feeds nonces and start delays: in production it comes from a
    /// cryptographically secure source (RDCC, Association Establishment), and feeds a cryptographic generator.
    pub fn new(config: SenderConfig, seed: [u8; 32]) -> Self {
        Self {
            config,
            rng: ChaCha20Rng::from_seed(seed),
            associations: Vec::new(),
            by_peer: BTreeMap::new(),
            free: Vec::new(),
            timers: Timers::default(),
            queue: SendQueue::default(),
            link_free_at: Nanos(0),
            holding: BTreeSet::new(),
            stoppable: BTreeSet::new(),
            next_msns: BTreeMap::new(),
            unused: 0,
            thresholds: BTreeMap::new(),
            told: BTreeSet::new(),
            kept: BTreeSet::new(),
            congested: false,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            stats: SenderStats::default(),
        }
    }

    /// Starts an association with the receiver at `peer` unless there is one. [`Sender::submit`] does this too.
    ///
    /// # Errors
    /// [`SubmitError::NotTheRdccPort`]; [`SubmitError::NotSupported`] and [`SubmitError::Refused`] when an earlier
    /// attempt ended so ([`Sender::forget`] allows another one).
    pub fn associate(&mut self, peer: SocketAddr, now: Nanos) -> Result<(), SubmitError> {
        self.association_with(peer, now).map(|_| ())
    }

    //= RDCC, Credit Requests and Grants: cacc0909
    /// Hands over a message. It starts when the association is up.
    ///
    /// # Errors
    /// Those of [`Sender::associate`], [`SubmitError::Empty`] and [`SubmitError::TooManyPending`].
    pub fn submit(
        &mut self,
        peer: SocketAddr,
        spec: MessageSpec,
        now: Nanos,
    ) -> Result<MessageId, SubmitError> {
        if spec.length.0 == 0 {
            return Err(SubmitError::Empty);
        }
        let index = self.association_with(peer, now)?;
        let association = &mut self.associations[index as usize];
        let pending = association.messages.len();
        if pending >= self.config.max_pending_messages {
            return Err(SubmitError::TooManyPending { pending });
        }
        // RDCC, Credit Requests and Grants: Message IDs increase and are not reused.
        let id = association.next_message;
        association.next_message += 1;
        association.messages.insert(id, Message::new(spec, id));
        if association.is_up() {
            self.begin((index, id), now);
        }
        Ok(MessageId(id))
    }

    /// Gives a message up: `CANCEL` to the receiver, [`SenderEvent::MessageAborted`] to the application. Nothing
    /// happens if it is not pending.
    pub fn cancel(&mut self, peer: SocketAddr, message: MessageId, now: Nanos) {
        let Some(&index) = self.by_peer.get(&peer) else { return };
        self.cancel_message((index, message.0), now);
    }

    /// The message sequence number that the next post on a queue pair gets at the receiver, where it isn't 0. To be
    /// called before the first message of that queue pair is submitted; before [`Sender::associate`] it is kept for it.
    pub fn set_next_msn(&mut self, peer: SocketAddr, destination_qp: u32, msn: u32) {
        if let Some(&index) = self.by_peer.get(&peer) {
            let queue_pairs = &mut self.associations[index as usize].queue_pairs;
            queue_pairs.entry(destination_qp).or_default().next_post = msn & MSN_MASK;
        } else {
            self.next_msns.insert((peer, destination_qp), msn & MSN_MASK);
        }
    }

    /// The transport can't send a message for now (its queue pair is being repaired, say): its credit goes back with
    /// `CREDIT_RETURN`, and no more is requested until [`Sender::resume`]. Nothing happens to a message that has not
    /// started, is unscheduled, or has been posted whole.
    pub fn pause(&mut self, peer: SocketAddr, message: MessageId, now: Nanos) {
        if let Some(&index) = self.by_peer.get(&peer) {
            self.pause_message((index, message.0), now);
        }
    }

    /// Requests credit again for a message that [`Sender::pause`] stopped.
    pub fn resume(&mut self, peer: SocketAddr, message: MessageId, now: Nanos) {
        if let Some(&index) = self.by_peer.get(&peer) {
            self.resume_message((index, message.0), now);
        }
    }

    /// Forgets a receiver that refused or never answered, so that the next [`Sender::associate`] asks it again.
    pub fn forget(&mut self, peer: SocketAddr) {
        if let Some(&index) = self.by_peer.get(&peer)
            && matches!(self.associations[index as usize].phase, Phase::Refused | Phase::Unanswered)
        {
            self.by_peer.remove(&peer);
            self.told.remove(&index);
            self.kept.remove(&index);
            self.free.push(index);
        }
    }

    /// The local link was paused by PFC: unscheduled transmission stops (RDCC, Unscheduled Transmission, rule 5).
    pub fn handle_link_pause(&mut self, now: Nanos) {
        self.stop_unscheduled(now);
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Nanos) {
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                Timer::Establish(index) => self.repeat_establishment(index, now),
                Timer::Request(key) => self.repeat_request(key, now),
                Timer::Lifetime((index, pool::POOL_ID)) => self.pool_lifetime_elapsed(index, now),
                Timer::Lifetime(key) => self.lifetime_elapsed(key, now),
                Timer::Status => self.repeat_status(now),
            }
        }
    }

    /// When [`Sender::handle_timeout`] and then [`Sender::poll_send`] are to be called next: the earliest deadline
    /// or the time of the next permit.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        let send = self.queue.next().map(|at| at.max(self.link_free_at));
        [self.timers.next(), send].into_iter().flatten().min()
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Datagram> {
        self.transmits.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<SenderEvent> {
        self.events.pop_front()
    }

    /// The counters.
    pub fn stats(&self) -> SenderStats {
        self.stats
    }

    /// Octets of `message` not yet posted; `None` when it is not pending.
    pub fn remaining(&self, peer: SocketAddr, message: MessageId) -> Option<u64> {
        let index = *self.by_peer.get(&peer)?;
        let message = self.associations.get(index as usize)?.messages.get(&message.0)?;
        Some(message.spec.length.0 - message.transmitted)
    }

    //= RDCC, Association Establishment: 405bac17 ebb42475
    //= RDCC, Port Configuration: 81175ba1
    fn association_with(&mut self, peer: SocketAddr, now: Nanos) -> Result<u32, SubmitError> {
        if peer.port() != self.config.rdcc_port {
            return Err(SubmitError::NotTheRdccPort { peer, rdcc_port: self.config.rdcc_port });
        }
        if let Some(&index) = self.by_peer.get(&peer) {
            return match self.associations[index as usize].phase {
                Phase::Unanswered => Err(SubmitError::NotSupported),
                Phase::Refused => Err(SubmitError::Refused),
                Phase::Requesting { .. } | Phase::Up => Ok(index),
            };
        }
        let nonce = self.rng.next_u64();
        let mut association = Association::new(peer, nonce, now);
        let kept: Vec<_> = self.next_msns.range((peer, 0)..=(peer, u32::MAX)).map(|(&key, _)| key).collect();
        for key in kept {
            let msn = self.next_msns.remove(&key).unwrap_or_default();
            association.queue_pairs.entry(key.1).or_default().next_post = msn;
        }
        let index = if let Some(index) = self.free.pop() {
            self.associations[index as usize] = association;
            index
        } else {
            self.associations.push(association);
            u32::try_from(self.associations.len() - 1).unwrap_or(u32::MAX)
        };
        self.by_peer.insert(peer, index);
        self.request_association(index, now);
        Ok(index)
    }

    fn association(&mut self, index: u32) -> &mut Association {
        &mut self.associations[index as usize]
    }

    fn message(&mut self, key: Key) -> Option<&mut Message> {
        self.associations[key.0 as usize].messages.get_mut(&key.1)
    }

    fn state(&mut self, key: Key) -> Option<State> {
        self.message(key).map(|message| message.state)
    }

    /// Sends a message on an association, with its next sequence number.
    fn send(&mut self, index: u32, flags: Flags, message: &RdccMessage) {
        let association = self.association(index);
        let request = matches!(message, RdccMessage::AssocRequest(_));
        let header = Header {
            // RDCC, Common Header: zero in ASSOC_REQUEST.
            association_id: if request { wire::rdcc::AssociationId(0) } else { association.id },
            epoch: if request { wire::rdcc::Epoch(0) } else { association.epoch },
            flags,
            sequence_number: association.take_sequence(),
        };
        let datagram = Datagram { to: association.peer, octets: message.to_octets(&header) };
        self.transmits.push_back(datagram);
    }
}

/// Message sequence numbers have 24 bits.
const MSN_MASK: u32 = 0x00ff_ffff;
