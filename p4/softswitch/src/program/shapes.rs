//! What a compiled program is made of, the parser aside: headers, calculations, tables, arrays.

use super::{Chunk, Patch, Piece};
use crate::control::{MatchKind, NewEntry, ProfileInfo, TableInfo};
use crate::hash::Algorithm;
use crate::layout::{Intrinsic, Slot};

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

/// Slots that no field has: what the switch and its native code tell each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own {
    /// The entry at which native code goes on after an action; 0: nowhere.
    pub after: Slot,
    /// Octets that the parser has taken, whether headers leave where they came, the place of the last one among those
    /// that leave, and how many states have been passed.
    pub parsed: Slot,
    pub in_place: Slot,
    pub last_emitted: Slot,
    pub states: Slot,
    /// Whether a checksum was wrong.
    pub checksum_error: Slot,
    /// The packed key of the table that is applied.
    pub key: Slot,
    /// The slot after all of them.
    pub end: Slot,
}

impl Own {
    /// From this slot on, with keys of up to so many words.
    pub(crate) fn new(first: Slot, key_words: u32) -> Own {
        Own {
            after: first,
            parsed: first + 1,
            in_place: first + 2,
            last_emitted: first + 3,
            states: first + 4,
            checksum_error: first + 5,
            key: first + 6,
            end: first + 6 + key_words,
        }
    }
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
    /// Has no slots: nothing but the packet's octets knows it.
    pub silent: bool,
}

/// A header in the packet.
#[derive(Clone, Debug)]
pub(crate) struct HeaderShape {
    /// Slot of the validity.
    pub valid: Slot,
    /// Slots, validity and origin included.
    pub slots: usize,
    pub fields: Vec<ShapeField>,
    /// Equal for headers of one type.
    pub kind: usize,
    /// The fields in words, for headers whose fields allow it.
    pub kept: Option<Kept>,
    /// Slot of where in the packet the header was extracted from: one more than its first octet; 0: from nowhere.
    pub origin: Slot,
    /// Its place among those that leave, from 1; 0 if it doesn't.
    pub emitted: u32,
    pub fixed_octets: usize,
    /// Position of the variable field.
    pub variable: Option<usize>,
    /// 0: no limit given.
    pub max_octets: usize,
    pub union: Option<usize>,
    pub metadata: bool,
}

/// A header's fields in words, and which of them are worth looking at: what nothing mentions stays in the packet.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub all: Box<[Chunk]>,
    /// Those that something may read or write.
    pub mentioned: Box<[Chunk]>,
    /// Those that something may write.
    pub written: Box<[Patch]>,
}

/// A stack of headers or of unions.
#[derive(Clone, Debug)]
pub(crate) struct StackShape {
    /// Of each element the headers: one, or a union's members.
    pub elements: Vec<Vec<usize>>,
    /// Slot of the index of the next element.
    pub next: Slot,
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

/// A field in a sum, or a word of a wide one, highest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SumPiece {
    pub slot: Slot,
    /// Left out when this is zero: its header's validity, or a constant.
    pub valid: Slot,
    /// From its lowest bit up to the end of its multiple of 16 bits.
    pub shift: u32,
    pub mask: u64,
}

/// Fields in a sum that are there together or not at all.
#[derive(Clone, Debug)]
pub(crate) struct SumGroup {
    pub valid: Slot,
    /// Those of up to 32 bits, and those of more.
    pub narrow: Box<[Piece]>,
    pub wide: Box<[Piece]>,
}

impl SumGroup {
    /// A sum's fields by what they hang on.
    pub(crate) fn of(pieces: &[SumPiece]) -> Box<[SumGroup]> {
        let group = |pieces: &[SumPiece]| {
            let some = |wide: bool| {
                let some = pieces.iter().filter(|p| (p.mask > 0xffff_ffff) == wide);
                some.map(|p| Piece { slot: p.slot, shift: p.shift, mask: p.mask }).collect()
            };
            SumGroup { valid: pieces[0].valid, narrow: some(false), wide: some(true) }
        };
        pieces.chunk_by(|a, b| a.valid == b.valid).map(group).collect()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Calculation {
    pub algorithm: Algorithm,
    pub inputs: Vec<Input>,
    pub payload: bool,
    /// Of an Internet checksum over fields alone: the fields, to be added where they are.
    pub sum: Option<Box<[SumGroup]>>,
    /// Of another hash over metadata and constants alone: their words.
    pub chunks: Option<Box<[Chunk]>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Checksum {
    pub calculation: usize,
    pub slot: Slot,
    pub bits: u32,
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

/// A key field of a table.
#[derive(Clone, Debug)]
pub(crate) struct KeyField {
    pub bits: usize,
    pub kind: MatchKind,
    /// Where it stands in the packed key: first word, bit in it.
    pub word: usize,
    pub shift: u32,
}

/// A word of a key field, on its way from the packet into the packed key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyWord {
    pub slot: Slot,
    /// The field counts as zero when this is: its header's validity, or a constant.
    pub valid: Slot,
    pub word: usize,
    pub shift: u32,
    /// The field's bits, less what the JSON's own mask on the field leaves out.
    pub mask: u64,
}

/// What follows a table: where the code goes on.
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
    /// How a packet's key is packed.
    pub key_words: Box<[KeyWord]>,
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
    /// Where each pipeline's code starts.
    pub ingress: u32,
    pub egress: u32,
    pub tables: Vec<TableShape>,
    pub table_infos: Vec<TableInfo>,
    pub profile_infos: Vec<ProfileInfo>,
    pub selectors: Vec<Option<Calculation>>,
}
