//! Describes a function. What is computed lives in [`Word`]s; where code can be reached on several ways, in the frame.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{Block, BlockArg, BlockCall, InstBuilder, JumpTableData, Value};
use cranelift_frontend::FunctionBuilder;

use crate::{Error, Limits};

/// A word of 64 bits that has been computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(pub(crate) Value);

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(Block);

/// An operator on two words, modulo 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient of unsigned words, 0 by 0.
    Div,
    /// Remainder of unsigned words, 0 by 0.
    Mod,
    /// Bits in both.
    And,
    /// Bits in either.
    Or,
    /// Bits in one.
    Xor,
    /// So many bits higher; 0 from 64 on.
    Shl,
    /// So many bits lower; 0 from 64 on.
    Shr,
    /// So many bits lower, the sign kept; from 64 on as by 63.
    ShrSigned,
    /// The smaller unsigned word.
    Min,
    /// The smaller signed word.
    MinSigned,
    /// The larger signed word.
    MaxSigned,
}

/// A comparison of two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// The same.
    Equal,
    /// Not the same.
    NotEqual,
    /// Less, unsigned.
    Less,
    /// Less or the same, unsigned.
    LessOrEqual,
    /// Less, signed.
    LessSigned,
    /// Less or the same, signed.
    LessOrEqualSigned,
}

impl Compare {
    fn condition(self) -> IntCC {
        match self {
            Compare::Equal => IntCC::Equal,
            Compare::NotEqual => IntCC::NotEqual,
            Compare::Less => IntCC::UnsignedLessThan,
            Compare::LessOrEqual => IntCC::UnsignedLessThanOrEqual,
            Compare::LessSigned => IntCC::SignedLessThan,
            Compare::LessOrEqualSigned => IntCC::SignedLessThanOrEqual,
        }
    }
}

/// Describes a function, from its beginning to its end.
pub struct Assembler<'a> {
    pub(crate) builder: FunctionBuilder<'a>,
    pub(crate) limits: Limits,
    pub(crate) frame: Value,
    pub(crate) memory: Value,
    dispatch: Block,
    entries: Vec<Block>,
    /// Whether what is added now can follow what was added last.
    open: bool,
    pub(crate) error: Option<Error>,
}

