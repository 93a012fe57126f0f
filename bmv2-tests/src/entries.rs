//! Entries of the program's tables, one function each, as the controller would write them.

use crate::setup::{Call, Entry, Key, Value};

/// A key field with one value.
#[must_use]
pub fn exact(name: &str, value: u128) -> Key {
    Key::Exact(name.to_owned(), Value(value))
}

/// A prefix; the one of no bits, everything, is said by leaving the field out.
fn prefix(name: &str, value: u128, bits: i32) -> Option<Key> {
    (bits > 0).then(|| Key::Lpm(name.to_owned(), Value(value), bits))
}

/// A value and a prefix.
fn and_prefix(first: Key, (value, bits): (u128, i32)) -> Vec<Key> {
    [first].into_iter().chain(prefix("src_addr", value, bits)).collect()
}

/// A range with one value.
#[must_use]
pub fn only(name: &str, value: u128) -> Key {
    Key::Range(name.to_owned(), Value(value), Value(value))
}

/// All bits of a value of so many.
#[must_use]
pub fn whole(name: &str, value: u128, bits: u32) -> Key {
    Key::Ternary(name.to_owned(), Value(value), Value(u128::MAX >> (128 - bits)))
}

/// An IPv4 address as it stands in a key of both families.
#[must_use]
pub const fn mapped(address: [u8; 4]) -> u128 {
    0xffff << 32 | u32::from_be_bytes(address) as u128
}

/// An entry of a table without priorities.
#[must_use]
pub fn entry(table: &str, key: Vec<Key>, action: &str, arguments: &[u128]) -> Entry {
    with_priority(0, table, key, action, arguments)
}

/// An entry of a table with priorities, the highest first.
#[must_use]
pub fn with_priority(priority: i32, table: &str, key: Vec<Key>, action: &str, arguments: &[u128]) -> Entry {
    Entry::Table { table: table.to_owned(), key, call: Call::action(action, arguments), priority }
}

/// The default action of a keyless table.
#[must_use]
pub fn default(table: &str, action: &str, arguments: &[u128]) -> Entry {
    Entry::Default { table: table.to_owned(), call: Call::action(action, arguments) }
}

/// A route to one IPv4 address.
#[must_use]
pub fn route(address: [u8; 4], call: Call) -> Entry {
    let key = prefix("dst_addr", u32::from_be_bytes(address).into(), 32).into_iter().collect();
    Entry::Table { table: "ipv4_route".to_owned(), key, call, priority: 0 }
}

/// A route to one IPv6 address.
#[must_use]
pub fn route_6(address: u128, call: Call) -> Entry {
    let key = prefix("dst_addr", address, 128).into_iter().collect();
    Entry::Table { table: "ipv6_route".to_owned(), key, call, priority: 0 }
}

/// A next hop.
#[must_use]
pub fn member(id: u32, port: u16, mac: u128) -> Entry {
    Entry::Member { profile: "ecmp".to_owned(), id, call: Call::action("forward", &[port.into(), mac]) }
}

/// What a DSCP means: class, role, queue.
#[must_use]
pub fn class(dscp: u8, arguments: [u128; 3]) -> Entry {
    entry("dscp_map", vec![exact("dscp", dscp.into())], "set_class", &arguments)
}

/// Whether a port's DSCPs are believed, and whether control datagrams may enter there.
#[must_use]
pub fn trust(port: u16, dscp: bool, control: bool) -> Entry {
    let arguments = [dscp.into(), control.into()];
    entry("port_trust", vec![exact("ingress_port", port.into())], "set_trust", &arguments)
}

/// Profile, `B_th`, `Q_max`, ECN threshold and report interval of a queue.
#[must_use]
pub fn profile(port: u16, queue: u128, arguments: [u128; 5]) -> Entry {
    let key = vec![exact("egress_port", port.into()), exact("queue", queue)];
    entry("queue_profile", key, "set_profile", &arguments)
}

/// The excess over `B_th` that has this degree: floor(255 excess / span) = degree (RDCC, On-Path Congestion
/// Reporting).
#[must_use]
pub fn degree(profile: u128, degree: u8, span: u32) -> Entry {
    let (degree, span) = (u128::from(degree), u128::from(span));
    let low = (degree * span).div_ceil(255);
    let high = if degree == 255 { u32::MAX.into() } else { ((degree + 1) * span).div_ceil(255) - 1 };
    let excess = Key::Range("excess".to_owned(), Value(low), Value(high));
    with_priority(1, "congestion_degree", vec![exact("profile", profile), excess], "set_degree", &[degree])
}

/// The rate of one of so many flows or sources, Mbit/s.
#[must_use]
pub fn share(profile: u128, flows: u128, rate: u128) -> Entry {
    let key = vec![exact("profile", profile), only("flows", flows)];
    with_priority(1, "fair_share", key, "set_fair_share", &[rate])
}

/// Least time between two `PATH_REPORT`s about one flow, microseconds.
#[must_use]
pub fn path_report(interval: u32) -> Entry {
    default("path_report", "set_path_report", &[interval.into()])
}

/// Least time between two Rate Advices to one source, microseconds, and the least rate that a queue advises.
#[must_use]
pub fn rate_advice(interval: u32, floor: u32) -> Entry {
    default("rate_advice", "set_rate_advice", &[interval.into(), floor.into()])
}

/// The type octet of Rate Signals, and the least rate that a queue sets.
#[must_use]
pub fn rate_signal(kind: u8, floor: u32) -> Entry {
    default("rate_signal", "set_rate_signal", &[kind.into(), floor.into()])
}

/// What the sources of a prefix may send in a traffic class, Mbit/s.
#[must_use]
pub fn source_rate(class: u128, sources: (u128, i32), rate: u32) -> Entry {
    let key = and_prefix(exact("traffic_class", class), sources);
    entry("source_rate_policy", key, "set_source_rate", &[rate.into()])
}

/// What may be sent to a queue pair, Mbit/s.
#[must_use]
pub fn qp_rate(destination: u128, qp: u32, rate: u32) -> Entry {
    let key = vec![exact("dst_addr", destination), exact("dest_qp", qp.into())];
    entry("qp_rate_policy", key, "set_qp_rate", &[rate.into()])
}

/// Where `PATH_REPORT`s for the sources of a prefix go.
#[must_use]
pub fn csf(sources: (u128, i32), address: u128) -> Entry {
    let key = prefix("src_addr", sources.0, sources.1).into_iter().collect();
    entry("csf_address", key, "set_csf", &[address])
}

/// Whether the sources of a prefix are valid on a port.
#[must_use]
pub fn source_valid(port: u16, sources: (u128, i32), valid: bool) -> Entry {
    let key = and_prefix(exact("ingress_port", port.into()), sources);
    entry("source_check", key, "set_source_valid", &[valid.into()])
}

/// Packets that may not pass.
#[must_use]
pub fn deny(priority: i32, key: Vec<Key>) -> Entry {
    with_priority(priority, "acl", key, "deny", &[])
}

/// Packets that may pass all the same.
#[must_use]
pub fn permit(priority: i32, key: Vec<Key>) -> Entry {
    with_priority(priority, "acl", key, "permit", &[])
}

/// Reports per second about a port, and how many at once.
#[must_use]
pub fn report_meter(port: u16, rate: i64, burst: i64) -> Entry {
    Entry::Meter { meter: "report_meter".to_owned(), index: port.into(), rate, burst }
}
