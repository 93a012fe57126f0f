//! Every kind of key, against the plain definition of what it matches.

use softswitch::control::{ActionCall, EntryAction, KeyMatch, NewEntry, TableId};
use softswitch::{Switch, Value};

use super::program::{Build, drain, packet, table};

const T: TableId = TableId(0);

fn insert(
    switch: &mut Switch,
    key: Vec<KeyMatch>,
    priority: u32,
    port: u32,
) -> softswitch::control::EntryHandle {
    let action = switch.program().table_action(T, "hit").unwrap();
    let action = EntryAction::Call(ActionCall { action, args: vec![Value::from(port)] });
    switch.table_insert(T, NewEntry { key, priority, action, idle_timeout_ns: 0 }).unwrap()
}

fn port_of(switch: &mut Switch, a: u32, b: u32) -> u16 {
    switch.ingress(0, packet(a, b, 0), 0);
    let out = drain(switch, 0);
    assert_eq!(out.len(), 1);
    out[0].0
}

fn v(n: u32) -> Value {
    Value::from(n)
}

#[test]
fn the_longest_prefix_wins() {
    let build = Build { table: Some(table(&[("exact", "h", "a"), ("lpm", "h", "b")])), ..Build::default() };
    let mut switch = build.switch();
    let key = |value, prefix_len| vec![KeyMatch::Exact(v(1)), KeyMatch::Lpm { value: v(value), prefix_len }];
    insert(&mut switch, key(0x0a00_0000, 8), 0, 8);
    let long = insert(&mut switch, key(0x0a01_0000, 16), 0, 16);
    insert(&mut switch, key(0, 0), 0, 3);
    insert(&mut switch, key(0x0a01_0203, 32), 0, 32);
    assert_eq!(port_of(&mut switch, 1, 0x0a01_0203), 32);
    assert_eq!(port_of(&mut switch, 1, 0x0a01_ffff), 16);
    assert_eq!(port_of(&mut switch, 1, 0x0aff_0000), 8);
    assert_eq!(port_of(&mut switch, 1, 0x0b00_0000), 3);
    assert_eq!(port_of(&mut switch, 2, 0x0a01_0203), 0, "the exact field counts too");
    switch.table_delete(T, long).unwrap();
    assert_eq!(port_of(&mut switch, 1, 0x0a01_ffff), 8);
}

/// A small generator, so that the cases are the same everywhere.
fn random(state: &mut u64) -> u32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as u32
}

#[test]
fn ternary_entries_win_by_priority_then_age() {
    let build =
        Build { table: Some(table(&[("ternary", "h", "a"), ("ternary", "h", "b")])), ..Build::default() };
    let mut switch = build.switch();
    let mut seed = 1;
    let masks = [0u32, 0xf, 0xff, 0xf0, 0x3];
    let mut entries: Vec<(u32, u32, u32, u32, u32, u32)> = Vec::new();
    for port in 1..200 {
        let (ma, mb) = (masks[random(&mut seed) as usize % 5], masks[random(&mut seed) as usize % 5]);
        let (a, b, priority) = (random(&mut seed) & ma, random(&mut seed) & mb, random(&mut seed) % 8);
        if entries.iter().any(|e| (e.0, e.1, e.2, e.3, e.4) == (a, ma, b, mb, priority)) {
            continue;
        }
        let key = vec![
            KeyMatch::Ternary { value: v(a), mask: v(ma) },
            KeyMatch::Ternary { value: v(b), mask: v(mb) },
        ];
        insert(&mut switch, key, priority, port);
        entries.push((a, ma, b, mb, priority, port));
    }
    for _ in 0..500 {
        let (a, b) = (random(&mut seed) & 0xff, random(&mut seed) & 0xff);
        let best = entries.iter().filter(|e| a & e.1 == e.0 && b & e.3 == e.2).min_by_key(|e| e.4);
        assert_eq!(u32::from(port_of(&mut switch, a, b)), best.map_or(0, |e| e.5), "{a:#x} {b:#x}");
    }
}

#[test]
fn a_single_range_is_found_whatever_overlaps() {
    let build = Build { table: Some(table(&[("exact", "h", "a"), ("range", "h", "b")])), ..Build::default() };
    let mut switch = build.switch();
    let mut seed = 7;
    let mut entries = Vec::new();
    for port in 1..300 {
        let (a, x, y) = (random(&mut seed) % 2, random(&mut seed) % 1000, random(&mut seed) % 1000);
        let (low, high, priority) = (x.min(y), x.max(y), port % 50);
        let key = vec![KeyMatch::Exact(v(a)), KeyMatch::Range { low: v(low), high: v(high) }];
        let handle = insert(&mut switch, key, priority, port);
        entries.push((a, low, high, priority, port, handle));
    }
    for round in 0..2 {
        for b in 0..1001 {
            let a = b % 2;
            let hits = entries.iter().filter(|e| e.0 == a && (e.1..=e.2).contains(&b));
            let best = hits.min_by_key(|e| (e.3, e.5));
            assert_eq!(
                u32::from(port_of(&mut switch, a, b)),
                best.map_or(0, |e| e.4),
                "{a} {b} in round {round}"
            );
        }
        let gone: Vec<_> = entries.iter().step_by(3).map(|e| e.5).collect();
        entries.retain(|e| !gone.contains(&e.5));
        for handle in gone {
            switch.table_delete(T, handle).unwrap();
        }
    }
}

#[test]
fn the_ends_of_the_number_line_belong_to_ranges_too() {
    let build = Build { table: Some(table(&[("range", "h", "b")])), ..Build::default() };
    let mut switch = build.switch();
    insert(&mut switch, vec![KeyMatch::Range { low: v(u32::MAX - 1), high: v(u32::MAX) }], 1, 2);
    insert(&mut switch, vec![KeyMatch::Range { low: v(0), high: v(0) }], 1, 3);
    assert_eq!(port_of(&mut switch, 0, u32::MAX), 2);
    assert_eq!(port_of(&mut switch, 0, u32::MAX - 2), 0);
    assert_eq!(port_of(&mut switch, 0, 0), 3);
    assert_eq!(port_of(&mut switch, 0, 1), 0);
}

#[test]
fn two_ranges_are_searched_one_by_one() {
    let build = Build { table: Some(table(&[("range", "h", "a"), ("range", "h", "b")])), ..Build::default() };
    let mut switch = build.switch();
    let range = |low, high| KeyMatch::Range { low: v(low), high: v(high) };
    insert(&mut switch, vec![range(0, 9), range(0, 9)], 2, 2);
    insert(&mut switch, vec![range(5, 20), KeyMatch::Any], 1, 1);
    assert_eq!(port_of(&mut switch, 5, 5), 1);
    assert_eq!(port_of(&mut switch, 4, 5), 2);
    assert_eq!(port_of(&mut switch, 4, 10), 0);
}
