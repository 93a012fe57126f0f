//! Expressions of the JSON as a typed tree, with the range of values every part can have.

use crate::num::size32;
use serde_json::Value as Json;

use crate::bigint::Big;
use crate::layout::{FieldType, Layout, Slot};
use crate::load_error::LoadError;

/// The values a node can have. Ends beyond `i128` stick to it: far outside what a word holds either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub low: i128,
    pub high: i128,
}

impl Range {
    pub(crate) const BOOL: Range = Range { low: 0, high: 1 };
    const ANY: Range = Range { low: i128::MIN, high: i128::MAX };

    pub(crate) fn unsigned(bits: usize) -> Range {
        Range { low: 0, high: if bits >= 127 { i128::MAX } else { (1 << bits) - 1 } }
    }

    pub(crate) fn signed(bits: usize) -> Range {
        if bits >= 126 || bits == 0 {
            return Range::ANY;
        }
        Range { low: -(1 << (bits - 1)), high: (1 << (bits - 1)) - 1 }
    }

    pub(crate) fn within(self, o: Range) -> bool {
        self.low >= o.low && self.high <= o.high
    }

    pub(crate) fn fits_u64(self) -> bool {
        self.low >= 0 && self.high <= i128::from(u64::MAX)
    }

    pub(crate) fn fits_i64(self) -> bool {
        self.low >= i128::from(i64::MIN) && self.high <= i128::from(i64::MAX)
    }

    pub(crate) fn fits_word(self) -> bool {
        self.fits_u64() || self.fits_i64()
    }

    fn join(self, o: Range) -> Range {
        Range { low: self.low.min(o.low), high: self.high.max(o.high) }
    }

