//! The codes against the document's example and against random losses.

use crem::code::{Code, Decoder, Kernel, RepairSymbol, Undecodable, encode};
use proptest::prelude::*;
use wire::crem::Bitmap;

#[expect(clippy::unwrap_used, reason = "a helper of tests")]
fn octets(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect()
}

fn kernels() -> impl Iterator<Item = Kernel> {
    Kernel::ALL.into_iter().filter(|kernel| kernel.is_available())
}

fn repair(kernel: Kernel, code: Code, index: u8, over: &Bitmap, sources: &[Vec<u8>]) -> Vec<u8> {
    let positions: Vec<_> = over.iter().collect();
    let summed: Vec<_> = positions.iter().map(|&j| &*sources[usize::from(j)]).collect();
    let mut out = vec![0x5a; sources[0].len()];
    encode(kernel, code, index, &positions, &summed, &mut [&mut out]);
    out
}

//~ CREM, Cauchy Code: 506c43f7 fc4c0f35 7fa98556 950e1155
//~ CREM, FEC Schemes: 910584f8
#[test]
fn the_documents_example() {
    let sources: Vec<_> = [
        "000a52444d412d504b542d3000000000",
        "000a52444d412d504b542d3100000000",
        "000a52444d412d504b542d3200000000",
        "000a52444d412d504b542d3300000000",
    ]
    .map(octets)
    .to_vec();
    let table = [[0xfd, 0x7e, 0xff, 0x7f], [0x7e, 0xfd, 0x7f, 0xff], [0xff, 0x7f, 0xfd, 0x7e]];
    for (i, row) in (0..).zip(table) {
        for (j, coefficient) in (0..).zip(row) {
            assert_eq!(Code::Cauchy.coefficient(i, j), coefficient, "C({i}, {j})");
        }
    }
    for kernel in kernels() {
        let (all, lost) = (Bitmap::first(4), Bitmap::first(3));
        let symbols =
            [(0, all), (1, all), (2, lost)].map(|(i, over)| repair(kernel, Code::Cauchy, i, &over, &sources));
        assert_eq!(symbols[0], octets("001ef6ccd7c377f0ddfc774c00000000"));
        assert_eq!(symbols[1], octets("001ef6ccd7c377f0ddfc774f00000000"));
        assert_eq!(symbols[2], octets("00354fdf6d4b40b57e5c400000000000"));
        let repairs: Vec<_> = (0u8..)
            .zip([all, all, lost])
            .zip(&symbols)
            .map(|((index, over), octets)| RepairSymbol { index, over, octets })
            .collect();
        let mut decoder = Decoder::default();
        let known = Bitmap::from_iter([3]);
        let source = |j: u8| &*sources[usize::from(j)];
        let recovered = decoder.decode(kernel, Code::Cauchy, (lost, known), source, &repairs, 16).unwrap();
        for (position, symbol) in recovered.iter() {
            assert_eq!(symbol, sources[usize::from(position)], "{kernel:?}: S{position}");
        }
    }
}

//~ CREM, FEC Schemes: ddf4fa93 d0332b7a
#[test]
fn the_single_symbol_recovers_one_source_and_no_more() {
    let sources: Vec<_> = (0..5u8).map(|seed| vec![seed * 50 + 1; 40]).collect();
    let all = Bitmap::first(5);
    let parity = repair(Kernel::best(), Code::Xor, 0, &all, &sources);
    assert_eq!(parity[0], sources.iter().fold(0, |sum, source| sum ^ source[0]));
    let repairs = [RepairSymbol { index: 0, over: all, octets: &parity }];
    let source = |j: u8| &*sources[usize::from(j)];
    let mut decoder = Decoder::default();
    let mut decode = |unknown: Bitmap| {
        decoder
            .decode(Kernel::best(), Code::Xor, (unknown, all.without(&unknown)), source, &repairs, 40)
            .map(|recovered| recovered.iter().map(|(j, symbol)| (j, symbol.to_vec())).collect::<Vec<_>>())
    };
    assert_eq!(decode(Bitmap::from_iter([2])).unwrap(), [(2, sources[2].clone())]);
    assert_eq!(decode(Bitmap::from_iter([2, 3])), Err(Undecodable { unknown: 2, usable: 1 }));
}

//~ CREM, Cauchy Code: f0a922de
#[test]
fn all_indices_of_the_longest_blocks_work() {
    for k in [1u8, 128, 254, 255] {
        let last = u8::try_from(Code::Cauchy.indices(k) - 1).unwrap();
        assert_eq!(u16::from(last) + u16::from(k), 255);
        for i in 0..=last {
            for j in 0..k {
                assert_ne!(Code::Cauchy.coefficient(i, j), 0, "C({i}, {j}) exists");
            }
        }
    }
    assert_eq!(Code::Xor.indices(32), 1);
}

