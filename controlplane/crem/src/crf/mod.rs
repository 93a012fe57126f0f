//! The receiver function: watches RDMA packets arrive, restores those that are missing, and asks for more where it can't.
//!
//! The caller shows every packet to [`Crf::source`] before it goes on, and forwards it if the verdict is
//! [`Verdict::Pass`]. Packets that were held or restored come through the caller's [`Deliver`]. Datagrams that came
//! to the CREM port go to [`Crf::datagram`], and [`Crf::timeout`] is called at the time that [`Crf::next_timeout`] names.
//!
//! Memory is bounded: flows by number, their symbols by octets in all. A flow tracks the last `max_open_blocks * max_k` PSNs:
//! what is still missing when it leaves that window is given up, and packets held for it are delivered. When repair symbols
//! run out of room, those of the oldest incomplete block go.
//!
//! | part of the document | file |
//! |---|---|
//! | Flow Establishment, Configuration Changes | `establish` |
//! | Receiver Rules | `flow`, `slot`, `repair`, `restore` |
//! | Requests, Fallback | `request` |
//! | Loss Reports | `report` |

mod config;
mod establish;
mod flow;
mod repair;
mod report;
mod request;
mod restore;
mod slot;

pub use config::{CrfConfig, CrfStats, Fallback, Order};
pub use flow::Verdict;

use core::net::SocketAddr;
use std::collections::BTreeMap;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use wire::crem::{
    Close, CloseReason, Flags, FlowId, FlowKind, Hello, Message, MessageType, RawHeader, decode,
};
use wire::frame::Ecn;
use wire::units::Nanos;

use crate::packet::{FlowKey, Kind, Packet, classify};
use crate::sink::Deliver;
use crate::timers::Timers;
use flow::{Context, Flow};

/// The receiver function of a host or gateway.
#[derive(Debug)]
pub struct Crf {
    config: CrfConfig,
    rng: ChaCha20Rng,
    flows: BTreeMap<FlowKey, Flow>,
    by_id: BTreeMap<FlowId, FlowKey>,
    timers: Timers,
    buffer: Vec<u8>,
    stats: CrfStats,
}

impl Crf {
    /// A function without flows. `seed` feeds the Flow IDs: in production it comes from a cryptographically secure source.
    pub fn new(config: CrfConfig, seed: [u8; 32]) -> Self {
        Self {
            config,
            rng: ChaCha20Rng::from_seed(seed),
            flows: BTreeMap::new(),
            by_id: BTreeMap::new(),
            timers: Timers::default(),
            buffer: Vec::new(),
            stats: CrfStats::default(),
        }
    }

    /// Counts since the start.
    pub const fn stats(&self) -> &CrfStats {
        &self.stats
    }

    /// How many flows there are.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Octets that symbols take.
    pub fn memory(&self) -> usize {
        self.flows.values().map(|flow| flow.memory(&self.config)).sum()
    }

    //= CREM, Architecture: e4b58831
    /// A packet from the other side arrives.
    pub fn source(&mut self, packet: &Packet<'_>, now: Nanos, out: &mut impl Deliver) -> Verdict {
        // The MTU decides only how many positions a READ request takes; it is looked up once the flow is known.
        let source = match classify(packet, 1) {
            Some(Kind::Source(source)) => source,
            Some(Kind::Other) => return Verdict::Pass,
            None => {
                self.stats.short += 1;
                return Verdict::Pass;
            }
        };
        let verdict = self.with(source.key, now, out, |flow, ctx| {
            let positions = crate::packet::positions(&source.bth, packet.payload, flow.hello.rdma_mtu);
            flow.source(&crate::packet::Source { positions, ..source }, packet, ctx)
        });
        verdict.unwrap_or(Verdict::Pass)
    }

    /// A datagram came to the CREM port, with this ECN field. What is no message, or not for a flow of this function from where it
    /// may come, is counted and has no effect.
    pub fn datagram(
        &mut self,
        from: SocketAddr,
        octets: &[u8],
        ecn: Ecn,
        now: Nanos,
        out: &mut impl Deliver,
    ) {
        let Ok((header, message)) = decode(octets) else {
            self.stats.malformed += 1;
            return;
        };
        if let Message::Hello(hello) = &message {
            return self.hello(from, hello, now, out);
        }
        let key = self.by_id.get(&header.flow_id).copied();
        let Some(key) = key.filter(|key| self.flows.get(key).is_some_and(|flow| flow.peer == from)) else {
            self.stats.refused += 1;
            return;
        };
        let taken = match &message {
            Message::ParamUpdate(update) => {
                let free = self.config.memory.saturating_sub(self.memory());
                self.with(key, now, out, |flow, ctx| flow.param_update(update, free, ctx)).is_some()
            }
            Message::Repair(repair) => self
                .with(key, now, out, |flow, ctx| flow.repair(header.flags, repair, ecn, ctx))
                .unwrap_or(false),
            Message::Close(_) => {
                self.remove(key, now, out);
                true
            }
            _ => false,
        };
        self.stats.refused += u64::from(!taken);
    }

