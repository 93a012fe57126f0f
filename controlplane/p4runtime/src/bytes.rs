//! Octet strings of P4Runtime: big-endian numbers in their shortest form.
//!
//! P4Runtime, Bytestrings: zero is one octet 0; otherwise the first octet isn't 0. A reader takes leading zeros
//! as well, and refuses what doesn't fit into the field's width.

/// Why an octet string is not a value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BytesError {
    /// No octets at all; zero is written as one octet.
    #[error("an empty value (0 is written as one octet 00)")]
    Empty,
    /// More significant bits than the field has.
    #[error("a value of {needed} bits for a field of {width} bits")]
    TooWide {
        /// Significant bits of the value.
        needed: usize,
        /// Bits of the field.
        width: usize,
    },
}

/// The shortest octet string of a number.
#[must_use]
pub fn encode(value: u128) -> Vec<u8> {
    canonical(&value.to_be_bytes())
}

/// Cuts leading zeros; what remains has at least one octet.
#[must_use]
pub fn canonical(octets: &[u8]) -> Vec<u8> {
    let zeros = octets.iter().take_while(|&&octet| octet == 0).count();
    let rest = octets.get(zeros..).unwrap_or_default();
    if rest.is_empty() { vec![0] } else { rest.to_vec() }
}

/// Significant bits of a big-endian octet string.
#[must_use]
pub fn significant_bits(octets: &[u8]) -> usize {
    let zeros = octets.iter().take_while(|&&octet| octet == 0).count();
    match octets.get(zeros) {
        Some(&first) => (octets.len() - zeros) * 8 - first.leading_zeros() as usize,
        None => 0,
    }
}

/// Checks a received octet string against a field's width in bits and gives its shortest form. Leading zeros
/// are accepted. A width of 0 means no limit.
///
/// # Errors
/// Empty strings and values that don't fit.
pub fn check(octets: &[u8], width: usize) -> Result<Vec<u8>, BytesError> {
    if octets.is_empty() {
        return Err(BytesError::Empty);
    }
    let needed = significant_bits(octets);
    if width != 0 && needed > width {
        return Err(BytesError::TooWide { needed, width });
    }
    Ok(canonical(octets))
}

/// Checks a received octet string and gives it with leading zeros up to whole octets of the width.
///
/// # Errors
/// As [`check`].
pub fn padded(octets: &[u8], width: usize) -> Result<Vec<u8>, BytesError> {
    let short = check(octets, width)?;
    let wanted = width.div_ceil(8);
    let mut out = vec![0; wanted.saturating_sub(short.len())];
    // A zero-width value canonicalises to one octet; never give more than asked for except then.
    out.extend_from_slice(&short);
    Ok(out)
}

/// Checks a received octet string against a width of at most 128 bits and gives the number.
///
/// # Errors
/// As [`check`].
pub fn decode(octets: &[u8], width: usize) -> Result<u128, BytesError> {
    let limit = if width == 0 { 128 } else { width.min(128) };
    let short = check(octets, limit)?;
    Ok(short.iter().fold(0, |value, &octet| (value << 8) | u128::from(octet)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_one_octet_and_leading_zeros_go() {
        assert_eq!(encode(0), [0]);
        assert_eq!(encode(0x1ff), [1, 0xff]);
        assert_eq!(canonical(&[0, 0, 7]), [7]);
        assert_eq!(canonical(&[0, 0]), [0]);
    }

    #[test]
    fn both_sides_of_the_width_limit() {
        assert_eq!(check(&[0x01, 0xff], 9), Ok(vec![0x01, 0xff]));
        assert_eq!(check(&[0x02, 0x00], 9), Err(BytesError::TooWide { needed: 10, width: 9 }));
        assert_eq!(check(&[0, 0, 0x01, 0xff], 9), Ok(vec![0x01, 0xff]), "padding is accepted");
        assert_eq!(check(&[], 9), Err(BytesError::Empty));
    }

    #[test]
    fn padded_fills_whole_octets() {
        assert_eq!(padded(&[5], 32), Ok(vec![0, 0, 0, 5]));
        assert_eq!(padded(&[0, 5], 3), Ok(vec![5]));
    }

    #[test]
    fn decode_is_the_inverse_of_encode() {
        for value in [0, 1, 255, 256, u128::from(u64::MAX), u128::MAX] {
            assert_eq!(decode(&encode(value), 128), Ok(value));
        }
        assert!(decode(&[1; 17], 0).is_err(), "more than 128 bits");
    }
}
