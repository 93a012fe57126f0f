//! Reads the JSON's expressions.

use crate::num::size32;
use serde_json::Value as Json;

use super::{BinOp, Ex, HeaderRef, Node, Place, UnOp, UnionRef};
use crate::bigint::Big;
use crate::layout::{FieldType, Layout, Slot};
use crate::load_error::LoadError;

/// Reads expressions; `params` are the action's parameters as (slot, width).
pub(crate) struct Reader<'a> {
    pub layout: &'a Layout,
    pub params: &'a [(Slot, usize)],
}

pub(super) fn unsupported<T>(what: impl Into<String>) -> Result<T, LoadError> {
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
            Node::Data(ex) => Ok(Ex::un(UnOp::ToBool, ex)),
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
            return Ok(Place::plain(base, None, 1));
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
            return Ok(Place::plain(base, index, 1));
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
            Ok(Node::Data(Ex::un(make(width), self.data(left)?)))
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
            "~" => Ok(Node::Data(Ex::un(UnOp::Not, self.data(right)?))),
            "<" => compare(BinOp::Lt, false),
            "<=" => compare(BinOp::Le, false),
            ">" => compare(BinOp::Lt, true),
            ">=" => compare(BinOp::Le, true),
            "==" => Ok(Node::Bool(self.equal(&self.node(left)?, &self.node(right)?)?)),
            "!=" => Ok(Node::Bool(Ex::not(self.equal(&self.node(left)?, &self.node(right)?)?))),
            "and" => Ok(Node::Bool(Ex::bin(BinOp::And, self.boolean(left)?, self.boolean(right)?))),
            "or" => Ok(Node::Bool(Ex::bin(BinOp::Or, self.boolean(left)?, self.boolean(right)?))),
            "not" => Ok(Node::Bool(Ex::not(self.boolean(right)?))),
            "d2b" => Ok(Node::Bool(Ex::un(UnOp::ToBool, self.data(right)?))),
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
}

fn position(json: &Json) -> Result<usize, LoadError> {
    let n = json.as_u64().and_then(|n| usize::try_from(n).ok());
    n.map_or_else(|| unsupported(format!("a position expected, not {json}")), Ok)
}

pub(super) fn place_of(f: &FieldType, base: Slot, index: Option<(Box<Ex>, usize, usize)>) -> Place {
    let (signed, saturating) = (f.signed, f.saturating);
    Place { base, index, width: f.width, signed, saturating, variable: f.variable }
}

fn last_index(next: Slot) -> Ex {
    Ex::bin(BinOp::Sub, Ex::slot(next, 32), Ex::constant(1))
}

/// BMv2 computes `count - 1` in a machine word: of an empty stack it is the largest one, which p4c masks.
fn wrapped_last_index(next: Slot) -> Ex {
    last_index(next)
}
