//! The variants with vector instructions: the only `unsafe` code of the crate.
//!
//! Two things are unsafe here: to call a function whose instructions the processor may lack, which each wrapper checks, and to
//! read and write vectors through pointers. For the latter every loop stays below `octets`, the length that
//! [`super::Kernel::dot`] has checked of every source and output.
#![allow(unsafe_code)]

#[cfg(target_arch = "aarch64")]
pub(super) use arm::{has_neon, neon};
#[cfg(target_arch = "x86_64")]
pub(super) use x86::{avx2, gfni, has_avx2, has_gfni};

/// For processors of another kind: never available, and right all the same.
macro_rules! absent {
    ($($has:ident, $dot:ident;)*) => {
        $(
            pub(super) const fn $has() -> bool {
                false
            }
            pub(super) fn $dot(coefficients: &[u8], sources: &[&[u8]], outputs: &mut [&mut [u8]]) {
                super::portable::dot(coefficients, sources, outputs, 0);
            }
        )*
    };
}

#[cfg(not(target_arch = "aarch64"))]
absent! { has_neon, neon; }
#[cfg(not(target_arch = "x86_64"))]
absent! { has_avx2, avx2; has_gfni, gfni; }

/// The coefficients by output.
#[inline]
fn rows<const M: usize>(coefficients: &[u8], sources: usize) -> [&[u8]; M] {
    core::array::from_fn(|output| &coefficients[output * sources..][..sources])
}

