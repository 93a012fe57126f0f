//! The project's own program with the entries its controller writes, and a packet for it.

use std::path::Path;
use std::sync::Arc;

use softswitch::control::{ActionCall, EntryAction, KeyMatch, NewEntry, ProfileMember, TableId};
use softswitch::{Engine, Packet, Program, Switch, SwitchConfig, Value};

type Fault = Box<dyn std::error::Error>;

/// The compiled program.
pub struct Crn {
    program: Arc<Program>,
    engine: Engine,
}

impl Crn {
    /// Loads it from this work tree, for switches with this engine.
    pub fn load(engine: Engine) -> Result<Crn, Fault> {
        let json = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bmv2/build/crn.json");
        Ok(Crn { program: Program::from_json(&std::fs::read(json)?)?, engine })
    }

    /// A switch with routes for 10.0.0.1 to 10.0.0.4 at ports 1 to 4, and nothing else.
    pub fn router(&self) -> Result<Switch, Fault> {
        let config = SwitchConfig { engine: self.engine, ..SwitchConfig::default() };
        let mut switch = Switch::new(Arc::clone(&self.program), config);
        let table = switch.program().table("ipv4_route")?;
        let profile = switch.program().profile("ecmp")?;
        for port in 1..=4u32 {
            let args = [port.into(), 0x0200_0000_0000 + u64::from(port)];
            let call = call(&switch, table, "forward", &args)?;
            switch.member_insert(profile, ProfileMember { id: port, call })?;
            let value = Value::from(0x0a00_0000 + port);
            let key = vec![KeyMatch::Lpm { value, prefix_len: 32 }];
            let action = EntryAction::Member(port);
            switch.table_insert(table, NewEntry { key, priority: 0, action, idle_timeout_ns: 0 })?;
        }
        Ok(switch)
    }

    /// That, and what the controller writes for ports with a threshold.
    pub fn normal(&self) -> Result<Switch, Fault> {
        let mut switch = self.router()?;
        add(&mut switch, "dscp_map", vec![exact(26)], "set_class", &[0, 1, 0])?;
        add(&mut switch, "dscp_map", vec![exact(48)], "set_class", &[7, 3, 7])?;
        for port in 1..=4 {
            add(&mut switch, "port_trust", vec![exact(port)], "set_trust", &[1, 1])?;
            let profile = [0, 100_000, 400_000, 0, 50];
            for queue in [0, 7] {
                let key = vec![exact(port), exact(queue)];
                add(&mut switch, "queue_profile", key, "set_profile", &profile)?;
            }
        }
        for degree in 1..=255 {
            let low = (degree - 1) * 1000;
            let range = KeyMatch::Range { low: Value::from(low), high: Value::from(low + 999) };
            add(&mut switch, "congestion_degree", vec![exact(0), range], "set_degree", &[degree])?;
        }
        Ok(switch)
    }
}

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

/// A RoCEv2 packet from 10.0.0.1 to 10.0.0.2 with DSCP 26.
pub fn packet(octets: usize) -> Result<Vec<u8>, Fault> {
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

/// Sends one packet through a switch, from port 1 to port 2, and says whether it left; the buffer is for the next.
pub fn pass(switch: &mut Switch, buffer: &mut Vec<u8>, template: &[u8], now_ns: u64) -> bool {
    buffer.clear();
    buffer.extend_from_slice(template);
    switch.ingress(1, Packet::new(std::mem::take(buffer)), now_ns);
    match switch.dequeue(2, now_ns).and_then(|d| d.packet) {
        Some(packet) => {
            *buffer = packet.into_head();
            true
        }
        None => false,
    }
}
