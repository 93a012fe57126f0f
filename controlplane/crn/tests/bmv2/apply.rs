//! Files and what `plan`, `apply` and `status` make of them.

use crate::process::{Bmv2, free_port};
use crate::served::{crn, edited, stderr, stdout, topology};

pub fn bmv2_takes_everything_and_a_second_apply_writes_nothing() {
    let switch = Bmv2::start();
    let path = topology("incast-8to1.yaml");
    let plan = crn(&switch.args("plan", &path));
    assert!(stdout(&plan).contains("runs no program"), "{}{}", stdout(&plan), stderr(&plan));
    let apply = crn(&switch.args("apply", &path));
    assert_eq!(apply.status.code(), Some(0), "{}", stderr(&apply));
    assert!(stdout(&apply).contains("program pushed"), "{}", stdout(&apply));
    let again = crn(&switch.args("apply", &path));
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(stdout(&again).ends_with("Nothing was written.\n"), "{}", stdout(&again));
    let status = crn(&switch.args("status", &path));
    assert_eq!(status.status.code(), Some(0), "{}", stderr(&status));
    assert!(stdout(&status).contains("none"), "no drift: {}", stdout(&status));

    // Policies, IPv6, reports: every table that the YAML can fill; then all of them taken out again.
    let more = "policies:
  source_rates: [{ from: 10.0.0.0/24, rate: 10Gbps }, { from: \"::/0\", rate: 1Gbps, class: 0 }]
  queue_pair_rates: [{ to: 10.0.0.9, qp: 17, rate: 1Gbps }]
  acl: [{ action: permit, protocol: udp, destination_port: 4791 }, { action: deny, to: 10.0.0.0/24 }]
  report_to: [{ sources: 10.0.0.0/24, address: 10.0.0.8 }]
  source_check: true
rdcc:
";
    let (_folder, full) = edited("incast-8to1.yaml", "rdcc:\n", more);
    let text = std::fs::read_to_string(&full).unwrap();
    let text = text
        .replace("address: 10.255.0.1 }", "address: 10.255.0.1, ipv6: \"fd00::ffff\" }")
        .replace("address: 10.0.0.1 }", "address: 10.0.0.1, ipv6: \"fd00::1\" }")
        .replace(
            "  dscp:",
            "  reports: { path: { interval: 100us }, rate_advice: { interval: 50us }, rate_signal: { kind: 7 } }\n  dscp:",
        );
    std::fs::write(&full, text).unwrap();
    for (path, what) in [(&full, "added"), (&path, "taken out")] {
        let apply = crn(&switch.args("apply", path));
        assert_eq!(apply.status.code(), Some(0), "{what}: {}", stderr(&apply));
        let again = crn(&switch.args("apply", path));
        assert!(
            stdout(&again).ends_with("Nothing was written.\n"),
            "{what}: {}{}",
            stdout(&again),
            stderr(&again)
        );
    }
}

/// What stands in two switches' topology: a link aggregation group, Alternate Marking; and the queues over Thrift.
pub fn bmv2_takes_groups_marked_flows_and_queues() {
    let switch = Bmv2::start();
    let (_folder, path) = edited(
        "uplink.yaml",
        "rdcc:\n",
        "marking:
  period: 1048576us
  flows: [{ name: there, from: s1, to: r1 }, { name: back, from: r1, to: s1, protocol: udp }]
rdcc:
",
    );
    let text = std::fs::read_to_string(&path).unwrap();
    let leaf = format!("leaf1: {{ target: bmv2, thrift: \"{}\", queues: {{ rate: 5000pps }},", switch.thrift);
    let text = text
        .replace("leaf1: { target: soft,", &leaf)
        .replace("s1: { address: 10.0.1.1 }", "s1: { address: 10.0.1.1, ipv6: \"fd01::1\" }")
        .replace("r1: { address: 10.0.2.1 }", "r1: { address: 10.0.2.1, ipv6: \"fd02::1\" }")
        .replace("[\"leaf1:17\", \"leaf2:17\"] }", "[\"leaf1:17\", \"leaf2:17\"] }\n  - { members: [[\"leaf1:18\", \"leaf2:18\"], [\"leaf1:19\", \"leaf2:19\"]] }");
    std::fs::write(&path, &text).unwrap();
    let at = format!("leaf1={}", switch.address);
    let run = |command: &str| {
        crn(&[command, path.to_str().unwrap(), "--target-only", "leaf1", "--at", &at].map(str::to_owned))
    };
    let apply = run("apply");
    assert_eq!(apply.status.code(), Some(0), "{}", stderr(&apply));
    // 4 MB in packets of 64 octets, and 64 more.
    assert!(stdout(&apply).contains("leaf1  queues: 62564 packets, 5000 packets/s"), "{}", stdout(&apply));
    assert_eq!(stderr(&apply), "", "nothing to warn of");
    let again = run("apply");
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(stdout(&again).contains("nothing to do"), "{}", stdout(&again));
    let plan = run("plan");
    assert!(stdout(&plan).contains("nothing to do"), "{}", stdout(&plan));
    // Marking left out: its entries go, and only those.
    let start = text.find("marking:\n").unwrap();
    let end = text.find("rdcc:\n").unwrap();
    std::fs::write(&path, format!("{}{}", &text[..start], &text[end..])).unwrap();
    let plan = run("plan");
    assert!(stdout(&plan).contains("0 to add, 0 to change, 5 to delete"), "{}", stdout(&plan));
    let apply = run("apply");
    assert_eq!(apply.status.code(), Some(0), "{}", stderr(&apply));
    assert!(stdout(&run("apply")).contains("nothing to do"));
    // A Thrift server that isn't there: the entries are written, and it is said that the queues aren't set.
    let gone = std::fs::read_to_string(&path)
        .unwrap()
        .replace(&switch.thrift, &format!("127.0.0.1:{}", free_port()));
    std::fs::write(&path, gone).unwrap();
    let apply = run("apply");
    assert_eq!(apply.status.code(), Some(1));
    assert!(stderr(&apply).contains("can't set the queues over Thrift"), "{}", stderr(&apply));
}

/// BMv2 takes the arbitration for any device and refuses only the push; asked afterwards about entries, it would end.
pub fn a_device_id_that_isnt_its_own_is_named() {
    let mut switch = Bmv2::start();
    let (_folder, path) = edited("incast-8to1.yaml", "device_id: 1", "device_id: 2");
    for _ in 0..2 {
        let apply = crn(&switch.args("apply", &path));
        assert_eq!(apply.status.code(), Some(1));
        assert!(stderr(&apply).contains("pushing the program: UNKNOWN"), "{}", stderr(&apply));
        assert!(
            stderr(&apply).contains("`device_id` has to be what `--device-id` gave it"),
            "{}",
            stderr(&apply)
        );
        let plan = crn(&switch.args("plan", &path));
        assert!(stdout(&plan).contains("runs no program"), "{}{}", stdout(&plan), stderr(&plan));
        let status = crn(&switch.args("status", &path));
        assert_eq!(status.status.code(), Some(0), "{}", stderr(&status));
    }
    assert!(switch.lives());
    let right = topology("incast-8to1.yaml");
    let apply = crn(&switch.args("apply", &right));
    assert!(stdout(&apply).contains("program pushed"), "{}{}", stdout(&apply), stderr(&apply));
}
