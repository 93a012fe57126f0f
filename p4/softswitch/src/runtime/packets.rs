//! Packets from and to the controller: the header in front of them, bit by bit.

use p4runtime::bytes;
use p4runtime::index::ControllerHeader;
use p4runtime::p4::config::v1::P4Info;
use p4runtime::p4::v1::{PacketIn, PacketMetadata, PacketOut};

use super::fault::Fault;
use super::pipeline::Pipeline;

/// The octets that a controller's packet enters the switch with: its header, then the payload.
pub(super) fn packet_out(pipeline: &Pipeline, packet: &PacketOut) -> Result<Vec<u8>, Fault> {
    let Some(header) = pipeline.index.controller_headers.by_name("packet_out") else {
        if packet.metadata.is_empty() {
            return Ok(packet.payload.clone());
        }
        return Err(Fault::invalid("packet-out: the program has no packet_out header, hence no metadata"));
    };
    let mut bits = BitWriter::default();
    for given in &packet.metadata {
        if !header.fields.iter().any(|field| field.id == given.metadata_id) {
            return Err(Fault::invalid(format!("packet-out: no metadata with id {}", given.metadata_id)));
        }
        if packet.metadata.iter().filter(|other| other.metadata_id == given.metadata_id).count() > 1 {
            return Err(Fault::invalid(format!("packet-out: metadata {} is given twice", given.metadata_id)));
        }
    }
    for field in &header.fields {
        let given = packet.metadata.iter().find(|given| given.metadata_id == field.id);
        let value = match given {
            Some(given) => bytes::padded(&given.value, field.width)
                .map_err(|error| Fault::from(error).at(&format!("packet-out: metadata `{}`", field.name)))?,
            // Padding carries nothing; clients may leave it out.
            None if is_padding(pipeline.index.info(), header, field.id) => {
                vec![0; field.width.div_ceil(8)]
            }
            None => return Err(Fault::invalid(format!("packet-out: metadata `{}` is missing", field.name))),
        };
        bits.push(&value, field.width);
    }
    let mut octets = bits.octets;
    octets.extend_from_slice(&packet.payload);
    Ok(octets)
}

/// What the controller gets of a packet that left through the CPU port; `None` if it is shorter than the header.
pub(super) fn packet_in(pipeline: &Pipeline, octets: &[u8]) -> Option<PacketIn> {
    let Some(header) = pipeline.index.controller_headers.by_name("packet_in") else {
        return Some(PacketIn { payload: octets.to_vec(), metadata: Vec::new() });
    };
    let length = header.fields.iter().map(|field| field.width).sum::<usize>() / 8;
    let (head, payload) = octets.split_at_checked(length)?;
    let mut at = 0;
    let metadata = header
        .fields
        .iter()
        .map(|field| {
            let value = bytes::canonical(&cut(head, at, field.width));
            at += field.width;
            PacketMetadata { metadata_id: field.id, value }
        })
        .collect();
    Some(PacketIn { payload: payload.to_vec(), metadata })
}

fn is_padding(info: &P4Info, header: &ControllerHeader, id: u32) -> bool {
    info.controller_packet_metadata
        .iter()
        .filter(|other| other.preamble.as_ref().is_some_and(|preamble| preamble.id == header.id))
        .flat_map(|other| &other.metadata)
        .any(|field| field.id == id && field.annotations.iter().any(|text| text.starts_with("@padding")))
}

#[derive(Default)]
struct BitWriter {
    octets: Vec<u8>,
    bits: usize,
}

impl BitWriter {
    /// Appends the low `width` bits of a big-endian value.
    fn push(&mut self, value: &[u8], width: usize) {
        let spare = value.len() * 8 - width;
        for bit in spare..spare + width {
            let one = value[bit / 8] >> (7 - bit % 8) & 1;
            if self.bits.is_multiple_of(8) {
                self.octets.push(0);
            }
            if let Some(last) = self.octets.last_mut() {
                *last |= one << (7 - self.bits % 8);
            }
            self.bits += 1;
        }
    }
}

/// `width` bits from bit `at`, as whole octets with leading zeros.
fn cut(octets: &[u8], at: usize, width: usize) -> Vec<u8> {
    let mut out = vec![0u8; width.div_ceil(8)];
    let spare = out.len() * 8 - width;
    for bit in 0..width {
        let from = at + bit;
        let one = octets[from / 8] >> (7 - from % 8) & 1;
        let to = spare + bit;
        out[to / 8] |= one << (7 - to % 8);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_packed_bit_by_bit_and_come_back() {
        let mut bits = BitWriter::default();
        bits.push(&[0x01, 0xff], 9);
        bits.push(&[0x00], 5);
        bits.push(&[0x02], 2);
        assert_eq!(bits.octets, [0xff, 0x82]);
        assert_eq!(cut(&bits.octets, 0, 9), [0x01, 0xff]);
        assert_eq!(cut(&bits.octets, 14, 2), [0x02]);
    }
}
