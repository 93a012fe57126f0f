//! The sender function: watches RDMA packets leave, and sends repair symbols for them.
//!
//! The caller forwards every packet itself, unchanged, and shows it to [`Csf::source`]; it shows packets of the other direction
//! to [`Csf::reverse`], for the acknowledgements in them. Datagrams that came to the CREM port go to [`Csf::datagram`],
//! and [`Csf::timeout`] is called at the time that [`Csf::next_timeout`] names. What is to be sent goes to the caller's
//! [`Transmit`].
//!
//! | part of the document | file |
//! |---|---|
//! | Source Blocks | `flow`, `block` |
//! | Flow Establishment, Configuration Changes | `establish` |
//! | Redundancy Policy | `policy` |
//! | Requests, Coded Retransmission, Fallback | `requests`, `emit` |
//! | acknowledgement by the RDMA transport | `acks` |
//! | Loss Reports, Path Reports | `reports` |
//! | Congestion | `budget`, `breaker` |

mod acks;
mod block;
mod breaker;
mod budget;
mod config;
mod emit;
mod establish;
mod flow;
mod reports;
mod requests;

pub use config::{CsfConfig, CsfStats, FallbackAnswer};

pub(crate) use establish::SCHEMES;

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use wire::crem::{CloseReason, Flags, FlowId, Message, PathReport, RepairRequest, decode};
use wire::units::Nanos;

use crate::packet::{FlowKey, Kind, Packet, classify};
use crate::sink::Transmit;
use crate::timers::Timers;
use acks::Pairs;
use establish::State;
use flow::{Context, Flow};

/// How many source round-trip times may pass without a report at least, whatever the configured time.
const REPORT_ROUND_TRIPS: u64 = 16;

/// The sender function of a host or gateway.
#[derive(Debug)]
pub struct Csf {
    config: CsfConfig,
    rng: ChaCha20Rng,
    flows: BTreeMap<FlowKey, Flow>,
    by_nonce: BTreeMap<u64, FlowKey>,
    by_id: BTreeMap<(SocketAddr, FlowId), FlowKey>,
    pairs: Pairs,
    timers: Timers,
    message: Vec<u8>,
    stats: CsfStats,
}

/// What a flow is doing, for people and tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowStatus {
    /// Whether the receiver function has answered.
    pub established: bool,
    /// Positions and repair symbols of the blocks that start now; `None` before there is a configuration.
    pub block: Option<(u8, u8)>,
    /// The estimated loss rate.
    pub loss_rate: f64,
    /// Smoothed round-trip time.
    pub round_trip: Nanos,
    /// Whether the circuit breaker holds repair back.
    pub breaker_open: bool,
    /// Closed blocks that are kept.
    pub blocks_kept: usize,
}

impl Csf {
    /// A function without flows. `seed` feeds the nonces: in production it comes from a cryptographically secure source.
    pub fn new(config: CsfConfig, seed: [u8; 32]) -> Self {
        Self {
            pairs: Pairs::new(&config.pairs),
            config,
            rng: ChaCha20Rng::from_seed(seed),
            flows: BTreeMap::new(),
            by_nonce: BTreeMap::new(),
            by_id: BTreeMap::new(),
            timers: Timers::default(),
            message: Vec::new(),
            stats: CsfStats::default(),
        }
    }

    /// Counts since the start.
    pub const fn stats(&self) -> &CsfStats {
        &self.stats
    }

    /// How a flow stands at `now`; `None` when it isn't known here.
    pub fn flow(&mut self, key: FlowKey, now: Nanos) -> Option<FlowStatus> {
        let flow = self.flows.get_mut(&key)?;
        Some(FlowStatus {
            established: flow.state == State::Open,
            block: flow.current.map(|configuration| (configuration.k, configuration.m)),
            loss_rate: flow.policy.loss_rate(),
            round_trip: flow.rtt.smoothed(),
            breaker_open: flow.breaker.verdict(now) != breaker::Verdict::Closed,
            blocks_kept: flow.closed.len(),
        })
    }

