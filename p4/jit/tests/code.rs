//! What the code computes, and that nothing it is given makes it reach beyond its memory.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use jit::{Array, Assembler, Binary, Code, Compare, Error, Limits, Memory, PAGE, Run, compile};

const LIMITS: Limits = Limits { frame: 8, pages: 2 };

fn code(describe: impl FnOnce(&mut Assembler<'_>)) -> Code {
    compile(LIMITS, |asm| {
        let here = asm.label();
        asm.bind(here);
        asm.entry(here);
        describe(asm);
    })
    .unwrap()
}

fn nothing() -> Memory<'static> {
    Memory { pages: &[0, 0], cells: &mut [], octets: &mut [] }
}

/// Slot 2 becomes what `describe` makes of slots 0 and 1.
fn of_two(
    describe: impl FnOnce(&mut Assembler<'_>, jit::Word, jit::Word) -> jit::Word,
) -> impl Fn(u64, u64) -> u64 {
    let code = code(|asm| {
        let (a, b) = (asm.get(0), asm.get(1));
        let result = describe(asm, a, b);
        asm.set(2, result);
    });
    move |a, b| {
        let mut frame = [a, b, 0, 0, 0, 0, 0, 0];
        assert_eq!(code.run(&mut frame, nothing(), 1), Some(0));
        frame[2]
    }
}

/// What an operator makes of two words.
type Expected<'a> = &'a dyn Fn(u64, u64) -> u64;

/// Whether a comparison holds.
type Holds = fn(u64, u64) -> bool;

const WORDS: [u64; 10] = [0, 1, 2, 63, 64, 65, 0xffff_ffff, 1 << 63, u64::MAX - 1, u64::MAX];

#[test]
fn operators_are_those_of_words() {
    let signed = u64::cast_signed;
    let shift = |b: u64, shifted: Option<u64>| if b < 64 { shifted.unwrap_or(0) } else { 0 };
    let small = |b: u64| u32::try_from(b).unwrap_or(u32::MAX);
    let cases: [(Binary, Expected); 14] = [
        (Binary::Add, &u64::wrapping_add),
        (Binary::Sub, &u64::wrapping_sub),
        (Binary::Mul, &u64::wrapping_mul),
        (Binary::Div, &|a, b| a.checked_div(b).unwrap_or(0)),
        (Binary::Mod, &|a, b| a.checked_rem(b).unwrap_or(0)),
        (Binary::And, &|a, b| a & b),
        (Binary::Or, &|a, b| a | b),
        (Binary::Xor, &|a, b| a ^ b),
        (Binary::Shl, &|a, b| shift(b, a.checked_shl(small(b)))),
        (Binary::Shr, &|a, b| shift(b, a.checked_shr(small(b)))),
        (Binary::ShrSigned, &|a, b| (signed(a) >> b.min(63)).cast_unsigned()),
        (Binary::Min, &|a, b| a.min(b)),
        (Binary::MinSigned, &|a, b| signed(a).min(signed(b)).cast_unsigned()),
        (Binary::MaxSigned, &|a, b| signed(a).max(signed(b)).cast_unsigned()),
    ];
    for (op, expected) in cases {
        let plain = of_two(|asm, a, b| asm.binary(op, a, b));
        for b in WORDS {
            let with = of_two(|asm, a, _| asm.binary_with(op, a, b));
            for a in WORDS {
                assert_eq!(plain(a, b), expected(a, b), "{op:?} {a:#x} {b:#x}");
                assert_eq!(with(a, b), expected(a, b), "{op:?} {a:#x} and the constant {b:#x}");
            }
        }
    }
}

#[test]
fn comparisons_are_those_of_words() {
    let cases: [(Compare, Holds); 6] = [
        (Compare::Equal, |a, b| a == b),
        (Compare::NotEqual, |a, b| a != b),
        (Compare::Less, |a, b| a < b),
        (Compare::LessOrEqual, |a, b| a <= b),
        (Compare::LessSigned, |a, b| a.cast_signed() < b.cast_signed()),
        (Compare::LessOrEqualSigned, |a, b| a.cast_signed() <= b.cast_signed()),
    ];
    for (compare, expected) in cases {
        let word = of_two(|asm, a, b| asm.compare(compare, a, b));
        let jump = of_two(|asm, a, b| {
            let (yes, end) = (asm.label(), asm.label());
            asm.jump_compare(compare, a, b, yes);
            let no = asm.number(7);
            asm.set(3, no);
            asm.jump(end);
            asm.bind(yes);
            let holds = asm.number(8);
            asm.set(3, holds);
            asm.bind(end);
            asm.get(3)
        });
        for a in WORDS {
            for b in WORDS {
                assert_eq!(word(a, b), u64::from(expected(a, b)), "{compare:?} {a:#x} {b:#x}");
                assert_eq!(jump(a, b), 7 + u64::from(expected(a, b)), "{compare:?} {a:#x} {b:#x}");
            }
        }
    }
}

#[test]
fn bits_are_cut_and_signs_extended() {
    for bits in [0, 1, 7, 8, 9, 16, 31, 32, 33, 63, 64, 70] {
        let cut = of_two(|asm, a, _| asm.cut(a, bits));
        let sign = of_two(|asm, a, _| asm.sign_extend(a, bits));
        for a in WORDS {
            let up = 64 - bits.min(64);
            let expected = if bits == 0 { 0 } else { a << up >> up };
            assert_eq!(cut(a, 0), expected, "{a:#x} {bits}");
            let expected = if bits == 0 { 0 } else { ((a << up).cast_signed() >> up).cast_unsigned() };
            assert_eq!(sign(a, 0), expected, "{a:#x} {bits}");
        }
    }
}

#[test]
fn a_function_is_left_and_entered_again() {
    let (mut first, mut second) = (0, 0);
    let code = compile(LIMITS, |asm| {
        let (a, b) = (asm.label(), asm.label());
        asm.bind(a);
        first = asm.entry(a);
        let five = asm.number(5);
        asm.exit(five);
        asm.bind(b);
        second = asm.entry(b);
        let to = asm.get(0);
        asm.enter(to);
    })
    .unwrap();
    assert_eq!((first, second), (1, 2));
    let mut frame = [1u64, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(code.run(&mut frame, nothing(), first), Some(5));
    assert_eq!(code.run(&mut frame, nothing(), second), Some(5), "entered the first by its number");
    for none in [0u64, 3, 1 << 32, (1 << 32) + 1, u64::MAX] {
        frame[0] = none;
        assert_eq!(code.run(&mut frame, nothing(), second), Some(0), "there is no entry {none}");
    }
    assert_eq!(code.run(&mut frame, nothing(), 77), Some(0));
}

#[test]
fn what_is_too_short_is_not_run() {
    let code = code(|asm| {
        let one = asm.number(1);
        asm.set(7, one);
    });
    assert_eq!(code.run(&mut [0; 7], nothing(), 1), None);
    let short = Memory { pages: &[0], cells: &mut [], octets: &mut [] };
    assert_eq!(code.run(&mut [0; 8], short, 1), None);
    assert_eq!(code.run(&mut [0; 9], nothing(), 1), Some(0));
}

#[test]
fn what_lies_beyond_the_limits_is_no_code() {
    let beyond = |describe: &dyn Fn(&mut Assembler<'_>)| compile(LIMITS, |asm| describe(asm)).unwrap_err();
    let slot = |at| Error::Beyond { what: "slot", at, limit: 8 };
    assert_eq!(
        beyond(&|asm| {
            asm.get(8);
        }),
        slot(8)
    );
    assert_eq!(
        beyond(&|asm| {
            let one = asm.number(1);
            asm.set(u32::MAX, one);
        }),
        slot(u32::MAX.into())
    );
    assert_eq!(
        beyond(&|asm| {
            let (i, out) = (asm.get(0), asm.label());
            asm.get_at(Run { first: 2, stride: 3, count: 3 }, i, out);
            asm.bind(out);
        }),
        slot(8)
    );
    assert_eq!(
        beyond(&|asm| {
            let (i, out) = (asm.get(0), asm.label());
            asm.cell(Array { first_page: 1, cells: PAGE + 1 }, i, out, None);
            asm.bind(out);
        }),
        Error::Beyond { what: "page", at: 2, limit: 2 }
    );
    assert_eq!(
        beyond(&|asm| {
            let (i, out) = (asm.get(0), asm.label());
            let window = asm.window(i, 9, out);
            asm.get_octets(window, 2);
            asm.bind(out);
        }),
        Error::Beyond { what: "octet", at: 9, limit: 9 }
    );
}

#[test]
fn a_word_from_another_way_is_no_code() {
    let error = compile(LIMITS, |asm| {
        let (one, other) = (asm.label(), asm.label());
        asm.bind(one);
        asm.entry(one);
        asm.entry(other);
        let word = asm.get(0);
        asm.exit(word);
        asm.bind(other);
        asm.set(1, word);
    });
    assert!(matches!(error, Err(Error::Compiler(_))), "{error:?}");
}

#[test]
fn elements_are_found_within_their_run() {
    let code = code(|asm| {
        let (i, out) = (asm.get(0), asm.label());
        let run = Run { first: 1, stride: 3, count: 3 };
        let old = asm.get_at(run, i, out);
        let new = asm.binary_with(Binary::Add, old, 100);
        asm.set_at(run, i, out, new);
        let one = asm.number(1);
        asm.exit(one);
        asm.bind(out);
    });
    for i in [0, 1, 2, 3, u64::MAX, 1 << 61] {
        let mut frame = [i, 11, 12, 13, 14, 15, 16, 17];
        let mut expected = frame;
        let there = i < 3;
        if there {
            expected[1 + 3 * usize::try_from(i).unwrap()] += 100;
        }
        assert_eq!(code.run(&mut frame, nothing(), 1), Some(u64::from(there)), "{i}");
        assert_eq!(frame, expected);
    }
}

#[test]
fn cells_are_found_in_their_pages() {
    let code = code(|asm| {
        let (i, out, fresh) = (asm.get(0), asm.label(), asm.label());
        let array = Array { first_page: 0, cells: PAGE + 3 };
        let read = asm.cell(array, i, out, None);
        let old = asm.get_cell(read);
        asm.set(1, old);
        let write = asm.cell(array, i, out, Some(fresh));
        let new = asm.binary_with(Binary::Add, old, 1);
        asm.set_cell(write, new);
        let one = asm.number(1);
        asm.exit(one);
        asm.bind(fresh);
        let two = asm.number(2);
        asm.exit(two);
        asm.bind(out);
    });
    let page = usize::try_from(PAGE).unwrap();
    let run = |pages: [u32; 2], cells: &mut [u64], i: u64| {
        let mut frame = [i, 0, 0, 0, 0, 0, 0, 0];
        let left = code.run(&mut frame, Memory { pages: &pages, cells, octets: &mut [] }, 1);
        (left, frame[1])
    };
    let mut cells = vec![0; 2 * page];
    cells[page + 2] = 40;
    let there = u32::try_from(PAGE).unwrap();
    assert_eq!(run([0, there], &mut cells, PAGE + 2), (Some(1), 40));
    assert_eq!(cells[page + 2], 41);
    assert_eq!(run([0, there], &mut cells, 5), (Some(2), 0), "a page that nothing was written to");
    for outside in [PAGE + 3, u64::MAX] {
        assert_eq!(run([0, there], &mut cells, outside), (Some(0), 0));
    }
    for wrong in [2 * there - 2, 2 * there, u32::MAX] {
        assert_eq!(run([0, wrong], &mut cells, PAGE + 2), (Some(0), 0), "a page that isn't there");
    }
    assert_eq!(run([0, there], &mut [], PAGE + 2), (Some(0), 0));
}

#[test]
fn octets_are_read_and_written_where_there_are_enough() {
    let code = code(|asm| {
        let (start, out) = (asm.get(0), asm.label());
        let window = asm.window(start, 10, out);
        let word = asm.get_octets(window, 2);
        asm.set(1, word);
        let not = asm.not(word);
        asm.set_octets(window, 1, not);
        let one = asm.number(1);
        asm.exit(one);
        asm.bind(out);
    });
    let packet: Vec<u8> = (0..12).collect();
    for (start, octets, there) in [
        (0u64, 10, true),
        (0, 9, false),
        (0, 0, false),
        (2, 12, true),
        (3, 12, false),
        (u64::from(u32::MAX), 12, false),
    ] {
        let mut frame = [start, 0, 0, 0, 0, 0, 0, 0];
        let mut octets = packet[..octets].to_vec();
        let memory = Memory { pages: &[0, 0], cells: &mut [], octets: &mut octets };
        assert_eq!(code.run(&mut frame, memory, 1), Some(u64::from(there)), "{start} of {octets:?}");
        if there {
            let at = usize::try_from(start).unwrap();
            let word = u64::from_be_bytes(packet[at + 2..at + 10].try_into().unwrap());
            assert_eq!(frame[1], word);
            assert_eq!(octets[at + 1..at + 9], (!word).to_be_bytes());
            assert_eq!((octets[at], octets[at + 9]), (packet[at], packet[at + 9]));
        }
    }
}
