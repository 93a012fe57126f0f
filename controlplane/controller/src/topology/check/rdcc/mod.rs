//! RDCC's parameters: what the file gives, and the document's guidance for the rest.

mod options;

use std::collections::{BTreeMap, BTreeSet};

use super::super::decode::{Located, Problems};
use super::super::fabric::Fabric;
use super::super::quantity::{Quantity, Unit};
use super::super::{Problem, Profile, RdccParams, Size, Span, Time, Workload, raw};
use super::nodes::{Nodes, product};

/// Shortest Grant Lifetime of the guidance (RDCC, Default Parameters).
const MIN_LIFETIME_NS: u64 = 100_000;
/// Credit Unit where no workload gives a payload: the largest RDMA MTU.
const DEFAULT_CREDIT_UNIT: u64 = 4096;

/// What the fabric and the workloads say about the parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Twice the delay of the longest path between two hosts, in nanoseconds.
    path_rtt_ns: u64,
    /// What the queues along the longest path take to drain, in nanoseconds.
    drain_ns: u64,
    /// Rate of the fastest access link in bit/s.
    access_bps: u64,
    /// Rate of the slowest access link in bit/s.
    slowest_access_bps: u64,
    /// The most senders that share a receiver.
    senders: u64,
    /// The largest payload of a workload in octets.
    payload: Option<u64>,
}

impl Limits {
    pub fn of(nodes: &Nodes, fabric: &Fabric<'_>, workloads: &[Workload], queue: Option<&Profile>) -> Self {
        let (switches, delay_ns) = longest_path(nodes, fabric);
        let slowest = u128::from(nodes.slowest().max(1));
        let queue_octets = u128::from(queue.map_or(0, |profile| profile.q_max));
        let drain = queue_octets * 8_000_000_000 / slowest * switches as u128;
        Self {
            path_rtt_ns: delay_ns.saturating_mul(2),
            drain_ns: u64::try_from(drain).unwrap_or(u64::MAX),
            access_bps: nodes.fastest_access(),
            slowest_access_bps: nodes.slowest_access(),
            senders: most_senders(workloads).unwrap_or(nodes.hosts.len().saturating_sub(1) as u64).max(1),
            payload: workloads.iter().map(|workload| workload.payload).max(),
        }
    }
}

/// Switches and delay of the longest of the shortest paths between two hosts.
fn longest_path(nodes: &Nodes, fabric: &Fabric<'_>) -> (usize, u64) {
    // The two slowest access links of each switch are all that can matter.
    let mut access: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for host in nodes.hosts.values() {
        let delay = nodes.links.get(host.link).map_or(0, |link| link.delay_ns);
        access.entry(&host.attachment.switch).or_default().push(delay);
    }
    for delays in access.values_mut() {
        delays.sort_unstable_by(|a, b| b.cmp(a));
    }
    let mut longest = (0, 0);
    for (to, to_delays) in &access {
        if let [first, second, ..] = to_delays.as_slice() {
            longest = longest.max((1, first + second));
        }
        let Some(distances) = fabric.distances(to) else { continue };
        for (from, from_delays) in access.iter().filter(|(from, _)| *from != to) {
            if let Some((hops, delay)) = fabric.distance(from, &distances) {
                longest = (longest.0.max(hops + 1), longest.1.max(to_delays[0] + delay + from_delays[0]));
            }
        }
    }
    longest
}

fn most_senders(workloads: &[Workload]) -> Option<u64> {
    let mut senders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in workloads.iter().flat_map(|workload| &workload.pairs) {
        senders.entry(to).or_default().insert(from);
    }
    senders.values().map(|names| names.len() as u64).max()
}

pub(super) fn check(raw: &raw::Rdcc, limits: &Limits, problems: &mut Problems) -> Option<RdccParams> {
    let before = problems.0.len();
    let base_rtt_ns = base_rtt(raw, limits, problems)?;
    let bdp = product(limits.access_bps, base_rtt_ns).max(1);
    let credit_unit = size(raw.credit_unit.as_ref()).or(limits.payload).unwrap_or(DEFAULT_CREDIT_UNIT);
    // Two units at least, so that one can be granted while the other arrives.
    let budget = size(raw.budget.as_ref()).unwrap_or_else(|| (2 * bdp).max(2 * credit_unit));
    let unscheduled_budget = size(raw.unscheduled_budget.as_ref()).unwrap_or(budget / 4);
    let unscheduled_limit = size(raw.unscheduled_limit.as_ref())
        .unwrap_or_else(|| (unscheduled_budget / limits.senders).min(bdp));
    let params = RdccParams {
        base_rtt_ns,
        budget,
        unscheduled_budget,
        unscheduled_limit,
        start_jitter_ns: time(raw.start_jitter.as_ref()).unwrap_or(base_rtt_ns),
        credit_unit,
        grant_lifetime_ns: time(raw.grant_lifetime.as_ref())
            .unwrap_or_else(|| (4 * base_rtt_ns).max(MIN_LIFETIME_NS)),
        backlog_threshold: size(raw.backlog_threshold.as_ref()).unwrap_or(2 * bdp),
        max_delay_ns: time(raw.max_delay.as_ref())
            .unwrap_or_else(|| (base_rtt_ns / 2).saturating_add(limits.drain_ns)),
        options: options::read(raw),
    };
    check_budget(raw, &params, limits, problems);
    check_times(raw, &params, problems);
    options::check(raw, &params, limits.slowest_access_bps, problems);
    let refused = problems.0[before..].iter().any(|problem| !problem.warning);
    (!refused).then_some(params)
}

