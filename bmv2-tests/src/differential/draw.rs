//! Random entries and frames from a seed, the same for ever.

use p4runtime::bytes;
use p4runtime::index::{Action, Field, MatchKind, Table};
use p4runtime::p4::v1::{
    self as api, Entity, Update, action_profile_group::Member as GroupMember, entity, field_match,
    packet_replication_engine_entry, replica, table_action, update,
};

use crate::program::Program;

/// Entries drawn for each table.
const ENTRIES: u64 = 8;
/// Shortest frame that an interface takes, in or out.
pub const SHORTEST: usize = 14;
/// Linux drops what says that it has a VLAN tag and hasn't so many octets, before any program sees it.
const SHORTEST_TAGGED: usize = 20;

/// A small generator (splitmix64).
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// From a seed.
    #[must_use]
    pub fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// A number below `limit`, which isn't 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length.max(1) as u64)).unwrap_or_default()
    }

    /// One of them, if there is any.
    pub fn one_of<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        choices.get(self.index(choices.len()))
    }

    fn octet(&mut self) -> u8 {
        self.next().to_be_bytes()[0]
    }

    /// Changes some octets, and sometimes the length.
    pub fn change(&mut self, frame: &mut Vec<u8>) {
        match self.below(8) {
            0 => {
                let length = self.index(frame.len() + 1);
                frame.truncate(length);
            }
            1 => {
                let more = self.index(64);
                frame.extend((0..more).map(|_| self.octet()));
            }
            _ => {}
        }
        for _ in 0..self.below(4) {
            let (at, octet) = (self.index(frame.len()), self.octet());
            if let Some(place) = frame.get_mut(at) {
                *place = if octet & 1 == 0 { *place ^ 1 << (octet >> 5) } else { octet };
            }
        }
        frame.resize(frame.len().max(SHORTEST), 0);
        if matches!(frame[12..14], [0x81, 0x00] | [0x88, 0xa8]) {
            frame.resize(frame.len().max(SHORTEST_TAGGED), 0);
        }
    }

    /// Entries for every table of a program; clone sessions and multicast groups 1 to 4.
    pub fn updates(&mut self, program: &Program, frames: &[(u16, Vec<u8>)], ports: u16) -> Vec<Update> {
        let mut updates = replication(ports);
        for profile in &program.index.action_profiles {
            let table = profile.tables.first().and_then(|&id| program.index.tables.by_id(id));
            let Some(table) = table else { continue };
            let mut members = Vec::new();
            for member_id in 1..=4 {
                let Some(action) = self.action(program, table, frames, ports) else { continue };
                let member = api::ActionProfileMember {
                    action_profile_id: profile.id,
                    member_id,
                    action: Some(action),
                };
                updates.push(insert(entity::Entity::ActionProfileMember(member)));
                members.push(GroupMember { member_id, weight: 1, ..GroupMember::default() });
            }
            if profile.with_selector {
                let group = api::ActionProfileGroup {
                    action_profile_id: profile.id,
                    group_id: 1,
                    members,
                    ..api::ActionProfileGroup::default()
                };
                updates.push(insert(entity::Entity::ActionProfileGroup(group)));
            }
        }
        for table in program.index.tables.iter().filter(|table| can_be_filled(table)) {
            for place in 0..ENTRIES {
                updates.extend(self.entry(program, table, frames, ports, place));
            }
        }
        updates
    }

    fn entry(
        &mut self,
        program: &Program,
        table: &Table,
        frames: &[(u16, Vec<u8>)],
        ports: u16,
        place: u64,
    ) -> Option<Update> {
        let call = match table.implementation.and_then(|id| program.index.action_profiles.by_id(id)) {
            Some(profile) if profile.with_selector && self.below(2) == 0 => {
                table_action::Type::ActionProfileGroupId(1)
            }
            Some(_) => table_action::Type::ActionProfileMemberId(u32::try_from(1 + self.below(4)).ok()?),
            None => table_action::Type::Action(self.action(program, table, frames, ports)?),
        };
        let needs_priority = table.fields.iter().any(|field| field.kind.needs_priority());
        let entry = api::TableEntry {
            table_id: table.id,
            r#match: table.fields.iter().filter_map(|field| self.field(field, frames)).collect(),
            action: Some(api::TableAction { r#type: Some(call) }),
            // All different: which of two equal ones wins isn't specified.
            priority: if needs_priority { i32::try_from(place + 1).ok()? } else { 0 },
            ..api::TableEntry::default()
        };
        Some(insert(entity::Entity::TableEntry(entry)))
    }

    fn action(
        &mut self,
        program: &Program,
        table: &Table,
        frames: &[(u16, Vec<u8>)],
        ports: u16,
    ) -> Option<api::Action> {
        let usable: Vec<&Action> = table
            .actions
            .iter()
            .filter(|action| action.in_entries)
            .filter_map(|action| program.index.actions.by_id(action.id))
            .collect();
        let action = *self.one_of(&usable)?;
        let params = action
            .params
            .iter()
            .map(|param| {
                let value = if param.width == 9 {
                    bytes::encode(self.below(ports.into()).into())
                } else {
                    self.value(param.width, frames)
                };
                api::action::Param { param_id: param.id, value }
            })
            .collect();
        Some(api::Action { action_id: action.id, params })
    }

    /// What a key field must be; nothing for one that may be anything.
    fn field(&mut self, field: &Field, frames: &[(u16, Vec<u8>)]) -> Option<api::FieldMatch> {
        use field_match::FieldMatchType as Type;
        let value = self.value(field.width, frames);
        let kind = match field.kind {
            MatchKind::Exact => Type::Exact(field_match::Exact { value }),
            MatchKind::Optional if self.below(3) == 0 => return None,
            MatchKind::Optional => Type::Optional(field_match::Optional { value }),
            MatchKind::Lpm => {
                let prefix = self.index(field.width + 1);
                let mask: Vec<bool> = (0..field.width).map(|bit| bit < prefix).collect();
                let prefix_len = i32::try_from(prefix).ok().filter(|&length| length > 0)?;
                Type::Lpm(field_match::Lpm { value: masked(&value, &mask), prefix_len })
            }
            MatchKind::Ternary => {
                let some = self.below(2) == 0;
                let mask: Vec<bool> = (0..field.width).map(|_| some || self.below(4) == 0).collect();
                let ones = masked(&vec![0xff; field.width.div_ceil(8)], &mask);
                if bytes::significant_bits(&ones) == 0 {
                    return None;
                }
                Type::Ternary(field_match::Ternary { value: masked(&value, &mask), mask: ones })
            }
            MatchKind::Range => {
                let other = self.value(field.width, frames);
                let key = |value: &[u8]| (value.len(), value.to_vec());
                let (low, high) = if key(&value) <= key(&other) { (value, other) } else { (other, value) };
                let all = vec![true; field.width];
                if bytes::significant_bits(&low) == 0
                    && high == masked(&vec![0xff; field.width.div_ceil(8)], &all)
                {
                    return None;
                }
                Type::Range(field_match::Range { low, high })
            }
        };
        Some(api::FieldMatch { field_id: field.id, field_match_type: Some(kind) })
    }

    /// A canonical value of so many bits: often what stands somewhere in a frame, sometimes small, else anything.
    fn value(&mut self, width: usize, frames: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let octets = width.div_ceil(8);
        let all = vec![true; width];
        match self.below(4) {
            0 => bytes::encode(
                u128::from(self.below(4)) & (u128::MAX >> 128usize.saturating_sub(width).min(127)),
            ),
            1 => {
                let value: Vec<u8> = (0..octets).map(|_| self.octet()).collect();
                masked(&value, &all)
            }
            _ => {
                let frame = self.one_of(frames).map_or(&[][..], |(_, frame)| frame);
                let at = self.index(frame.len().saturating_sub(octets) + 1);
                masked(frame.get(at..at + octets).unwrap_or(&[0]), &all)
            }
        }
    }
}

/// The low bits of a value where `mask`, highest bit first, is set; canonical.
fn masked(value: &[u8], mask: &[bool]) -> Vec<u8> {
    let mut out = vec![0u8; mask.len().div_ceil(8)];
    for (from_high, _) in mask.iter().enumerate().filter(|(_, set)| **set) {
        let bit = mask.len() - 1 - from_high;
        let octet = value.len().checked_sub(1 + bit / 8).and_then(|at| value.get(at)).copied().unwrap_or(0);
        let at = out.len() - 1 - bit / 8;
        out[at] |= octet & 1 << (bit % 8);
    }
    bytes::canonical(&out)
}

fn insert(entity: entity::Entity) -> Update {
    Update { r#type: update::Type::Insert.into(), entity: Some(Entity { entity: Some(entity) }) }
}

/// Clone sessions and multicast groups 1 to 4. BMv2 refuses port 0 in a group.
fn replication(ports: u16) -> Vec<Update> {
    let copy = |instance: u32, port: u16| api::Replica {
        instance,
        port_kind: Some(replica::PortKind::Port(bytes::encode(port.into()))),
    };
    let mut updates = Vec::new();
    for id in 1..=4u16 {
        let session = api::CloneSessionEntry {
            session_id: id.into(),
            replicas: vec![copy(1, id % ports)],
            ..api::CloneSessionEntry::default()
        };
        let group = api::MulticastGroupEntry {
            multicast_group_id: id.into(),
            replicas: (0..=id).map(|n| copy(u32::from(n) + 1, 1 + n % (ports - 1))).collect(),
            ..api::MulticastGroupEntry::default()
        };
        for kind in [
            packet_replication_engine_entry::Type::CloneSessionEntry(session),
            packet_replication_engine_entry::Type::MulticastGroupEntry(group),
        ] {
            let entry = api::PacketReplicationEngineEntry { r#type: Some(kind) };
            updates.push(insert(entity::Entity::PacketReplicationEngineEntry(entry)));
        }
    }
    updates
}

/// Whether entries can be written. P4Info gives a key of type `error` no bits, and BMv2 then takes no value.
fn can_be_filled(table: &Table) -> bool {
    !table.is_const && !table.fields.is_empty() && table.fields.iter().all(|field| field.width > 0)
}