/// Calls `$kernel::<outputs>` for at most four outputs at a time, and says which octet is the first that it left.
macro_rules! in_groups {
    ($kernel:ident, $coefficients:ident, $sources:ident, $outputs:ident) => {{
        let mut done = 0;
        for (group, outputs) in $outputs.chunks_mut(4).enumerate() {
            let coefficients = $coefficients.get(group * 4 * $sources.len()..).unwrap_or_default();
            // SAFETY: the caller has checked that the processor has the instructions, and Kernel::dot the lengths.
            done = unsafe {
                match outputs {
                    [a] => $kernel(coefficients, $sources, [&mut **a]),
                    [a, b] => $kernel(coefficients, $sources, [&mut **a, &mut **b]),
                    [a, b, c] => $kernel(coefficients, $sources, [&mut **a, &mut **b, &mut **c]),
                    [a, b, c, d] => $kernel(coefficients, $sources, [&mut **a, &mut **b, &mut **c, &mut **d]),
                    _ => done,
                }
            };
        }
        done
    }};
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::{
        __m256i, __m512i, _mm_loadu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_loadu_si256,
        _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_storeu_si256,
        _mm256_xor_si256, _mm512_gf2p8affine_epi64_epi8, _mm512_loadu_si512, _mm512_mask_storeu_epi8,
        _mm512_maskz_loadu_epi8, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_storeu_si512,
        _mm512_xor_si512,
    };

    use super::super::super::gf::{MATRICES, NIBBLES};
    use super::{super::portable, rows};

    pub(in super::super) fn has_gfni() -> bool {
        std::is_x86_feature_detected!("gfni")
            && std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512bw")
    }

    pub(in super::super) fn has_avx2() -> bool {
        std::is_x86_feature_detected!("avx2")
    }

    pub(in super::super) fn gfni(coefficients: &[u8], sources: &[&[u8]], outputs: &mut [&mut [u8]]) {
        assert!(has_gfni(), "Kernel::dot calls this only where it runs");
        in_groups!(gfni_outputs, coefficients, sources, outputs);
    }

    pub(in super::super) fn avx2(coefficients: &[u8], sources: &[&[u8]], outputs: &mut [&mut [u8]]) {
        assert!(has_avx2(), "Kernel::dot calls this only where it runs");
        let done = in_groups!(avx2_outputs, coefficients, sources, outputs);
        portable::dot(coefficients, sources, outputs, done);
    }

    /// The matrix that multiplies by `coefficient`, eight times.
    #[target_feature(enable = "avx512f")]
    fn matrix(coefficient: u8) -> __m512i {
        _mm512_set1_epi64(MATRICES[usize::from(coefficient)].cast_signed())
    }

    /// All octets: the last ones, less than a vector, with a mask.
    ///
    /// # Safety
    /// Sources must be as long as the outputs.
    #[target_feature(enable = "gfni,avx512f,avx512bw")]
    unsafe fn gfni_outputs<const M: usize>(
        coefficients: &[u8],
        sources: &[&[u8]],
        mut outputs: [&mut [u8]; M],
    ) -> usize {
        /// Vectors per step: enough sums in flight, few enough to stay in registers with four outputs.
        const WIDTH: usize = 4;
        let octets = outputs.first().map_or(0, |output| output.len());
        let rows = rows::<M>(coefficients, sources.len());
        let mut at = 0;
        while at + WIDTH * 64 <= octets {
            let mut sums = [[_mm512_setzero_si512(); WIDTH]; M];
            for (index, source) in sources.iter().enumerate() {
                // SAFETY: at + WIDTH * 64 is at most the length of every source.
                let octets: [__m512i; WIDTH] = core::array::from_fn(|lane| unsafe {
                    _mm512_loadu_si512(source.as_ptr().add(at + lane * 64).cast())
                });
                for (output, sums) in sums.iter_mut().enumerate() {
                    let matrix = matrix(rows[output][index]);
                    for (sum, octets) in sums.iter_mut().zip(octets) {
                        *sum = _mm512_xor_si512(*sum, _mm512_gf2p8affine_epi64_epi8::<0>(octets, matrix));
                    }
                }
            }
            for (output, sums) in outputs.iter_mut().zip(sums) {
                for (lane, sum) in sums.into_iter().enumerate() {
                    // SAFETY: at + WIDTH * 64 is at most the length of every output.
                    unsafe { _mm512_storeu_si512(output.as_mut_ptr().add(at + lane * 64).cast(), sum) };
                }
            }
            at += WIDTH * 64;
        }
        while at < octets {
            let mask = u64::MAX >> (64 - (octets - at).min(64));
            let mut sums = [_mm512_setzero_si512(); M];
            for (index, source) in sources.iter().enumerate() {
                // SAFETY: the mask leaves out octets behind the end; masked octets are not accessed.
                let octets = unsafe { _mm512_maskz_loadu_epi8(mask, source.as_ptr().add(at).cast()) };
                for (output, sum) in sums.iter_mut().enumerate() {
                    let matrix = matrix(rows[output][index]);
                    *sum = _mm512_xor_si512(*sum, _mm512_gf2p8affine_epi64_epi8::<0>(octets, matrix));
                }
            }
            for (output, sum) in outputs.iter_mut().zip(sums) {
                // SAFETY: as for the masked loads.
                unsafe { _mm512_mask_storeu_epi8(output.as_mut_ptr().add(at).cast(), mask, sum) };
            }
            at += 64;
        }
        octets
    }

    /// The two tables of `coefficient`, each in both halves.
    #[target_feature(enable = "avx2")]
    fn tables(coefficient: u8) -> [__m256i; 2] {
        let row = NIBBLES[usize::from(coefficient)].as_ptr();
        // SAFETY: a row has 32 octets, and unaligned loads have no alignment to keep.
        let (low, high) = unsafe { (_mm_loadu_si128(row.cast()), _mm_loadu_si128(row.add(16).cast())) };
        [_mm256_broadcastsi128_si256(low), _mm256_broadcastsi128_si256(high)]
    }

    /// Whole steps only; returns the first octet that is left.
    ///
    /// # Safety
    /// Sources must be as long as the outputs.
    #[target_feature(enable = "avx2")]
    unsafe fn avx2_outputs<const M: usize>(
        coefficients: &[u8],
        sources: &[&[u8]],
        mut outputs: [&mut [u8]; M],
    ) -> usize {
        /// Vectors per step: sixteen registers hold eight sums, two sources in halves and two tables.
        const WIDTH: usize = 2;
        let octets = outputs.first().map_or(0, |output| output.len());
        let rows = rows::<M>(coefficients, sources.len());
        let nibble = _mm256_set1_epi8(0xf);
        let mut at = 0;
        while at + WIDTH * 32 <= octets {
            let mut sums = [[_mm256_setzero_si256(); WIDTH]; M];
            for (index, source) in sources.iter().enumerate() {
                let halves: [[__m256i; 2]; WIDTH] = core::array::from_fn(|lane| {
                    // SAFETY: at + WIDTH * 32 is at most the length of every source.
                    let octets = unsafe { _mm256_loadu_si256(source.as_ptr().add(at + lane * 32).cast()) };
                    let high = _mm256_and_si256(_mm256_srli_epi16::<4>(octets), nibble);
                    [_mm256_and_si256(octets, nibble), high]
                });
                for (output, sums) in sums.iter_mut().enumerate() {
                    let [low, high] = tables(rows[output][index]);
                    for (sum, halves) in sums.iter_mut().zip(halves) {
                        let low = _mm256_shuffle_epi8(low, halves[0]);
                        let high = _mm256_shuffle_epi8(high, halves[1]);
                        *sum = _mm256_xor_si256(*sum, _mm256_xor_si256(low, high));
                    }
                }
            }
            for (output, sums) in outputs.iter_mut().zip(sums) {
                for (lane, sum) in sums.into_iter().enumerate() {
                    // SAFETY: at + WIDTH * 32 is at most the length of every output.
                    unsafe { _mm256_storeu_si256(output.as_mut_ptr().add(at + lane * 32).cast(), sum) };
                }
            }
            at += WIDTH * 32;
        }
        at
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use core::arch::aarch64::{
        uint8x16_t, vandq_u8, vdupq_n_u8, veorq_u8, vld1q_u8, vqtbl1q_u8, vshrq_n_u8, vst1q_u8,
    };

    use super::super::super::gf::NIBBLES;
    use super::{super::portable, rows};

    pub(in super::super) fn has_neon() -> bool {
        std::arch::is_aarch64_feature_detected!("neon")
    }

    pub(in super::super) fn neon(coefficients: &[u8], sources: &[&[u8]], outputs: &mut [&mut [u8]]) {
        assert!(has_neon(), "Kernel::dot calls this only where it runs");
        let done = in_groups!(neon_outputs, coefficients, sources, outputs);
        portable::dot(coefficients, sources, outputs, done);
    }

    /// Whole steps only; returns the first octet that is left.
    ///
    /// # Safety
    /// Sources must be as long as the outputs.
    #[target_feature(enable = "neon")]
    unsafe fn neon_outputs<const M: usize>(
        coefficients: &[u8],
        sources: &[&[u8]],
        mut outputs: [&mut [u8]; M],
    ) -> usize {
        /// Vectors per step: thirty-two registers hold sixteen sums, four sources in halves and two tables.
        const WIDTH: usize = 4;
        let octets = outputs.first().map_or(0, |output| output.len());
        let rows = rows::<M>(coefficients, sources.len());
        let nibble = vdupq_n_u8(0xf);
        let mut at = 0;
        while at + WIDTH * 16 <= octets {
            let mut sums = [[vdupq_n_u8(0); WIDTH]; M];
            for (index, source) in sources.iter().enumerate() {
                let halves: [[uint8x16_t; 2]; WIDTH] = core::array::from_fn(|lane| {
                    // SAFETY: at + WIDTH * 16 is at most the length of every source.
                    let octets = unsafe { vld1q_u8(source.as_ptr().add(at + lane * 16)) };
                    [vandq_u8(octets, nibble), vshrq_n_u8::<4>(octets)]
                });
                for (output, sums) in sums.iter_mut().enumerate() {
                    let row = NIBBLES[usize::from(rows[output][index])].as_ptr();
                    // SAFETY: a row has 32 octets.
                    let (low, high) = unsafe { (vld1q_u8(row), vld1q_u8(row.add(16))) };
                    for (sum, halves) in sums.iter_mut().zip(halves) {
                        let product = veorq_u8(vqtbl1q_u8(low, halves[0]), vqtbl1q_u8(high, halves[1]));
                        *sum = veorq_u8(*sum, product);
                    }
                }
            }
            for (output, sums) in outputs.iter_mut().zip(sums) {
                for (lane, sum) in sums.into_iter().enumerate() {
                    // SAFETY: at + WIDTH * 16 is at most the length of every output.
                    unsafe { vst1q_u8(output.as_mut_ptr().add(at + lane * 16), sum) };
                }
            }
            at += WIDTH * 16;
        }
        at
    }
}
