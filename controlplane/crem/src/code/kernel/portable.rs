//! The variant for every processor, and for the octets that the others leave at the end.

use super::super::gf::NIBBLES;

/// The octets of `outputs` from `from` on.
pub(super) fn dot(coefficients: &[u8], sources: &[&[u8]], outputs: &mut [&mut [u8]], from: usize) {
    for (index, output) in outputs.iter_mut().enumerate() {
        let Some(output) = output.get_mut(from..) else { continue };
        output.fill(0);
        let row = coefficients.iter().skip(index * sources.len());
        for (coefficient, source) in row.zip(sources) {
            let source = source.get(from..).unwrap_or_default();
            let [low, high] = halves(*coefficient);
            for (sum, octet) in output.iter_mut().zip(source) {
                *sum ^= low[usize::from(octet & 0xf)] ^ high[usize::from(octet >> 4)];
            }
        }
    }
}

fn halves(coefficient: u8) -> [&'static [u8; 16]; 2] {
    let row = &NIBBLES[usize::from(coefficient)];
    let (low, high) = row.as_chunks::<16>().0.split_at(1);
    [&low[0], &high[0]]
}
