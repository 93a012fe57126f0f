//! What a switch should hold: pure functions of the topology and the program's P4Info.

mod builder;
mod census;
mod degree;
mod fair_share;
mod marking;
mod policies;
mod profiles;
mod routes;

use std::collections::BTreeMap;

use p4runtime::P4InfoIndex;
use p4runtime::index::IndexError;
use p4runtime::p4::v1::{Entity, entity};

use crate::pipeline::generated::constants::REPORT_CLONE_SESSION;
use crate::pipeline::generated::{actions, fields, meters, params, tables};
use crate::pipeline::tofino;
use crate::report_size;
use crate::topology::{Origin, Role, Switch, Target, Topology, Trust};
use builder::{Act, Builder, Match};

pub use census::Census;
pub use degree::{DegreeRange, degree, degree_ranges};
pub use fair_share::{EXACT_FLOWS, ShareRange, share_ranges};
pub(crate) use marking::on_the_way;
pub use profiles::{MAX_PROFILES, ProfileNumber};
pub use routes::{Group, groups};

/// Ours: so many reports may come at once: those of 100 us at the limit, and a few in any case.
const BURST_PER_SECOND: u64 = 10_000;
const MIN_BURST: u64 = 64;

/// What a switch should hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// Table entries, default actions, action profile members and groups, meters and clone sessions.
    pub entities: Vec<Entity>,
    /// The part of the topology that each of the entities follows from, in their order.
    pub origins: Vec<Origin>,
    /// Which profile number each set of thresholds and service rate has on this switch.
    pub profiles: Vec<ProfileNumber>,
    /// Whether the switch rounds a meter's rates, so that it answers others than it was given.
    pub meters_are_rounded: bool,
}

/// Why a topology can't be put into a switch.
#[derive(Debug, thiserror::Error)]
pub enum DesiredError {
    /// The topology has no such switch.
    #[error("the topology has no switch `{0}`")]
    NoSwitch(String),
    /// A name isn't in the P4Info.
    #[error(transparent)]
    Index(IndexError),
    /// The program's shape isn't what this controller writes.
    #[error("the P4 program's `{object}`: {problem}")]
    Program {
        /// Table or action.
        object: String,
        /// What doesn't fit.
        problem: String,
    },
    /// `B_th` and `Q_max` are one for a switch that counts in cells.
    #[error("profile `{profile}`: `b_th` and `q_max` are less than a cell of {cell} octets apart")]
    Cell {
        /// The profile.
        profile: String,
        /// A cell's octets.
        cell: u64,
    },
    /// More than the switch can hold.
    #[error("switch `{switch}` would need {needed} of {what}, and holds {limit}")]
    Capacity {
        /// The switch.
        switch: String,
        /// Table, or what else is full.
        what: String,
        /// How many are needed.
        needed: usize,
        /// How many fit.
        limit: usize,
    },
}

/// What a switch should hold.
///
/// # Errors
/// No such switch, a program without the names, or more entries than fit.
pub fn entries(topology: &Topology, switch: &str, index: &P4InfoIndex) -> Result<Desired, DesiredError> {
    let builder = Builder { index };
    let Parts { before_routes: mut all, after_routes, profiles } = Parts::of(topology, switch, builder)?;
    let (name, switch) = find(topology, switch)?;
    all.extend(routes::entries(topology, name, switch, builder)?);
    all.extend(profiles::entries(topology, name, switch, &profiles, builder)?);
    all.extend(after_routes);
    let (entities, origins): (Vec<Entity>, Vec<Origin>) = all.into_iter().unzip();
    let mut needed: BTreeMap<u32, usize> = BTreeMap::new();
    for table in entities.iter().filter_map(table_needs) {
        *needed.entry(table).or_default() += 1;
    }
    check_capacity(name, needed, index)?;
    let meters_are_rounded = switch.target == Target::Tofino;
    Ok(Desired { entities, origins, profiles, meters_are_rounded })
}

/// What a switch should hold besides routes and the entries of profiles, in the order in which it is written.
struct Parts {
    before_routes: Vec<Sourced>,
    after_routes: Vec<Sourced>,
    profiles: Vec<ProfileNumber>,
}

impl Parts {
    fn of(topology: &Topology, name: &str, builder: Builder<'_>) -> Result<Self, DesiredError> {
        let (name, switch) = find(topology, name)?;
        let of_switch = || Origin::Switch(name.to_owned());
        let mut before_routes: Vec<Sourced> = vec![(reporter(topology, switch, builder)?, of_switch())];
        before_routes.push((clone_session(switch), of_switch()));
        before_routes.extend(dscp_map(topology, builder)?);
        for (port, peer) in &switch.ports {
            let boundary =
                switch.port_options.get(port).is_some_and(|options| options.trust == Trust::Boundary);
            // A port without an entry is one that isn't believed.
            if !boundary {
                before_routes.push((port_trust(*port, builder)?, Origin::Link(peer.link)));
            }
            let rate_bps = topology.links.get(peer.link).map_or(0, |link| link.rate_bps);
            let limit_bps = topology.report_limit(name, *port).of(rate_bps);
            let rate = reports_per_second(topology, switch, limit_bps);
            before_routes.push((report_meter(*port, rate, builder)?, Origin::Link(peer.link)));
        }
        let profiles = profiles::numbers(topology, name, switch)?;
        let mut after_routes = policies::entries(topology, switch, builder)?;
        after_routes.extend(marking::entries(topology, name, builder)?);
        Ok(Self { before_routes, after_routes, profiles })
    }
}

