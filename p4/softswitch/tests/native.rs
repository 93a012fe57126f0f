//! The tests of `tests/engine` again, every packet through native code.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test, as tests do")]
#![allow(clippy::needless_pass_by_value, reason = "programs are written as nested calls")]

#[path = "engine/control.rs"]
mod control;
#[path = "engine/hostile.rs"]
mod hostile;
#[path = "engine/lookups.rs"]
mod lookups;
#[path = "engine/program.rs"]
mod program;
#[path = "engine/queues.rs"]
mod queues;
#[path = "engine/quirks.rs"]
mod quirks;
#[path = "engine/rare.rs"]
mod rare;

use softswitch::{Engine, Packet, Switch, SwitchConfig};

const ENGINE: Engine = Engine::Native;

fn switch(engine: Engine) -> Switch {
    Switch::new(program::Build::default().program(), SwitchConfig { engine, ..SwitchConfig::default() })
}

fn send(switch: &mut Switch, n: u32) {
    for _ in 0..n {
        switch.ingress(0, Packet::new(vec![0; 8]), 0);
        program::drain(switch, 0);
    }
}

/// What the other tests here rest on, where Cranelift knows the processor.
#[test]
fn packets_go_through_native_code_where_that_is_wanted() {
    let native = switch(Engine::Native);
    assert_eq!(native.is_native(), cfg!(target_arch = "x86_64") || native.is_native());
    let mut interpreted = switch(Engine::Interpreter);
    send(&mut interpreted, 20_000);
    assert!(!interpreted.is_native());
}

#[test]
fn after_some_packets_the_program_is_compiled_beside_them() {
    let mut automatic = switch(Engine::Automatic);
    send(&mut automatic, 9_000);
    assert!(!automatic.is_native());
    let wanted = switch(Engine::Native).is_native();
    // At most a minute of packets.
    let began = std::time::Instant::now();
    while automatic.is_native() != wanted && began.elapsed().as_secs() < 60 {
        send(&mut automatic, 1000);
    }
    assert_eq!(automatic.is_native(), wanted);
}
