//! Expressions about headers and unions: elements, validity, equality.

use crate::num::size32;

use super::reader::{place_of, unsupported};
use super::{BinOp, Ex, HeaderRef, Node, Place, Reader, UnionRef};
use crate::load_error::LoadError;

impl Reader<'_> {
    /// A header's field by position; the position after the last is its validity.
    pub(super) fn field_of(&self, header: &HeaderRef, position: usize) -> Result<Place, LoadError> {
        let first = header.headers[0];
        let base = self.layout.headers[first].base;
        let kind = self.layout.type_of(first);
        let index =
            header.index.as_ref().map(|i| (i.clone(), self.stride(&header.headers), header.headers.len()));
        if position == kind.fields.len() {
            return Ok(Place::plain(base, index, 1));
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

    pub(super) fn member_of(&self, union: &UnionRef, position: usize) -> Result<HeaderRef, LoadError> {
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
        Ex::Place(Place::plain(base, index, 1))
    }

    pub(super) fn valid_union(&self, u: &UnionRef) -> Ex {
        let members = self.layout.unions[u.unions[0]].headers.len();
        let mut any = Ex::constant(0);
        for m in 0..members {
            if let Ok(h) = self.member_of(u, m) {
                any = Ex::bin(BinOp::Or, any, self.valid(&h));
            }
        }
        any
    }

    pub(super) fn equal(&self, a: &Node, b: &Node) -> Result<Ex, LoadError> {
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
