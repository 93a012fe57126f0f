//! The compiled program.

mod chunks;
mod names;
mod parser;
mod shapes;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::control::{ActionInfo, ArrayInfo, ProfileInfo, TableInfo, ValueSetInfo};
use crate::layout::Slot;
pub use crate::load_error::LoadError;
use crate::native::Native;
use crate::ops::{Extern, Indexed, Op, WideOp};
pub(crate) use chunks::{Chunk, Patch, Piece, chunks, of_fields, patches, some_of};
pub(crate) use parser::{
    Case, ErrorCodes, Extract, KeyPart, Lookahead, Parser, Select, State, Step, ValueSet,
};
pub(crate) use shapes::{
    Calculation, Checksum, Control, CounterArray, DirectMeter, FieldCopy, HeaderShape, Input, Kept, KeyField,
    KeyWord, MeterArray, Next, Own, RegisterArray, ShapeField, StackShape, Standard, SumGroup, SumPiece,
    TableShape,
};

/// Nothing follows: the pipeline ends.
pub(crate) const END: u32 = u32::MAX;

/// A compiled program: immutable, shared.
#[derive(Debug)]
pub struct Program {
    pub(crate) layout_data: usize,
    pub(crate) param_base: Slot,
    /// A packet's array as it starts: data, parameters, temporaries, constants, the switch's own.
    pub(crate) frame: Vec<u64>,
    pub(crate) const_base: Slot,
    pub(crate) own: Own,
    pub(crate) standard: Standard,
    pub(crate) ops: Vec<Op>,
    /// Destinations and sources of [`Op::Copies`].
    pub(crate) copies: Vec<(Slot, Slot)>,
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
    /// Where each action's code starts; [`END`] if it does nothing.
    pub(crate) action_codes: Vec<u32>,
    pub(crate) action_infos: Vec<ActionInfo>,
    pub(crate) calculations: Vec<Calculation>,
    pub(crate) checksums: Vec<Checksum>,
    /// Code that compares checksums after the parser, and that sets them before the deparser.
    pub(crate) verify_code: Option<u32>,
    pub(crate) update_code: Option<u32>,
    pub(crate) emit: Vec<usize>,
    /// Slots of the validity of those to emit.
    pub(crate) emit_valid: Vec<Slot>,
    pub(crate) deparser_code: Option<u32>,
    /// No header's validity is stored into, and none leaves twice.
    pub(crate) plain_headers: bool,
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
    /// Compiled when it is first wanted; `None` where there can't be any.
    pub(crate) native: OnceLock<Option<Native>>,
    /// Whether somebody is compiling it in a thread of its own, or has.
    pub(crate) native_begun: AtomicBool,
}

/// A digest's name and fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestInfo {
    /// Name of the list.
    pub name: String,
    /// Width of each field in bits.
    pub widths: Vec<usize>,
}

impl Program {
    /// Compiles the JSON that p4c writes for BMv2 (version 2.x, v1model).
    ///
    /// # Errors
    /// Not JSON, not such a JSON, or something in it isn't supported: see [`LoadError`].
    pub fn from_json(json: &[u8]) -> Result<Arc<Program>, LoadError> {
        crate::compile::compile(json)
    }

    /// Compiles the program to native code, once for all switches that run it; false where there can't be any.
    pub(crate) fn make_native(&self) -> bool {
        let compile = || {
            // A compiler that panics, where memory may not be made executable for example, leaves nothing behind.
            let made = std::panic::catch_unwind(AssertUnwindSafe(|| Native::compile(self)));
            made.ok().and_then(Result::ok)
        };
        self.native.get_or_init(compile).is_some()
    }

    /// Compiles the program to native code in a thread of its own, unless that has begun; packets go on meanwhile.
    pub(crate) fn begin_native(self: &Arc<Program>) {
        if !self.native_begun.swap(true, Ordering::Relaxed) {
            let program = Arc::clone(self);
            let compiler = std::thread::Builder::new().name("p4 compiler".to_owned());
            // Where there can be no thread, the interpreter goes on.
            let _ = compiler.spawn(move || program.make_native());
        }
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
}
