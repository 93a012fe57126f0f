//! Tables of 100 and of 100,000 entries: what the rest of the switch costs is in both, and measured by itself.

use softswitch::control::{ActionCall, EntryAction, KeyMatch, NewEntry, TableId};
use softswitch::{Engine, Switch, Value};

use super::{Fault, measure};

#[path = "../../tests/engine/program.rs"]
#[allow(
    dead_code,
    clippy::needless_pass_by_value,
    clippy::unwrap_used,
    reason = "tests use more of it, by value"
)]
mod program;

use program::{Build, table};

const ENGINE: Engine = Engine::Native;

/// Distinct masks of the ternary table.
const MASKS: u32 = 16;

/// The key of the entry with this number.
type Key = fn(u32) -> Vec<KeyMatch>;

/// One packet for each of the first entries, in an order that isn't theirs.
const PACKETS: u32 = 97;

pub fn bench() -> Result<(), Fault> {
    println!("one table with a key of 64 bits, Mpps with 100 and with 100,000 entries");
    let kinds: [(&str, [&str; 2], Key); 3] = [
        ("exact", ["exact", "exact"], |i| vec![exact(7), exact(spread(i))]),
        ("lpm, prefixes of 24 bits", ["exact", "lpm"], |i| vec![exact(7), prefix(i)]),
        ("ternary, 16 masks", ["ternary", "ternary"], |i| {
            vec![masked(7, u32::MAX), masked(spread(i), mask(i))]
        }),
    ];
    for (name, [a, b], key) in kinds {
        let mut rates = Vec::new();
        for entries in [100, 100_000] {
            let mut switch = filled(&[(a, "h", "a"), (b, "h", "b")], entries, key)?;
            let packets: Vec<Vec<u8>> =
                (0..PACKETS).map(|i| packet(i * 31 % 100 * (entries / 100))).collect();
            rates.push(measure(&mut switch, &packets)?);
        }
        println!("  {name}: {:.2} and {:.2}, {:.2} times the cost", rates[0], rates[1], rates[0] / rates[1]);
    }
    Ok(())
}

fn filled(keys: &[(&str, &str, &str)], entries: u32, key: fn(u32) -> Vec<KeyMatch>) -> Result<Switch, Fault> {
    let mut switch = Build { table: Some(table(keys)), ..Build::default() }.switch();
    let action = switch.program().table_action(TableId(0), "hit")?;
    for i in 0..entries {
        let action = EntryAction::Call(ActionCall { action, args: vec![Value::from(2u32)] });
        let entry = NewEntry { key: key(i), priority: 1 + i % MASKS, action, idle_timeout_ns: 0 };
        switch.table_insert(TableId(0), entry)?;
    }
    Ok(switch)
}

/// The high 24 bits are different for every `i` below 2^24, and in no order.
fn spread(i: u32) -> u32 {
    i.wrapping_mul(0x9E_3779) << 8
}

fn packet(i: u32) -> Vec<u8> {
    let mut octets = [7u32.to_be_bytes(), spread(i).to_be_bytes()].concat();
    octets.resize(64, 0);
    octets
}

fn exact(v: u32) -> KeyMatch {
    KeyMatch::Exact(Value::from(v))
}

fn prefix(i: u32) -> KeyMatch {
    KeyMatch::Lpm { value: Value::from(spread(i) & 0xffff_ff00), prefix_len: 24 }
}

/// One of the masks, all with at least 24 bits set.
fn mask(i: u32) -> u32 {
    !(i % MASKS)
}

fn masked(value: u32, mask: u32) -> KeyMatch {
    KeyMatch::Ternary { value: Value::from(value & mask), mask: Value::from(mask) }
}
