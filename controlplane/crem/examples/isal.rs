//! The codes beside ISA-L (Debian's libisal), in the same run on one core; `make bench` runs it.
//!
//! Both get the same coefficients and octets, and what they compute is compared before anything is timed. ISA-L is loaded at run
//! time: where it is absent the page says so and shows this crate's figures alone. Rounds of the two alternate and the
//! fastest of each counts, so that other work on the machine disturbs both alike.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![expect(clippy::expect_used, reason = "a benchmark")]

use core::hint::black_box;
use std::time::{Duration, Instant};

use crem::code::{Code, Decoder, Kernel, RepairSymbol, encode};
use wire::crem::Bitmap;

const SYMBOL_OCTETS: usize = 4096;

#[allow(unsafe_code, reason = "a C library")]
mod isal {
    //! The few functions of ISA-L that are compared.

    use core::ffi::{c_int, c_uchar};
    use std::error::Error;

    use libloading::Library;

    type Tables = unsafe extern "C" fn(c_int, c_int, *const c_uchar, *mut c_uchar);
    type Encode =
        unsafe extern "C" fn(c_int, c_int, c_int, *const c_uchar, *const *const c_uchar, *const *mut c_uchar);
    type Invert = unsafe extern "C" fn(*mut c_uchar, *mut c_uchar, c_int) -> c_int;

    pub struct IsaL {
        tables: Tables,
        encode: Encode,
        invert: Invert,
        // Keeps the functions valid.
        _library: Library,
    }

    impl IsaL {
        /// `encode` is the function's name: the one that chooses by the processor, or one for an instruction set.
        pub fn load(encode: &str) -> Result<Self, Box<dyn Error>> {
            // SAFETY: ISA-L has no initialisers with effects; the types are those of its erasure_code.h.
            unsafe {
                let library = Library::new("libisal.so.2")?;
                Ok(Self {
                    tables: *library.get(b"ec_init_tables")?,
                    encode: *library.get(encode.as_bytes())?,
                    invert: *library.get(b"gf_invert_matrix")?,
                    _library: library,
                })
            }
        }

        /// Expands `rows` rows of `columns` coefficients.
        pub fn expand(&self, columns: usize, rows: usize, coefficients: &[u8], tables: &mut Vec<u8>) {
            assert!(coefficients.len() >= columns * rows);
            tables.resize(32 * columns * rows, 0);
            let int = |n: usize| c_int::try_from(n).expect("small");
            // SAFETY: both buffers have the sizes that ISA-L documents.
            unsafe { (self.tables)(int(columns), int(rows), coefficients.as_ptr(), tables.as_mut_ptr()) };
        }

        pub fn encode(&self, tables: &[u8], sources: &[&[u8]], outputs: &mut [&mut [u8]]) {
            let octets = outputs[0].len();
            assert!(tables.len() == 32 * sources.len() * outputs.len());
            assert!(sources.iter().all(|s| s.len() == octets) && outputs.iter().all(|o| o.len() == octets));
            let int = |n: usize| c_int::try_from(n).expect("small");
            let from: Vec<_> = sources.iter().map(|s| s.as_ptr()).collect();
            let to: Vec<_> = outputs.iter_mut().map(|o| o.as_mut_ptr()).collect();
            // SAFETY: as many tables, sources and outputs as said, each as long as said.
            unsafe {
                (self.encode)(
                    int(octets),
                    int(from.len()),
                    int(to.len()),
                    tables.as_ptr(),
                    from.as_ptr(),
                    to.as_ptr(),
                );
            };
        }

        pub fn invert(&self, matrix: &mut [u8], inverse: &mut [u8], n: usize) {
            assert!(matrix.len() == n * n && inverse.len() == n * n);
            // SAFETY: both are n by n.
            let result = unsafe {
                (self.invert)(matrix.as_mut_ptr(), inverse.as_mut_ptr(), c_int::try_from(n).expect("small"))
            };
            assert_eq!(result, 0, "a Cauchy matrix has an inverse");
        }
    }
}
use isal::IsaL;

/// The fastest of several rounds of each, alternating; seconds per call.
fn race(mut ours: impl FnMut(), mut theirs: Option<&mut dyn FnMut()>) -> (f64, Option<f64>) {
    let round = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        let mut calls = 0u32;
        while start.elapsed() < Duration::from_millis(10) {
            for _ in 0..50 {
                run();
            }
            calls += 50;
        }
        start.elapsed().as_secs_f64() / f64::from(calls)
    };
    let (mut best, mut other) = (f64::MAX, f64::MAX);
    for _ in 0..25 {
        best = best.min(round(&mut ours));
        if let Some(theirs) = &mut theirs {
            other = other.min(round(theirs));
        }
    }
    (best, theirs.is_some().then_some(other))
}

fn line(what: &str, octets: usize, (ours, theirs): (f64, Option<f64>)) {
    let rate = |seconds: f64| octets as f64 / seconds / 1e9;
    let theirs_text = theirs.map_or("absent".to_owned(), |seconds| format!("{:.1}", rate(seconds)));
    let ratio = theirs.map_or("-".to_owned(), |seconds| format!("{:.2}", seconds / ours));
    println!("| {what} | {:.1} | {theirs_text} | {ratio} |", rate(ours));
}

struct Block {
    sources: Vec<Vec<u8>>,
    repairs: Vec<Vec<u8>>,
    coefficients: Vec<u8>,
}