fn base_rtt(raw: &raw::Rdcc, limits: &Limits, problems: &mut Problems) -> Option<u64> {
    let Some(given) = &raw.base_rtt else {
        if limits.path_rtt_ns > 0 {
            return Some(limits.path_rtt_ns);
        }
        problems.push(
            Problem::error(
                "topology::base_rtt",
                "no base RTT is given, and the links have no delay to derive it from",
            )
            .hint("add `base_rtt: 8us` to `rdcc`, or a delay to the links"),
        );
        return None;
    };
    if given.value.get() == 0 {
        problems.push(
            Problem::error("topology::base_rtt", "a base RTT of 0 makes every budget 0")
                .at(given.span, "")
                .hint(format!("at least the links' own: {}", Time::new(limits.path_rtt_ns.max(1)))),
        );
        return None;
    }
    if given.value.get() < limits.path_rtt_ns {
        problems.push(
            Problem::warning(
                "topology::base_rtt",
                format!("the base RTT ({}) is less than the links' delay alone", given.value),
            )
            .at(given.span, "")
            .hint(format!("the longest path takes {} there and back", Time::new(limits.path_rtt_ns))),
        );
    }
    Some(given.value.get())
}

fn check_budget(raw: &raw::Rdcc, params: &RdccParams, limits: &Limits, problems: &mut Problems) {
    let RdccParams { budget, unscheduled_budget, unscheduled_limit, credit_unit, .. } = *params;
    if unscheduled_budget > budget {
        let problem = Problem::error(
            "topology::unscheduled_budget",
            format!(
                "G_u ({}) exceeds G ({}), which it is a part of",
                Size::new(unscheduled_budget),
                Size::new(budget)
            ),
        );
        let hint = format!("at most G / 4 by the guidance: {}", Size::new((budget / 4).max(1)));
        problems.push(
            pointing(problem, [place(raw.unscheduled_budget.as_ref()), place(raw.budget.as_ref())])
                .hint(hint),
        );
        return;
    }
    if budget - unscheduled_budget < credit_unit {
        let problem = Problem::error(
            "topology::budget",
            format!(
                "G - G_u ({} octets) is less than one Credit Unit ({}): nothing could ever be granted",
                budget - unscheduled_budget,
                Size::new(credit_unit)
            ),
        );
        let places = [
            place(raw.budget.as_ref()),
            place(raw.unscheduled_budget.as_ref()),
            place(raw.credit_unit.as_ref()),
        ];
        problems.push(pointing(problem, places).hint("raise `budget`; 1 to 2 BDP is usual"));
    } else if unscheduled_budget > budget / 4 {
        let problem = Problem::warning(
            "topology::unscheduled_budget",
            format!("G_u ({}) is more than G / 4", Size::new(unscheduled_budget)),
        );
        let hint = format!("RDCC advises at most {}", Size::new((budget / 4).max(1)));
        problems.push(pointing(problem, [place(raw.unscheduled_budget.as_ref())]).hint(hint));
    }
    let most = unscheduled_budget / limits.senders;
    let places = [place(raw.unscheduled_limit.as_ref()), place(raw.unscheduled_budget.as_ref())];
    if unscheduled_limit > unscheduled_budget {
        let problem = Problem::error(
            "topology::unscheduled_limit",
            format!("U ({}) exceeds G_u ({})", Size::new(unscheduled_limit), Size::new(unscheduled_budget)),
        );
        problems.push(pointing(problem, places).hint(format!("at most G_u / senders: {}", Size::new(most))));
    } else if unscheduled_limit > most {
        let problem = Problem::error(
            "topology::unscheduled_limit",
            format!(
                "{} senders share a receiver: {} x U ({}) exceeds G_u ({})",
                limits.senders,
                limits.senders,
                Size::new(unscheduled_limit),
                Size::new(unscheduled_budget)
            ),
        );
        problems.push(pointing(problem, places).hint(format!("at most G_u / senders: {}", Size::new(most))));
    }
}

fn check_times(raw: &raw::Rdcc, params: &RdccParams, problems: &mut Problems) {
    let Some(given) = &raw.grant_lifetime else { return };
    if given.value.get() < params.base_rtt_ns {
        problems.push(
            Problem::error(
                "topology::grant_lifetime",
                format!("a Grant Lifetime of {} ends before the data can arrive", given.value),
            )
            .at(given.span, "")
            .hint(format!("at least the base RTT, {}", Time::new(params.base_rtt_ns))),
        );
    } else if given.value.get() < MIN_LIFETIME_NS {
        problems.push(
            Problem::warning(
                "topology::grant_lifetime",
                format!("a Grant Lifetime of {} is short", given.value),
            )
            .at(given.span, "")
            .hint("RDCC advises 4 base RTTs, at least 100us"),
        );
    }
}

/// Points at those values that the file gives; defaults have no place.
fn pointing(mut problem: Problem, places: impl IntoIterator<Item = Option<Span>>) -> Problem {
    for span in places.into_iter().flatten() {
        problem = problem.at(span, "");
    }
    problem
}

/// Where a value stands, if the file gives it.
fn place<T>(given: Option<&Located<T>>) -> Option<Span> {
    given.map(|given| given.span)
}

fn size<U: Unit>(given: Option<&Located<Quantity<U>>>) -> Option<u64> {
    given.map(|given| given.value.get())
}

fn time(given: Option<&Located<Time>>) -> Option<u64> {
    given.map(|given| given.value.get())
}
