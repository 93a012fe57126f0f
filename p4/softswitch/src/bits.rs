//! Reading and writing fields of any width at any bit.

use crate::layout::mask;
use crate::num::{low8, low16, low32, low64, size32};

/// Reads up to 64 bits starting at bit `at`; octets beyond the data read as zero.
pub(crate) fn read(data: &[u8], at: usize, bits: usize) -> u64 {
    let (octet, shift) = (at / 8, at % 8);
    if shift + bits <= 64
        && let Some(window) = data.get(octet..octet + 8)
        && let Ok(window) = <[u8; 8]>::try_from(window)
    {
        return u64::from_be_bytes(window) << shift >> (64 - bits.max(1));
    }
    let octets = (shift + bits).div_ceil(8);
    let mut value = 0u128;
    for i in 0..octets {
        value = value << 8 | u128::from(data.get(octet + i).copied().unwrap_or(0));
    }
    low64(value >> (octets * 8 - shift - bits)) & mask(bits)
}

/// Reads a field into its words, lowest first.
pub(crate) fn read_words(data: &[u8], at: usize, bits: usize, words: &mut [u64]) {
    let mut left = bits;
    for word in words {
        let take = left.min(64);
        left -= take;
        *word = if take == 0 { 0 } else { read(data, at + left, take) };
    }
}

/// Appends bits to octets.
pub(crate) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Bits that don't fill an octet yet.
    pending: u64,
    count: u32,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Writer<'a> {
        Writer { out, pending: 0, count: 0 }
    }

    /// Appends the low `bits` bits of `value`, up to 64.
    pub(crate) fn put(&mut self, value: u64, bits: u32) {
        if self.count == 0 {
            match bits {
                8 => return self.out.push(low8(value)),
                16 => return self.out.extend_from_slice(&low16(value).to_be_bytes()),
                32 => return self.out.extend_from_slice(&low32(value).to_be_bytes()),
                48 => return self.out.extend_from_slice(&value.to_be_bytes()[2..]),
                64 => return self.out.extend_from_slice(&value.to_be_bytes()),
                _ => {}
            }
        }
        if bits + self.count > 64 {
            self.put(value >> 32, bits - 32);
            return self.put(value & mask(32), 32);
        }
        let value = value & mask(bits as usize);
        self.pending = if bits == 64 { value } else { self.pending << bits | value };
        self.count += bits;
        while self.count >= 8 {
            self.count -= 8;
            self.out.push(low8(self.pending >> self.count));
        }
        self.pending &= mask(self.count as usize);
    }

    /// Appends a field from its words.
    pub(crate) fn put_words(&mut self, words: &[u64], bits: usize) {
        let mut left = bits;
        for i in (0..bits.div_ceil(64)).rev() {
            let take = left - i * 64;
            left -= take;
            self.put(words.get(i).copied().unwrap_or(0), size32(take));
        }
    }

    /// Fills the last octet up with zeros.
    pub(crate) fn finish(mut self) {
        if self.count > 0 {
            let missing = 8 - self.count;
            self.put(0, missing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let fields =
            [(5u64, 3u32), (0x1abc, 13), (0xdead_beef_1234_5678, 64), (1, 1), (0x7f_ffff_ffff, 39), (3, 8)];
        let mut octets = Vec::new();
        let mut writer = Writer::new(&mut octets);
        for (v, bits) in fields {
            writer.put(v, bits);
        }
        writer.finish();
        assert_eq!(octets.len(), 16);
        let mut at = 0;
        for (v, bits) in fields {
            assert_eq!(read(&octets, at, bits as usize), v, "{bits} bits at {at}");
            at += bits as usize;
        }
    }

    #[test]
    fn wide_fields_go_high_word_first() {
        let mut octets = Vec::new();
        let mut writer = Writer::new(&mut octets);
        writer.put(1, 4);
        writer.put_words(&[0x1122_3344_5566_7788, 0xabc], 76);
        writer.finish();
        assert_eq!(octets, [0x1a, 0xbc, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]);
        let mut words = [0; 2];
        read_words(&octets, 4, 76, &mut words);
        assert_eq!(words, [0x1122_3344_5566_7788, 0xabc]);
    }
}