    //= CREM, Path Reports: 83ca4c54 29faf103
    /// Whether a datagram to the CREM port of `destination` is for this function, though it isn't its own address: as a gateway it
    /// takes the reports addressed to the sources that it serves.
    pub fn intercepts(&self, destination: IpAddr) -> bool {
        self.config.serves.iter().any(|prefix| prefix.contains(&destination))
    }

    //= CREM, Architecture: 7a43fa8c
    //= CREM, Path Reports: 39685827
    /// A packet toward the other side passes. It is not changed: the caller forwards it.
    pub fn source(&mut self, packet: &Packet<'_>, now: Nanos, out: &mut impl Transmit) {
        let source = match classify(packet, self.config.mtu) {
            Some(Kind::Source(source)) => source,
            Some(Kind::Other) => return,
            None => {
                self.stats.malformed += 1;
                return;
            }
        };
        let key = source.key;
        if !self.flows.contains_key(&key) {
            if self.flows.len() >= self.config.max_flows {
                self.stats.unprotected_flows += 1;
                return;
            }
            self.flows.insert(key, Flow::new(key, 0, &self.config, now));
        }
        if self.flows.get(&key).is_some_and(|flow| flow.state == State::Silent) {
            self.greet(key, now, out);
        }
        let unanswered = Nanos(
            self.config
                .report_timeout
                .0
                .max(self.flows.get(&key).map_or(0, |flow| flow.rtt.smoothed().0 * REPORT_ROUND_TRIPS)),
        );
        self.with(key, now, out, |flow, ctx| {
            if flow.unreported_since.is_some_and(|since| now.saturating_sub(since) > unanswered) {
                flow.close(CloseReason::NO_ANSWER, ctx);
            }
            flow.source(&source, packet.payload, ctx);
        });
    }

    /// Starts to ask for protection, with a nonce of its own.
    fn greet(&mut self, key: FlowKey, now: Nanos, out: &mut impl Transmit) {
        let nonce = loop {
            let nonce = self.rng.next_u64();
            if nonce != 0 && !self.by_nonce.contains_key(&nonce) {
                break nonce;
            }
        };
        self.by_nonce.insert(nonce, key);
        let former = self.flows.get_mut(&key).map(|flow| core::mem::replace(&mut flow.nonce, nonce));
        former.and_then(|former| self.by_nonce.remove(&former));
        self.with(key, now, out, Flow::say_hello);
    }

    /// A packet of the other direction passes: it may acknowledge packets of a flow.
    pub fn reverse(&mut self, packet: &Packet<'_>, _now: Nanos) {
        let Some((pair, psn)) = acks::acknowledgement(packet) else { return };
        let Some(key) = self.pairs.flow_of(pair, psn, &self.flows, self.config.max_flows) else { return };
        if let Some(flow) = self.flows.get_mut(&key) {
            self.stats.acknowledged += flow.acknowledge(psn);
        }
    }

    //= CREM, Architecture: 6a59be03
    /// A datagram came to the CREM port. What is no message, or not for a flow of this function from where it may come, is
    /// counted and has no effect.
    pub fn datagram(&mut self, from: SocketAddr, octets: &[u8], now: Nanos, out: &mut impl Transmit) {
        let Ok((header, message)) = decode(octets) else {
            self.stats.malformed += 1;
            return;
        };
        let key = match &message {
            Message::PathReport(report) => {
                let truncated = header.flags.contains(Flags::TRUNCATED);
                return self.path_report(from.ip(), report, truncated, now, out);
            }
            Message::HelloAck(ack) => self.by_nonce.get(&ack.nonce),
            _ => self.by_id.get(&(from, header.flow_id)),
        };
        let Some(key) = key.copied() else {
            self.stats.refused += 1;
            return;
        };
        let taken = self.with(key, now, out, |flow, ctx| match &message {
            Message::HelloAck(ack) => flow.hello_ack(from, header.flow_id, ack, ctx),
            Message::ParamAck(ack) => flow.param_ack(*ack, ctx),
            Message::LossReport(report) => {
                flow.loss_report(report, ctx);
                true
            }
            Message::RepairRequest(request) => {
                let copies = header.flags.contains(Flags::FALLBACK);
                match request {
                    RepairRequest::Block(request) => flow.block_request(request, copies, ctx),
                    RepairRequest::Ranges(request) => flow.range_request(request, copies, ctx),
                }
            }
            Message::Close(_) => {
                flow.closed_by_peer(ctx);
                true
            }
            _ => false,
        });
        if taken != Some(true) {
            self.stats.refused += 1;
        }
    }

