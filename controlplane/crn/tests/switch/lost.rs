//! Reports whose clones lead nowhere show in `crn status`: the clone session is unset, as somebody else's program or hand
//! leaves it, while packets pass.

use std::net::Ipv4Addr;
use std::process::Command;
use std::time::{Duration, Instant};

use p4runtime::client::{Client, Options};
use p4runtime::p4::v1::{
    CloneSessionEntry, Entity, PacketReplicationEngineEntry, Update, entity, packet_replication_engine_entry,
    update,
};
use serde_json::Value;
use wire::frame::{Datagram, Ecn, UdpChecksum};
use wire::roce::{Bth, Opcode, Psn, UDP_PORT};

use crate::wires::Wires;

/// The switch's device id, as in the topology below.
pub const DEVICE: u64 = 3;

/// More than a loaded machine takes for anything that is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// What host a sends is denied, and every denied packet of a flow is reported to it.
const TOPOLOGY: &str = "\
name: lost
domain:
  ports: { rdcc: 52100, crem: 52101, scone: 52102 }
  dscp:
    - { dscp: 26, role: scheduled, queue: 0 }
    - { dscp: 48, role: control, class: 7, queue: 7 }
  reports: { path: { interval: 1ms } }
defaults: { link: { rate: 10Gbps, delay: 1us }, profile: p, control_profile: p }
profiles:
  p: { ecn_threshold: 100kB, q_max: 1MB, report_interval: 100us }
switches:
  s1: { target: soft, device_id: 3, reporter_id: 1, address: 10.255.0.1 }
hosts: { a: { address: 10.0.0.1 }, b: { address: 10.0.0.2 } }
links:
  - { endpoints: [\"s1:1\", a] }
  - { endpoints: [\"s1:2\", b] }
policies:
  acl: [{ action: deny, from: 10.0.0.1/32, protocol: udp, destination_port: 4791 }]
";

/// A `RoCEv2` packet from a to b.
fn packet(queue_pair: u32) -> Vec<u8> {
    let payload =
        [&Bth::new(Opcode::SEND_ONLY, queue_pair, Psn::new(5)).to_octets()[..], &[0x5a; 64]].concat();
    let datagram = Datagram {
        source_mac: [2, 0, 0, 0, 0, 1],
        destination_mac: [2, 0, 0, 0, 0, 0xfe],
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
        source_port: 49_300,
        destination_port: UDP_PORT,
        dscp: 26,
        ecn: Ecn::NotEct,
        time_to_live: 64,
        identification: 1,
    };
    datagram.frame(&payload, 0, UdpChecksum::Zero).unwrap()
}

/// Another controller takes the session away.
fn unset_session(address: &str) {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio.block_on(async {
        let options = Options { device_id: DEVICE, election_id: 9, timeout: PATIENCE, ..Options::default() };
        let mut client = Client::connect(address, options).await.unwrap();
        let of = |session: CloneSessionEntry| {
            let kind = packet_replication_engine_entry::Type::CloneSessionEntry(session);
            let entry = PacketReplicationEngineEntry { r#type: Some(kind) };
            Entity { entity: Some(entity::Entity::PacketReplicationEngineEntry(entry)) }
        };
        let sessions = client.read(vec![of(CloneSessionEntry::default())]).await.unwrap();
        assert_eq!(sessions.len(), 1, "{sessions:?}");
        let delete = |entity| Update { r#type: update::Type::Delete.into(), entity: Some(entity) };
        client.write(sessions.into_iter().map(delete).collect()).await.unwrap();
    });
}

/// The rest of the story, on a switch that serves at `address`, its ports 1 and 2 on these wires.
pub fn on(wires: &Wires, address: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lost.yaml");
    std::fs::write(&path, TOPOLOGY).unwrap();
    let at = format!("s1={address}");
    let crn = |command: &str, more: &[&str]| {
        let mut crn = Command::new(env!("CARGO_BIN_EXE_crn"));
        crn.arg(command)
            .arg(&path)
            .args(["--at", &at, "--timeout", "60"])
            .args(more)
            .env("NO_COLOR", "1")
            .env("COLUMNS", "200");
        let output = crn.output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let status = || serde_json::from_str::<Value>(&crn("status", &["--json"])).unwrap()["switches"][0].take();
    let triggered = |status: &Value| -> u64 {
        let cells = status["counters"].as_array().unwrap().iter();
        cells
            .filter(|cell| cell["counter"] == "reports_triggered")
            .map(|cell| cell["packets"].as_u64().unwrap())
            .sum()
    };
    let until = |what: &str, ends: &dyn Fn(&Value) -> bool| {
        let start = Instant::now();
        loop {
            let status = status();
            if ends(&status) {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "{what}: {status}");
        }
    };
    crn("apply", &[]);

    for queue_pair in 1..=3 {
        wires.send(1, &packet(queue_pair));
        let report = wires.receive(1);
        assert_eq!(report[36..38], 52101_u16.to_be_bytes(), "a PATH_REPORT, to the CREM port");
    }
    let before = until("reports are counted", &|status| {
        triggered(status) == 3 && status["lost_reports"] == serde_json::json!([])
    });
    assert_eq!(before["drift"], 0);
    assert!(!crn("status", &[]).contains("lost before they were sent"));

    unset_session(address);
    for queue_pair in 4..=5 {
        wires.send(1, &packet(queue_pair));
    }
    let after = until("reports are triggered", &|status| triggered(status) == 5);
    let lost = after["lost_reports"].as_array().unwrap();
    assert_eq!(lost.len(), 1, "{after}");
    let kind_and_count = (&lost[0]["of"], &lost[0]["packets"]);
    assert_eq!(kind_and_count, (&"path report".into(), &2.into()), "{after}");
    assert_eq!(after["drift"], 1, "the session is missing");
    let text = crn("status", &[]);
    assert!(
        text.contains("2 reports (path report) lost before they were sent: is the clone session set"),
        "{text}"
    );
    assert_eq!(wires.waiting(1), 0, "nothing came of them");

    // An apply sets it again.
    assert!(crn("apply", &[]).contains("1 change written"));
    wires.send(1, &packet(6));
    wires.receive(1);
    let healed = until("one more is sent", &|status| triggered(status) == 6);
    assert_eq!((&healed["lost_reports"][0]["packets"], &healed["drift"]), (&2.into(), &0.into()), "{healed}");
}
