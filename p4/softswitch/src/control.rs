//! The control surface: everything a controller may read and write in a [`Switch`](crate::Switch), typed, by index.
//!
//! Names are resolved once, through [`Program`](crate::Program): `program.table("ingress.ipv4_route")`. A name may be
//! given by its last dotted parts if that is unique. Indices belong to one program and are checked at every call.
//! Writes take effect between packets.

mod direct;
mod error;
mod pre;
mod profiles;
mod state;
mod tables;
mod value_sets;

use crate::value::Value;
pub use error::ControlError;

/// Declares an index type into one of the program's lists.
macro_rules! index_types {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub usize);
    )*};
}

index_types! {
    /// A table of the program.
    TableId,
    /// An action of the program. The compiler may give one action several copies: resolve names per table with
    /// [`Program::table_action`](crate::Program::table_action).
    ActionId,
    /// An action profile or selector.
    ProfileId,
    /// An indirect counter array.
    CounterId,
    /// An indirect meter array.
    MeterId,
    /// A register array.
    RegisterId,
    /// A parser value set.
    ValueSetId,
}

/// How one key field matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchKind {
    /// One value.
    Exact,
    /// A prefix.
    Lpm,
    /// Value and mask.
    Ternary,
    /// An inclusive range.
    Range,
    /// One value or anything. p4c writes `ternary` for it in the JSON, so a table reports [`MatchKind::Ternary`];
    /// [`KeyMatch::Optional`] is taken for both.
    Optional,
}

/// A key field of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyInfo {
    /// Its name as in P4Info.
    pub name: String,
    /// Width in bits.
    pub width: usize,
    /// How it matches.
    pub kind: MatchKind,
}

/// A parameter of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name.
    pub name: String,
    /// Width in bits.
    pub width: usize,
}

/// An action of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionInfo {
    /// Its name as in P4Info.
    pub name: String,
    /// Parameters in order.
    pub params: Vec<ParamInfo>,
}

/// A table of the program.
#[expect(clippy::struct_excessive_bools, reason = "each is a property that a table has or not")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableInfo {
    /// Its name as in P4Info.
    pub name: String,
    /// Key fields in order; empty for a keyless table.
    pub keys: Vec<KeyInfo>,
    /// Actions that entries may name.
    pub actions: Vec<ActionId>,
    /// Most entries.
    pub size: usize,
    /// The action profile or selector its entries go through.
    pub profile: Option<ProfileId>,
    /// Whether entries are fixed by the program.
    pub const_entries: bool,
    /// Whether the default action is fixed by the program.
    pub const_default: bool,
    /// Whether entries are counted.
    pub direct_counter: bool,
    /// Whether entries are metered.
    pub direct_meter: bool,
    /// Whether entries may have an idle timeout.
    pub idle_timeout: bool,
    /// Whether entries need a priority (any ternary, optional or range field).
    pub needs_priority: bool,
}

/// What one key field of an entry wants.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyMatch {
    /// Exactly this value.
    Exact(Value),
    /// The first `prefix_len` bits of the value; the others must be zero in `value` or are cleared.
    Lpm {
        /// The prefix.
        value: Value,
        /// Its length in bits.
        prefix_len: usize,
    },
    /// The bits under the mask.
    Ternary {
        /// The bits; those outside the mask are cleared.
        value: Value,
        /// One bits matter.
        mask: Value,
    },
    /// Low to high, both included.
    Range {
        /// Lowest value that matches.
        low: Value,
        /// Highest value that matches.
        high: Value,
    },
    /// This value, or anything.
    Optional(Option<Value>),
    /// Anything; not for exact fields. Read back as the kind's own form (prefix length 0, mask 0, full range).
    Any,
}

/// An action with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionCall {
    /// The action.
    pub action: ActionId,
    /// One value for each parameter, none wider than the parameter.
    pub args: Vec<Value>,
}

/// What an entry does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryAction {
    /// Runs an action (tables without profile).
    Call(ActionCall),
    /// Runs a profile member.
    Member(u32),
    /// Chooses a member of a profile group by the selector's hash.
    Group(u32),
}

