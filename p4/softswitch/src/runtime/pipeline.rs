//! A program as controller and switch see it together: P4Info ids bound to the compiled program's indices.

use std::collections::HashMap;
use std::sync::Arc;

use p4runtime::P4InfoIndex;
use p4runtime::index::{ControllerHeader, Object, Objects, Table};
use p4runtime::p4::config::v1::P4Info;
use p4runtime::p4::v1::ForwardingPipelineConfig;

use super::fault::Fault;
use crate::Program;
use crate::control::{
    ActionId, ControlError, CounterId, MeterId, ProfileId, RegisterId, TableId, ValueSetId,
};

/// An action as one table (or profile) knows it.
#[derive(Clone, Debug)]
pub(super) struct BoundAction {
    pub id: ActionId,
    /// For each parameter of the program, the place of the same parameter in P4Info.
    pub params: Vec<usize>,
}

/// The actions of one table or profile, both ways.
#[derive(Clone, Debug, Default)]
pub(super) struct BoundActions {
    pub by_p4_id: HashMap<u32, BoundAction>,
    pub p4_ids: HashMap<ActionId, u32>,
}

/// A table.
#[derive(Clone, Debug)]
pub(super) struct BoundTable {
    pub id: TableId,
    /// For each key field of the program, the place of the same field in P4Info.
    pub keys: Vec<usize>,
    pub actions: BoundActions,
}

/// An action profile.
#[derive(Clone, Debug)]
pub(super) struct BoundProfile {
    pub id: ProfileId,
    pub actions: BoundActions,
}

/// A program, checked and bound. Immutable.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub config: ForwardingPipelineConfig,
    pub index: P4InfoIndex,
    pub program: Arc<Program>,
    pub tables: HashMap<u32, BoundTable>,
    pub table_ids: HashMap<TableId, u32>,
    pub profiles: HashMap<u32, BoundProfile>,
    pub counters: HashMap<u32, CounterId>,
    pub meters: HashMap<u32, MeterId>,
    pub registers: HashMap<u32, RegisterId>,
    pub value_sets: HashMap<u32, ValueSetId>,
    /// P4Info digest of each list of the program.
    pub digests: HashMap<u32, u32>,
}

impl Pipeline {
    /// Compiles and binds.
    ///
    /// # Errors
    /// The device config isn't a program of ours, the P4Info is inconsistent, or they don't belong together.
    pub fn new(config: ForwardingPipelineConfig) -> Result<Pipeline, Fault> {
        let info = config.p4info.clone().ok_or_else(|| Fault::invalid("the config has no P4Info"))?;
        if config.p4_device_config.is_empty() {
            return Err(Fault::invalid(
                "p4_device_config is empty: the JSON that p4c writes for BMv2 is wanted",
            ));
        }
        let program = Program::from_json(&config.p4_device_config)
            .map_err(|error| Fault::invalid(format!("p4_device_config can't be run: {error}")))?;
        let index = P4InfoIndex::new(with_widths(info, &program))?;
        let mut tables = HashMap::new();
        for table in &index.tables {
            tables.insert(table.id, bind_table(&index, &program, table)?);
        }
        let mut profiles = HashMap::new();
        for profile in &index.action_profiles {
            let id = program.profile(&profile.name).map_err(|error| apart(&error))?;
            // The profile's actions are those of its tables; P4Info gives a profile none of its own.
            let mut actions = BoundActions::default();
            for table in profile.tables.iter().filter_map(|&table| index.tables.by_id(table)) {
                for action in &table.actions {
                    let name = action_name(&index, action.id)?;
                    // Default-only actions aren't the profile's.
                    if let Ok(found) = program.profile_action(id, name) {
                        bind_action(&index, &program, &mut actions, action.id, found)?;
                    }
                }
            }
            profiles.insert(profile.id, BoundProfile { id, actions });
        }
        for header in &index.controller_headers {
            check_header(header)?;
        }
        let table_ids = tables.iter().map(|(&p4, bound)| (bound.id, p4)).collect();
        let digests = bind_digests(&index, &program)?;
        Ok(Pipeline {
            tables,
            table_ids,
            profiles,
            counters: bind(&index.counters, |name| program.counter(name))?,
            meters: bind(&index.meters, |name| program.meter(name))?,
            registers: bind(&index.registers, |name| program.register(name))?,
            value_sets: bind(&index.value_sets, |name| program.value_set(name))?,
            digests,
            config,
            index,
            program,
        })
    }

    /// # Errors
    /// No such id in the P4Info.
    pub fn table(&self, id: u32) -> Result<(&Table, &BoundTable), Fault> {
        let table = self.index.tables.find_id(id)?;
        let bound = self.tables.get(&id).ok_or_else(|| Fault::invalid("unbound table"))?;
        Ok((table, bound))
    }

