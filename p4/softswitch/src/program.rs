//! The compiled program.

use std::collections::HashMap;
use std::sync::Arc;

use crate::control::{
    ActionId, ActionInfo, ArrayInfo, ControlError, CounterId, MatchKind, MeterId, NewEntry, ProfileId,
    ProfileInfo, RegisterId, TableId, TableInfo, ValueSetId, ValueSetInfo,
};
use crate::hash::Algorithm;
use crate::layout::{Intrinsic, Slot};
pub use crate::load_error::LoadError;
use crate::ops::{Extern, Indexed, Op, WideOp};

/// No next node: the pipeline ends.
pub(crate) const END: u32 = u32::MAX;

/// The metadata fields that the switch itself reads and writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standard {
    pub ingress_port: Intrinsic,
    pub packet_length: Intrinsic,
    pub instance_type: Intrinsic,
    pub egress_spec: Intrinsic,
    pub egress_port: Intrinsic,
    pub ingress_timestamp: Option<Intrinsic>,
    pub egress_timestamp: Option<Intrinsic>,
    pub mcast_grp: Option<Intrinsic>,
    pub egress_rid: Option<Intrinsic>,
    pub priority: Option<Intrinsic>,
    pub enq_timestamp: Option<Intrinsic>,
    pub enq_qdepth: Option<Intrinsic>,
    pub deq_timedelta: Option<Intrinsic>,
    pub deq_qdepth: Option<Intrinsic>,
    pub qid: Option<Intrinsic>,
    pub parser_error: Option<Intrinsic>,
    pub checksum_error: Option<Intrinsic>,
}

/// A field of a header in the packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShapeField {
    /// First word; of a variable field, the slot before holds the width.
    pub slot: Slot,
    pub bits: u32,
    /// Bit in the header where it starts, variable fields before it not counted.
    pub at: u32,
    pub signed: bool,
    pub variable: bool,
}

/// A header in the packet.
#[derive(Clone, Debug)]
pub(crate) struct HeaderShape {
    /// Slot of the validity.
    pub valid: Slot,
    /// Slots, validity included.
    pub slots: usize,
    pub fields: Vec<ShapeField>,
    pub fixed_octets: usize,
    /// Position of the variable field.
    pub variable: Option<usize>,
    /// 0: no limit given.
    pub max_octets: usize,
    pub union: Option<usize>,
    pub metadata: bool,
}

/// A stack of headers or of unions.
#[derive(Clone, Debug)]
pub(crate) struct StackShape {
    /// Of each element the headers: one, or a union's members.
    pub elements: Vec<Vec<usize>>,
    /// Slot of the index of the next element.
    pub next: Slot,
}

/// What a parser state extracts into.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extract {
    Header(usize),
    Stack(usize),
    /// Stack and position of the member.
    UnionStack(usize, usize),
}

/// Bits ahead in the packet, read into slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lookahead {
    pub offset: usize,
    pub bits: usize,
    pub slot: Slot,
}

/// One thing a parser state does.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// `length`: code that computes the variable field's bits, and where it leaves them.
    Extract {
        what: Extract,
        length: Option<(u32, Slot)>,
    },
    Lookahead(Lookahead),
    Code(u32),
    Verify {
        code: u32,
        condition: Slot,
        error: Slot,
    },
    Advance {
        code: u32,
        bits: Slot,
    },
}

/// One field of a select key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyPart {
    pub slot: Slot,
    pub bits: usize,
}

/// One way out of a parser state; words of all key parts side by side.
#[derive(Clone, Debug)]
pub(crate) enum Case {
    Value { value: Vec<u64>, mask: Vec<u64>, next: Option<usize> },
    Set { set: usize, next: Option<usize> },
}

