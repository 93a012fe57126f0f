//! The hash algorithms of v1model, as BMv2 computes them.

use crate::num::low16;

/// An algorithm by the name that the JSON gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Crc16,
    Crc32,
    CrcCcitt,
    Identity,
    Csum16,
    Xor16,
    Xor32,
}

impl Algorithm {
    /// The custom CRCs are the standard ones until somebody configures them, which P4Runtime can't.
    pub(crate) fn by_name(name: &str) -> Option<Algorithm> {
        Some(match name {
            "crc16" | "crc16_custom" => Algorithm::Crc16,
            "crc32" | "crc32_custom" => Algorithm::Crc32,
            "crcCCITT" => Algorithm::CrcCcitt,
            "identity" => Algorithm::Identity,
            "csum16" | "cksum16" => Algorithm::Csum16,
            "xor16" => Algorithm::Xor16,
            "xor32" => Algorithm::Xor32,
            _ => return None,
        })
    }

    /// Whether zero octets after the data leave the result alone.
    pub(crate) fn ignores_zeros(self) -> bool {
        matches!(self, Algorithm::Csum16 | Algorithm::Xor16 | Algorithm::Xor32)
    }

    pub(crate) fn compute(self, data: &[u8]) -> u64 {
        match self {
            Algorithm::Crc16 => u64::from(crc16(data)),
            Algorithm::Crc32 => u64::from(crc32fast::hash(data)),
            Algorithm::CrcCcitt => u64::from(crc_ccitt(data)),
            // Up to eight octets as one number.
            Algorithm::Identity => data.iter().take(8).fold(0, |v, &o| v << 8 | u64::from(o)),
            Algorithm::Csum16 => u64::from(csum16(data)),
            Algorithm::Xor16 => xor(data, 2),
            Algorithm::Xor32 => xor(data, 4),
        }
    }
}

const fn crc16_table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut r = low16(i as u64);
        let mut bit = 0;
        while bit < 8 {
            // The reflected polynomial of 0x8005.
            r = if r & 1 == 1 { r >> 1 ^ 0xa001 } else { r >> 1 };
            bit += 1;
        }
        table[i] = r;
        i += 1;
    }
    table
}

static CRC16: [u16; 256] = crc16_table();

fn crc16(data: &[u8]) -> u16 {
    data.iter().fold(0, |r, &o| CRC16[usize::from((r ^ u16::from(o)) & 0xff)] ^ r >> 8)
}

fn crc_ccitt(data: &[u8]) -> u16 {
    data.iter().fold(0xffff, |mut r: u16, &o| {
        r ^= u16::from(o) << 8;
        for _ in 0..8 {
            r = if r & 0x8000 == 0 { r << 1 } else { r << 1 ^ 0x1021 };
        }
        r
    })
}

/// The Internet checksum (RFC 1071); an odd octet counts as the high half of a word.
pub(crate) fn csum16(data: &[u8]) -> u16 {
    let (chunks, rest) = data.as_chunks::<4>();
    let mut sum: u64 = chunks.iter().map(|c| u64::from(u32::from_be_bytes(*c))).sum();
    let mut tail = [0u8; 4];
    tail[..rest.len()].copy_from_slice(rest);
    sum += u64::from(u32::from_be_bytes(tail));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !low16(sum)
}

/// Words of `n` octets added without carry, the last one filled up with zeros.
fn xor(data: &[u8], n: usize) -> u64 {
    data.chunks(n).fold(0, |v, chunk| {
        let word = chunk.iter().fold(0u64, |w, &o| w << 8 | u64::from(o));
        v ^ word << (8 * (n - chunk.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECK: &[u8] = b"123456789";

    #[test]
    fn algorithms_give_their_published_check_values() {
        assert_eq!(Algorithm::Crc16.compute(CHECK), 0xbb3d);
        assert_eq!(Algorithm::Crc32.compute(CHECK), 0xcbf4_3926);
        assert_eq!(Algorithm::CrcCcitt.compute(CHECK), 0x29b1);
        assert_eq!(Algorithm::Identity.compute(&[1, 2, 3]), 0x01_0203);
        assert_eq!(Algorithm::Xor16.compute(&[1, 2, 3]), 0x0202);
    }

    #[test]
    fn internet_checksum_of_rfc_1071() {
        assert_eq!(csum16(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(csum16(&[]), 0xffff);
        assert_eq!(csum16(&[0xff, 0xff]), 0);
    }
}
