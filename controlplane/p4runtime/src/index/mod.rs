//! Finds the parts of a P4Info by name or id, with the widths of all values.
//!
//! ```
//! let info = p4runtime::p4info::parse_text(
//!     r#"tables { preamble { id: 33554433 name: "ipv4_route" alias: "ipv4_route" }
//!                 match_fields { id: 1 name: "dst_addr" bitwidth: 32 match_type: LPM } }"#,
//! )?;
//! let index = p4runtime::P4InfoIndex::new(info)?;
//! let table = index.tables.find("ipv4_route")?;
//! assert_eq!(table.fields[0].width, 32);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod externs;
mod objects;
mod parts;

pub use externs::{
    ActionProfile, ControllerHeader, Counter, DataShape, Digest, Direct, Meter, Register, Unit, ValueSet,
};
pub use objects::{Object, Objects};
pub use parts::{Action, ActionRef, Field, MatchKind, Param, Table};

use crate::p4::config::v1::{P4Info, counter_spec, meter_spec};

/// Why a P4Info can't be used, or a name isn't in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// An object without preamble, hence without id and name.
    #[error("P4Info: a {kind} without preamble")]
    NoPreamble {
        /// Kind of the object.
        kind: &'static str,
    },
    /// Two objects of one kind share an id or a name.
    #[error("P4Info: two {kind}s with the same id or name `{what}`")]
    Duplicate {
        /// Kind of the objects.
        kind: &'static str,
        /// The name or id they share.
        what: String,
    },
    /// An object refers to an id that is nowhere defined.
    #[error("P4Info: {owner} refers to {kind} {id:#010x}, which is not defined")]
    Dangling {
        /// The object that refers.
        owner: String,
        /// Kind of what is missing.
        kind: &'static str,
        /// The missing id.
        id: u32,
    },
    /// A match kind or type that isn't supported.
    #[error("P4Info: {owner}: {what} is not supported")]
    Unsupported {
        /// The object.
        owner: String,
        /// What of it.
        what: String,
    },
    /// No object of that name.
    #[error("no {kind} `{name}` in the P4Info (it has {known})")]
    UnknownName {
        /// Kind that was looked for.
        kind: &'static str,
        /// The name that was asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// No object of that id.
    #[error("no {kind} with id {id:#010x} in the P4Info")]
    UnknownId {
        /// Kind that was looked for.
        kind: &'static str,
        /// The id that was asked for.
        id: u32,
    },
}

/// A P4Info, indexed. Immutable.
#[derive(Clone, Debug, Default)]
pub struct P4InfoIndex {
    info: P4Info,
    /// Match-action tables.
    pub tables: Objects<Table>,
    /// Actions.
    pub actions: Objects<Action>,
    /// Action profiles and selectors.
    pub action_profiles: Objects<ActionProfile>,
    /// Counter arrays.
    pub counters: Objects<Counter>,
    /// Counters in table entries.
    pub direct_counters: Objects<Direct>,
    /// Meter arrays.
    pub meters: Objects<Meter>,
    /// Meters in table entries.
    pub direct_meters: Objects<Direct>,
    /// Register arrays.
    pub registers: Objects<Register>,
    /// Digest messages.
    pub digests: Objects<Digest>,
    /// `packet_in` and `packet_out`.
    pub controller_headers: Objects<ControllerHeader>,
    /// Parser value sets.
    pub value_sets: Objects<ValueSet>,
}

impl P4InfoIndex {
    /// Indexes a P4Info.
    ///
    /// # Errors
    /// Duplicates, dangling references, unsupported match kinds.
    pub fn new(info: P4Info) -> Result<P4InfoIndex, IndexError> {
        let actions = Objects::build(info.actions.iter().map(Action::new))?;
        let direct_counters = Objects::build(info.direct_counters.iter().map(|counter| {
            let unit = counter.spec.map_or(0, |spec| spec.unit);
            Direct::new(
                "direct counter",
                counter.preamble.as_ref(),
                counter.direct_table_id,
                counter_unit(unit),
            )
        }))?;
        let direct_meters = Objects::build(info.direct_meters.iter().map(|meter| {
            let unit = meter.spec.map_or(0, |spec| spec.unit);
            Direct::new("direct meter", meter.preamble.as_ref(), meter.direct_table_id, meter_unit(unit))
        }))?;
        let action_profiles: Objects<ActionProfile> =
            Objects::build(info.action_profiles.iter().map(ActionProfile::new))?;
        let mut tables = Vec::with_capacity(info.tables.len());
        for table in &info.tables {
            let table = Table::new(table, &direct_counters, &direct_meters)?;
            for action in &table.actions {
                actions.dangling(&table.name, action.id)?;
            }
            if let Some(profile) = table.implementation {
                action_profiles.dangling(&table.name, profile)?;
            }
            tables.push(Ok(table));
        }
        Ok(P4InfoIndex {
            tables: Objects::build(tables.into_iter())?,
            actions,
            action_profiles,
            counters: Objects::build(info.counters.iter().map(Counter::new))?,
            direct_counters,
            meters: Objects::build(info.meters.iter().map(Meter::new))?,
            direct_meters,
            registers: Objects::build(
                info.registers.iter().map(|register| Register::new(register, info.type_info.as_ref())),
            )?,
            digests: Objects::build(
                info.digests.iter().map(|digest| Digest::new(digest, info.type_info.as_ref())),
            )?,
            controller_headers: Objects::build(
                info.controller_packet_metadata.iter().map(ControllerHeader::new),
            )?,
            value_sets: Objects::build(info.value_sets.iter().map(ValueSet::new))?,
            info,
        })
    }

    /// The P4Info as it came.
    pub fn info(&self) -> &P4Info {
        &self.info
    }
}

pub(crate) fn counter_unit(unit: i32) -> Unit {
    match counter_spec::Unit::try_from(unit) {
        Ok(counter_spec::Unit::Bytes) => Unit::Octets,
        Ok(counter_spec::Unit::Packets) => Unit::Packets,
        _ => Unit::Both,
    }
}

pub(crate) fn meter_unit(unit: i32) -> Unit {
    if unit == meter_spec::Unit::Packets as i32 { Unit::Packets } else { Unit::Octets }
}

#[cfg(test)]
mod tests;
