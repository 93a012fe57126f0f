//! Arrays of counters, meters and registers, and parser value sets.

use std::ops::Range;

use p4runtime::index::{DataShape, MatchKind, Object};
use p4runtime::p4::v1::{
    self as api, CounterData, CounterEntry, Index, MeterEntry, P4Data, RegisterEntry, ValueSetEntry,
    ValueSetMember, entity, p4_data, update,
};
use p4runtime::status::Code;

use super::convert;
use super::device::{Device, modify_only};
use super::fault::Fault;
use crate::control::{CounterValue, KeyMatch, MeterConfig};

impl Device {
    pub(super) fn write_counter(&mut self, how: update::Type, entry: &CounterEntry) -> Result<(), Fault> {
        modify_only(how, "a counter")?;
        let counter = self.pipeline.index.counters.find_id(entry.counter_id)?;
        let cells = cells(counter, entry.index.as_ref(), counter.size)?;
        let id = self.pipeline.counters[&counter.id];
        // Without data nothing changes.
        let Some(data) = entry.data.as_ref() else { return Ok(()) };
        let value = counter_value(data)?;
        for cell in cells {
            self.switch.set_counter(id, cell, value)?;
        }
        Ok(())
    }

    pub(super) fn read_counters(
        &self,
        filter: &CounterEntry,
        out: &mut Vec<entity::Entity>,
    ) -> Result<(), Fault> {
        if filter.counter_id != 0 {
            self.pipeline.index.counters.find_id(filter.counter_id)?;
        }
        for counter in &self.pipeline.index.counters {
            if filter.counter_id != 0 && filter.counter_id != counter.id {
                continue;
            }
            let cells = cells(counter, filter.index.as_ref(), counter.size)?;
            self.counter_cells(counter.id, cells, out)?;
        }
        Ok(())
    }

    fn counter_cells(
        &self,
        counter_id: u32,
        cells: Range<u64>,
        out: &mut Vec<entity::Entity>,
    ) -> Result<(), Fault> {
        let id = self.pipeline.counters[&counter_id];
        for cell in cells {
            out.push(entity::Entity::CounterEntry(CounterEntry {
                counter_id,
                index: Some(index(cell)),
                data: Some(counter_data(self.switch.counter(id, cell)?)),
            }));
        }
        Ok(())
    }

    pub(super) fn write_meter(&mut self, how: update::Type, entry: &MeterEntry) -> Result<(), Fault> {
        modify_only(how, "a meter")?;
        if entry.counter_data.is_some() {
            return Err(Fault::unimplemented("meters don't count by colour"));
        }
        let meter = self.pipeline.index.meters.find_id(entry.meter_id)?;
        let cells = cells(meter, entry.index.as_ref(), meter.size)?;
        let id = self.pipeline.meters[&meter.id];
        let at = format!("meter `{}`", meter.name);
        let config = entry.config.as_ref().map(meter_config).transpose().map_err(|fault| fault.at(&at))?;
        for cell in cells {
            self.switch.set_meter(id, cell, config).map_err(|error| Fault::from(error).at(&at))?;
        }
        Ok(())
    }

    pub(super) fn read_meters(
        &self,
        filter: &MeterEntry,
        out: &mut Vec<entity::Entity>,
    ) -> Result<(), Fault> {
        if filter.meter_id != 0 {
            self.pipeline.index.meters.find_id(filter.meter_id)?;
        }
        for meter in &self.pipeline.index.meters {
            if filter.meter_id != 0 && filter.meter_id != meter.id {
                continue;
            }
            let cells = cells(meter, filter.index.as_ref(), meter.size)?;
            self.meter_cells(meter.id, cells, out)?;
        }
        Ok(())
    }

    fn meter_cells(
        &self,
        meter_id: u32,
        cells: Range<u64>,
        out: &mut Vec<entity::Entity>,
    ) -> Result<(), Fault> {
        let id = self.pipeline.meters[&meter_id];
        for cell in cells {
            out.push(entity::Entity::MeterEntry(MeterEntry {
                meter_id,
                index: Some(index(cell)),
                config: self.switch.meter(id, cell)?.map(meter_message),
                counter_data: None,
            }));
        }
        Ok(())
    }