    /// Whether a table's entries can't be changed. `simple_switch` fixes those of every table that the program brings
    /// entries for, whether P4Info calls it constant or not: its JSON doesn't tell.
    pub fn is_fixed(&self, table: &Table, bound: &BoundTable) -> bool {
        table.is_const || self.program.tables().get(bound.id.0).is_some_and(|info| info.const_entries)
    }

    /// A table by the program's index.
    pub fn table_of(&self, id: TableId) -> Option<(&Table, &BoundTable)> {
        self.table_ids.get(&id).and_then(|&p4| self.table(p4).ok())
    }
}

/// P4Info gives keys of the type `error` no width; the program's holds then. Types that are translated to text have no
/// width either, but a name: they stay without, and their values are refused.
fn with_widths(mut info: P4Info, program: &Program) -> P4Info {
    for table in &mut info.tables {
        let name = table.preamble.as_ref().map_or("", |preamble| preamble.name.as_str());
        let keys =
            program.table(name).ok().and_then(|id| program.tables().get(id.0)).map(|table| &table.keys);
        let without =
            table.match_fields.iter_mut().filter(|field| field.bitwidth == 0 && field.type_name.is_none());
        for field in without {
            let key = keys.and_then(|keys| keys.iter().find(|key| key.name == field.name));
            field.bitwidth = key.and_then(|key| i32::try_from(key.width).ok()).unwrap_or(0);
        }
    }
    info
}

fn apart(error: &ControlError) -> Fault {
    Fault::invalid(format!("P4Info and p4_device_config don't belong together: {error}"))
}

fn bind<T: Object, Id>(
    objects: &Objects<T>,
    find: impl Fn(&str) -> Result<Id, ControlError>,
) -> Result<HashMap<u32, Id>, Fault> {
    objects
        .iter()
        .map(|object| Ok((object.id(), find(object.name()).map_err(|error| apart(&error))?)))
        .collect()
}

fn action_name(index: &P4InfoIndex, id: u32) -> Result<&str, Fault> {
    Ok(&index.actions.find_id(id)?.name)
}

fn bind_table(index: &P4InfoIndex, program: &Program, table: &Table) -> Result<BoundTable, Fault> {
    let id = program.table(&table.name).map_err(|error| apart(&error))?;
    let what = format!("table `{}`", table.name);
    let info = program.tables().get(id.0).ok_or_else(|| Fault::invalid("unbound table"))?;
    let different =
        || Fault::invalid(format!("P4Info and p4_device_config don't agree on the key of {what}"));
    if info.keys.len() != table.fields.len() {
        return Err(different());
    }
    let keys = info
        .keys
        .iter()
        .map(|key| {
            let place = table.fields.iter().position(|field| field.name == key.name);
            place.filter(|&place| table.fields[place].width == key.width).ok_or_else(different)
        })
        .collect::<Result<Vec<_>, Fault>>()?;
    let mut actions = BoundActions::default();
    for action in &table.actions {
        let found =
            program.table_action(id, action_name(index, action.id)?).map_err(|error| apart(&error))?;
        bind_action(index, program, &mut actions, action.id, found)?;
    }
    Ok(BoundTable { id, keys, actions })
}

fn bind_action(
    index: &P4InfoIndex,
    program: &Program,
    actions: &mut BoundActions,
    p4_id: u32,
    id: ActionId,
) -> Result<(), Fault> {
    let action = index.actions.find_id(p4_id)?;
    let different = || {
        let what = &action.name;
        Fault::invalid(format!(
            "P4Info and p4_device_config don't agree on the parameters of action `{what}`"
        ))
    };
    let info = program.actions().get(id.0).ok_or_else(different)?;
    if info.params.len() != action.params.len() {
        return Err(different());
    }
    let params = info
        .params
        .iter()
        .map(|param| {
            let place = action.params.iter().position(|other| other.name == param.name);
            place.filter(|&place| action.params[place].width == param.width)
        })
        .collect::<Option<Vec<_>>>();
    // Parameters that `@name` renames carry the new name in P4Info only: then the order tells.
    let params = params.or_else(|| {
        let same = info.params.iter().zip(&action.params).all(|(ours, theirs)| ours.width == theirs.width);
        same.then(|| (0..info.params.len()).collect())
    });
    actions.by_p4_id.insert(p4_id, BoundAction { id, params: params.ok_or_else(different)? });
    actions.p4_ids.insert(id, p4_id);
    Ok(())
}

fn bind_digests(index: &P4InfoIndex, program: &Program) -> Result<HashMap<u32, u32>, Fault> {
    let mut digests = HashMap::new();
    // The program's lists are numbered from 1 without gaps.
    for list in 1.. {
        let Some(info) = program.digest(list) else { break };
        digests.insert(list, index.digests.find(&info.name)?.id);
    }
    Ok(digests)
}

fn check_header(header: &ControllerHeader) -> Result<(), Fault> {
    let bits: usize = header.fields.iter().map(|field| field.width).sum();
    if bits.is_multiple_of(8) {
        return Ok(());
    }
    Err(Fault::invalid(format!("header `{}` has {bits} bits, which aren't whole octets", header.name)))
}
