//! Queue profiles: their numbers, and the tables that are looked up by these.

use std::collections::{BTreeMap, BTreeSet};

use p4runtime::p4::v1::Entity;

use crate::pipeline::generated::{actions, fields, params, tables};
use crate::topology::{Origin, Profile, Switch, Topology, Units};

use super::builder::{Act, Builder, Match};
use super::{DegreeRange, DesiredError, ShareRange, Sourced, degree_ranges, reported, share_ranges};

/// How many profiles may have a degree table: 8 of 255 entries.
pub const MAX_PROFILES: usize = 8;

/// What the degree and the fair share of a queue follow from; equal ones have one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProfileNumber {
    /// `B_th` in octets.
    pub b_th: u64,
    /// `Q_max` in octets.
    pub q_max: u64,
    /// Service rate in bit/s: the link's.
    pub rate_bps: u64,
    /// Whether anything is reported about such queues; otherwise they need no tables.
    pub reported: bool,
    /// The number, from 0.
    pub number: u8,
}

type Key = (bool, u64, u64, u64);

fn key(profile: &Profile, rate_bps: u64, reported: bool) -> Key {
    // Those with tables come first, so that theirs are the lowest numbers.
    (!reported, profile.b_th, profile.q_max, rate_bps)
}

/// A queue of a port in use.
struct Queue<'a> {
    port: u16,
    number: u8,
    profile: &'a Profile,
    /// Its link's.
    rate_bps: u64,
}

/// Every queue of every port in use.
fn queues<'a>(topology: &'a Topology, name: &'a str, switch: &'a Switch) -> impl Iterator<Item = Queue<'a>> {
    let numbers = topology.queues();
    switch.ports.iter().flat_map(move |(port, peer)| {
        let rate_bps = topology.links.get(peer.link).map_or(0, |link| link.rate_bps);
        let of_port = |number| {
            let profile = topology.profile(name, *port, number)?;
            Some(Queue { port: *port, number, profile, rate_bps })
        };
        numbers.iter().copied().filter_map(of_port).collect::<Vec<_>>()
    })
}

/// Numbers the profiles of a switch.
pub(super) fn numbers(
    topology: &Topology,
    name: &str,
    switch: &Switch,
) -> Result<Vec<ProfileNumber>, DesiredError> {
    let keys: BTreeSet<Key> = queues(topology, name, switch)
        .map(|queue| key(queue.profile, queue.rate_bps, reported(topology, queue.number)))
        .collect();
    let with_tables = keys.iter().filter(|(silent, ..)| !silent).count();
    let full = |what: &str, needed, limit| {
        Err(DesiredError::Capacity { switch: name.to_owned(), what: what.to_owned(), needed, limit })
    };
    if with_tables > MAX_PROFILES {
        let what = "the combinations of thresholds and link rate that reports are sent about";
        return full(what, with_tables, MAX_PROFILES);
    }
    if keys.len() > usize::from(u8::MAX) {
        return full("the combinations of thresholds and link rate", keys.len(), usize::from(u8::MAX));
    }
    let number = |((silent, b_th, q_max, rate_bps), number): (Key, u8)| ProfileNumber {
        b_th,
        q_max,
        rate_bps,
        reported: !silent,
        number,
    };
    Ok(keys.into_iter().zip(0..=u8::MAX).map(number).collect())
}

/// Entries of `queue_profile`, `congestion_degree` and `fair_share`.
pub(super) fn entries(
    topology: &Topology,
    name: &str,
    switch: &Switch,
    numbers: &[ProfileNumber],
    builder: Builder<'_>,
) -> Result<Vec<Sourced>, DesiredError> {
    let units = switch.units();
    let mut entities = Vec::new();
    // The first file entry that asked for each number.
    let mut origins: BTreeMap<u8, Origin> = BTreeMap::new();
    for queue in queues(topology, name, switch) {
        let Some(number) = number_of(topology, &queue, numbers) else { continue };
        let named = topology.profile_name(name, queue.port, queue.number).unwrap_or_default();
        let origin = Origin::Profile(named.to_owned());
        origins.entry(number.number).or_insert_with(|| origin.clone());
        entities.push((queue_profile(&queue, number, units, builder)?, origin));
    }
    for number in numbers.iter().filter(|number| number.reported) {
        let Some(Origin::Profile(named)) = origins.get(&number.number) else { continue };
        let origin = || Origin::Profile(named.clone());
        for range in degrees(*number, units.depth_octets, named, builder)? {
            entities.push((degree_entry(*number, range, builder)?, origin()));
        }
        for range in share_ranges(number.rate_bps) {
            entities.push((share_entry(*number, range, builder)?, origin()));
        }
    }
    Ok(entities)
}

