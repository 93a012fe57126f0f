//! What hostile input may not do, as functions of octets: panic, hang, stop the switch from forwarding, or make native
//! code and the interpreter differ. cargo-fuzz calls them with what it invents; `p4/softswitch/tests/hostile.rs` includes
//! this file and calls them with seeds and what chance makes of those, on every run of the tests.

use std::sync::{Arc, OnceLock};

use p4runtime::p4::v1::{
    ForwardingPipelineConfig, MasterArbitrationUpdate, ReadRequest, SetForwardingPipelineConfigRequest,
    StreamMessageRequest, Uint128, WriteRequest, stream_message_request,
};
use prost::Message as _;
use softswitch::control::{
    ActionCall, ActionId, EntryAction, GroupMember, KeyMatch, NewEntry, ProfileGroup, ProfileId,
    ProfileMember, TableId,
};
use softswitch::runtime::{Compiled, Runtime};
use softswitch::{Engine, Packet, Program, Switch, SwitchConfig, Value};

const CRN: &[u8] = include_bytes!("../../p4/bmv2/build/crn.json");
const P4INFO: &str = include_str!("../../p4/bmv2/build/crn.p4info.txtpb");
const DEVICE: u64 = 7;

/// The project's own program.
pub fn program() -> Arc<Program> {
    static PROGRAM: OnceLock<Arc<Program>> = OnceLock::new();
    Arc::clone(PROGRAM.get_or_init(|| Program::from_json(CRN).expect("the program of this work tree loads")))
}

fn switch(program: &Arc<Program>, engine: Engine) -> Switch {
    // One call may go round a program only so often: a loop of recirculations is no hang.
    Switch::new(Arc::clone(program), SwitchConfig { engine, passes_per_call: 16, ..SwitchConfig::default() })
}

/// Octets one after the other; zeros behind the end.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn octet(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn number(&mut self) -> u32 {
        u32::from_be_bytes([self.octet(), self.octet(), self.octet(), self.octet()])
    }

    /// Of up to 17 octets, so that it is too wide for most.
    fn value(&mut self) -> Value {
        let n = usize::from(self.octet() % 18);
        let octets: Vec<u8> = (0..n).map(|_| self.octet()).collect();
        Value::from_octets(&octets)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.octet()) % n.max(1)
    }
}

/// A packet with a length of 0 to 65,535 octets: what is given first, then zeros.
fn packet(source: &mut Source) -> (u16, Vec<u8>) {
    let port = u16::from(source.octet());
    let length = usize::from(u16::from_be_bytes([source.octet(), source.octet()]));
    // Lengths that matter are short: a bit of the port says whether it may be long.
    let length = if port & 1 == 0 { length % 160 } else { length };
    let mut octets: Vec<u8> = (0..length.min(source.0.len())).map(|_| source.octet()).collect();
    octets.resize(length, 0);
    (port, octets)
}

/// All that leaves, with ports, and what the switch says happened.
fn outcome(switch: &mut Switch, packets: &[(u16, Vec<u8>)]) -> (Vec<(u16, Vec<u8>)>, String) {
    let mut out = Vec::new();
    let mut now_ns = 1_000_000_000;
    for (port, octets) in packets {
        now_ns += 1_000_000;
        switch.ingress(*port, Packet::new(octets.clone()), now_ns);
        // A packet may send itself back for ever.
        for _ in 0..64 {
            let Some(port) = switch.active_ports().next() else { break };
            if let Some(packet) = switch.dequeue(port, now_ns).and_then(|d| d.packet) {
                out.push((port, packet.to_octets()));
            }
        }
    }
    (out, format!("{:?}", switch.stats()))
}

fn both_engines_agree(program: &Arc<Program>, set_up: impl Fn(&mut Switch), packets: &[(u16, Vec<u8>)]) {
    let run = |engine| {
        let mut switch = switch(program, engine);
        set_up(&mut switch);
        outcome(&mut switch, packets)
    };
    assert_eq!(run(Engine::Interpreter), run(Engine::Native));
}

