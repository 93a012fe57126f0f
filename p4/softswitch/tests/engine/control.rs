//! The control surface refuses what is wrong and changes nothing then.

use softswitch::control::{
    ActionCall, ControlError, EntryAction, EntryHandle, KeyMatch, NewEntry, TableId, priority_from_p4runtime,
    priority_to_p4runtime,
};
use softswitch::{Switch, Value};

use super::program::{Build, drain, packet, table};

const T: TableId = TableId(0);

fn exact() -> Switch {
    Build { table: Some(table(&[("exact", "h", "a")])), ..Build::default() }.switch()
}

fn entry(switch: &Switch, key: Value, port: u32) -> NewEntry {
    let action = switch.program().table_action(T, "hit").unwrap();
    let action = EntryAction::Call(ActionCall { action, args: vec![Value::from(port)] });
    NewEntry { key: vec![KeyMatch::Exact(key)], priority: 0, action, idle_timeout_ns: 0 }
}

#[test]
fn over_wide_values_are_refused() {
    let mut switch = exact();
    let wide = entry(&switch, Value::from(1u64 << 32), 1);
    assert!(matches!(switch.table_insert(T, wide), Err(ControlError::TooWide { width: 32, .. })));
    let wide = entry(&switch, Value::from(1u64), 512);
    assert!(matches!(switch.table_insert(T, wide), Err(ControlError::TooWide { width: 9, .. })));
    assert_eq!(switch.table_len(T), Ok(0));
}

#[test]
fn the_same_key_twice_is_refused_and_can_be_found_changed_and_removed() {
    let mut switch = exact();
    let handle = switch.table_insert(T, entry(&switch, Value::from(1u64), 1)).unwrap();
    let again = switch.table_insert(T, entry(&switch, Value::from(1u64), 2));
    assert_eq!(again, Err(ControlError::AlreadyExists { what: "an entry with this key" }));
    assert_eq!(switch.table_find(T, &[KeyMatch::Exact(Value::from(1u64))], 0), Ok(Some(handle)));
    let other = entry(&switch, Value::from(1u64), 2).action;
    switch.table_modify(T, handle, other.clone(), None).unwrap();
    assert_eq!(switch.table_entry(T, handle).unwrap().action, other);
    switch.table_delete(T, handle).unwrap();
    assert_eq!(switch.table_delete(T, handle), Err(ControlError::NotFound { what: "entry", id: handle.0 }));
}

#[test]
fn unknown_things_are_errors_not_panics() {
    let mut switch = exact();
    let nowhere = TableId(7);
    assert!(matches!(switch.table_entries(nowhere), Err(ControlError::UnknownIndex { index: 7, .. })));
    assert!(switch.table_insert(nowhere, entry(&exact(), Value::from(0u64), 0)).is_err());
    assert!(switch.table_entry(T, EntryHandle(99)).is_err());
    assert!(switch.program().table("no such").is_err());
    assert!(switch.program().table_action(T, "no such").is_err());
}

#[test]
fn entries_count_their_packets_and_octets_and_report_when_they_are_idle() {
    let mut switch = exact();
    let timed = NewEntry { idle_timeout_ns: 1000, ..entry(&switch, Value::from(1u64), 1) };
    let handle = switch.table_insert(T, timed).unwrap();
    switch.ingress(0, packet(1, 0, 12), 500);
    switch.ingress(0, packet(2, 0, 12), 600);
    drain(&mut switch, 600);
    let count = switch.direct_counter(T, handle).unwrap();
    assert_eq!((count.packets, count.octets), (1, 20));
    assert_eq!(switch.poll_idle(1499), []);
    assert_eq!(switch.poll_idle(1500), [(T, handle)]);
    assert_eq!(switch.poll_idle(2499), [], "once for each timeout");
    assert_eq!(switch.poll_idle(2500), [(T, handle)], "and again, as long as nothing hits it");
    switch.ingress(0, packet(1, 0, 12), 3000);
    assert_eq!(switch.poll_idle(3999), [], "a hit starts the time anew");
    assert_eq!(switch.poll_idle(4000), [(T, handle)]);
}

#[test]
fn a_reset_leaves_nothing_behind() {
    let mut switch = exact();
    switch.table_insert(T, entry(&switch, Value::from(1u64), 1)).unwrap();
    switch.ingress(0, packet(1, 0, 0), 0);
    switch.reset();
    assert_eq!((switch.table_len(T), switch.next_departure(1)), (Ok(0), None));
    assert_eq!(switch.stats().received, 0);
}

#[test]
fn p4runtime_priorities_turn_round_and_back() {
    for p in [1, 2, 1000, i32::MAX] {
        assert_eq!(priority_to_p4runtime(priority_from_p4runtime(p)), p);
    }
    assert!(priority_from_p4runtime(10) < priority_from_p4runtime(9));
}