/// An entry to insert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    /// One match for each key field.
    pub key: Vec<KeyMatch>,
    /// As in the JSON, in STF and in BMv2: **the lowest number wins**; ignored where
    /// [`TableInfo::needs_priority`] is false. P4Runtime counts the other way round: see [`priority_from_p4runtime`].
    pub priority: u32,
    /// What it does.
    pub action: EntryAction,
    /// After so long without a hit the entry is reported by [`Switch::poll_idle`](crate::Switch::poll_idle); 0: never.
    pub idle_timeout_ns: u64,
}

/// P4Runtime's priority (high wins, from 1) as this crate's (low wins). Its own inverse through
/// [`priority_to_p4runtime`].
pub fn priority_from_p4runtime(priority: i32) -> u32 {
    (i32::MAX - priority.max(0)).unsigned_abs()
}

/// The inverse of [`priority_from_p4runtime`].
pub fn priority_to_p4runtime(priority: u32) -> i32 {
    i32::MAX - i32::try_from(priority).unwrap_or(i32::MAX)
}

/// Names an entry of one table until it is deleted; a later entry never gets the same handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryHandle(pub u64);

/// An entry read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEntry {
    /// Its handle.
    pub handle: EntryHandle,
    /// One match for each key field.
    pub key: Vec<KeyMatch>,
    /// The lowest number wins.
    pub priority: u32,
    /// What it does.
    pub action: EntryAction,
    /// 0: none.
    pub idle_timeout_ns: u64,
    /// When it last matched (or was written), ns of the caller's clock.
    pub last_hit_ns: u64,
    /// Whether the program itself put it there.
    pub is_const: bool,
}

/// A member of an action profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileMember {
    /// The caller's number for it.
    pub id: u32,
    /// What it does.
    pub call: ActionCall,
}

/// A member's place in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// The member.
    pub member: u32,
    /// Its share; at least 1.
    pub weight: u32,
}

/// A group of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileGroup {
    /// The caller's number for it.
    pub id: u32,
    /// Its members.
    pub members: Vec<GroupMember>,
    /// Most members (sum of weights); 0: the profile's size.
    pub max_size: u32,
}

/// A counter cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterValue {
    /// Packets.
    pub packets: u64,
    /// Octets of those packets as they entered the switch.
    pub octets: u64,
}

/// A two-rate three-colour meter's rates. Units are packets or octets, by the meter's declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterConfig {
    /// Committed rate, units/s.
    pub cir: u64,
    /// Committed burst, units.
    pub cburst: u64,
    /// Peak rate, units/s; at least `cir`.
    pub pir: u64,
    /// Peak burst, units.
    pub pburst: u64,
}

/// An array of counters, meters or registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayInfo {
    /// Its name as in P4Info.
    pub name: String,
    /// Cells.
    pub size: usize,
    /// Bits per cell of a register; 0 otherwise.
    pub width: usize,
}

/// An action profile or selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileInfo {
    /// Its name as in P4Info.
    pub name: String,
    /// Most members.
    pub size: usize,
    /// Whether groups may be made.
    pub selector: bool,
}

/// A parser value set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSetInfo {
    /// Its name as in P4Info.
    pub name: String,
    /// Most members.
    pub size: usize,
    /// Width in bits of each component of a member.
    pub widths: Vec<usize>,
}

/// A copy's destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Replica {
    /// Port.
    pub port: u16,
    /// Becomes `egress_rid` of the copy.
    pub instance: u16,
}

/// A clone session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloneSession {
    /// Where copies go.
    pub replicas: Vec<Replica>,
    /// Copies are cut to so many octets before they are queued; 0: not cut. (`simple_switch` refuses anything but 0.)
    pub packet_length_octets: u32,
    /// The priority that copies are queued with, and that the program sees; 0: the lowest, or what the clone's field list
    /// says.
    pub class_of_service: u8,
}