/// A program: refused, or it runs, and native code does what the interpreter does.
pub fn json(data: &[u8]) {
    let Ok(program) = Program::from_json(data) else { return };
    let packets: Vec<(u16, Vec<u8>)> = [0, 1, 13, 40, 64, 1500]
        .map(|n| (3, (0..n).map(|i: u32| i.to_be_bytes()[3] ^ 0x5a).collect()))
        .into();
    both_engines_agree(&program, |_| {}, &packets);
}

/// Routes for 10.0.0.0/8 and the classes of a few ports.
fn routes(switch: &mut Switch) {
    let mut add = |table: &str, key: Vec<KeyMatch>, action: &str, args: &[u64]| {
        let Ok(table) = switch.program().table(table) else { return };
        let Ok(action) = switch.program().table_action(table, action) else { return };
        let args = args.iter().map(|&a| Value::from(a)).collect();
        let action = EntryAction::Call(ActionCall { action, args });
        let _ = switch.table_insert(table, NewEntry { key, priority: 1, action, idle_timeout_ns: 0 });
    };
    let exact = |n: u64| KeyMatch::Exact(Value::from(n));
    add("dscp_map", vec![exact(26)], "set_class", &[0, 1, 0]);
    for port in 0..4 {
        add("port_trust", vec![exact(port)], "set_trust", &[1, 1]);
        add("queue_profile", vec![exact(port), exact(0)], "set_profile", &[0, 0, 400_000, 0, 50]);
    }
    let Ok(table) = switch.program().table("ipv4_route") else { return };
    let (Ok(profile), Ok(action)) =
        (switch.program().profile("ecmp"), switch.program().table_action(table, "forward"))
    else {
        return;
    };
    let call = ActionCall { action, args: vec![Value::from(2u64), Value::from(0x0200_0000_0002u64)] };
    let _ = switch.member_insert(profile, ProfileMember { id: 1, call });
    let key = vec![KeyMatch::Lpm { value: Value::from(0x0a00_0000u64), prefix_len: 8 }];
    let action = EntryAction::Member(1);
    let _ = switch.table_insert(table, NewEntry { key, priority: 0, action, idle_timeout_ns: 0 });
}

/// Packets into the project's program: what native code sends, the interpreter sends.
pub fn packets(data: &[u8]) {
    let mut source = Source(data);
    let mut all = Vec::new();
    while !source.0.is_empty() && all.len() < 32 {
        all.push(packet(&mut source));
    }
    both_engines_agree(&program(), routes, &all);
}

fn key_match(source: &mut Source) -> KeyMatch {
    match source.octet() % 6 {
        0 => KeyMatch::Exact(source.value()),
        1 => KeyMatch::Lpm { value: source.value(), prefix_len: usize::from(source.octet()) },
        2 => KeyMatch::Ternary { value: source.value(), mask: source.value() },
        3 => KeyMatch::Range { low: source.value(), high: source.value() },
        4 => KeyMatch::Optional((source.octet() & 1 == 0).then(|| source.value())),
        _ => KeyMatch::Any,
    }
}

fn call(source: &mut Source, table: Option<TableId>, program: &Program) -> ActionCall {
    let actions = table.and_then(|t| program.tables().get(t.0)).map_or(&[][..], |t| &t.actions);
    // Mostly one that the table has, so that more than the first check is reached.
    let action = match source.octet() {
        255 => ActionId(usize::MAX),
        n if n > 240 || actions.is_empty() => ActionId(usize::from(n)),
        n => actions[usize::from(n) % actions.len()],
    };
    let wanted = program.actions().get(action.0).map_or(1, |a| a.params.len());
    let n = if source.octet() < 16 { wanted + 1 } else { wanted };
    ActionCall { action, args: (0..n).map(|_| source.value()).collect() }
}

