//! Field lists of clones and digests.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::Context;
use crate::builder::Builder;
use crate::expr::{hex, pair};
use crate::json::{FieldList, Root};
use crate::layout::MAX_WIDTH;
use crate::load_error::{LoadError, Within};
use crate::program::{DigestInfo, FieldCopy};

pub(super) fn field_lists(
    context: &Context,
    builder: &mut Builder,
    lists: &[FieldList],
    what: &str,
) -> Result<HashMap<u32, Vec<FieldCopy>>, LoadError> {
    let mut map = HashMap::new();
    for list in lists {
        let at = format!("{what}/{}", list.name);
        let mut copies = Vec::new();
        for element in &list.elements {
            copies.push(field_copy(context, builder, element).within(&at)?);
        }
        map.insert(list.id, copies);
    }
    Ok(map)
}

/// A field; or a constant, which a digest carries and a clone has anyway.
fn field_copy(context: &Context, builder: &mut Builder, element: &Json) -> Result<FieldCopy, LoadError> {
    let value = element.get("value").unwrap_or(&Json::Null);
    match element.get("type").and_then(Json::as_str) {
        Some("field") => {
            let (header, _) = pair(value)?;
            let header = context.layout.header(header)?;
            let place = context.reader().field(value)?;
            // A variable field's width travels with it.
            let (slot, limbs) = if place.variable {
                (place.base - 1, place.limbs() + 1)
            } else {
                (place.base, place.limbs())
            };
            let valid =
                (!context.layout.headers[header].metadata).then_some(context.layout.headers[header].base);
            Ok(FieldCopy { slot, limbs, bits: place.width, valid })
        }
        Some("hexstr") => {
            let value = hex(value)?;
            let given = element.get("bitwidth").and_then(Json::as_u64).and_then(|n| usize::try_from(n).ok());
            let bits = given.unwrap_or_else(|| value.limbs().len() * 64);
            if bits == 0 || bits > MAX_WIDTH {
                return Err(LoadError::new("", format!("a constant of {bits} bits isn't supported")));
            }
            let limbs = bits.div_ceil(64);
            let words: Vec<u64> = (0..limbs).map(|i| value.limb(i)).collect();
            Ok(FieldCopy { slot: builder.constant(&words), limbs, bits, valid: None })
        }
        other => Err(LoadError::new("", format!("element of type {other:?} isn't supported"))),
    }
}

pub(super) fn digest_infos(root: &Root, digests: &HashMap<u32, Vec<FieldCopy>>) -> HashMap<u32, DigestInfo> {
    let info = |list: &FieldList| {
        let widths = digests.get(&list.id).into_iter().flatten().map(|copy| copy.bits).collect();
        (list.id, DigestInfo { name: list.name.clone(), widths })
    };
    root.learn_lists.iter().map(info).collect()
}