    pub(super) fn write_register(&mut self, how: update::Type, entry: &RegisterEntry) -> Result<(), Fault> {
        modify_only(how, "a register")?;
        let register = self.pipeline.index.registers.find_id(entry.register_id)?;
        let at = format!("register `{}`", register.name);
        let cells = cells(register, entry.index.as_ref(), register.size)?;
        let id = self.pipeline.registers[&register.id];
        let DataShape::Bits(width) = register.shape else {
            return Err(Fault::unimplemented("registers of structs").at(&at));
        };
        let Some(P4Data { data: Some(p4_data::Data::Bitstring(octets)) }) = entry.data.as_ref() else {
            return Err(Fault::invalid("a bit string is wanted").at(&at));
        };
        let value = convert::value(octets, width).map_err(|fault| fault.at(&at))?;
        for cell in cells {
            self.switch.set_register(id, cell, &value)?;
        }
        Ok(())
    }

    pub(super) fn read_registers(
        &self,
        filter: &RegisterEntry,
        out: &mut Vec<entity::Entity>,
    ) -> Result<(), Fault> {
        if filter.register_id != 0 {
            self.pipeline.index.registers.find_id(filter.register_id)?;
        }
        for register in &self.pipeline.index.registers {
            if filter.register_id != 0 && filter.register_id != register.id {
                continue;
            }
            let cells = cells(register, filter.index.as_ref(), register.size)?;
            self.register_cells(register.id, cells, out)?;
        }
        Ok(())
    }

    fn register_cells(
        &self,
        register_id: u32,
        cells: Range<u64>,
        out: &mut Vec<entity::Entity>,
    ) -> Result<(), Fault> {
        let id = self.pipeline.registers[&register_id];
        for cell in cells {
            let value = self.switch.register(id, cell)?;
            out.push(entity::Entity::RegisterEntry(RegisterEntry {
                register_id,
                index: Some(index(cell)),
                data: Some(bits(value.octets())),
            }));
        }
        Ok(())
    }

    /// The arrays and their cells that a request stands for, if it is for all cells of counters, meters or registers that
    /// there are.
    #[cfg(feature = "grpc")]
    pub(super) fn cells_read(&self, wanted: &entity::Entity) -> Option<Vec<(u32, u64)>> {
        let index = &self.pipeline.index;
        let (id, all): (u32, Vec<(u32, usize)>) = match wanted {
            entity::Entity::CounterEntry(e) if e.index.is_none() => {
                (e.counter_id, index.counters.iter().map(|c| (c.id, c.size)).collect())
            }
            entity::Entity::MeterEntry(e) if e.index.is_none() => {
                (e.meter_id, index.meters.iter().map(|m| (m.id, m.size)).collect())
            }
            entity::Entity::RegisterEntry(e) if e.index.is_none() => {
                (e.register_id, index.registers.iter().map(|r| (r.id, r.size)).collect())
            }
            _ => return None,
        };
        let wanted = all.into_iter().filter(|&(array, _)| id == 0 || id == array);
        Some(wanted.map(|(array, cells)| (array, cells as u64)).collect())
    }

    /// Some cells of an array of the kind that a request is for.
    #[cfg(feature = "grpc")]
    pub(super) fn read_cells(
        &self,
        wanted: &entity::Entity,
        array: u32,
        cells: Range<u64>,
        out: &mut Vec<entity::Entity>,
    ) -> Result<(), Fault> {
        match wanted {
            entity::Entity::CounterEntry(_) => self.counter_cells(array, cells, out),
            entity::Entity::MeterEntry(_) => self.meter_cells(array, cells, out),
            _ => self.register_cells(array, cells, out),
        }
    }