    /// Bits of a two's complement number, sign excluded, that holds both ends.
    fn bits(self) -> u32 {
        let need = |v: i128| 128 - if v < 0 { v.leading_ones() } else { v.leading_zeros() };
        need(self.low).max(need(self.high))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Eq,
    Lt,
    Le,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnOp {
    Not,
    /// Logical not of 0 or 1.
    LogicalNot,
    /// 1 unless zero.
    ToBool,
    TwoCompMod(u32),
    SatCast(u32),
    UsatCast(u32),
}

/// A place a value can be read from and stored into.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub base: Slot,
    /// For an element of a stack: which one, how far apart they are, how many there are.
    pub index: Option<(Box<Ex>, usize, usize)>,
    pub width: usize,
    pub signed: bool,
    /// A `varbit`: the slot before `base` holds its width.
    pub variable: bool,
}

impl Place {
    pub(crate) fn limbs(&self) -> usize {
        self.width.div_ceil(64)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Ex {
    Const(Big),
    Place(Place),
    Un(UnOp, Box<Ex>),
    Bin(BinOp, Box<Ex>, Box<Ex>),
    If(Box<Ex>, Box<Ex>, Box<Ex>),
}

impl Ex {
    pub(crate) fn constant(v: i64) -> Ex {
        Ex::Const(Big::from_i64(v))
    }

    pub(crate) fn slot(base: Slot, width: usize) -> Ex {
        Ex::Place(Place { base, index: None, width, signed: false, variable: false })
    }

    pub(crate) fn bin(op: BinOp, a: Ex, b: Ex) -> Ex {
        Ex::Bin(op, Box::new(a), Box::new(b))
    }

    fn not(a: Ex) -> Ex {
        Ex::Un(UnOp::LogicalNot, Box::new(a))
    }

    pub(crate) fn range(&self) -> Range {
        match self {
            Ex::Const(c) => match c.to_i128() {
                Some(v) => Range { low: v, high: v },
                None if c.is_negative() => Range { low: i128::MIN, high: -1 },
                None => Range { low: 0, high: i128::MAX },
            },
            Ex::Place(p) if p.signed => Range::signed(p.width),
            Ex::Place(p) => Range::unsigned(p.width),
            Ex::Un(op, a) => unary_range(*op, a.range()),
            Ex::Bin(op, a, b) => binary_range(*op, a.range(), b.range()),
            Ex::If(_, a, b) => a.range().join(b.range()),
        }
    }
}

fn unary_range(op: UnOp, a: Range) -> Range {
    match op {
        UnOp::Not => Range { low: !a.high, high: !a.low },
        UnOp::LogicalNot | UnOp::ToBool => Range::BOOL,
        UnOp::TwoCompMod(w) | UnOp::SatCast(w) if (1..=64).contains(&w) => {
            Range { low: -(1 << (w - 1)), high: (1 << (w - 1)) - 1 }
        }
        UnOp::TwoCompMod(_) | UnOp::SatCast(_) => Range::ANY,
        UnOp::UsatCast(w) => Range::unsigned(w as usize),
    }
}

fn binary_range(op: BinOp, a: Range, b: Range) -> Range {
    let corners = |f: fn(i128, i128) -> i128| {
        let all = [f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)];
        Range { low: all.into_iter().min().unwrap_or(0), high: all.into_iter().max().unwrap_or(0) }
    };
    match op {
        BinOp::Add => Range { low: a.low.saturating_add(b.low), high: a.high.saturating_add(b.high) },
        BinOp::Sub => Range { low: a.low.saturating_sub(b.high), high: a.high.saturating_sub(b.low) },
        BinOp::Mul => corners(i128::saturating_mul),
        BinOp::Div => Range { low: 0, high: a.high.max(0) },
        BinOp::Mod => Range { low: 0, high: a.high.max(0).min(b.high.max(0)) },
        BinOp::And => match (a.low >= 0, b.low >= 0) {
            (true, true) => Range { low: 0, high: a.high.min(b.high) },
            (true, false) => Range { low: 0, high: a.high },
            (false, true) => Range { low: 0, high: b.high },
            (false, false) => around(a.join(b)),
        },
        BinOp::Or | BinOp::Xor => {
            let all = around(a.join(b));
            if a.low >= 0 && b.low >= 0 { Range { low: 0, ..all } } else { all }
        }
        BinOp::Shl if b.low >= 0 && b.high < 126 => {
            let shift = |v: i128, by: i128| {
                let by = u32::try_from(by).unwrap_or(0);
                if v.checked_shl(by).is_some_and(|s| s >> by == v) {
                    v << by
                } else if v < 0 {
                    i128::MIN
                } else {
                    i128::MAX
                }
            };
            let all =
                [shift(a.low, b.low), shift(a.low, b.high), shift(a.high, b.low), shift(a.high, b.high)];
            Range { low: all.into_iter().min().unwrap_or(0), high: all.into_iter().max().unwrap_or(0) }
        }
        BinOp::Shl => {
            if a.low >= 0 {
                Range { low: 0, high: if a.high == 0 { 0 } else { i128::MAX } }
            } else {
                Range::ANY
            }
        }
        BinOp::Shr => {
            let least = u32::try_from(b.low.clamp(0, 127)).unwrap_or(0);
            // A range whose end sticks to the limit says nothing about what is left after shifting.
            let end = |v: i128| if v == i128::MAX || v == i128::MIN { v } else { v >> least };
            Range { low: end(a.low).min(0).max(a.low.min(0)), high: end(a.high).max(0) }
        }
        BinOp::Eq | BinOp::Lt | BinOp::Le => Range::BOOL,
    }
}

/// Everything that the bits of the range's ends can spell.
fn around(r: Range) -> Range {
    let bits = r.bits();
    if bits >= 127 {
        Range::ANY
    } else {
        Range { low: if r.low < 0 { -(1 << bits) } else { 0 }, high: (1 << bits) - 1 }
    }
}

/// A header, fixed or an element of a stack.
#[derive(Clone, Debug)]
pub(crate) struct HeaderRef {
    /// The header, or the one each index means.
    pub headers: Vec<usize>,
    pub index: Option<Box<Ex>>,
}

/// A union, fixed or an element of a stack.
#[derive(Clone, Debug)]
pub(crate) struct UnionRef {
    pub unions: Vec<usize>,
    pub index: Option<Box<Ex>>,
}

/// What an expression of the JSON stands for.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Data(Ex),
    Bool(Ex),
    Header(HeaderRef),
    Stack(usize),
    Union(UnionRef),
    UnionStack(usize),
}

/// Reads expressions; `params` are the action's parameters as (slot, width).
pub(crate) struct Reader<'a> {
    pub layout: &'a Layout,
    pub params: &'a [(Slot, usize)],
}

