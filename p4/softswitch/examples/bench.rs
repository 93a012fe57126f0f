//! Packets per second of one switch in memory, one core: `cargo run --release -p softswitch --example bench`.
//!
//! The project's program with a plain router's entries and with its normal ones, packets of 64 and 1,500 octets, and
//! lookups in tables of growing size. `ROUNDS` in the environment sets the packets of each measurement; any argument leaves
//! only the 64-octet packets with normal entries, for a profiler.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use softswitch::control::{ActionCall, EntryAction, KeyMatch, MatchKind, NewEntry, ProfileMember, TableId};
use softswitch::{Packet, Program, Switch, SwitchConfig, Value};

type Fault = Box<dyn std::error::Error>;

fn call(switch: &Switch, table: TableId, action: &str, args: &[u64]) -> Result<ActionCall, Fault> {
    let action = switch.program().table_action(table, action)?;
    Ok(ActionCall { action, args: args.iter().map(|&a| Value::from(a)).collect() })
}

fn add(
    switch: &mut Switch,
    table: &str,
    key: Vec<KeyMatch>,
    action: &str,
    args: &[u64],
) -> Result<(), Fault> {
    let table = switch.program().table(table)?;
    let action = EntryAction::Call(call(switch, table, action, args)?);
    switch.table_insert(table, NewEntry { key, priority: 1, action, idle_timeout_ns: 0 })?;
    Ok(())
}

fn exact(v: u64) -> KeyMatch {
    KeyMatch::Exact(Value::from(v))
}

/// Routes for 10.0.0.1 to 10.0.0.4 at ports 1 to 4, and as many more prefixes.
fn routes(switch: &mut Switch, more: u32) -> Result<(), Fault> {
    let table = switch.program().table("ipv4_route")?;
    let profile = switch.program().profile("ecmp")?;
    for port in 1..=4 {
        let call = call(switch, table, "forward", &[port, 0x0200_0000_0000 + port])?;
        switch.member_insert(profile, ProfileMember { id: u32::try_from(port)?, call })?;
        let value = Value::from(0x0a00_0000 + port);
        let key = vec![KeyMatch::Lpm { value, prefix_len: 32 }];
        let action = EntryAction::Member(u32::try_from(port)?);
        switch.table_insert(table, NewEntry { key, priority: 0, action, idle_timeout_ns: 0 })?;
    }
    for i in 0..more {
        let key = vec![KeyMatch::Lpm { value: Value::from(0x1400_0000 + (i << 8)), prefix_len: 24 }];
        let entry = NewEntry { key, priority: 0, action: EntryAction::Member(1), idle_timeout_ns: 0 };
        if switch.table_insert(table, entry).is_err() {
            println!("  (table full at {i} routes)");
            break;
        }
    }
    Ok(())
}

/// What the controller writes for a port with a threshold.
fn normal(switch: &mut Switch) -> Result<(), Fault> {
    add(switch, "dscp_map", vec![exact(26)], "set_class", &[0, 1, 0])?;
    add(switch, "dscp_map", vec![exact(48)], "set_class", &[7, 3, 7])?;
    for port in 1..=4 {
        add(switch, "port_trust", vec![exact(port)], "set_trust", &[1, 1])?;
        let profile = [0, 100_000, 400_000, 0, 50];
        add(switch, "queue_profile", vec![exact(port), exact(0)], "set_profile", &profile)?;
        add(switch, "queue_profile", vec![exact(port), exact(7)], "set_profile", &profile)?;
    }
    for degree in 1..=255 {
        let low = (degree - 1) * 1000;
        let range = KeyMatch::Range { low: Value::from(low), high: Value::from(low + 999) };
        add(switch, "congestion_degree", vec![exact(0), range], "set_degree", &[degree])?;
    }
    Ok(())
}

/// A RoCEv2-like packet from 10.0.0.1 to 10.0.0.2 with DSCP 26.
fn packet(octets: usize) -> Result<Vec<u8>, Fault> {
    let hex = "0200000000fe020000000001080045680030000100004011665\
               20a0000010a000002c35012b7001c15ac0000000000000000000000000000000000000000";
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let mut packet = Vec::new();
    for pair in digits.chunks_exact(2) {
        packet.push(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?);
    }
    packet.resize(octets.max(packet.len()), 0);
    Ok(packet)
}

/// Packets per second through ingress and egress.
fn measure(switch: &mut Switch, octets: usize) -> Result<f64, Fault> {
    let rounds: u32 = std::env::var("ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(1_000_000);
    let template = packet(octets)?;
    let mut buffer = template.clone();
    let mut now_ns = 0;
    let mut left = 0u32;
    let start = Instant::now();
    for _ in 0..rounds {
        now_ns += 1000;
        buffer.clear();
        buffer.extend_from_slice(&template);
        switch.ingress(1, Packet::new(std::mem::take(&mut buffer)), now_ns);
        if let Some(packet) = switch.dequeue(2, now_ns).and_then(|d| d.packet) {
            left += 1;
            buffer = packet.into_head();
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    if left != rounds {
        println!("  only {left} of {rounds} packets left: {:?}", switch.stats());
    }
    Ok(f64::from(rounds) / seconds)
}

fn main() -> Result<(), Fault> {
    let json = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bmv2/build/crn.json");
    let program: Arc<Program> = Program::from_json(&std::fs::read(json)?)?;
    let fresh = || Switch::new(Arc::clone(&program), SwitchConfig::default());
    if std::env::args().nth(1).is_some() {
        let mut full = fresh();
        routes(&mut full, 0)?;
        normal(&mut full)?;
        println!("normal entries: {:.2} Mpps", measure(&mut full, 64)? / 1e6);
        return Ok(());
    }
    for octets in [64, 1500] {
        let mut router = fresh();
        routes(&mut router, 0)?;
        println!("plain router, {octets} octets: {:.2} Mpps", measure(&mut router, octets)? / 1e6);
        let mut full = fresh();
        routes(&mut full, 0)?;
        normal(&mut full)?;
        println!("normal entries, {octets} octets: {:.2} Mpps", measure(&mut full, octets)? / 1e6);
    }
    for more in [100, 1000, 100_000] {
        let mut router = fresh();
        routes(&mut router, more)?;
        println!("plain router, {more} more routes: {:.2} Mpps", measure(&mut router, 64)? / 1e6);
    }
    let kinds: Vec<MatchKind> = program.tables().iter().flat_map(|t| t.keys.iter().map(|k| k.kind)).collect();
    println!("{} tables, {} key fields", program.tables().len(), kinds.len());
    Ok(())
}