#[derive(Clone, Debug)]
pub(crate) struct State {
    pub steps: Vec<Step>,
    /// Code that brings the key's parts into slots.
    pub key_code: Option<u32>,
    pub lookaheads: Vec<Lookahead>,
    pub parts: Vec<KeyPart>,
    pub cases: Vec<Case>,
    pub default: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct ValueSet {
    pub name: String,
    pub size: usize,
    pub compressed_width: usize,
    pub widths: Vec<usize>,
}

/// The numbers that this program gives the parser errors the switch itself raises.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorCodes {
    pub no_error: u32,
    pub packet_too_short: u32,
    pub stack_out_of_bounds: u32,
    pub header_too_short: u32,
    pub parser_timeout: u32,
    pub invalid_argument: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Parser {
    pub states: Vec<State>,
    pub start: Option<usize>,
    pub value_sets: Vec<ValueSet>,
    pub errors: ErrorCodes,
}

/// One item of a hash's input.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Left out when its header isn't valid.
    Field {
        slot: Slot,
        bits: u32,
        valid: Option<Slot>,
        variable: bool,
    },
    Constant {
        words: Vec<u64>,
        bits: usize,
    },
    Header(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Calculation {
    pub algorithm: Algorithm,
    pub inputs: Vec<Input>,
    pub payload: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Checksum {
    pub calculation: usize,
    pub slot: Slot,
    pub bits: u32,
    pub valid: Option<Slot>,
    pub condition: Option<(u32, Slot)>,
    pub verify: bool,
    pub update: bool,
}

/// A run of slots that a field list copies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldCopy {
    pub slot: Slot,
    pub limbs: usize,
    pub bits: usize,
    /// Validity of the header it stands in, unless metadata.
    pub valid: Option<Slot>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RegisterArray {
    pub size: usize,
    pub width: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CounterArray {
    pub size: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct MeterArray {
    pub size: usize,
    pub octets: bool,
}

/// A step of a pipeline.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FlowNode {
    Table(usize),
    Condition { code: u32, slot: Slot, yes: u32, no: u32 },
    Call { action: usize, next: u32 },
}

/// A key field of a table.
#[derive(Clone, Debug)]
pub(crate) struct KeyField {
    pub slot: Slot,
    /// Validity of its header: fields of invalid headers match as zero.
    pub valid: Option<Slot>,
    pub bits: usize,
    pub kind: MatchKind,
    /// Where it stands in the packed key: first word, bit in it.
    pub word: usize,
    pub shift: u32,
    /// The JSON's own mask on the field.
    pub mask: Option<Vec<u64>>,
}

/// What follows a table.
#[derive(Clone, Debug)]
pub(crate) enum Next {
    HitMiss {
        hit: u32,
        miss: u32,
    },
    /// By the program's action number.
    ByAction(Vec<u32>),
}

/// A direct meter of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectMeter {
    pub octets: bool,
    pub slot: Slot,
    pub mask: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct TableShape {
    pub key: Vec<KeyField>,
    /// Words of the packed key.
    pub words: usize,
    pub next: Next,
    /// Next node on a miss without default action.
    pub base_next: u32,
    /// The program's default action: action and parameter words.
    pub default: Option<(usize, Vec<u64>)>,
    /// The control plane may change the arguments, not the action.
    pub const_default_action: bool,
    pub const_entries: Vec<NewEntry>,
    pub direct_meter: Option<DirectMeter>,
}

#[derive(Clone, Debug)]
pub(crate) struct Control {
    pub ingress: u32,
    pub egress: u32,
    pub nodes: Vec<FlowNode>,
    pub tables: Vec<TableShape>,
    pub table_infos: Vec<TableInfo>,
    pub profile_infos: Vec<ProfileInfo>,
    pub selectors: Vec<Option<Calculation>>,
}

/// A compiled program: immutable, shared.
#[derive(Debug)]
pub struct Program {
    pub(crate) layout_data: usize,
    pub(crate) param_base: Slot,
    /// A packet's array as it starts: data, parameters, temporaries, constants.
    pub(crate) frame: Vec<u64>,
    pub(crate) standard: Standard,
    pub(crate) ops: Vec<Op>,
    pub(crate) wide: Vec<WideOp>,
    pub(crate) externs: Vec<Extern>,
    pub(crate) indexed: Vec<Indexed>,
    pub(crate) headers: Vec<HeaderShape>,
    pub(crate) unions: Vec<Vec<usize>>,
    pub(crate) stacks: Vec<StackShape>,
    pub(crate) union_stacks: Vec<StackShape>,
    pub(crate) metadata_slots: Vec<(usize, usize)>,
    pub(crate) parser: Parser,
    pub(crate) control: Control,
    /// Where each action's code starts.
    pub(crate) action_codes: Vec<u32>,
    pub(crate) action_infos: Vec<ActionInfo>,
    pub(crate) calculations: Vec<Calculation>,
    pub(crate) checksums: Vec<Checksum>,
    pub(crate) emit: Vec<usize>,
    pub(crate) deparser_code: Option<u32>,
    pub(crate) field_lists: HashMap<u32, Vec<FieldCopy>>,
    pub(crate) digests: HashMap<u32, Vec<FieldCopy>>,
    pub(crate) digest_infos: HashMap<u32, DigestInfo>,
    pub(crate) registers: Vec<RegisterArray>,
    pub(crate) register_infos: Vec<ArrayInfo>,
    pub(crate) counters: Vec<CounterArray>,
    pub(crate) counter_infos: Vec<ArrayInfo>,
    pub(crate) meters: Vec<MeterArray>,
    pub(crate) meter_infos: Vec<ArrayInfo>,
    pub(crate) value_set_infos: Vec<ValueSetInfo>,
}

/// A digest's name and fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestInfo {
    /// Name of the list.
    pub name: String,
    /// Width of each field in bits.
    pub widths: Vec<usize>,
}

/// Finds a name: the whole of it, else the one name that ends in it after a dot.
fn find<'a>(
    names: impl Iterator<Item = (usize, &'a str)> + Clone,
    what: &'static str,
    name: &str,
) -> Result<usize, ControlError> {
    if let Some((i, _)) = names.clone().find(|(_, n)| *n == name) {
        return Ok(i);
    }
    let mut tails = names.filter(|(_, n)| n.strip_suffix(name).is_some_and(|head| head.ends_with('.')));
    match (tails.next(), tails.next()) {
        (Some((i, _)), None) => Ok(i),
        _ => Err(ControlError::UnknownName { what, name: name.to_owned() }),
    }
}

impl Program {
    /// Compiles the JSON that p4c writes for BMv2 (version 2.x, v1model).
    ///
    /// # Errors
    /// Not JSON, not such a JSON, or something in it isn't supported: see [`LoadError`].
    pub fn from_json(json: &[u8]) -> Result<Arc<Program>, LoadError> {
        crate::compile::compile(json)
    }

    /// Tables by index.
    pub fn tables(&self) -> &[TableInfo] {
        &self.control.table_infos
    }

    /// Actions by index.
    pub fn actions(&self) -> &[ActionInfo] {
        &self.action_infos
    }

    /// Action profiles by index.
    pub fn profiles(&self) -> &[ProfileInfo] {
        &self.control.profile_infos
    }

    /// Indirect counter arrays by index.
    pub fn counters(&self) -> &[ArrayInfo] {
        &self.counter_infos
    }

    /// Indirect meter arrays by index.
    pub fn meters(&self) -> &[ArrayInfo] {
        &self.meter_infos
    }

    /// Register arrays by index.
    pub fn registers(&self) -> &[ArrayInfo] {
        &self.register_infos
    }

    /// Parser value sets by index.
    pub fn value_sets(&self) -> &[ValueSetInfo] {
        &self.value_set_infos
    }

    /// Names and widths of the fields of a digest, by the number the JSON gives the list (from 1).
    pub fn digest(&self, list: u32) -> Option<&DigestInfo> {
        self.digest_infos.get(&list)
    }

    /// Finds a table.
    ///
    /// # Errors
    /// No table, or several, of that name.
    pub fn table(&self, name: &str) -> Result<TableId, ControlError> {
        find(self.tables().iter().map(|t| t.name.as_str()).enumerate(), "table", name).map(TableId)
    }

    /// Finds an action of a table (or of its profile).
    ///
    /// # Errors
    /// No such table, or the table has no action, or several, of that name.
    pub fn table_action(&self, table: TableId, name: &str) -> Result<ActionId, ControlError> {
        let info = self.tables().get(table.0);
        let info = info.ok_or(ControlError::UnknownIndex { what: "table", index: table.0 })?;
        let names = info.actions.iter().map(|a| (a.0, self.action_infos[a.0].name.as_str()));
        find(names, "action", name).map(ActionId)
    }

    /// Finds an action of a profile.
    ///
    /// # Errors
    /// No such profile, or its tables have no action, or several, of that name.
    pub fn profile_action(&self, profile: ProfileId, name: &str) -> Result<ActionId, ControlError> {
        let table = self.tables().iter().position(|t| t.profile == Some(profile));
        let table = table.ok_or(ControlError::UnknownIndex { what: "action profile", index: profile.0 })?;
        self.table_action(TableId(table), name)
    }

    /// Finds an action profile or selector.
    ///
    /// # Errors
    /// No profile, or several, of that name.
    pub fn profile(&self, name: &str) -> Result<ProfileId, ControlError> {
        find(self.profiles().iter().map(|t| t.name.as_str()).enumerate(), "action profile", name)
            .map(ProfileId)
    }

    /// Finds an indirect counter array.
    ///
    /// # Errors
    /// No counter, or several, of that name.
    pub fn counter(&self, name: &str) -> Result<CounterId, ControlError> {
        find(self.counters().iter().map(|t| t.name.as_str()).enumerate(), "counter", name).map(CounterId)
    }

    /// Finds an indirect meter array.
    ///
    /// # Errors
    /// No meter, or several, of that name.
    pub fn meter(&self, name: &str) -> Result<MeterId, ControlError> {
        find(self.meters().iter().map(|t| t.name.as_str()).enumerate(), "meter", name).map(MeterId)
    }

    /// Finds a register array.
    ///
    /// # Errors
    /// No register, or several, of that name.
    pub fn register(&self, name: &str) -> Result<RegisterId, ControlError> {
        find(self.registers().iter().map(|t| t.name.as_str()).enumerate(), "register", name).map(RegisterId)
    }

    /// Finds a parser value set.
    ///
    /// # Errors
    /// No value set, or several, of that name.
    pub fn value_set(&self, name: &str) -> Result<ValueSetId, ControlError> {
        find(self.value_sets().iter().map(|t| t.name.as_str()).enumerate(), "value set", name).map(ValueSetId)
    }
}
