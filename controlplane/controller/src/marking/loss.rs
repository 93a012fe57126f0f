//! Counts of a closed period to losses and delay changes, by measurement point.

use std::collections::BTreeMap;

use wire::crem::{Cause, HopEntry, MAX_ENTRIES, Method};

use super::path::Path;
use super::reading::BINS;

/// What lies before a measurement point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The link into the switch; a cluster of links, or more than that where a switch between wasn't read.
    Link,
    /// The switch itself.
    Switch,
}

/// What a measurement point saw in a period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The switch; of a cluster that ends at several, the first by name.
    pub switch: String,
    /// What it is about.
    pub place: Place,
    /// Its entry in the report.
    pub entry: HopEntry,
}

/// What a switch counted of a flow in a closed period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub arrived: u64,
    pub departed: u64,
    /// Whether packets of anybody were dropped for want of room, and by policy, since the period before.
    pub congestion: bool,
    pub policy: bool,
    /// In microseconds.
    pub delay_change: i32,
}

/// Packets that a later period owes: they came after their own had been measured, and were reported as lost. By place, starts
/// and ends.
pub(super) type Debts = BTreeMap<(Place, Vec<usize>, Vec<usize>), u64>;

/// What a period came to: `counts` by switch of the way, `None` of those that are missing.
pub(super) fn hops(
    path: &Path,
    counts: &[Option<Count>],
    period: u32,
    debts: &mut Debts,
) -> (Method, Vec<Hop>) {
    let known: Vec<bool> = counts.iter().map(Option::is_some).collect();
    let hop = |node: usize, place, lost, delay_change, cause| {
        let node = &path.nodes[node];
        let psns = Vec::new();
        let entry = HopEntry { node_id: node.reporter_id, period, lost, delay_change, cause, psns };
        (node.stage, Hop { switch: node.switch.clone(), place, entry })
    };
    let mut hops = Vec::new();
    let mut method = Method::ALTERNATE_MARKING;
    for segment in path.segments(&known) {
        let sum = |nodes: &[usize], of: fn(&Count) -> u64| -> u64 {
            nodes.iter().filter_map(|&node| counts[node].as_ref()).map(of).sum()
        };
        let left = sum(&segment.starts, |count| count.departed);
        let came = sum(&segment.ends, |count| count.arrived);
        if segment.starts.len() > 1 || segment.ends.len() > 1 {
            method = Method::CLUSTERED_ALTERNATE_MARKING;
        }
        // A link has no queue that isn't a switch's.
        let cause = if segment.blind { Cause::UNKNOWN } else { Cause::CORRUPTION };
        let end = segment.ends[0];
        let lost = settle(debts, (Place::Link, segment.starts, segment.ends), left, came);
        hops.push(hop(end, Place::Link, lost, 0, if lost == 0 { Cause::UNKNOWN } else { cause }));
    }
    for (node, count) in counts.iter().enumerate() {
        let Some(count) = count else { continue };
        let lost = settle(debts, (Place::Switch, vec![node], vec![node]), count.arrived, count.departed);
        // Not knowing whose packet it was, congestion goes first: it is what redundancy must not rise for.
        let cause = match (lost, count.congestion, count.policy) {
            (0, ..) | (_, false, false) => Cause::UNKNOWN,
            (_, true, _) => Cause::CONGESTION,
            (_, false, true) => Cause::POLICY,
        };
        hops.push(hop(node, Place::Switch, lost, count.delay_change, cause));
    }
    hops.sort_by_key(|(stage, hop)| (*stage, hop.place));
    (method, hops.into_iter().map(|(_, hop)| hop).collect())
}

/// How many got lost; of more that came than left, a later period has the rest.
fn settle(debts: &mut Debts, key: (Place, Vec<usize>, Vec<usize>), left: u64, came: u64) -> u32 {
    let came = came.saturating_add(debts.remove(&key).unwrap_or(0));
    if came > left {
        debts.insert(key, came - left);
    }
    u32::try_from(left.saturating_sub(came)).unwrap_or(u32::MAX)
}

//= CREM, Path Reports: 83ca4c54
/// The entries that a report has room for: where there are more, those about losses and delay, in the order of the way.
pub(super) fn entries(hops: &[Hop]) -> Vec<HopEntry> {
    let mut kept: Vec<usize> = (0..hops.len()).collect();
    kept.sort_by_key(|&at| {
        let entry = &hops[at].entry;
        (core::cmp::Reverse((entry.lost, entry.delay_change.unsigned_abs())), at)
    });
    kept.truncate(MAX_ENTRIES);
    kept.sort_unstable();
    kept.into_iter().map(|at| hops[at].entry.clone()).collect()
}

/// The mean time in the queue of a period's delay-marked packets in microseconds, from how much the bins grew; `None` without
/// any. A bin counts as its middle.
pub(super) fn mean_delay(grew: &[u64; BINS]) -> Option<i64> {
    let packets: u64 = grew.iter().sum();
    let middle = |bin: usize| if bin == 0 { 1 } else { 3u64 << (bin - 1) };
    let sum: u64 = grew.iter().enumerate().map(|(bin, count)| count.saturating_mul(middle(bin))).sum();
    (packets > 0).then(|| i64::try_from(sum / packets).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_late_is_owed_to_the_next_period() {
        let mut debts = Debts::new();
        let key = || (Place::Link, vec![0], vec![1]);
        assert_eq!(settle(&mut debts, key(), 100, 97), 3);
        // Two of the three come after all, and count with the next period's hundred.
        assert_eq!(settle(&mut debts, key(), 100, 102), 0);
        assert_eq!(settle(&mut debts, key(), 100, 95), 3, "five less, two are owed");
        assert_eq!(settle(&mut debts, key(), 100, 100), 0);
        assert!(debts.is_empty());
    }

    #[test]
    fn a_report_that_is_too_long_keeps_what_tells_most() {
        let hop = |node_id, lost, delay_change| Hop {
            switch: String::new(),
            place: Place::Link,
            entry: HopEntry {
                node_id,
                period: 1,
                lost,
                delay_change,
                cause: Cause::UNKNOWN,
                psns: Vec::new(),
            },
        };
        let mut hops: Vec<Hop> = (0..18).map(|node| hop(node, 0, 0)).collect();
        (hops[17].entry.lost, hops[16].entry.delay_change) = (1, -40);
        let kept: Vec<u32> = entries(&hops).iter().map(|entry| entry.node_id).collect();
        assert_eq!(kept, (0..14).chain([16, 17]).collect::<Vec<_>>());
        assert_eq!(entries(&hops[..16]).len(), 16);
    }

    #[test]
    fn bins_count_as_their_middles() {
        let mut grew = [0; BINS];
        assert_eq!(mean_delay(&grew), None);
        grew[0] = 1;
        assert_eq!(mean_delay(&grew), Some(1));
        grew[3] = 1;
        assert_eq!(mean_delay(&grew), Some(6), "of 1 and 12");
        grew = [0; BINS];
        grew[15] = 2;
        assert_eq!(mean_delay(&grew), Some(49_152));
    }
}
