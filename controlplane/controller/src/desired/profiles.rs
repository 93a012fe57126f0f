//! Queue profiles: their numbers, and the tables that are looked up by these.

use std::collections::{BTreeMap, BTreeSet};

use crate::pipeline::generated::{actions, fields, params, tables};
use crate::topology::{Origin, Profile, Switch, Topology};

use super::builder::{Act, Builder, Match};
use super::{DesiredError, Sourced, degree_ranges, reported, share_ranges};

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

/// Every queue of every port in use, with its profile and its link's rate.
fn queues<'a>(
    topology: &'a Topology,
    name: &'a str,
    switch: &'a Switch,
) -> impl Iterator<Item = (u16, u8, &'a Profile, u64)> {
    let numbers = topology.queues();
    switch.ports.iter().flat_map(move |(port, peer)| {
        let rate_bps = topology.links.get(peer.link).map_or(0, |link| link.rate_bps);
        let of_port = |queue| Some((*port, queue, topology.profile(name, *port, queue)?, rate_bps));
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
        .map(|(_, queue, profile, rate_bps)| key(profile, rate_bps, reported(topology, queue)))
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
    for (port, queue, profile, rate_bps) in queues(topology, name, switch) {
        let wanted = key(profile, rate_bps, reported(topology, queue));
        let is_it = |number: &&ProfileNumber| {
            (!number.reported, number.b_th, number.q_max, number.rate_bps) == wanted
        };
        let Some(number) = numbers.iter().find(is_it) else { continue };
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
        let key =
            [(fields::EGRESS_PORT, Match::Exact(port.into())), (fields::QUEUE, Match::Exact(queue.into()))];
        let named = topology.profile_name(name, port, queue).unwrap_or_default();
        let origin = Origin::Profile(named.to_owned());
        origins.entry(number.number).or_insert_with(|| origin.clone());
        entities.push((builder.entry(tables::queue_profile::NAME, &key, Act::Action(action))?, origin));
    }
    for number in numbers.iter().filter(|number| number.reported) {
        let Some(origin) = origins.get(&number.number) else { continue };
        entities.extend(tables(*number, units.depth_octets, origin, builder)?);
    }
    Ok(entities)
}

//= SCONE, Acquisition of Advised Rate: 797344dd
//= SCONE, Calculation Based on Egress Bandwidth Congestion Status: fd589a17 e1266f1e 9cf0fad8
/// The two tables of one profile, from which a switch computes the rates that it suggests and advises (docs/p4-program.md).
fn tables(
    profile: ProfileNumber,
    cell: u64,
    origin: &Origin,
    builder: Builder<'_>,
) -> Result<Vec<Sourced>, DesiredError> {
    let number = (fields::PROFILE, Match::Exact(profile.number.into()));
    // More than `b_th` octets are held exactly when more than `b_th / cell` cells are, rounded down.
    let capacity = u32::try_from(profile.q_max / cell - profile.b_th / cell).unwrap_or(u32::MAX);
    if capacity == 0 {
        let profile = match origin {
            Origin::Profile(name) => name.clone(),
            _ => String::new(),
        };
        return Err(DesiredError::Cell { profile, cell });
    }
    // A depth never exceeds what the field can hold, the last range included.
    let deepest =
        u32::try_from(builder.largest(tables::congestion_degree::NAME, fields::EXCESS)?).unwrap_or(u32::MAX);
    let ranges = degree_ranges(capacity).into_iter().filter(|range| range.low <= deepest);
    let degree = ranges.map(|range| {
        let action = builder.action(actions::set_degree::NAME, &[(params::DEGREE, range.degree.into())])?;
        let excess = Match::Range(range.low.into(), range.high.min(deepest).into());
        let key = [number, (fields::EXCESS, excess)];
        Ok((builder.entry(tables::congestion_degree::NAME, &key, Act::Action(action))?, origin.clone()))
    });
    let share = share_ranges(profile.rate_bps).into_iter().map(|range| {
        let action = builder.action(actions::set_fair_share::NAME, &[(params::RATE, range.rate.into())])?;
        let flows = Match::Range(range.low.into(), range.high.into());
        let key = [number, (fields::FLOWS, flows)];
        Ok((builder.entry(tables::fair_share::NAME, &key, Act::Action(action))?, origin.clone()))
    });
    degree.chain(share).collect()
}
