//! A packet costs no heap: once buffers have their sizes, nothing is allocated and nothing grows.
//!
//! `ALLOCATION_PACKETS` in the environment sets how many packets each test sends (`make soak`: 10^8).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/bench/crn.rs"]
mod crn;
#[path = "engine/program.rs"]
#[allow(dead_code, clippy::needless_pass_by_value, reason = "other tests use more of it, by value")]
mod program;

use allocation_counter::measure;
use crn::{Crn, packet, pass};
use program::{Build, number, primitive};
use serde_json::json;
use softswitch::control::{CloneSession, Replica};
use softswitch::{Engine, Packet, Switch};

const ENGINE: Engine = Engine::Native;

/// Packets until all buffers have their sizes.
const WARM_UP: u64 = 2000;

fn packets() -> u64 {
    std::env::var("ALLOCATION_PACKETS").ok().and_then(|n| n.parse().ok()).unwrap_or(50_000)
}

/// Runs `step` for so many packets with a clock of one packet per microsecond, and wants no allocation after the warm-up.
fn allocates_nothing(packets: u64, mut step: impl FnMut(u64)) {
    (0..WARM_UP).for_each(|n| step(n * 1000));
    let info = measure(|| (WARM_UP..WARM_UP + packets).for_each(|n| step(n * 1000)));
    assert_eq!((info.count_total, info.bytes_current), (0, 0), "{info:?}");
}

/// The interpreter, which few of so many packets go through, has a tenth of them.
fn forwards_without_allocation(set_up: fn(&Crn) -> Switch) {
    for (engine, packets) in [(Engine::Native, packets()), (Engine::Interpreter, packets() / 10)] {
        let mut switch = set_up(&Crn::load(engine).unwrap());
        for octets in [64, 1500] {
            let template = packet(octets).unwrap();
            let mut buffer = Vec::new();
            allocates_nothing(packets, |now_ns| assert!(pass(&mut switch, &mut buffer, &template, now_ns)));
        }
    }
}

#[test]
fn the_projects_program_as_a_plain_router() {
    forwards_without_allocation(|crn| crn.router().unwrap());
}

#[test]
fn the_projects_program_with_its_normal_entries() {
    forwards_without_allocation(|crn| crn.normal().unwrap());
}

/// As a report is made: a clone behind the queue, which goes through ingress again.
#[test]
fn clones_and_recirculations() {
    let standard = json!({ "type": "header", "value": "standard_metadata" });
    let clone = primitive("clone_egress_pkt_to_egress", json!([number(5), number(0)]));
    let build = Build {
        egress: vec![clone],
        egress_for: Some((2, vec![primitive("recirculate", json!([number(1)]))])),
        ingress_for: Some((4, vec![primitive("mark_to_drop", json!([standard]))])),
        ..Build::default()
    };
    let mut switch = build.switch();
    let replicas = vec![Replica { port: 3, instance: 0 }];
    switch.set_clone_session(5, CloneSession { replicas, ..CloneSession::default() }).unwrap();
    let mut buffer = Vec::new();
    allocates_nothing(packets(), |now_ns| {
        buffer.clear();
        buffer.extend_from_slice(&[0; 64]);
        switch.ingress(0, Packet::new(std::mem::take(&mut buffer)), now_ns);
        let packet = switch.dequeue(0, now_ns).and_then(|d| d.packet).unwrap();
        buffer = packet.into_head();
        assert!(switch.dequeue(3, now_ns).unwrap().recirculated);
    });
    assert!(switch.stats().recirculated > packets());
}
