//! Files that are accepted and files that are refused, the latter with the exact text that the operator sees.

#![allow(clippy::expect_used, reason = "clippy knows test functions, not the helpers beside them")]

use std::path::{Path, PathBuf};

use controller::topology::{self, Mode, Role, Target, Topology};

fn topologies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies")
}

fn refused_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refused")
}

/// Files that are accepted with a warning.
fn warned_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/warned")
}

fn example(name: &str) -> Topology {
    topology::load(&topologies().join(name)).unwrap_or_else(|errors| panic!("{}", errors.render(100, false)))
}

#[test]
fn incast_is_read_as_written() {
    let topology = example("incast-8to1.yaml");
    assert_eq!(topology.name, "incast-8to1");
    assert_eq!(topology.warnings, []);
    assert_eq!(topology.domain.ports.rdcc, 52100);
    assert_eq!(topology.dscp_of(Role::Unscheduled), Some(28));
    assert_eq!(
        topology.domain.crn_addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["10.255.0.1"]
    );
    let switch = &topology.switches["s1"];
    assert_eq!((switch.target, switch.device_id, switch.reporter_id), (Target::Soft, 1, 1));
    assert_eq!((switch.clone_port, switch.ports.len()), (510, 9));
    let receiver = &topology.hosts["r"];
    assert_eq!(receiver.attachment.to_string(), "s1:9");
    assert_eq!(receiver.mac, [0x02, 0, 10, 0, 0, 9]);
    let link = topology.link_at(&receiver.attachment).expect("linked");
    assert_eq!((link.rate_bps, link.delay_ns), (100_000_000_000, 2000));
    let data = topology.profile("s1", 9, 0).expect("in use");
    assert_eq!((data.b_th, data.q_max, data.report_interval_ns), (100_000, 1_000_000, 10_000));
    let control = topology.profile("s1", 9, 7).expect("in use");
    assert_eq!((control.b_th, control.ecn_threshold), (900_000, 900_000));
    assert_eq!(topology.profile("s1", 10, 0), None);
    let rdcc = topology.rdcc;
    assert_eq!((rdcc.budget, rdcc.unscheduled_budget, rdcc.unscheduled_limit), (200_000, 50_000, 6250));
    assert_eq!((rdcc.base_rtt_ns, rdcc.start_jitter_ns, rdcc.credit_unit), (8000, 8000, 4096));
    let workload = &topology.workloads[0];
    assert_eq!(workload.pairs.len(), 8);
    assert!(workload.pairs.iter().all(|(_, receiver)| receiver == "r"));
    assert_eq!((workload.batches, workload.gap_ns, workload.payload), (20, 50_000, 4096));
    assert_eq!(
        workload.messages.iter().map(|m| (m.size, m.mode)).collect::<Vec<_>>(),
        [(1 << 20, Mode::Scheduled), (2048, Mode::Unscheduled)]
    );
}

/// RDCC, Default Parameters.
#[test]
fn what_rdcc_lacks_follows_the_guidance() {
    let topology = example("uplink.yaml");
    assert_eq!(topology.rdcc.grant_lifetime_ns, 100_000, "4 x 12 us is less than the 100 us floor");
    assert_eq!(topology.rdcc.backlog_threshold, 300_000, "2 BDP of 150 kB");
    let pairs = &topology.workloads[0].pairs;
    assert_eq!(pairs[15], ("s16".to_owned(), "r16".to_owned()), "as many receivers as senders pair up");

    let text = std::fs::read_to_string(topologies().join("incast-8to1.yaml")).expect("readable");
    let start = text.find("rdcc:\n").expect("has rdcc");
    let end = text.find("workloads:").expect("has workloads");
    let text = format!("{}{}", &text[..start], &text[end..]);
    let derived = topology::parse("without rdcc", &text).expect("accepted").rdcc;
    assert_eq!(derived.base_rtt_ns, 8000, "two links of 2 us, there and back");
    assert_eq!((derived.budget, derived.unscheduled_budget), (200_000, 50_000));
    assert_eq!(derived.unscheduled_limit, 6250, "G_u over the eight senders of a batch");
    assert_eq!((derived.start_jitter_ns, derived.grant_lifetime_ns), (8000, 100_000));
    assert_eq!((derived.credit_unit, derived.backlog_threshold), (4096, 200_000));
    assert_eq!(derived.max_delay_ns, 84_000, "half the RTT and 1 MB at 100 Gbit/s");
}

/// A `B_th` that differs from the ECN threshold is accepted with a warning.
#[test]
fn b_th_beside_the_ecn_threshold_warns() {
    let text = std::fs::read_to_string(topologies().join("incast-8to1.yaml")).expect("readable");
    let text = text.replace("b_th: 100kB, ecn_threshold: 100kB", "b_th: 100kB, ecn_threshold: 120kB");
    let topology = topology::parse("t.yaml", &text).expect("accepted");
    let warnings: Vec<_> = topology.warnings.iter().map(|warning| (warning.code, warning.line())).collect();
    assert_eq!(warnings, [("topology::b_th_beside_ecn", Some(23))]);
    let text = text.replace("b_th: 100kB, ecn_threshold: 120kB", "ecn_threshold: 120kB");
    let topology = topology::parse("t.yaml", &text).expect("accepted");
    assert_eq!(topology.warnings, []);
    assert_eq!(topology.profiles["data"].b_th, 120_000, "B_th defaults to the ECN threshold");
}