/// How many entries [`entries`] makes of each of its tables. They aren't made, but for one of each kind and profile: that
/// shows whether the program has them, and whether the numbers fit.
pub(super) fn count(
    topology: &Topology,
    name: &str,
    switch: &Switch,
    numbers: &[ProfileNumber],
    builder: Builder<'_>,
) -> Result<[(&'static str, usize); 3], DesiredError> {
    let units = switch.units();
    let (mut in_use, mut degrees_count, mut shares_count) = (0, 0, 0);
    let mut seen: BTreeSet<(u8, &str)> = BTreeSet::new();
    let mut origins: BTreeMap<u8, &str> = BTreeMap::new();
    for queue in queues(topology, name, switch) {
        let Some(number) = number_of(topology, &queue, numbers) else { continue };
        in_use += 1;
        let named = topology.profile_name(name, queue.port, queue.number).unwrap_or_default();
        origins.entry(number.number).or_insert(named);
        if seen.insert((number.number, named)) {
            queue_profile(&queue, number, units, builder)?;
        }
    }
    for number in numbers.iter().filter(|number| number.reported) {
        let Some(named) = origins.get(&number.number) else { continue };
        let mut ranges = degrees(*number, units.depth_octets, named, builder)?;
        if let Some(first) = ranges.next() {
            degree_entry(*number, first, builder)?;
            degrees_count += 1 + ranges.count();
        }
        let shares = share_ranges(number.rate_bps);
        if let Some(first) = shares.first() {
            share_entry(*number, *first, builder)?;
        }
        shares_count += shares.len();
    }
    Ok([
        (tables::queue_profile::NAME, in_use),
        (tables::congestion_degree::NAME, degrees_count),
        (tables::fair_share::NAME, shares_count),
    ])
}

fn number_of<'a>(
    topology: &Topology,
    queue: &Queue<'_>,
    numbers: &'a [ProfileNumber],
) -> Option<&'a ProfileNumber> {
    let wanted = key(queue.profile, queue.rate_bps, reported(topology, queue.number));
    numbers.iter().find(|number| (!number.reported, number.b_th, number.q_max, number.rate_bps) == wanted)
}

fn queue_profile(
    queue: &Queue<'_>,
    number: &ProfileNumber,
    units: Units,
    builder: Builder<'_>,
) -> Result<Entity, DesiredError> {
    let profile = queue.profile;
    let action = builder.action(
        actions::set_profile::NAME,
        &[
            (params::PROFILE, u128::from(number.number)),
            (params::B_TH, u128::from(profile.b_th / units.depth_octets)),
            (params::Q_MAX, u128::from(profile.q_max / units.depth_octets)),
            (params::ECN_THRESHOLD, u128::from(profile.ecn_threshold / units.depth_octets)),
            (params::REPORT_INTERVAL, u128::from(profile.report_interval_ns.div_ceil(units.time_ns))),
        ],
    )?;
    let key = [
        (fields::EGRESS_PORT, Match::Exact(queue.port.into())),
        (fields::QUEUE, Match::Exact(queue.number.into())),
    ];
    builder.entry(tables::queue_profile::NAME, &key, Act::Action(action))
}

// The two tables of one profile, from which a switch computes the rates that it suggests and advises (docs/p4-program.md).
//= SCONE, Acquisition of Advised Rate: 797344dd
//= SCONE, Calculation Based on Egress Bandwidth Congestion Status: fd589a17 e1266f1e 9cf0fad8
/// The ranges of a profile's degrees, in cells, as far as a depth can be.
fn degrees(
    profile: ProfileNumber,
    cell: u64,
    named: &str,
    builder: Builder<'_>,
) -> Result<impl Iterator<Item = DegreeRange>, DesiredError> {
    // More than `b_th` octets are held exactly when more than `b_th / cell` cells are, rounded down.
    let capacity = u32::try_from(profile.q_max / cell - profile.b_th / cell).unwrap_or(u32::MAX);
    if capacity == 0 {
        return Err(DesiredError::Cell { profile: named.to_owned(), cell });
    }
    // A depth never exceeds what the field can hold, the last range included.
    let deepest =
        u32::try_from(builder.largest(tables::congestion_degree::NAME, fields::EXCESS)?).unwrap_or(u32::MAX);
    let ranges = degree_ranges(capacity).into_iter().filter(move |range| range.low <= deepest);
    Ok(ranges.map(move |range| DegreeRange { high: range.high.min(deepest), ..range }))
}

fn degree_entry(
    profile: ProfileNumber,
    range: DegreeRange,
    builder: Builder<'_>,
) -> Result<Entity, DesiredError> {
    let action = builder.action(actions::set_degree::NAME, &[(params::DEGREE, range.degree.into())])?;
    let excess = Match::Range(range.low.into(), range.high.into());
    let key = [(fields::PROFILE, Match::Exact(profile.number.into())), (fields::EXCESS, excess)];
    builder.entry(tables::congestion_degree::NAME, &key, Act::Action(action))
}

fn share_entry(
    profile: ProfileNumber,
    range: ShareRange,
    builder: Builder<'_>,
) -> Result<Entity, DesiredError> {
    let action = builder.action(actions::set_fair_share::NAME, &[(params::RATE, range.rate.into())])?;
    let flows = Match::Range(range.low.into(), range.high.into());
    let key = [(fields::PROFILE, Match::Exact(profile.number.into())), (fields::FLOWS, flows)];
    builder.entry(tables::fair_share::NAME, &key, Act::Action(action))
}
