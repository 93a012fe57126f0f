//! GF(2^8) with the polynomial 0x11D (CREM, Cauchy Code): tables, all computed at compile time.

/// x^8 + x^4 + x^3 + x^2 + 1; 2 generates the multiplicative group.
const POLYNOMIAL: u16 = 0x11d;

/// `EXP[n]` is 2^n, twice over, so that a sum of two logarithms needs no reduction.
const EXP: [u8; 510] = exponentials();
/// `LOG[a]` is n with 2^n = a; `LOG[0]` means nothing.
const LOG: [u8; 256] = logarithms();

#[expect(clippy::cast_possible_truncation, reason = "reduced below 256")]
const fn exponentials() -> [u8; 510] {
    let mut table = [0; 510];
    let mut power = 1u16;
    let mut n = 0;
    while n < 510 {
        table[n] = power as u8;
        power <<= 1;
        if power >= 0x100 {
            power ^= POLYNOMIAL;
        }
        n += 1;
    }
    table
}

#[expect(clippy::cast_possible_truncation, reason = "below 255")]
const fn logarithms() -> [u8; 256] {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 255 {
        table[EXP[n] as usize] = n as u8;
        n += 1;
    }
    table
}

/// The product of two elements.
pub const fn multiply(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 { 0 } else { EXP[LOG[a as usize] as usize + LOG[b as usize] as usize] }
}

/// 1 / a; 0 for 0, which has no inverse.
pub const fn invert(a: u8) -> u8 {
    if a == 0 { 0 } else { EXP[255 - LOG[a as usize] as usize] }
}

/// Per coefficient: its products with 0x00..0x0f, then with 0x00, 0x10, .. 0xf0. What byte shuffles look up.
pub(super) static NIBBLES: [[u8; 32]; 256] = nibbles();

#[expect(clippy::cast_possible_truncation, reason = "below 256")]
const fn nibbles() -> [[u8; 32]; 256] {
    let mut table = [[0; 32]; 256];
    let mut c = 0;
    while c < 256 {
        let mut n = 0;
        while n < 16 {
            table[c][n] = multiply(c as u8, n as u8);
            table[c][16 + n] = multiply(c as u8, (n as u8) << 4);
            n += 1;
        }
        c += 1;
    }
    table
}

/// Per coefficient: multiplication by it as a matrix of bits, as `gf2p8affineqb` takes it (the instruction that multiplies
/// in GF(2^8) is bound to another polynomial): octet 7 - i holds the row of the product's bit i.
#[cfg(target_arch = "x86_64")]
pub(super) static MATRICES: [u64; 256] = matrices();

#[cfg(target_arch = "x86_64")]
#[expect(clippy::cast_possible_truncation, reason = "below 256")]
const fn matrices() -> [u64; 256] {
    let mut table = [0; 256];
    let mut c = 0;
    while c < 256 {
        let mut column = 0;
        while column < 8 {
            let product = multiply(c as u8, 1 << column);
            let mut row = 0;
            while row < 8 {
                if product >> row & 1 == 1 {
                    table[c] |= 1 << ((7 - row) * 8 + column);
                }
                row += 1;
            }
            column += 1;
        }
        c += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Carry-less multiplication and reduction, bit by bit.
    fn slow(a: u8, b: u8) -> u8 {
        let mut product = 0u16;
        for bit in 0..8 {
            if b >> bit & 1 == 1 {
                product ^= u16::from(a) << bit;
            }
        }
        for bit in (8..15).rev() {
            if product >> bit & 1 == 1 {
                product ^= POLYNOMIAL << (bit - 8);
            }
        }
        u8::try_from(product).unwrap()
    }

    //~ CREM, Cauchy Code: 950e1155
    #[test]
    fn products_are_those_of_the_polynomial() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(multiply(a, b), slow(a, b), "{a} * {b}");
            }
        }
    }

    #[test]
    fn every_element_but_zero_has_an_inverse() {
        assert_eq!(invert(0), 0);
        for a in 1..=255 {
            assert_eq!(slow(a, invert(a)), 1, "{a}");
        }
    }
}