fn find<'a>(topology: &'a Topology, name: &'a str) -> Result<(&'a str, &'a Switch), DesiredError> {
    let switch = topology.switches.get(name).ok_or_else(|| DesiredError::NoSwitch(name.to_owned()))?;
    Ok((name, switch))
}

/// An entity and the part of the topology that it follows from.
type Sourced = (Entity, Origin);

/// Where what becomes a report is copied to. Stratum takes a copy's port in one of its two fields only, no instance, and
/// a Tofino shortens the copy to what its program reads of it.
fn clone_session(switch: &Switch) -> Entity {
    match switch.target {
        Target::Soft | Target::Bmv2 => Builder::clone_session(REPORT_CLONE_SESSION, switch.clone_port),
        Target::Tofino => {
            Builder::mirror_session(REPORT_CLONE_SESSION, switch.clone_port, tofino::MIRROR_OCTETS)
        }
    }
}

fn reporter(topology: &Topology, switch: &Switch, builder: Builder<'_>) -> Result<Entity, DesiredError> {
    let ports = topology.domain.ports;
    let action = builder.action(
        actions::set_reporter::NAME,
        &[
            (params::REPORTER_ID, u128::from(switch.reporter_id)),
            (params::IPV4_ADDRESS, u128::from(u32::from(switch.address))),
            (params::IPV6_ADDRESS, switch.ipv6.map_or(0, u128::from)),
            (params::RDCC_PORT, u128::from(ports.rdcc)),
            (params::CREM_PORT, u128::from(ports.crem)),
            (params::SCONE_PORT, u128::from(ports.scone)),
        ],
    )?;
    builder.default_action(tables::reporter::NAME, action)
}

fn dscp_map(topology: &Topology, builder: Builder<'_>) -> Result<Vec<Sourced>, DesiredError> {
    let entry = |entry: &crate::topology::DscpEntry| {
        let action = builder.action(
            actions::set_class::NAME,
            &[
                (params::TRAFFIC_CLASS, u128::from(entry.class)),
                (params::ROLE, u128::from(entry.role.code())),
                (params::QUEUE, u128::from(entry.queue)),
            ],
        )?;
        let key = [(fields::DSCP, Match::Exact(u64::from(entry.dscp)))];
        Ok((builder.entry(tables::dscp_map::NAME, &key, Act::Action(action))?, Origin::Dscp(entry.dscp)))
    };
    topology.domain.dscp.iter().map(entry).collect()
}

/// A port inside the domain.
fn port_trust(port: u16, builder: Builder<'_>) -> Result<Entity, DesiredError> {
    let action = builder.action(actions::set_trust::NAME, &[(params::DSCP, 1), (params::CONTROL, 1)])?;
    builder.entry(
        tables::port_trust::NAME,
        &[(fields::INGRESS_PORT, Match::Exact(u64::from(port)))],
        Act::Action(action),
    )
}

/// The reports of a port in a second that keep within its limit even if all are of the longest kind that its switch sends;
/// 1 at least.
pub fn reports_per_second(topology: &Topology, switch: &Switch, limit_bps: u64) -> u64 {
    let octets = report_size::longest(&topology.domain.reports, switch.ipv6.is_some());
    (limit_bps / (octets * 8)).max(1)
}

/// The aggregate limit of a port's reports, in packets a second.
fn report_meter(port: u16, rate: u64, builder: Builder<'_>) -> Result<Entity, DesiredError> {
    let burst = (rate / BURST_PER_SECOND).max(MIN_BURST);
    builder.meter(
        meters::report_meter::NAME,
        port,
        i64::try_from(rate).unwrap_or(i64::MAX),
        i64::try_from(burst).unwrap_or(i64::MAX),
    )
}

/// Whether reports are sent about what a queue carries: only about scheduled and unscheduled data.
fn reported(topology: &Topology, queue: u8) -> bool {
    let data = |role| matches!(role, Role::Scheduled | Role::Unscheduled);
    topology.domain.dscp.iter().any(|entry| entry.queue == queue && data(entry.role))
}

/// The table that an entity takes room in.
fn table_needs(entity: &Entity) -> Option<u32> {
    match &entity.entity {
        Some(entity::Entity::TableEntry(entry)) if !entry.is_default_action => Some(entry.table_id),
        _ => None,
    }
}

/// A table that can't hold its entries is found out here, not by the switch halfway through a batch.
fn check_capacity(
    switch: &str,
    needed: BTreeMap<u32, usize>,
    index: &P4InfoIndex,
) -> Result<(), DesiredError> {
    for (id, needed) in needed {
        let table = index.tables.find_id(id)?;
        let limit = table.size;
        if needed > limit {
            let (switch, what) = (switch.to_owned(), format!("table `{}`", table.name));
            return Err(DesiredError::Capacity { switch, what, needed, limit });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
