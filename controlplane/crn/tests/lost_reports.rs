//! What an operator sees of reports that an unset clone session loses: `crn status` against a switch that runs the program.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod served;

use std::net::Ipv4Addr;
use std::sync::PoisonError;

use controller::pipeline::generated::constants::REPORT_CLONE_SESSION;
use p4runtime::p4::v1::{
    CloneSessionEntry, Entity, PacketReplicationEngineEntry, Update, entity, packet_replication_engine_entry,
    update,
};
use served::{Served, crn, edited, stderr, stdout};
use softswitch::Packet;
use wire::frame::{Datagram, Ecn, UdpChecksum};
use wire::roce::{Bth, Opcode, Psn, UDP_PORT};

/// A `RoCEv2` packet from a1 to r in a frame to the switch.
fn packet(psn: u32) -> Vec<u8> {
    let payload = [&Bth::new(Opcode::SEND_ONLY, 7, Psn::new(psn)).to_octets()[..], &[0x5a; 64]].concat();
    let datagram = Datagram {
        source_mac: [2, 0, 0, 0, 0, 1],
        destination_mac: [2, 0, 0, 0, 0, 9],
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 9),
        source_port: 49_300,
        destination_port: UDP_PORT,
        dscp: 0,
        ecn: Ecn::NotEct,
        time_to_live: 64,
        identification: 1,
    };
    datagram.frame(&payload, 0, UdpChecksum::Zero).unwrap()
}

/// Packets enter port 1, at the switch's own time.
fn send(served: &Served, psns: std::ops::Range<u32>) {
    let mut runtime = served.switches["s1"].lock().unwrap_or_else(PoisonError::into_inner);
    let switch = runtime.switch_mut().unwrap();
    for psn in psns {
        // Beyond the flow's report interval, 100 us, each time.
        let now = u64::from(psn) * 1_000_000;
        switch.ingress(1, Packet::new(packet(psn)), now);
        let ports: Vec<u16> = switch.active_ports().collect();
        for port in ports {
            while let Some(at) = switch.next_departure(port) {
                switch.dequeue(port, now.max(at));
            }
        }
    }
}

/// The session goes, as after a restart of the switch that nobody noticed.
fn unset_clone_session(served: &Served) {
    let session = CloneSessionEntry { session_id: REPORT_CLONE_SESSION, ..CloneSessionEntry::default() };
    let kind = packet_replication_engine_entry::Type::CloneSessionEntry(session);
    let entry = PacketReplicationEngineEntry { r#type: Some(kind) };
    let entity = entity::Entity::PacketReplicationEngineEntry(entry);
    let update =
        Update { r#type: update::Type::Delete.into(), entity: Some(Entity { entity: Some(entity) }) };
    let mut runtime = served.switches["s1"].lock().unwrap_or_else(PoisonError::into_inner);
    let outcomes = runtime.apply(&[update]).unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.canonical_code == 0), "{outcomes:?}");
}

#[test]
fn status_shows_the_reports_that_an_unset_clone_session_loses() {
    let policies = "policies:\n  acl: [{ action: deny, to: 10.0.0.9/32 }]\nrdcc:\n";
    let (_folder, path) = edited("incast-8to1.yaml", "rdcc:\n", policies);
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replace("  dscp:\n", "  reports: { path: { interval: 100us } }\n  dscp:\n");
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    let served = Served::new("incast-8to1.yaml");
    let apply = crn(&served.args("apply", path));
    assert_eq!(apply.status.code(), Some(0), "{}", stderr(&apply));
    let status = |more: &[&str]| {
        let more = more.iter().map(|&word| word.to_owned());
        let output = crn(&served.args("status", path).into_iter().chain(more).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output).to_owned()
    };

    send(&served, 1..3);
    let said = status(&[]);
    assert!(said.contains("reports_triggered") && said.contains("reports_sent"), "{said}");
    assert!(!said.contains("lost before"), "two reports were sent: {said}");

    unset_clone_session(&served);
    send(&served, 3..6);
    let said = status(&[]);
    let wanted = "s1:1 queue 0: 3 reports (path report) lost before they were sent: is the clone session set";
    assert!(said.contains(wanted), "{said}");
    assert!(said.contains("1 change"), "the session is missed: {said}");
    let json: serde_json::Value = serde_json::from_str(&status(&["--json"])).unwrap();
    let lost = &json["switches"][0]["lost_reports"];
    assert_eq!(lost.as_array().map(Vec::len), Some(1), "{lost}");
    assert_eq!((&lost[0]["packets"], &lost[0]["port"]), (&3.into(), &1.into()), "{lost}");

    // What `crn apply` puts right.
    let apply = crn(&served.args("apply", path));
    assert_eq!(apply.status.code(), Some(0), "{}", stderr(&apply));
    send(&served, 6..8);
    let said = status(&[]);
    assert!(said.contains("3 reports (path report) lost"), "no more are lost: {said}");
}