/// Each file under `tests/refused` is refused with the text beside it. `UPDATE_SNAPSHOTS=1` rewrites them:
/// read the difference aloud as the operator would.
#[test]
fn refused_files_say_what_where_and_what_would_be_right() {
    snapshots(&refused_dir(), 90, |name, result| match result {
        Ok(_) => format!("{name}: accepted\n"),
        Err(errors) => errors.render(100, false),
    });
}

/// Likewise each file under `tests/warned` is accepted with the warnings beside it.
#[test]
fn warned_files_say_what_where_and_what_would_be_right() {
    snapshots(&warned_dir(), 8, |name, result| match result {
        Ok(topology) if topology.warnings.is_empty() => format!("{name}: no warning\n"),
        Ok(topology) => topology.warnings.iter().map(|warning| warning.render(100, false) + "\n").collect(),
        Err(errors) => format!("{name}: refused\n{}", errors.render(100, false)),
    });
}

/// Compares what is said about each file of a folder, `least` at least, with the text beside it.
fn snapshots(
    folder: &Path,
    least: usize,
    said: impl Fn(&str, Result<Topology, topology::TopologyErrors>) -> String,
) {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("there").map(|entry| entry.expect("entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert!(files.len() >= least, "only {} files", files.len());
    let mut wrong = Vec::new();
    for path in files {
        let name = path.file_name().expect("named").to_string_lossy().into_owned();
        let octets = std::fs::read(&path).expect("readable");
        let text = said(&name, topology::parse_octets(&name, &octets));
        let snapshot = path.with_extension("txt");
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            std::fs::write(&snapshot, &text).expect("writable");
        }
        if std::fs::read_to_string(&snapshot).unwrap_or_default() != text {
            wrong.push(format!("{name}:\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "differ from their snapshots:\n{}", wrong.join("\n"));
}

#[test]
fn a_file_that_is_missing_is_named() {
    let errors = topology::load(Path::new("no/such/file.yaml")).expect_err("refused");
    let text = errors.render(100, false);
    assert!(text.contains("can't read no/such/file.yaml: no such file or directory"), "{text}");
    let errors = topology::load(&refused_dir()).expect_err("refused");
    assert!(errors.render(100, false).contains("name a file in it"));
}

/// Whatever stands in the file, it is refused or accepted, never a panic: every prefix, and every line lost.
#[test]
fn damaged_files_never_panic() {
    let text = std::fs::read_to_string(topologies().join("incast-8to1.yaml")).expect("readable");
    for end in 0..=text.len() {
        if text.is_char_boundary(end) {
            drop(topology::parse("prefix", &text[..end]).map_err(|errors| errors.render(80, false)));
        }
    }
    let lines: Vec<&str> = text.lines().collect();
    for lost in 0..lines.len() {
        let text: Vec<&str> =
            lines.iter().enumerate().filter(|(index, _)| *index != lost).map(|(_, line)| *line).collect();
        drop(topology::parse("line lost", &text.join("\n")).map_err(|errors| errors.render(80, false)));
    }
}

/// 1,000 hosts are checked fast enough to be checked at every keystroke.
#[test]
fn large_files_take_linear_time() {
    use std::fmt::Write;
    let mut text = String::from(
        "name: large\ndomain:\n  ports: { rdcc: 52100, crem: 52101, scone: 52102 }\n  dscp: [{ dscp: 26, role: \
         scheduled, queue: 0 }, { dscp: 48, role: control, queue: 7 }]\ndefaults: { link: { rate: 100Gbps, delay: 1us }, profile: p, control_profile: p }\n\
         profiles: { p: { b_th: 1kB, q_max: 1MB, report_interval: 10us } }\nswitches:\n",
    );
    for switch in 0..10 {
        writeln!(
            text,
            "  s{switch}: {{ target: soft, device_id: {0}, reporter_id: {0}, address: 10.255.0.{0} }}",
            switch + 1
        )
        .expect("writes");
    }
    let (mut hosts, mut links) = (String::from("hosts:\n"), String::from("links:\n"));
    for host in 0..1000 {
        writeln!(hosts, "  h{host}: {{ address: 10.0.{}.{} }}", host / 200, host % 200 + 1).expect("writes");
        writeln!(links, "  - {{ endpoints: [\"s{}:{}\", h{host}] }}", host % 10, host / 10 + 1)
            .expect("writes");
    }
    for switch in 1..10 {
        writeln!(links, "  - {{ endpoints: [\"s0:{}\", \"s{switch}:500\"] }}", 200 + switch).expect("writes");
    }
    let topology = topology::parse("large", &(text + &hosts + &links));
    let topology = topology.unwrap_or_else(|errors| panic!("{}", errors.render(100, false)));
    assert_eq!((topology.hosts.len(), topology.links.len()), (1000, 1009));
    assert_eq!(topology.rdcc.base_rtt_ns, 8000, "host, leaf, root, leaf, host");
}