    //= CREM, Flow Establishment: a9e02837
    fn hello(&mut self, from: SocketAddr, hello: &Hello, now: Nanos, out: &mut impl Deliver) {
        let key = FlowKey { addresses: hello.flow, label: hello.flow_label };
        if hello.flow_kind != FlowKind::ROCEV2 || hello.nonce == 0 {
            self.stats.refused += 1;
            return;
        }
        if let Some(flow) = self.flows.get_mut(&key) {
            if flow.hello.nonce == hello.nonce && flow.peer == from {
                self.with(key, now, out, |flow, ctx| flow.acknowledge_hello(ctx));
                return;
            }
            if flow.peer.ip() != from.ip() {
                // Somebody else can't take a flow over.
                self.stats.refused += 1;
                return;
            }
            // The sender has started anew.
            self.remove(key, now, out);
        }
        if self.flows.len() >= self.config.max_flows {
            self.stats.turned_away += 1;
            return;
        }
        let flow_id = loop {
            let id = FlowId(self.rng.next_u32());
            if id != FlowId(0) && !self.by_id.contains_key(&id) {
                break id;
            }
        };
        self.by_id.insert(flow_id, key);
        self.flows.insert(key, Flow::new(flow_id, from, *hello, now, &self.config));
        self.with(key, now, out, |flow, ctx| flow.acknowledge_hello(ctx));
    }

    /// Whether a datagram of CREM that came from `from` is for this function, where a sender function shares its port: the
    /// messages of sender functions are, and `CLOSE` of one of its own flows. What can't be decoded is nobody's.
    pub fn wants(&self, from: SocketAddr, datagram: &[u8]) -> bool {
        let raw = RawHeader::decode(datagram).ok();
        match raw.map(|raw| (raw.message_type, raw.header.flow_id)) {
            Some((MessageType::HELLO | MessageType::PARAM_UPDATE | MessageType::REPAIR, _)) => true,
            Some((MessageType::CLOSE, id)) => self.knows(from, id),
            _ => false,
        }
    }

    /// Whether a flow has this id, and messages about it come from `from`.
    fn knows(&self, from: SocketAddr, id: FlowId) -> bool {
        let flow = self.by_id.get(&id).and_then(|key| self.flows.get(key));
        flow.is_some_and(|flow| flow.peer == from)
    }

    /// Ends all flows: the other sides are told, what was held is delivered.
    pub fn end(&mut self, now: Nanos, out: &mut impl Deliver) {
        while let Some(key) = self.flows.keys().next().copied() {
            let close = Message::Close(Close { reason: CloseReason::NORMAL });
            self.with(key, now, out, |flow, ctx| flow.send(&close, Flags::NONE, ctx));
            self.remove(key, now, out);
        }
    }

    /// Forgets a flow; what was held is delivered.
    fn remove(&mut self, key: FlowKey, now: Nanos, out: &mut impl Deliver) {
        self.with(key, now, out, Flow::flush);
        if let Some(flow) = self.flows.remove(&key) {
            self.by_id.remove(&flow.id);
        }
    }

    /// The time of the next [`Crf::timeout`]; it may be called early or late.
    pub fn next_timeout(&self) -> Option<Nanos> {
        self.timers.next()
    }

    /// Does what is due.
    pub fn timeout(&mut self, now: Nanos, out: &mut impl Deliver) {
        while let Some((at, key)) = self.timers.due(now) {
            let Some(flow) = self.flows.get_mut(&key) else { continue };
            if !flow.armed.fires(at) {
                continue;
            }
            if now >= flow.last_heard + self.config.idle_timeout {
                let close = Message::Close(Close { reason: CloseReason::FLOW_ENDED });
                self.with(key, now, out, |flow, ctx| flow.send(&close, Flags::NONE, ctx));
                self.remove(key, now, out);
                continue;
            }
            self.with(key, now, out, Flow::timeout);
        }
    }

    /// Runs `f` on a flow, then arms its timer.
    fn with<T: Deliver, R>(
        &mut self,
        key: FlowKey,
        now: Nanos,
        out: &mut T,
        f: impl FnOnce(&mut Flow, &mut Context<'_, T>) -> R,
    ) -> Option<R> {
        let flow = self.flows.get_mut(&key)?;
        let (config, stats, buffer) = (&self.config, &mut self.stats, &mut self.buffer);
        let result = f(flow, &mut Context { config, stats, out, buffer, now });
        let deadline = flow.deadline(&self.config);
        self.timers.arm(key, &mut flow.armed, deadline);
        Some(result)
    }
}