fn block(k: u8, m: u8) -> Block {
    let sources: Vec<Vec<u8>> = (0..usize::from(k))
        .map(|s| {
            (0..SYMBOL_OCTETS)
                .map(|o| u8::try_from((o * 31 + s * 7 + o / 256) % 256).expect("small"))
                .collect()
        })
        .collect();
    let coefficients = (0..m).flat_map(|i| (0..k).map(move |j| Code::Cauchy.coefficient(i, j))).collect();
    Block { sources, repairs: vec![vec![0; SYMBOL_OCTETS]; usize::from(m)], coefficients }
}

fn bench_encode(name: &str, kernel: Kernel, isal: Option<&IsaL>, k: u8, m: u8) {
    let Block { sources, mut repairs, coefficients } = block(k, m);
    let sources: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
    let positions: Vec<u8> = (0..k).collect();
    let mut ours: Vec<&mut [u8]> = repairs.iter_mut().map(Vec::as_mut_slice).collect();
    let mut tables = Vec::new();
    let mut buffers = vec![vec![0; SYMBOL_OCTETS]; usize::from(m)];
    let mut theirs: Vec<&mut [u8]> = buffers.iter_mut().map(Vec::as_mut_slice).collect();
    encode(kernel, Code::Cauchy, 0, &positions, &sources, &mut ours);
    let mut call = isal.map(|isal| {
        isal.expand(usize::from(k), usize::from(m), &coefficients, &mut tables);
        isal.encode(&tables, &sources, &mut theirs);
        assert!(ours == theirs, "both compute the same");
        || isal.encode(black_box(&tables), black_box(&sources), &mut theirs)
    });
    let times = race(
        || encode(kernel, Code::Cauchy, 0, &positions, black_box(&sources), &mut ours),
        call.as_mut().map(|call| call as &mut dyn FnMut()),
    );
    line(&format!("encode {k}+{m}, {name}"), usize::from(k) * SYMBOL_OCTETS, times);
}

/// Losses: the first positions. Everything that depends on the pattern of losses is part of the time.
fn bench_decode(name: &str, kernel: Kernel, isal: Option<&IsaL>, (k, m): (u8, u8), lost: u8) {
    let Block { sources, mut repairs, coefficients } = block(k, m);
    let views: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
    let positions: Vec<u8> = (0..k).collect();
    let mut outputs: Vec<&mut [u8]> = repairs.iter_mut().map(Vec::as_mut_slice).collect();
    encode(kernel, Code::Cauchy, 0, &positions, &views, &mut outputs);
    let all = Bitmap::first(k);
    let symbols: Vec<_> = (0..lost)
        .map(|index| RepairSymbol { index, over: all, octets: &repairs[usize::from(index)] })
        .collect();
    let unknown = Bitmap::first(lost);
    let mut decoder = Decoder::default();
    let mut ours = || {
        let source = |j: u8| views[usize::from(j)];
        let recovered = decoder
            .decode(kernel, Code::Cauchy, (unknown, all.without(&unknown)), source, &symbols, SYMBOL_OCTETS)
            .expect("enough symbols");
        assert!(black_box(recovered).iter().all(|(j, symbol)| symbol[5] == views[usize::from(j)][5]));
    };
    // As its own example does: the rows of what came, inverted, the rows of the lost ones expanded.
    let (n, u) = (usize::from(k), usize::from(lost));
    let inputs: Vec<&[u8]> =
        views[u..].iter().copied().chain(repairs[..u].iter().map(Vec::as_slice)).collect();
    let mut buffers = vec![vec![0; SYMBOL_OCTETS]; u];
    let mut restored: Vec<&mut [u8]> = buffers.iter_mut().map(Vec::as_mut_slice).collect();
    let (mut tables, mut matrix, mut inverse) = (Vec::new(), vec![0; n * n], vec![0; n * n]);
    let mut call = isal.map(|isal| {
        || {
            matrix.fill(0);
            for row in 0..n - u {
                matrix[row * n + row + u] = 1;
            }
            matrix[(n - u) * n..].copy_from_slice(&coefficients[..u * n]);
            isal.invert(&mut matrix, &mut inverse, n);
            isal.expand(n, u, &inverse, &mut tables);
            isal.encode(&tables, black_box(&inputs), &mut restored);
            assert!(black_box(&restored)[0][5] == views[0][5]);
        }
    });
    let times = race(&mut ours, call.as_mut().map(|call| call as &mut dyn FnMut()));
    line(&format!("decode {k}+{m}, {lost} lost, {name}"), n * SYMBOL_OCTETS, times);
}

fn main() {
    println!("GB/s of source octets, {SYMBOL_OCTETS}-octet symbols, one core, in cache\n");
    println!("| case | crem | ISA-L | ratio |\n|---|---|---|---|");
    let pairs = [
        (Kernel::Gfni, "ec_encode_data", "GFNI; ISA-L's own choice"),
        (Kernel::Avx2, "ec_encode_data_avx2", "AVX2; ISA-L's for AVX2"),
        (Kernel::Portable, "ec_encode_data_base", "portable; ISA-L's in C"),
    ];
    let mut absent = None;
    for (kernel, function, name) in pairs {
        if !kernel.is_available() {
            println!("| {name} | absent on this processor | | |");
            continue;
        }
        let isal = IsaL::load(function).map_err(|error| absent = Some(error.to_string())).ok();
        for (k, m) in [(8, 2), (32, 4)] {
            bench_encode(name, kernel, isal.as_ref(), k, m);
        }
        for shape in [(8, 2), (32, 4)] {
            for lost in [1, 2] {
                bench_decode(name, kernel, isal.as_ref(), shape, lost);
            }
        }
    }
    if let Some(error) = absent {
        println!(
            "\nISA-L is absent, so there is nothing to compare with ({error}); on Debian: apt install libisal2"
        );
    }
}
