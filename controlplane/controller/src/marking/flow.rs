//! One monitored flow: readings go in, measured periods come out.

use std::collections::BTreeMap;
use std::net::IpAddr;

use wire::crem::{FlowAddresses, PathReport};
use wire::units::Nanos;

use super::alignment::{Alignment, Closed, Colour};
use super::counter::growth;
use super::loss::{self, Count, Debts};
use super::path::{Node, Path};
use super::reading::{BINS, FlowCounts, Reading};
use super::{Measured, may_be_roce};
use crate::topology::{MarkedFlow, Topology};

/// What the switches of the way answered, in its order.
type Round = Vec<Option<FlowCounts>>;

#[derive(Debug)]
pub(super) struct FlowState {
    /// Its place in the file.
    pub index: usize,
    name: String,
    period: Nanos,
    path: Path,
    /// Where its reports go, and how they call the flow.
    addressee: Option<(IpAddr, FlowAddresses, u32)>,
    alignment: Alignment,
    last: Round,
    /// The round before that.
    before: Round,
    /// Each switch's last answer, however long ago.
    seen: Round,
    /// Arrivals and departures of each colour when its last period was taken.
    baselines: [Vec<Option<(u64, u64)>>; 2],
    debts: [Debts; 2],
    /// Delay bins, and drops for want of room and by policy, when the last period was taken.
    bins: Vec<Option<[u64; BINS]>>,
    drops: Vec<Option<(u64, u64)>>,
    /// The delay of the last period that had one.
    delays: Vec<Option<i64>>,
    /// A period that has ended and isn't taken yet, and the readings just before its end was seen.
    closing: Option<(Closed, Round)>,
}

impl FlowState {
    /// A flow of which nothing has been read; `None` when there is no way for it.
    pub fn new(topology: &Topology, index: usize, flow: &MarkedFlow, period: Nanos) -> Option<Self> {
        let path = Path::of(topology, flow)?;
        let nodes = path.nodes.len();
        Some(Self {
            index,
            name: flow.name.clone(),
            period,
            addressee: addressee(topology, flow),
            alignment: Alignment::new(period),
            last: vec![None; nodes],
            before: vec![None; nodes],
            seen: vec![None; nodes],
            baselines: [vec![None; nodes], vec![None; nodes]],
            debts: [Debts::new(), Debts::new()],
            bins: vec![None; nodes],
            drops: vec![None; nodes],
            delays: vec![None; nodes],
            closing: None,
            path,
        })
    }

    /// The switches of its way.
    pub fn switches(&self) -> impl Iterator<Item = &str> {
        self.path.nodes.iter().map(|node| node.switch.as_str())
    }

    /// A switch of its way, by name.
    pub fn node(&self, switch: &str) -> Option<&Node> {
        self.path.nodes.iter().find(|node| node.switch == switch)
    }

    /// Takes a round of readings; gives the period that could be taken with it.
    pub fn round(&mut self, answers: &BTreeMap<String, Reading>, now: Nanos) -> Option<Measured> {
        let of = |node: &Node| answers.get(&node.switch)?.get(&self.index).cloned();
        let round: Round = self.path.nodes.iter().map(of).collect();
        self.notice_restarts(&round);
        let closed = round[0].as_ref().and_then(|entry| self.alignment.see(entry.arrived, now));
        let mut measured = None;
        if let Some(closed) = closed {
            // One that still waits for late packets has waited long enough: its colour is about to be put on again.
            if let Some((before, readings)) = self.closing.take() {
                let last = self.last.clone();
                measured = self.measure(before, &readings, &last);
            }
            // Readings of a round aren't of one time: one that has the new colour's first packets already differs.
            let before = self.before.clone();
            let colour = 1 - closed.colour;
            self.baseline(colour, |last, node| {
                last.is_some() && last == counts(before[node].as_ref(), colour)
            });
            self.closing = Some((closed, self.last.clone()));
        } else if let Some((closed, _)) = &self.closing {
            let colour = closed.colour;
            let settled = |(last, now): (&Option<FlowCounts>, &Option<FlowCounts>)| {
                now.is_some() && counts(last.as_ref(), colour) == counts(now.as_ref(), colour)
            };
            let late = now >= closed.at + Nanos(self.period.0 / 2);
            if (late || self.last.iter().zip(&round).all(settled))
                && let Some((closed, readings)) = self.closing.take()
            {
                measured = self.measure(closed, &readings, &round);
            }
        } else if self.alignment.is_idle() {
            for colour in 0..2 {
                let stands = |last: Option<(u64, u64)>, node: usize| {
                    last.is_some() && last == counts(round[node].as_ref(), colour)
                };
                self.baseline(colour, stands);
            }
        }
        // A switch that wasn't read keeps its last answer for no longer than this.
        self.before = std::mem::replace(&mut self.last, round);
        measured
    }

    /// What a switch counted before it started anew is of no use.
    fn notice_restarts(&mut self, round: &Round) {
        for (node, now) in round.iter().enumerate() {
            let Some(now) = now else { continue };
            let fell = |(before, now): (&u64, &u64)| growth(*before, *now).is_none();
            if self.seen[node].as_ref().is_some_and(|before| before.cells().zip(now.cells()).any(fell)) {
                (self.last[node], self.before[node]) = (None, None);
                (self.baselines[0][node], self.baselines[1][node]) = (None, None);
                (self.bins[node], self.drops[node], self.delays[node]) = (None, None, None);
            }
            self.seen[node] = Some(now.clone());
        }
    }