fn unsupported<T>(what: impl Into<String>) -> Result<T, LoadError> {
    Err(LoadError::new("", what))
}

/// `[a, b]` as two strings.
pub(crate) fn pair(value: &Json) -> Result<(&str, &str), LoadError> {
    match value.as_array().map(Vec::as_slice) {
        Some([Json::String(a), Json::String(b)]) => Ok((a, b)),
        _ => unsupported(format!("two names expected, not {value}")),
    }
}

pub(crate) fn hex(value: &Json) -> Result<Big, LoadError> {
    let big = value.as_str().and_then(Big::from_hex);
    big.map_or_else(|| unsupported(format!("a hexadecimal number expected, not {value}")), Ok)
}

impl Reader<'_> {
    pub(crate) fn data(&self, json: &Json) -> Result<Ex, LoadError> {
        match self.node(json)? {
            Node::Data(ex) | Node::Bool(ex) => Ok(ex),
            other => unsupported(format!("a value expected, not {other:?}")),
        }
    }

    pub(crate) fn boolean(&self, json: &Json) -> Result<Ex, LoadError> {
        match self.node(json)? {
            Node::Bool(ex) => Ok(ex),
            Node::Data(ex) => Ok(Ex::Un(UnOp::ToBool, Box::new(ex))),
            other => unsupported(format!("a condition expected, not {other:?}")),
        }
    }

    pub(crate) fn place(&self, json: &Json) -> Result<Place, LoadError> {
        match self.node(json)? {
            Node::Data(Ex::Place(p)) => Ok(p),
            _ => unsupported(format!("a field expected, not {json}")),
        }
    }

    pub(crate) fn header(&self, json: &Json) -> Result<HeaderRef, LoadError> {
        match self.node(json)? {
            Node::Header(h) => Ok(h),
            _ => unsupported(format!("a header expected, not {json}")),
        }
    }

    pub(crate) fn node(&self, json: &Json) -> Result<Node, LoadError> {
        let kind = json.get("type").and_then(Json::as_str).unwrap_or("");
        let value = json.get("value").unwrap_or(&Json::Null);
        let name =
            || value.as_str().ok_or_else(|| LoadError::new("", format!("a name expected, not {value}")));
        let single = |x| HeaderRef { headers: vec![x], index: None };
        Ok(match kind {
            // p4c wraps some expressions twice; the inner one then has a type of its own.
            "expression" if value.get("type").is_some() => self.node(value)?,
            "expression" => self.operation(value)?,
            "field" => Node::Data(Ex::Place(self.field(value)?)),
            "hexstr" => Node::Data(Ex::Const(hex(value)?)),
            "bool" => match value.as_bool() {
                Some(b) => Node::Bool(Ex::constant(i64::from(b))),
                None => return unsupported(format!("true or false expected, not {value}")),
            },
            "local" | "runtime_data" => Node::Data(self.parameter(value)?),
            "header" => Node::Header(single(self.layout.header(name()?)?)),
            "header_stack" => Node::Stack(self.layout.stack(name()?)?),
            "header_union" => {
                Node::Union(UnionRef { unions: vec![self.layout.union(name()?)?], index: None })
            }
            "header_union_stack" => Node::UnionStack(self.layout.union_stack(name()?)?),
            "stack_field" => Node::Data(Ex::Place(self.last_field(value)?)),
            "union_stack_field" => Node::Data(Ex::Place(self.last_union_field(value)?)),
            other => return unsupported(format!("operand of type {other:?} isn't supported here")),
        })
    }

    fn parameter(&self, value: &Json) -> Result<Ex, LoadError> {
        let index = value.as_u64().and_then(|i| usize::try_from(i).ok());
        match index.and_then(|i| self.params.get(i)) {
            Some(&(slot, width)) => Ok(Ex::slot(slot, width)),
            None => unsupported(format!("no action parameter {value}")),
        }
    }

    pub(crate) fn field(&self, value: &Json) -> Result<Place, LoadError> {
        let (header, field) = pair(value)?;
        let header = self.layout.header(header)?;
        if field == "$valid$" {
            let base = self.layout.headers[header].base;
            return Ok(Place { base, index: None, width: 1, signed: false, variable: false });
        }
        let Some(f) = self.layout.type_of(header).field(field) else {
            return unsupported(format!(
                "header {:?} has no field {field:?}",
                self.layout.headers[header].name
            ));
        };
        Ok(place_of(f, self.layout.field_slot(header, f), None))
    }

    /// The field of the element of a stack that was extracted last.
    pub(crate) fn last_field(&self, value: &Json) -> Result<Place, LoadError> {
        let (stack, field) = pair(value)?;
        let stack = &self.layout.stacks[self.layout.stack(stack)?];
        let base = self.layout.headers[stack.headers[0]].base;
        let index = Some((Box::new(last_index(stack.next)), stack.stride, stack.headers.len()));
        if field == "$valid$" {
            return Ok(Place { base, index, width: 1, signed: false, variable: false });
        }
        let Some(f) = self.layout.types[stack.type_id].field(field) else {
            return unsupported(format!("no field {field:?} in the stack"));
        };
        Ok(place_of(f, base + size32(f.offset), index))
    }

    fn last_union_field(&self, value: &Json) -> Result<Place, LoadError> {
        let (Some(stack), Some(member), Some(field)) = (
            value.get(0).and_then(Json::as_str),
            value.get(1).and_then(Json::as_str),
            value.get(2).and_then(Json::as_str),
        ) else {
            return unsupported(format!("stack, member and field expected, not {value}"));
        };
        let stack = &self.layout.union_stacks[self.layout.union_stack(stack)?];
        let position = self.layout.union_types[stack.type_id].headers.iter().position(|(n, _)| n == member);
        let Some(position) = position else {
            return unsupported(format!("the union has no member {member:?}"));
        };
        let header = self.layout.unions[stack.unions[0]].headers[position];
        let Some(f) = self.layout.type_of(header).field(field) else {
            return unsupported(format!("no field {field:?} in member {member:?}"));
        };
        let index = Some((Box::new(last_index(stack.next)), stack.stride, stack.unions.len()));
        Ok(place_of(f, self.layout.field_slot(header, f), index))
    }

    fn operation(&self, value: &Json) -> Result<Node, LoadError> {
        let op = value.get("op").and_then(Json::as_str).unwrap_or("");
        let (left, right) =
            (value.get("left").unwrap_or(&Json::Null), value.get("right").unwrap_or(&Json::Null));
        let arith = |op| -> Result<Node, LoadError> {
            let a = if left.is_null() { Ex::constant(0) } else { self.data(left)? };
            Ok(Node::Data(Ex::bin(op, a, self.data(right)?)))
        };
        let compare = |op, swap: bool| -> Result<Node, LoadError> {
            let (a, b) = (self.data(left)?, self.data(right)?);
            Ok(Node::Bool(if swap { Ex::bin(op, b, a) } else { Ex::bin(op, a, b) }))
        };
        let cast = |make: fn(u32) -> UnOp| -> Result<Node, LoadError> {
            let width = match self.data(right)? {
                Ex::Const(c) => {
                    c.to_i128().and_then(|w| u32::try_from(w).ok()).filter(|w| (1..=4096).contains(w))
                }
                _ => None,
            };
            let width = width
                .ok_or_else(|| LoadError::new("", format!("{op} needs a constant width of 1 to 4096")))?;
            Ok(Node::Data(Ex::Un(make(width), Box::new(self.data(left)?))))
        };
        match op {
            "+" => arith(BinOp::Add),
            "-" => arith(BinOp::Sub),
            "*" => arith(BinOp::Mul),
            "/" => arith(BinOp::Div),
            "%" => arith(BinOp::Mod),
            "&" => arith(BinOp::And),
            "|" => arith(BinOp::Or),
            "^" => arith(BinOp::Xor),
            "<<" => arith(BinOp::Shl),
            ">>" => arith(BinOp::Shr),
            "~" => Ok(Node::Data(Ex::Un(UnOp::Not, Box::new(self.data(right)?)))),
            "<" => compare(BinOp::Lt, false),
            "<=" => compare(BinOp::Le, false),
            ">" => compare(BinOp::Lt, true),
            ">=" => compare(BinOp::Le, true),
            "==" => Ok(Node::Bool(self.equal(&self.node(left)?, &self.node(right)?)?)),
            "!=" => Ok(Node::Bool(Ex::not(self.equal(&self.node(left)?, &self.node(right)?)?))),
            "and" => Ok(Node::Bool(Ex::bin(BinOp::And, self.boolean(left)?, self.boolean(right)?))),
            "or" => Ok(Node::Bool(Ex::bin(BinOp::Or, self.boolean(left)?, self.boolean(right)?))),
            "not" => Ok(Node::Bool(Ex::not(self.boolean(right)?))),
            "d2b" => Ok(Node::Bool(Ex::Un(UnOp::ToBool, Box::new(self.data(right)?)))),
            "b2d" => Ok(Node::Data(self.boolean(right)?)),
            "two_comp_mod" => cast(UnOp::TwoCompMod),
            "sat_cast" => cast(UnOp::SatCast),
            "usat_cast" => cast(UnOp::UsatCast),
            "?" => {
                let cond = Box::new(self.boolean(value.get("cond").unwrap_or(&Json::Null))?);
                match (self.node(left)?, self.node(right)?) {
                    (Node::Data(a), Node::Data(b)) => Ok(Node::Data(Ex::If(cond, Box::new(a), Box::new(b)))),
                    (Node::Bool(a), Node::Bool(b)) => Ok(Node::Bool(Ex::If(cond, Box::new(a), Box::new(b)))),
                    _ => unsupported("the branches of ? must both be values or both conditions"),
                }
            }
            "valid" => Ok(Node::Bool(self.valid(&self.header(right)?))),
            "valid_union" => match self.node(right)? {
                Node::Union(u) => Ok(Node::Bool(self.valid_union(&u))),
                _ => unsupported("valid_union needs a union"),
            },
            "dereference_header_stack" => match self.node(left)? {
                Node::Stack(s) => {
                    let headers = self.layout.stacks[s].headers.clone();
                    Ok(Node::Header(HeaderRef { headers, index: Some(Box::new(self.data(right)?)) }))
                }
                _ => unsupported("dereference_header_stack needs a stack"),
            },
            "dereference_union_stack" => match self.node(left)? {
                Node::UnionStack(s) => {
                    let unions = self.layout.union_stacks[s].unions.clone();
                    Ok(Node::Union(UnionRef { unions, index: Some(Box::new(self.data(right)?)) }))
                }
                _ => unsupported("dereference_union_stack needs a stack of unions"),
            },
            "last_stack_index" | "size_stack" => {
                let next = match self.node(right)? {
                    Node::Stack(s) => self.layout.stacks[s].next,
                    Node::UnionStack(s) => self.layout.union_stacks[s].next,
                    _ => return unsupported(format!("{op} needs a stack")),
                };
                Ok(Node::Data(if op == "size_stack" { Ex::slot(next, 32) } else { wrapped_last_index(next) }))
            }
            "access_field" => match self.node(left)? {
                Node::Header(h) => Ok(Node::Data(Ex::Place(self.field_of(&h, position(right)?)?))),
                _ => unsupported("access_field needs a header"),
            },
            "access_union_header" => match self.node(left)? {
                Node::Union(u) => Ok(Node::Header(self.member_of(&u, position(right)?)?)),
                _ => unsupported("access_union_header needs a union"),
            },
            other => unsupported(format!("operator {other:?} isn't supported")),
        }
    }

    /// A header's field by position; the position after the last is its validity.
    fn field_of(&self, header: &HeaderRef, position: usize) -> Result<Place, LoadError> {
        let first = header.headers[0];
        let base = self.layout.headers[first].base;
        let kind = self.layout.type_of(first);
        let index =
            header.index.as_ref().map(|i| (i.clone(), self.stride(&header.headers), header.headers.len()));
        if position == kind.fields.len() {
            return Ok(Place { base, index, width: 1, signed: false, variable: false });
        }
        match kind.fields.get(position) {
            Some(f) => Ok(place_of(f, base + size32(f.offset), index)),
            None => unsupported(format!("no field at position {position}")),
        }
    }

    fn stride(&self, headers: &[usize]) -> usize {
        match headers {
            [a, b, ..] => (self.layout.headers[*b].base - self.layout.headers[*a].base) as usize,
            _ => 0,
        }
    }

    fn member_of(&self, union: &UnionRef, position: usize) -> Result<HeaderRef, LoadError> {
        let headers: Option<Vec<usize>> =
            union.unions.iter().map(|&u| self.layout.unions[u].headers.get(position).copied()).collect();
        match headers {
            Some(headers) => Ok(HeaderRef { headers, index: union.index.clone() }),
            None => unsupported(format!("no union member at position {position}")),
        }
    }

    pub(crate) fn valid(&self, h: &HeaderRef) -> Ex {
        let base = self.layout.headers[h.headers[0]].base;
        let index = h.index.as_ref().map(|i| (i.clone(), self.stride(&h.headers), h.headers.len()));
        Ex::Place(Place { base, index, width: 1, signed: false, variable: false })
    }

    fn valid_union(&self, u: &UnionRef) -> Ex {
        let members = self.layout.unions[u.unions[0]].headers.len();
        let mut any = Ex::constant(0);
        for m in 0..members {
            if let Ok(h) = self.member_of(u, m) {
                any = Ex::bin(BinOp::Or, any, self.valid(&h));
            }
        }
        any
    }

    fn equal(&self, a: &Node, b: &Node) -> Result<Ex, LoadError> {
        match (a, b) {
            (Node::Data(a), Node::Data(b)) => Ok(equal_values(a, b)),
            (Node::Bool(a) | Node::Data(a), Node::Bool(b) | Node::Data(b)) => {
                Ok(Ex::bin(BinOp::Eq, a.clone(), b.clone()))
            }
            (Node::Header(a), Node::Header(b)) => self.equal_headers(a, b),
            (Node::Union(a), Node::Union(b)) => {
                let members = self.layout.unions[a.unions[0]].headers.len();
                let mut any = Ex::constant(0);
                for m in 0..members {
                    let same = self.equal_headers(&self.member_of(a, m)?, &self.member_of(b, m)?)?;
                    any = Ex::bin(BinOp::Or, any, same);
                }
                Ok(any)
            }
            _ => unsupported("== of two different kinds of thing"),
        }
    }

    /// Both valid, and every field the same: BMv2 calls two invalid headers different.
    fn equal_headers(&self, a: &HeaderRef, b: &HeaderRef) -> Result<Ex, LoadError> {
        let kind = self.layout.type_of(a.headers[0]);
        if self.layout.headers[a.headers[0]].type_id != self.layout.headers[b.headers[0]].type_id {
            return Ok(Ex::constant(0));
        }
        let mut all = Ex::bin(BinOp::And, self.valid(a), self.valid(b));
        for position in 0..kind.fields.len() {
            let (x, y) = (self.field_of(a, position)?, self.field_of(b, position)?);
            all = Ex::bin(BinOp::And, all, equal_values(&Ex::Place(x), &Ex::Place(y)));
        }
        Ok(all)
    }
}

/// Variable fields are the same if their values are; BMv2 compares nothing else.
fn equal_values(a: &Ex, b: &Ex) -> Ex {
    Ex::bin(BinOp::Eq, a.clone(), b.clone())
}

fn position(json: &Json) -> Result<usize, LoadError> {
    let n = json.as_u64().and_then(|n| usize::try_from(n).ok());
    n.map_or_else(|| unsupported(format!("a position expected, not {json}")), Ok)
}

fn place_of(f: &FieldType, base: Slot, index: Option<(Box<Ex>, usize, usize)>) -> Place {
    Place { base, index, width: f.width, signed: f.signed, variable: f.variable }
}

fn last_index(next: Slot) -> Ex {
    Ex::bin(BinOp::Sub, Ex::slot(next, 32), Ex::constant(1))
}

/// BMv2 computes `count - 1` in a machine word: of an empty stack it is the largest one, which p4c masks.
fn wrapped_last_index(next: Slot) -> Ex {
    last_index(next)
}
