//! The inner loop of every code: octet vectors multiplied by coefficients and added up.
//!
//! One function, in four variants that are chosen at run time. All but the portable one use instructions that not every
//! processor has, which needs `unsafe`; that is in [`simd`] alone, and each variant is tested against the portable one.

mod portable;
mod simd;

/// A variant of the inner loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// x86: affine transformations of 64 octets at a time (GFNI with AVX-512).
    Gfni,
    /// x86: byte shuffles of 32 octets at a time.
    Avx2,
    /// Arm: byte shuffles of 16 octets at a time.
    Neon,
    /// Everywhere: table look-ups, an octet at a time.
    Portable,
}

impl Kernel {
    /// All variants, the fastest first.
    pub const ALL: [Self; 4] = [Self::Gfni, Self::Avx2, Self::Neon, Self::Portable];

    /// Whether this processor can run it.
    pub fn is_available(self) -> bool {
        match self {
            Self::Gfni => simd::has_gfni(),
            Self::Avx2 => simd::has_avx2(),
            Self::Neon => simd::has_neon(),
            Self::Portable => true,
        }
    }

    /// The fastest variant that this processor can run.
    pub fn best() -> Self {
        Self::ALL.into_iter().find(|kernel| kernel.is_available()).unwrap_or(Self::Portable)
    }

    /// `outputs[o] = sum over s of coefficients[o * sources.len() + s] * sources[s]` in GF(2^8), octet by octet.
    ///
    /// A variant that this processor can't run falls back to [`Kernel::Portable`].
    ///
    /// # Panics
    /// When a source or an output has another length than the first output, or the coefficients are fewer than needed.
    pub fn dot(self, coefficients: &[u8], sources: &[&[u8]], outputs: &mut [&mut [u8]]) {
        let Some(octets) = outputs.first().map(|output| output.len()) else { return };
        assert!(outputs.iter().all(|output| output.len() == octets), "outputs of different lengths");
        assert!(sources.iter().all(|source| source.len() == octets), "sources of different lengths");
        assert!(coefficients.len() >= sources.len() * outputs.len(), "a coefficient for each pair");
        let run = if self.is_available() { self } else { Self::Portable };
        match run {
            Self::Gfni => simd::gfni(coefficients, sources, outputs),
            Self::Avx2 => simd::avx2(coefficients, sources, outputs),
            Self::Neon => simd::neon(coefficients, sources, outputs),
            Self::Portable => portable::dot(coefficients, sources, outputs, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Octets that repeat after a prime number of steps only.
    fn octets(seed: usize, length: usize) -> Vec<u8> {
        (0..length).map(|i| u8::try_from((i * 131 + seed * 89 + i / 7) % 251).unwrap()).collect()
    }

    /// Runs `kernel` with everything at `offset` of its buffer, and checks that no octet around the outputs changes.
    fn compare(
        kernel: Kernel,
        coefficients: &[u8],
        sources: usize,
        outputs: usize,
        length: usize,
        offset: usize,
    ) {
        let buffers: Vec<_> = (0..sources).map(|seed| octets(seed, length + 64)).collect();
        let sources: Vec<_> = buffers.iter().map(|buffer| &buffer[offset..offset + length]).collect();
        let mut expected = vec![vec![0xa5; length + 128]; outputs];
        let mut found = expected.clone();
        for (kernel, results) in [(Kernel::Portable, &mut expected), (kernel, &mut found)] {
            let mut slices: Vec<_> =
                results.iter_mut().map(|result| &mut result[offset..offset + length]).collect();
            kernel.dot(coefficients, &sources, &mut slices);
        }
        assert!(
            expected == found,
            "{kernel:?}: {} to {outputs}, length {length}, offset {offset}",
            sources.len()
        );
    }

    fn others() -> impl Iterator<Item = Kernel> {
        Kernel::ALL.into_iter().filter(|kernel| *kernel != Kernel::Portable && kernel.is_available())
    }

    #[test]
    fn the_portable_kernel_multiplies_and_adds() {
        let sources: [&[u8]; 2] = [&[1, 2, 3], &[7, 0, 255]];
        let mut output = [0xee; 3];
        Kernel::Portable.dot(&[0x53, 0x8e], &sources, &mut [&mut output]);
        let term = |c, s| super::super::gf::multiply(c, s);
        assert_eq!(output, [0, 1, 2].map(|i| term(0x53, sources[0][i]) ^ term(0x8e, sources[1][i])));
    }

    #[test]
    fn every_kernel_multiplies_every_octet_by_every_coefficient() {
        let all: Vec<u8> = (0..=255).collect();
        for kernel in others() {
            for coefficient in 0..=255 {
                let (mut expected, mut found) = ([0; 256], [0; 256]);
                Kernel::Portable.dot(&[coefficient], &[&all], &mut [&mut expected]);
                kernel.dot(&[coefficient], &[&all], &mut [&mut found]);
                assert_eq!(expected, found, "{kernel:?}, coefficient {coefficient}");
            }
        }
    }

    #[test]
    fn every_kernel_is_right_for_every_length_and_number_of_outputs() {
        let coefficients = octets(5, 7 * 3);
        for kernel in others() {
            for length in 0..=300 {
                for outputs in 1..=7 {
                    compare(kernel, &coefficients, 3, outputs, length, 1);
                }
            }
        }
    }

    #[test]
    fn every_kernel_is_right_at_every_alignment() {
        let coefficients = octets(9, 5 * 2);
        for kernel in others() {
            for offset in 0..64 {
                for length in [1, 31, 32, 63, 64, 65, 255, 256, 300] {
                    compare(kernel, &coefficients, 5, 2, length, offset);
                }
            }
        }
    }

    #[test]
    fn every_kernel_takes_long_symbols_and_no_sources() {
        for kernel in others() {
            for length in [4096, 4136, 9000] {
                compare(kernel, &octets(3, 32 * 4), 32, 4, length, 2);
            }
            let mut output = [1; 100];
            kernel.dot(&[], &[], &mut [&mut output]);
            assert_eq!(output, [0; 100]);
            kernel.dot(&[], &[&[1]], &mut []);
        }
    }

    #[test]
    #[should_panic(expected = "sources of different lengths")]
    fn a_source_of_another_length_is_refused() {
        Kernel::best().dot(&[1, 1], &[&[0; 64], &[0; 63]], &mut [&mut [0; 64]]);
    }
}
