//! Copies of variable fields, headers and stacks.

use super::Context;
use super::primitives::header_sel;
use crate::builder::Builder;
use crate::expr::{HeaderRef, Place};
use crate::load_error::LoadError;
use crate::num::size32;
use crate::ops::{Extern, Op};

pub(super) fn assign_variable(builder: &mut Builder, dst: &Place, src: &Place) -> Result<(), LoadError> {
    if !dst.variable || !src.variable || dst.index.is_some() || src.index.is_some() || dst.width != src.width
    {
        return Err(LoadError::new("", "assign_VL needs two variable fields of one size"));
    }
    builder.emit(Op::CopyN { d: dst.base - 1, a: src.base - 1, n: size32(src.limbs() + 1) });
    Ok(())
}

pub(super) fn assign_header(
    context: &Context,
    builder: &mut Builder,
    dst: HeaderRef,
    src: HeaderRef,
) -> Result<(), LoadError> {
    let kind = |h: &HeaderRef| context.layout.headers[h.headers[0]].type_id;
    if kind(&dst) != kind(&src) {
        return Err(LoadError::new("", "headers of different types"));
    }
    let (dst, src) = (header_sel(builder, dst)?, header_sel(builder, src)?);
    builder.call(Extern::AssignHeader { dst, src });
    Ok(())
}

pub(super) fn assign_all(
    context: &Context,
    builder: &mut Builder,
    dst: &[usize],
    src: &[usize],
) -> Result<(), LoadError> {
    if dst.len() != src.len() {
        return Err(LoadError::new("", "stacks of different sizes"));
    }
    for (&d, &s) in dst.iter().zip(src) {
        let fixed = |h| HeaderRef { headers: vec![h], index: None };
        assign_header(context, builder, fixed(d), fixed(s))?;
    }
    Ok(())
}