/// Entries, members and groups, most of them wrong: refused with a reason, or taken.
pub fn entries(data: &[u8]) {
    let program = program();
    let mut switch = switch(&program, Engine::Native);
    let mut source = Source(data);
    let mut steps = 0;
    while !source.0.is_empty() && steps < 200 {
        steps += 1;
        let table = TableId(source.below(program.tables().len() + 1));
        let profile = ProfileId(source.below(program.profiles().len() + 1));
        match source.octet() % 8 {
            0 => {
                let call = call(&mut source, Some(table), &program);
                let _ = switch.member_insert(profile, ProfileMember { id: source.octet().into(), call });
            }
            1 => {
                let members = (0..source.octet() % 4)
                    .map(|_| GroupMember { member: source.octet().into(), weight: source.octet().into() })
                    .collect();
                let group = ProfileGroup { id: source.octet().into(), members, max_size: source.number() };
                let _ = switch.group_insert(profile, group);
            }
            kind => {
                let wanted = program.tables().get(table.0).map_or(1, |t| t.keys.len());
                let n = if source.octet() < 8 { wanted + 1 } else { wanted };
                let action = match kind {
                    2 => EntryAction::Member(source.octet().into()),
                    3 => EntryAction::Group(source.octet().into()),
                    _ => EntryAction::Call(call(&mut source, Some(table), &program)),
                };
                let key = (0..n).map(|_| key_match(&mut source)).collect();
                let priority = source.number();
                let entry = NewEntry { key, priority, action, idle_timeout_ns: source.number().into() };
                let _ = switch.table_insert(table, entry);
            }
        }
    }
    let before = switch.stats().received;
    outcome(&mut switch, &[(1, vec![0x45; 64])]);
    assert_eq!(switch.stats().received, before + 1);
}

fn runtime() -> Runtime {
    static CONFIG: OnceLock<ForwardingPipelineConfig> = OnceLock::new();
    static COMPILED: OnceLock<Compiled> = OnceLock::new();
    let config = CONFIG.get_or_init(|| ForwardingPipelineConfig {
        p4info: p4runtime::p4info::parse_text(P4INFO).ok(),
        p4_device_config: CRN.to_vec(),
        cookie: None,
    });
    let compiled = COMPILED
        .get_or_init(|| Runtime::compile(config.clone()).expect("the program of this work tree loads"));
    let mut runtime = Runtime::new(DEVICE, SwitchConfig::default());
    let request = SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        election_id: Some(Uint128 { high: 0, low: 1 }),
        action: 3,
        config: Some(config.clone()),
        ..SetForwardingPipelineConfigRequest::default()
    };
    let stream = runtime.open_stream();
    let arbitration = MasterArbitrationUpdate {
        device_id: DEVICE,
        election_id: Some(Uint128 { high: 0, low: 1 }),
        ..MasterArbitrationUpdate::default()
    };
    let update = Some(stream_message_request::Update::Arbitration(arbitration));
    runtime.receive(stream, &StreamMessageRequest { update }).expect("the first controller is primary");
    runtime.set_compiled(&request, Some(compiled.clone())).expect("the program of this work tree is taken");
    runtime
}

/// Messages of controllers, each behind its kind and its length: refused or obeyed. Who sends them is the primary.
pub fn grpc(data: &[u8]) {
    let mut runtime = runtime();
    let stream = runtime.open_stream();
    let mut source = Source(data);
    while !source.0.is_empty() {
        let kind = source.octet();
        let length = usize::from(u16::from_be_bytes([source.octet(), source.octet()])).min(source.0.len());
        let (message, rest) = source.0.split_at(length);
        source.0 = rest;
        match kind % 4 {
            0 => {
                if let Ok(mut request) = WriteRequest::decode(message) {
                    request.device_id = DEVICE;
                    request.election_id = Some(Uint128 { high: 0, low: 1 });
                    let _ = runtime.write(&request);
                }
            }
            1 => {
                if let Ok(mut request) = ReadRequest::decode(message) {
                    request.device_id = DEVICE;
                    let _ = runtime.read_each(&request);
                }
            }
            2 => {
                if let Ok(request) = StreamMessageRequest::decode(message) {
                    let _ = runtime.receive(stream, &request);
                }
            }
            _ => {
                if let Ok(mut request) = SetForwardingPipelineConfigRequest::decode(message) {
                    request.device_id = DEVICE;
                    request.election_id = Some(Uint128 { high: 0, low: 1 });
                    let _ = runtime.set_pipeline(&request);
                }
            }
        }
    }
    while runtime.poll_response().is_some() {}
    if let Some(switch) = runtime.switch_mut() {
        let before = switch.stats().received;
        outcome(switch, &[(1, vec![0x45; 64])]);
        assert_eq!(switch.stats().received, before + 1);
    }
}
