//! Where every header, field and stack of the program lives in a packet's flat array of 64-bit slots.
//!
//! A header is a run of slots: its validity, then its fields in order, lowest word first, then where in the packet it was
//! extracted from. The elements of a stack are
//! equal runs side by side, so that a computed index is one multiplication. The first slots of the array are the data
//! of a packet (what a clone copies); parameters, temporaries and constants follow.

mod types;

use crate::num::size32;
use std::collections::HashMap;

use crate::json::Root;
use crate::load_error::LoadError;
use types::header_type;
pub(crate) use types::{FieldType, HeaderTypeLayout};

/// Slots of packet data a program may have; more than any sensible program, little enough for any memory.
const MAX_SLOTS: usize = 1 << 18;
/// Widest field, bits: p4c's own limit.
pub(crate) const MAX_WIDTH: usize = 2048;

pub(crate) type Slot = u32;

#[derive(Clone, Debug)]
pub(crate) struct HeaderLayout {
    pub name: String,
    pub type_id: usize,
    pub metadata: bool,
    /// Slot of the validity; the fields follow.
    pub base: Slot,
    /// The union it is part of.
    pub union: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct StackLayout {
    pub type_id: usize,
    pub headers: Vec<usize>,
    /// Slot of the index of the next element.
    pub next: Slot,
    pub stride: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct UnionLayout {
    pub type_id: usize,
    pub headers: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct UnionStackLayout {
    pub type_id: usize,
    pub unions: Vec<usize>,
    pub next: Slot,
    pub stride: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct UnionTypeLayout {
    /// Member name and header type.
    pub headers: Vec<(String, usize)>,
}

/// Everything that has a place, and the names to find it by (while loading only).
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub types: Vec<HeaderTypeLayout>,
    pub headers: Vec<HeaderLayout>,
    pub stacks: Vec<StackLayout>,
    pub union_types: Vec<UnionTypeLayout>,
    pub unions: Vec<UnionLayout>,
    pub union_stacks: Vec<UnionStackLayout>,
    /// Slots of packet data.
    pub data_slots: usize,
    header_names: HashMap<String, usize>,
    stack_names: HashMap<String, usize>,
    union_names: HashMap<String, usize>,
    union_stack_names: HashMap<String, usize>,
    aliases: HashMap<String, (String, String)>,
}

impl Layout {
    /// `silent` says of each header type which of its fields nothing looks at; those not named are looked at.
    pub(crate) fn new(root: &Root, silent: &[Vec<bool>]) -> Result<Layout, LoadError> {
        let mut layout = Layout::default();
        let mut type_names = HashMap::new();
        for (i, t) in root.header_types.iter().enumerate() {
            let at = format!("header_types/{}", t.name);
            let lay = header_type(t, silent.get(i).map_or(&[], Vec::as_slice), &at)?;
            if type_names.insert(t.name.clone(), layout.types.len()).is_some() {
                return Err(LoadError::new(at, "two header types of this name"));
            }
            layout.types.push(lay);
        }
        let mut ids = HashMap::new();
        for h in &root.headers {
            let at = format!("headers/{}", h.name);
            let type_id = *type_names
                .get(&h.header_type)
                .ok_or_else(|| LoadError::new(&at, format!("no header type {:?}", h.header_type)))?;
            let index = layout.headers.len();
            if ids.insert(h.id, index).is_some()
                || layout.header_names.insert(h.name.clone(), index).is_some()
            {
                return Err(LoadError::new(at, "two headers of this name or id"));
            }
            if !h.metadata && layout.types[type_id].fixed_bits % 8 != 0 {
                return Err(LoadError::new(at, "a header's width must be whole octets"));
            }
            layout.headers.push(HeaderLayout {
                name: h.name.clone(),
                type_id,
                metadata: h.metadata,
                base: Slot::MAX,
                union: None,
            });
        }
        let mut union_type_names = HashMap::new();
        for t in &root.header_union_types {
            let mut headers = Vec::new();
            for (name, header_type) in &t.headers {
                let id = type_names.get(header_type).ok_or_else(|| {
                    LoadError::new(
                        format!("header_union_types/{}", t.name),
                        format!("no header type {header_type:?}"),
                    )
                })?;
                headers.push((name.clone(), *id));
            }
            union_type_names.insert(t.name.clone(), layout.union_types.len());
            layout.union_types.push(UnionTypeLayout { headers });
        }
        layout.place(root, &ids, &union_type_names)?;
        for (name, (header, field)) in &root.field_aliases {
            layout.aliases.insert(name.clone(), (header.clone(), field.clone()));
        }
        Ok(layout)
    }

    /// Gives every header its slots: union stacks and unions first, then stacks, then what is left.
    fn place(
        &mut self,
        root: &Root,
        ids: &HashMap<u64, usize>,
        union_types: &HashMap<String, usize>,
    ) -> Result<(), LoadError> {
        let mut union_ids = HashMap::new();
        let mut unions = Vec::new();
        for u in &root.header_unions {
            let at = format!("header_unions/{}", u.name);
            let type_id = *union_types
                .get(&u.union_type)
                .ok_or_else(|| LoadError::new(&at, format!("no union type {:?}", u.union_type)))?;
            let headers = header_list(&u.header_ids, ids, &at)?;
            let types = self.union_types[type_id].headers.iter().map(|(_, t)| *t);
            if !headers.iter().map(|&h| self.headers[h].type_id).eq(types) {
                return Err(LoadError::new(at, "members differ from the union's type"));
            }
            for &h in &headers {
                self.headers[h].union = Some(unions.len());
            }
            union_ids.insert(u.id, unions.len());
            self.union_names.insert(u.name.clone(), unions.len());
            unions.push(UnionLayout { type_id, headers });
        }
        for s in &root.header_union_stacks {
            let at = format!("header_union_stacks/{}", s.name);
            let type_id = *union_types
                .get(&s.union_type)
                .ok_or_else(|| LoadError::new(&at, format!("no union type {:?}", s.union_type)))?;
            let members = header_list(&s.header_union_ids, &union_ids, &at)?;
            if members.is_empty() || members.iter().any(|&u| unions[u].type_id != type_id) {
                return Err(LoadError::new(at, "elements differ from the stack's type"));
            }
            for &u in &members {
                for h in unions[u].headers.clone() {
                    self.place_header(h, &at)?;
                }
            }
            let next = self.slots(1, &at)?;
            let stride = self.union_types[type_id].headers.iter().map(|(_, t)| self.types[*t].slots).sum();
            self.union_stack_names.insert(s.name.clone(), self.union_stacks.len());
            self.union_stacks.push(UnionStackLayout { type_id, unions: members, next, stride });
        }
        for u in &unions {
            for &h in &u.headers {
                if self.headers[h].base == Slot::MAX {
                    self.place_header(h, "header_unions")?;
                }
            }
        }
        self.unions = unions;
        for s in &root.header_stacks {
            let at = format!("header_stacks/{}", s.name);
            let headers = header_list(&s.header_ids, ids, &at)?;
            let Some(&first) = headers.first() else {
                return Err(LoadError::new(at, "a stack without elements"));
            };
            let type_id = self.headers[first].type_id;
            for &h in &headers {
                if self.headers[h].type_id != type_id {
                    return Err(LoadError::new(at, "elements of different types"));
                }
                self.place_header(h, &at)?;
            }
            let next = self.slots(1, &at)?;
            self.stack_names.insert(s.name.clone(), self.stacks.len());
            self.stacks.push(StackLayout { type_id, headers, next, stride: self.types[type_id].slots });
        }
        for h in 0..self.headers.len() {
            if self.headers[h].base == Slot::MAX {
                self.place_header(h, "headers")?;
            }
        }
        Ok(())
    }

    fn place_header(&mut self, header: usize, at: &str) -> Result<(), LoadError> {
        if self.headers[header].base != Slot::MAX {
            return Err(LoadError::new(
                at,
                format!("header {:?} is in two places", self.headers[header].name),
            ));
        }
        let slots = self.types[self.headers[header].type_id].slots;
        self.headers[header].base = self.slots(slots, at)?;
        Ok(())
    }

    fn slots(&mut self, n: usize, at: &str) -> Result<Slot, LoadError> {
        let base = self.data_slots;
        self.data_slots += n;
        if self.data_slots > MAX_SLOTS {
            return Err(LoadError::new(at, format!("more than {MAX_SLOTS} words of headers")));
        }
        Slot::try_from(base).map_err(|_| LoadError::new(at, "too many headers"))
    }

    pub(crate) fn header(&self, name: &str) -> Result<usize, LoadError> {
        self.header_names.get(name).copied().ok_or_else(|| LoadError::new("", format!("no header {name:?}")))
    }

    pub(crate) fn stack(&self, name: &str) -> Result<usize, LoadError> {
        self.stack_names
            .get(name)
            .copied()
            .ok_or_else(|| LoadError::new("", format!("no header stack {name:?}")))
    }

    pub(crate) fn union(&self, name: &str) -> Result<usize, LoadError> {
        self.union_names
            .get(name)
            .copied()
            .ok_or_else(|| LoadError::new("", format!("no header union {name:?}")))
    }

    pub(crate) fn union_stack(&self, name: &str) -> Result<usize, LoadError> {
        let found = self.union_stack_names.get(name).copied();
        found.ok_or_else(|| LoadError::new("", format!("no header union stack {name:?}")))
    }

    pub(crate) fn type_of(&self, header: usize) -> &HeaderTypeLayout {
        &self.types[self.headers[header].type_id]
    }

    /// The slots of a header that count as a packet's octets, in order.
    pub(crate) fn field_slot(&self, header: usize, field: &FieldType) -> Slot {
        self.headers[header].base + size32(field.offset)
    }

    /// Finds `header.field` the way `simple_switch` looks for its own metadata: an alias first, then the name itself.
    pub(crate) fn intrinsic(&self, name: &str) -> Option<Intrinsic> {
        let (header, field) = match self.aliases.get(name) {
            Some((h, f)) => (h.as_str(), f.as_str()),
            None => name.split_once('.')?,
        };
        let header = self.header(header).ok()?;
        let field = self.type_of(header).field(field)?;
        (!field.variable && field.width <= 64)
            .then(|| Intrinsic { slot: self.field_slot(header, field), mask: mask(field.width) })
    }
}

/// A metadata field that the switch itself reads or writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Intrinsic {
    pub slot: Slot,
    pub mask: u64,
}

/// A word with the low `bits` bits set.
pub(crate) fn mask(bits: usize) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

fn header_list(list: &[u64], ids: &HashMap<u64, usize>, at: &str) -> Result<Vec<usize>, LoadError> {
    let find =
        |id: &u64| ids.get(id).copied().ok_or_else(|| LoadError::new(at, format!("no element with id {id}")));
    list.iter().map(find).collect()
}