    pub(super) fn write_value_set(&mut self, how: update::Type, entry: &ValueSetEntry) -> Result<(), Fault> {
        modify_only(how, "a value set")?;
        let set = self.pipeline.index.value_sets.find_id(entry.value_set_id)?;
        let at = format!("value set `{}`", set.name);
        let id = self.pipeline.value_sets[&set.id];
        let members = entry
            .members
            .iter()
            .map(|member| {
                set.fields
                    .iter()
                    .map(|field| match member.r#match.iter().find(|given| given.field_id == field.id) {
                        Some(given) => convert::component(field, given)
                            .map_err(|fault| fault.at(&format!("field `{}`", field.name))),
                        None if field.kind == MatchKind::Exact => Err(Fault::invalid(format!(
                            "field `{}` is exact and can't be left out",
                            field.name
                        ))),
                        None => Ok(KeyMatch::Any),
                    })
                    .collect::<Result<Vec<_>, Fault>>()
            })
            .collect::<Result<Vec<_>, Fault>>()
            .map_err(|fault| fault.at(&at))?;
        self.switch.set_value_set(id, members).map_err(|error| Fault::from(error).at(&at))
    }

    pub(super) fn read_value_sets(
        &self,
        filter: &ValueSetEntry,
        out: &mut Vec<entity::Entity>,
    ) -> Result<(), Fault> {
        if filter.value_set_id != 0 {
            self.pipeline.index.value_sets.find_id(filter.value_set_id)?;
        }
        for set in &self.pipeline.index.value_sets {
            if filter.value_set_id != 0 && filter.value_set_id != set.id {
                continue;
            }
            let members = self.switch.value_set(self.pipeline.value_sets[&set.id])?;
            let members = members
                .iter()
                .map(|member| ValueSetMember {
                    r#match: set
                        .fields
                        .iter()
                        .zip(member)
                        .filter_map(|(field, component)| convert::component_message(field, component))
                        .collect(),
                })
                .collect();
            out.push(entity::Entity::ValueSetEntry(ValueSetEntry { value_set_id: set.id, members }));
        }
        Ok(())
    }
}

/// The cells that an index stands for; without index all of them.
fn cells(array: &impl Object, index: Option<&Index>, size: usize) -> Result<Range<u64>, Fault> {
    let size = size as u64;
    let Some(&Index { index }) = index else { return Ok(0..size) };
    let place =
        u64::try_from(index).map_err(|_| Fault::invalid(format!("`{}`: index {index}", array.name())))?;
    if place >= size {
        let what = format!("`{}`: index {index}, but it has {size} cells", array.name());
        return Err(Fault::new(Code::OutOfRange, what));
    }
    Ok(place..place + 1)
}

fn index(cell: u64) -> Index {
    Index { index: i64::try_from(cell).unwrap_or(i64::MAX) }
}

/// A value of bits as the API writes it.
pub(super) fn bits(octets: &[u8]) -> P4Data {
    P4Data { data: Some(p4_data::Data::Bitstring(octets.to_vec())) }
}

pub(super) fn counter_value(data: &CounterData) -> Result<CounterValue, Fault> {
    let count = |value: i64| u64::try_from(value).map_err(|_| Fault::invalid("a negative count"));
    Ok(CounterValue { packets: count(data.packet_count)?, octets: count(data.byte_count)? })
}

pub(super) fn counter_data(value: CounterValue) -> CounterData {
    let count = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    CounterData { byte_count: count(value.octets), packet_count: count(value.packets) }
}

pub(super) fn meter_config(config: &api::MeterConfig) -> Result<MeterConfig, Fault> {
    let rate = |value: i64, what: &str| {
        u64::try_from(value).map_err(|_| Fault::invalid(format!("{what} is negative: {value}")))
    };
    if config.eburst != 0 {
        return Err(Fault::invalid("eburst is for single-rate meters; v1model has two-rate ones"));
    }
    Ok(MeterConfig {
        cir: rate(config.cir, "cir")?,
        cburst: rate(config.cburst, "cburst")?,
        pir: rate(config.pir, "pir")?,
        pburst: rate(config.pburst, "pburst")?,
    })
}

pub(super) fn meter_message(config: MeterConfig) -> api::MeterConfig {
    let rate = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    api::MeterConfig {
        cir: rate(config.cir),
        cburst: rate(config.cburst),
        pir: rate(config.pir),
        pburst: rate(config.pburst),
        eburst: 0,
    }
}