    //= CREM, Path Reports: 059e134d
    //= CREM, Message Formats: 035b5a9b
    fn path_report(
        &mut self,
        from: IpAddr,
        report: &PathReport,
        truncated: bool,
        now: Nanos,
        out: &mut impl Transmit,
    ) {
        if !self.config.reporters.contains(&from) {
            self.stats.unknown_reporters += 1;
            return;
        }
        let qp = report.destination_qp();
        let keys = if qp == 0 {
            // Ours: queue pair 0 carries no data; the report is about all flows between the two addresses.
            let all = |label| FlowKey { addresses: report.flow, label };
            self.flows.range(all(0)..=all(u32::MAX)).map(|(key, _)| *key).collect()
        } else {
            vec![FlowKey::requests(report.flow, qp), FlowKey::responses(report.flow, qp)]
        };
        let mut used = false;
        for key in keys {
            used |= self.with(key, now, out, |flow, ctx| flow.path_report(report, ctx)).is_some();
        }
        if used {
            self.stats.path_reports += 1;
            self.stats.truncated_reports += u64::from(truncated);
        } else {
            self.stats.refused += 1;
        }
    }

    /// Ends the protection of a flow.
    pub fn close(&mut self, key: FlowKey, now: Nanos, out: &mut impl Transmit) {
        self.with(key, now, out, |flow, ctx| flow.close(CloseReason::NORMAL, ctx));
        self.remove(key);
    }

    /// Ends the protection of all flows.
    pub fn end(&mut self, now: Nanos, out: &mut impl Transmit) {
        while let Some(key) = self.flows.keys().next().copied() {
            self.close(key, now, out);
        }
    }

    fn remove(&mut self, key: FlowKey) {
        if let Some(flow) = self.flows.remove(&key) {
            self.by_nonce.remove(&flow.nonce);
            self.pairs.forget(key, &self.config.pairs);
        }
    }

    /// The time of the next [`Csf::timeout`]; it may be called early or late.
    pub fn next_timeout(&self) -> Option<Nanos> {
        self.timers.next()
    }

    /// Does what is due.
    pub fn timeout(&mut self, now: Nanos, out: &mut impl Transmit) {
        while let Some((at, key)) = self.timers.due(now) {
            let Some(flow) = self.flows.get_mut(&key) else { continue };
            if !flow.armed.fires(at) {
                continue;
            }
            if now >= flow.last_source + self.config.idle_timeout {
                self.with(key, now, out, |flow, ctx| flow.close(CloseReason::FLOW_ENDED, ctx));
                self.remove(key);
                continue;
            }
            self.with(key, now, out, |flow, ctx| {
                match flow.state {
                    State::Hello { next, .. } if now >= next => flow.say_hello(ctx),
                    State::Refused { until } if now >= until => flow.state = State::Silent,
                    _ => {}
                }
                flow.resend_parameters(ctx);
                flow.timeout(ctx);
            });
        }
    }

    /// Runs `f` on a flow, then keeps the tables and timers in step with it.
    fn with<T: Transmit, R>(
        &mut self,
        key: FlowKey,
        now: Nanos,
        out: &mut T,
        f: impl FnOnce(&mut Flow, &mut Context<'_, T>) -> R,
    ) -> Option<R> {
        let flow = self.flows.get_mut(&key)?;
        let before = (flow.state == State::Open).then_some((flow.peer, flow.id));
        let (config, stats, message) = (&self.config, &mut self.stats, &mut self.message);
        let result = f(flow, &mut Context { config, stats, out, message, now });
        let after = (flow.state == State::Open).then_some((flow.peer, flow.id));
        if before != after {
            before.and_then(|id| self.by_id.remove(&id));
            if let Some(id) = after {
                self.by_id.insert(id, key);
            }
        }
        let deadline = flow.deadline(&self.config);
        self.timers.arm(key, &mut flow.armed, deadline);
        Some(result)
    }
}