/// As many symbols as there are sources recover a block of which nothing came.
//~ CREM, Cauchy Code: 366e966a
#[test]
fn a_block_comes_back_from_repair_symbols_alone() {
    for k in [1u8, 2, 127, 128] {
        let sources: Vec<_> = (0..k).map(|seed| vec![seed ^ 0x3c; 9]).collect();
        let all = Bitmap::first(k);
        let symbols: Vec<_> =
            (0..k).map(|i| repair(Kernel::best(), Code::Cauchy, i, &all, &sources)).collect();
        let repairs: Vec<_> = (0..k)
            .map(|index| RepairSymbol { index, over: all, octets: &symbols[usize::from(index)] })
            .collect();
        let mut decoder = Decoder::default();
        let none = |_| -> &[u8] { unreachable!("no source is known") };
        let recovered =
            decoder.decode(Kernel::best(), Code::Cauchy, (all, Bitmap::EMPTY), none, &repairs, 9).unwrap();
        assert!(recovered.iter().zip(&sources).all(|((_, found), source)| found == source));
    }
}

#[test]
fn symbols_of_one_index_count_once_and_symbols_over_less_not_at_all() {
    let sources = vec![vec![1u8; 8]; 4];
    let all = Bitmap::first(4);
    let some = Bitmap::from_iter([0, 1]);
    let whole = repair(Kernel::best(), Code::Cauchy, 0, &all, &sources);
    let part = repair(Kernel::best(), Code::Cauchy, 1, &some, &sources);
    let repairs = [
        RepairSymbol { index: 0, over: all, octets: &whole },
        RepairSymbol { index: 0, over: all, octets: &whole },
        RepairSymbol { index: 1, over: some, octets: &part },
    ];
    let unknown = Bitmap::from_iter([1, 2]);
    let source = |j: u8| &*sources[usize::from(j)];
    let error = Decoder::default()
        .decode(Kernel::best(), Code::Cauchy, (unknown, all.without(&unknown)), source, &repairs, 8)
        .err();
    assert_eq!(error, Some(Undecodable { unknown: 2, usable: 1 }));
}

#[derive(Debug)]
struct Case {
    k: u8,
    octets: usize,
    present: Bitmap,
    /// The sources lost at first, and those of them that come late.
    lost: Bitmap,
    late: Bitmap,
    ordinary: usize,
    seed: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    (1..=120u8).prop_flat_map(|k| {
        let bits = || prop::collection::vec(any::<bool>(), usize::from(k));
        let chance = || prop::collection::vec(0..4u8, usize::from(k));
        (bits(), chance(), bits(), any::<(u64, u8)>(), 1..200usize).prop_map(
            move |(present, lost, late, (seed, ordinary), octets)| {
                let pick = |chosen: &dyn Fn(usize) -> bool| (0..k).filter(|&j| chosen(j.into())).collect();
                let mut present: Bitmap = pick(&|j| present[j]);
                present.insert(0);
                let lost = present.and(&pick(&|j| lost[j] == 0));
                let ordinary = usize::from(ordinary) % (lost.len() + 1);
                Case { k, octets, present, lost, late: lost.and(&pick(&|j| late[j])), ordinary, seed }
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 64 } else { 1000 }))]

    /// Ordinary symbols and coded retransmissions over what was lost, some of which comes late after all: any u symbols
    /// whose sets contain the u unknown sources recover them.
    //~ CREM, Cauchy Code: 7fa98556 f4d11d6f
    //~ CREM, Coded Retransmission: 31fc2512
    #[test]
    fn any_u_symbols_recover_u_unknown_sources(case in cases()) {
        let Case { k, octets, present, lost, late, ordinary, seed } = case;
        let sources: Vec<Vec<u8>> = (0..u64::from(k))
            .map(|j| (0..octets as u64).map(|o| (seed ^ (j * 257 + o) << 7).wrapping_mul(0x9e37_79b9).to_le_bytes()[1]).collect())
            .collect();
        let unknown = lost.without(&late);
        let indices = u64::from(Code::Cauchy.indices(k));
        let symbols: Vec<_> = (0..lost.len())
            .map(|n| {
                let index = u8::try_from((seed % 97 + n as u64) % indices).unwrap();
                let over = if n < ordinary { present } else { lost };
                (index, over, repair(Kernel::best(), Code::Cauchy, index, &over, &sources))
            })
            .collect();
        // The last ones, so that the sets are mixed.
        let repairs: Vec<_> = symbols[symbols.len() - unknown.len()..]
            .iter()
            .map(|(index, over, octets)| RepairSymbol { index: *index, over: *over, octets })
            .collect();
        let source = |j: u8| &*sources[usize::from(j)];
        for kernel in kernels() {
            let mut decoder = Decoder::default();
            let known = present.without(&unknown);
            let recovered =
                decoder.decode(kernel, Code::Cauchy, (unknown, known), source, &repairs, octets).unwrap();
            let mut count = 0;
            for (position, symbol) in recovered.iter() {
                prop_assert_eq!(symbol, &*sources[usize::from(position)], "{:?}", kernel);
                count += 1;
            }
            prop_assert_eq!(count, unknown.len());
        }
        if !unknown.is_empty() {
            let fewer = &repairs[1..];
            let known = present.without(&unknown);
            let result =
                Decoder::default().decode(Kernel::best(), Code::Cauchy, (unknown, known), source, fewer, octets).err();
            prop_assert_eq!(result, Some(Undecodable { unknown: unknown.len(), usable: fewer.len() }));
        }
    }
}
