//! The collector of Alternate Marking (RFC 9341, RFC 9342): reads the marking counters of every switch on a monitored
//! flow's way, and makes of each closed period a `PATH_REPORT` for the flow's sender (CREM, Path Reports).
//!
//! | file | what it is |
//! |---|---|
//! | `reading` | what to ask a switch for, and what its answer says |
//! | `counter` | how much a counter grew, over a wrap and not over a restart |
//! | `alignment` | which colour is closed: from the counters themselves, no clocks need agree |
//! | `path` | the switches of a flow's way, and the clusters that their links form |
//! | `loss` | counts of a period to losses and delay changes by measurement point |
//! | `flow` | one flow's state |
//!
//! [`Collector`] is a machine: the caller reads when [`Collector::poll_timeout`] says, hands the answers over, and sends the
//! reports. It owns no clock and no socket.
//!
//! Readings of several switches needn't be simultaneous: what is compared is a colour that nobody puts on packets at
//! the time. A colour counts as closed when the switch that marks goes on with the other, or when a period has passed since it
//! began; its counters are taken when two readings agree, at latest half a period later. What arrives after
//! that is settled with the colour's next period.

mod alignment;
mod counter;
mod flow;
mod loss;
mod path;
mod reading;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use p4runtime::P4InfoIndex;
use p4runtime::p4::v1::Entity;
use wire::crem::PathReport;
use wire::units::Nanos;

use crate::topology::{MarkedFlow, Topology};
use flow::FlowState;
pub use loss::{Hop, Place};
pub use reading::{FlowCounts, Reading, counts_of, request};

/// Readings per period. The late ones of a colour have a quarter to a half of the period to arrive.
const READINGS_PER_PERIOD: u64 = 4;

/// The shortest period that is collected: four readings of it must be possible over gRPC.
pub const SHORTEST_PERIOD: Nanos = Nanos(131_072_000);

/// What a closed period of a flow came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The flow's name.
    pub flow: String,
    /// Packets of the period that were marked.
    pub packets: u64,
    /// What each measurement point saw, in the order of the way.
    pub hops: Vec<Hop>,
    /// The report, and the address to whose CREM port it goes; none for a flow that can't be `RoCEv2`.
    pub report: Option<(IpAddr, PathReport)>,
    /// Switches of the way that didn't count in this period: not read, or just started.
    pub missing: Vec<String>,
}

/// Whether a switch owes an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    No,
    /// In the round that is under way.
    Now,
    /// In one before.
    Before,
}

/// Collects the counters of all monitored flows.
#[derive(Debug)]
pub struct Collector {
    interval: Nanos,
    next: Nanos,
    /// When the round began that is under way.
    began: Nanos,
    flows: Vec<FlowState>,
    /// Switches that are to be read.
    switches: BTreeMap<String, Asked>,
    /// Answers of this round.
    answers: BTreeMap<String, Reading>,
    under_way: bool,
    measured: Vec<Measured>,
}

impl Collector {
    /// A collector of the flows under `marking`; `None` without any, or when the period is below [`SHORTEST_PERIOD`].
    pub fn new(topology: &Topology, now: Nanos) -> Option<Self> {
        let marking = topology.marking.as_ref()?;
        let period = Nanos(1000u64.checked_shl(marking.period_log2.into())?);
        if marking.flows.is_empty() || period < SHORTEST_PERIOD {
            return None;
        }
        let flows: Vec<FlowState> = marking
            .flows
            .iter()
            .enumerate()
            .filter_map(|(index, flow)| FlowState::new(topology, index, flow, period))
            .collect();
        let names: BTreeSet<&str> = flows.iter().flat_map(FlowState::switches).collect();
        Some(Self {
            interval: Nanos(period.0 / READINGS_PER_PERIOD),
            next: now,
            began: now,
            switches: names.into_iter().map(|name| (name.to_owned(), Asked::No)).collect(),
            flows,
            answers: BTreeMap::new(),
            under_way: false,
            measured: Vec::new(),
        })
    }

    /// When to call [`Collector::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Nanos {
        self.next
    }

    /// Begins a round of readings when it is time for one: gives the switches to read. Each is to be answered by
    /// [`Collector::answer`]; those that aren't in half a period count as missing in this round.
    pub fn handle_timeout(&mut self, now: Nanos) -> Vec<String> {
        if now < self.next {
            return Vec::new();
        }
        let patience = self.began + Nanos(2 * self.interval.0);
        if self.under_way && now < patience && self.switches.values().any(|asked| *asked == Asked::Now) {
            // Slow answers put the next round off: two rounds at once would take each other's answers.
            self.next = patience;
            return Vec::new();
        }
        self.finish_round(now);
        // Missed rounds aren't caught up with.
        self.began = now;
        self.next = now + self.interval;
        self.under_way = true;
        let mut asked_now = Vec::new();
        for (name, asked) in &mut self.switches {
            match asked {
                Asked::No => {
                    *asked = Asked::Now;
                    asked_now.push(name.clone());
                }
                // A switch that still owes an answer isn't asked again: it would fall behind for ever.
                Asked::Now | Asked::Before => *asked = Asked::Before,
            }
        }
        asked_now
    }

    /// What a switch is to be asked for; an entity for each counter's cell.
    pub fn request(&self, switch: &str, index: &P4InfoIndex) -> Vec<Entity> {
        let on_way = self.flows.iter().filter_map(|flow| Some((flow.index, flow.node(switch)?)));
        on_way.flat_map(|(flow, node)| request(index, flow, node)).collect()
    }

    /// What a switch's answer to [`Collector::request`] says.
    pub fn reading(&self, switch: &str, index: &P4InfoIndex, entities: &[Entity]) -> Reading {
        let flows = self.flows.iter().filter(|flow| flow.node(switch).is_some()).map(|flow| flow.index);
        counts_of(index, flows, entities)
    }

    /// Takes a switch's answer; `None` when it couldn't be read.
    pub fn answer(&mut self, switch: &str, reading: Option<Reading>, now: Nanos) {
        let Some(asked) = self.switches.get_mut(switch) else { return };
        let of_this_round = std::mem::replace(asked, Asked::No) == Asked::Now;
        if let Some(reading) = reading.filter(|_| of_this_round) {
            self.answers.insert(switch.to_owned(), reading);
        }
        if self.under_way && self.switches.values().all(|asked| *asked != Asked::Now) {
            self.finish_round(now);
            // A round that took long is followed by the next at once.
            self.next = (self.began + self.interval).max(now);
        }
    }

    /// The next period that has been measured.
    pub fn poll_measured(&mut self) -> Option<Measured> {
        (!self.measured.is_empty()).then(|| self.measured.remove(0))
    }

    fn finish_round(&mut self, now: Nanos) {
        if !std::mem::take(&mut self.under_way) {
            return;
        }
        let answers = std::mem::take(&mut self.answers);
        for flow in &mut self.flows {
            self.measured.extend(flow.round(&answers, now));
        }
    }
}

/// Whether a marked flow can be `RoCEv2`, the one that CREM protects.
fn may_be_roce(flow: &MarkedFlow) -> bool {
    const UDP: u8 = 17;
    flow.protocol.is_none_or(|protocol| protocol == UDP)
        && flow.destination_port.is_none_or(|port| port == wire::roce::UDP_PORT)
}