impl<'a> Assembler<'a> {
    /// Of a function with the parameters frame, memory and entry.
    pub(crate) fn new(mut builder: FunctionBuilder<'a>, limits: Limits) -> Assembler<'a> {
        let start = builder.create_block();
        builder.append_block_params_for_function_params(start);
        builder.switch_to_block(start);
        let parameters = builder.block_params(start).to_vec();
        let (frame, memory, entry) = (parameters[0], parameters[1], parameters[2]);
        let dispatch = builder.create_block();
        builder.append_block_param(dispatch, I64);
        builder.ins().jump(dispatch, &[BlockArg::Value(entry)]);
        Assembler { builder, limits, frame, memory, dispatch, entries: Vec::new(), open: false, error: None }
    }

    /// Ends the description.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        if self.open {
            let zero = self.number(0);
            self.exit(zero);
        }
        self.builder.switch_to_block(self.dispatch);
        let number = self.builder.block_params(self.dispatch)[0];
        let none = self.builder.create_block();
        let mut calls = Vec::new();
        let pool = &mut self.builder.func.dfg.value_lists;
        let default = BlockCall::new(none, std::iter::empty(), pool);
        calls.push(default);
        for &entry in &self.entries {
            calls.push(BlockCall::new(entry, std::iter::empty(), pool));
        }
        let table = self.builder.create_jump_table(JumpTableData::new(default, &calls));
        // Numbers have 32 bits; a longer one is none.
        let too_long = self.builder.ins().ushr_imm(number, 32);
        let narrow = self.builder.create_block();
        self.builder.ins().brif(too_long, none, &[], narrow, &[]);
        self.builder.switch_to_block(narrow);
        let number = self.builder.ins().ireduce(I32, number);
        self.builder.ins().br_table(number, table);
        self.builder.switch_to_block(none);
        let zero = self.builder.ins().iconst(I64, 0);
        self.builder.ins().return_(&[zero]);
        self.builder.seal_all_blocks();
        self.builder.finalize();
        self.error.map_or(Ok(()), Err)
    }

    /// Code that nothing reaches still needs a block to stand in.
    pub(crate) fn reach(&mut self) {
        if !self.open {
            let nowhere = self.builder.create_block();
            self.builder.switch_to_block(nowhere);
            self.open = true;
        }
    }

    /// A place that isn't known yet.
    pub fn label(&mut self) -> Label {
        Label(self.builder.create_block())
    }

    /// The place is here, once.
    pub fn bind(&mut self, label: Label) {
        if self.open {
            self.builder.ins().jump(label.0, &[]);
        }
        self.builder.switch_to_block(label.0);
        self.open = true;
    }

    /// Says that code at the label is rarely reached.
    pub fn rare(&mut self, label: Label) {
        self.builder.set_cold_block(label.0);
    }

    /// Makes a place an entry; gives its number, from 1.
    pub fn entry(&mut self, label: Label) -> u32 {
        self.entries.push(label.0);
        u32::try_from(self.entries.len()).unwrap_or(0)
    }

    /// Goes on at the entry of this number; [`Code::run`](crate::Code::run) gives 0 if there is none.
    pub fn enter(&mut self, number: Word) {
        self.reach();
        self.builder.ins().jump(self.dispatch, &[BlockArg::Value(number.0)]);
        self.open = false;
    }

    /// Leaves; [`Code::run`](crate::Code::run) gives the word.
    pub fn exit(&mut self, word: Word) {
        self.reach();
        self.builder.ins().return_(&[word.0]);
        self.open = false;
    }

    /// Goes on elsewhere.
    pub fn jump(&mut self, to: Label) {
        self.reach();
        self.builder.ins().jump(to.0, &[]);
        self.open = false;
    }

    /// Goes on elsewhere if the word isn't 0.
    pub fn jump_if(&mut self, word: Word, to: Label) {
        self.reach();
        let next = self.builder.create_block();
        self.builder.ins().brif(word.0, to.0, &[], next, &[]);
        self.builder.switch_to_block(next);
    }

    /// Goes on elsewhere if the word is 0.
    pub fn jump_unless(&mut self, word: Word, to: Label) {
        self.reach();
        let next = self.builder.create_block();
        self.builder.ins().brif(word.0, next, &[], to.0, &[]);
        self.builder.switch_to_block(next);
    }

    /// Goes on elsewhere if the comparison holds.
    pub fn jump_compare(&mut self, compare: Compare, a: Word, b: Word, to: Label) {
        self.reach();
        let holds = self.builder.ins().icmp(compare.condition(), a.0, b.0);
        self.jump_if(Word(holds), to);
    }

    /// A constant.
    pub fn number(&mut self, n: u64) -> Word {
        self.reach();
        Word(self.builder.ins().iconst(I64, n.cast_signed()))
    }

    /// Computes.
    pub fn binary(&mut self, op: Binary, a: Word, b: Word) -> Word {
        self.reach();
        let (a, b) = (a.0, b.0);
        let ins = self.builder.ins();
        Word(match op {
            Binary::Add => ins.iadd(a, b),
            Binary::Sub => ins.isub(a, b),
            Binary::Mul => ins.imul(a, b),
            Binary::And => ins.band(a, b),
            Binary::Or => ins.bor(a, b),
            Binary::Xor => ins.bxor(a, b),
            Binary::Min => ins.umin(a, b),
            Binary::MinSigned => ins.smin(a, b),
            Binary::MaxSigned => ins.smax(a, b),
            Binary::Div | Binary::Mod => {
                let one = ins.iconst(I64, 1);
                let zero = self.builder.ins().iconst(I64, 0);
                let none = self.builder.ins().icmp_imm(IntCC::Equal, b, 0);
                let by = self.builder.ins().select(none, one, b);
                let ins = self.builder.ins();
                let result = if op == Binary::Div { ins.udiv(a, by) } else { ins.urem(a, by) };
                self.builder.ins().select(none, zero, result)
            }
            Binary::Shl | Binary::Shr => {
                let shifted = if op == Binary::Shl { ins.ishl(a, b) } else { ins.ushr(a, b) };
                let zero = self.builder.ins().iconst(I64, 0);
                let small = self.builder.ins().icmp_imm(IntCC::UnsignedLessThan, b, 64);
                self.builder.ins().select(small, shifted, zero)
            }
            Binary::ShrSigned => {
                let most = ins.iconst(I64, 63);
                let by = self.builder.ins().umin(b, most);
                self.builder.ins().sshr(a, by)
            }
        })
    }

    /// Computes with a constant.
    pub fn binary_with(&mut self, op: Binary, a: Word, b: u64) -> Word {
        self.reach();
        match op {
            Binary::Shl if b < 64 => Word(self.builder.ins().ishl_imm(a.0, b.cast_signed())),
            Binary::Shr if b < 64 => Word(self.builder.ins().ushr_imm(a.0, b.cast_signed())),
            _ => {
                let b = self.number(b);
                self.binary(op, a, b)
            }
        }
    }

    /// All bits the other way.
    pub fn not(&mut self, a: Word) -> Word {
        self.reach();
        Word(self.builder.ins().bnot(a.0))
    }

    /// 1 if the comparison holds, else 0.
    pub fn compare(&mut self, compare: Compare, a: Word, b: Word) -> Word {
        self.reach();
        let holds = self.builder.ins().icmp(compare.condition(), a.0, b.0);
        Word(self.builder.ins().uextend(I64, holds))
    }

    /// The first word unless the condition is 0, else the second.
    pub fn select(&mut self, condition: Word, yes: Word, no: Word) -> Word {
        self.reach();
        Word(self.builder.ins().select(condition.0, yes.0, no.0))
    }

    /// The low `bits` bits, read as a signed number.
    pub fn sign_extend(&mut self, a: Word, bits: u32) -> Word {
        self.reach();
        let narrow = match bits {
            0 => return self.number(0),
            8 => I8,
            16 => I16,
            32 => I32,
            64.. => return a,
            _ => {
                let up = i64::from(64 - bits);
                let high = self.builder.ins().ishl_imm(a.0, up);
                return Word(self.builder.ins().sshr_imm(high, up));
            }
        };
        let low = self.builder.ins().ireduce(narrow, a.0);
        Word(self.builder.ins().sextend(I64, low))
    }

    /// The low `bits` bits.
    pub fn cut(&mut self, a: Word, bits: u32) -> Word {
        match bits {
            0 => self.number(0),
            64.. => a,
            bits => self.binary_with(Binary::And, a, (1 << bits) - 1),
        }
    }
}