    /// A colour that isn't put on stands still: where it has no baseline, it gets the last reading for which `good` says so.
    fn baseline(&mut self, colour: Colour, good: impl Fn(Option<(u64, u64)>, usize) -> bool) {
        for node in 0..self.last.len() {
            let last = counts(self.last[node].as_ref(), colour);
            if self.baselines[colour][node].is_none() && good(last, node) {
                self.baselines[colour][node] = last;
            }
            if let Some(last) = &self.last[node] {
                self.bins[node].get_or_insert(last.delay);
                self.drops[node].get_or_insert((last.congestion, last.policy));
            }
        }
    }

    /// Takes a closed period: `readings` are those before its end, `round` those that count.
    fn measure(&mut self, closed: Closed, readings: &Round, round: &Round) -> Option<Measured> {
        let colour = closed.colour;
        let nodes = self.path.nodes.len();
        let counted: Vec<Option<Count>> = (0..nodes)
            .map(|node| self.count(node, colour, readings[node].as_ref(), round[node].as_ref()))
            .collect();
        for (baseline, reading) in self.baselines[colour].iter_mut().zip(round) {
            *baseline = counts(reading.as_ref(), colour);
        }
        let (method, hops) = loss::hops(&self.path, &counted, closed.number, &mut self.debts[colour]);
        let packets = counted[0].map_or(0, |count| count.arrived);
        if hops.is_empty() || counted.iter().flatten().all(|count| count.arrived == 0) {
            return None;
        }
        let missing = self.path.nodes.iter().zip(&counted).filter(|(_, count)| count.is_none());
        let report = self.addressee.as_ref().map(|(to, addresses, label)| {
            let entries = loss::entries(&hops);
            (*to, PathReport { method, flow: *addresses, flow_label: *label, entries })
        });
        let missing = missing.map(|(node, _)| node.switch.clone()).collect();
        Some(Measured { flow: self.name.clone(), packets, hops, report, missing })
    }

    /// What a switch counted in a period; `None` when it wasn't read at its start or end, or has started anew between.
    fn count(
        &mut self,
        node: usize,
        colour: Colour,
        before_end: Option<&FlowCounts>,
        now: Option<&FlowCounts>,
    ) -> Option<Count> {
        // The first packet of a period is the one that is marked for delay: up to the last reading in which no packet of
        // the next period can be, those are this period's.
        let bins = before_end.or(now).map(|counts| counts.delay);
        let former = std::mem::replace(&mut self.bins[node], bins);
        let drops = now.map(|counts| (counts.congestion, counts.policy));
        let dropped = std::mem::replace(&mut self.drops[node], drops);
        let (arrived, departed) = counts(now, colour)?;
        let (arrived_before, departed_before) = self.baselines[colour][node]?;
        let (arrived, departed) = (growth(arrived_before, arrived)?, growth(departed_before, departed)?);
        let delay_change =
            former.zip(bins).and_then(|(former, bins)| self.delay_change(node, &former, &bins));
        let grew = |of: fn((u64, u64)) -> u64| match (dropped, drops) {
            (Some(before), Some(now)) => growth(of(before), of(now)).is_some_and(|more| more > 0),
            _ => false,
        };
        Some(Count {
            arrived,
            departed,
            congestion: grew(|(congestion, _)| congestion),
            policy: grew(|(_, policy)| policy),
            delay_change: delay_change.unwrap_or(0),
        })
    }

    /// How the queueing delay changed from the last period that had one.
    fn delay_change(&mut self, node: usize, former: &[u64; BINS], bins: &[u64; BINS]) -> Option<i32> {
        let mut grew = [0; BINS];
        for ((grew, before), now) in grew.iter_mut().zip(former).zip(bins) {
            *grew = growth(*before, *now)?;
        }
        let delay = loss::mean_delay(&grew)?;
        let change = delay - self.delays[node].replace(delay)?;
        Some(i32::try_from(change).unwrap_or(if change < 0 { i32::MIN } else { i32::MAX }))
    }
}

fn counts(reading: Option<&FlowCounts>, colour: Colour) -> Option<(u64, u64)> {
    reading.map(|counts| (counts.arrived[colour], counts.departed[colour]))
}

//= CREM, Path Reports: 83ca4c54
//= CREM, Message Formats: 035b5a9b
/// Where the reports about a flow go: to the address configured for its source, else to the source.
fn addressee(topology: &Topology, flow: &MarkedFlow) -> Option<(IpAddr, FlowAddresses, u32)> {
    if !may_be_roce(flow) {
        return None;
    }
    let source = topology.hosts.get(&flow.from)?.ipv6?;
    let destination = topology.hosts.get(&flow.to)?.ipv6?;
    let of_prefix = topology.policies.report_to.iter().filter(|(prefix, _)| prefix.holds(source.into()));
    let configured = of_prefix.max_by_key(|(prefix, _)| prefix.length()).map(|(_, address)| *address);
    let addresses = FlowAddresses::V6 { source, destination };
    // Ours: queue pair 0 carries no data; as a label it stands for every flow between the two addresses.
    Some((configured.unwrap_or(source.into()), addresses, flow.queue_pair.unwrap_or(0)))
}
