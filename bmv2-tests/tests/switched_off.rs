//! Each feature is switched off by leaving its table empty, and nothing but that feature: one script in which everything happens,
//! run once with all tables filled, then with each one empty.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use std::collections::{BTreeMap, BTreeSet};

use bmv2_tests::case::{Case, Expected, Step};
use bmv2_tests::cases::Bed;
use bmv2_tests::entries::{self, exact, mapped, whole};
use bmv2_tests::frames::{CREM_PORT, Data, NO_ROLE, RDCC_PORT, UNSCHEDULED, host_address, host_address_6};
use bmv2_tests::program::Program;
use bmv2_tests::setup::{Entry, Setup};
use bmv2_tests::soft::Soft;
use bmv2_tests::target::{Observed, Target as _};

const SLOW: u64 = 2;
const IDLE: u64 = 4;
/// Microseconds: longer than the script.
const FOR_EVER: u32 = 600_000_000;

/// All tables, each with something to do in [`script`].
fn everything() -> Setup {
    let [one, two] = [1, 2].map(|host| mapped(host_address(host)));
    let to_be_marked = [
        whole("marked", 0, 1),
        whole("src_addr", host_address_6(1), 128),
        whole("dst_addr", host_address_6(4), 128),
    ];
    let at_port_1 = vec![whole("ingress_port", 1, 9), exact("flow", 7)];
    let more = vec![
        entries::deny(1, vec![whole("src_port", 50009, 16)]),
        entries::csf((one, 128), mapped(host_address(3))),
        entries::path_report(0),
        entries::rate_advice(0, 0),
        entries::rate_signal(0xab, 0),
        entries::source_rate(0, (one, 128), 900),
        entries::source_rate(0, (two, 128), 800),
        entries::qp_rate(mapped(host_address(4)), 7, 500),
        entries::source_valid(1, (0, 0), false),
        entries::source_valid(1, (one, 128), true),
        entries::source_valid(1, (two, 128), true),
        entries::with_priority(1, "marking_flow", to_be_marked.into(), "set_marking", &[7]),
        entries::with_priority(1, "marking_edge", at_port_1, "set_edge", &[1, 0x12345, 40]),
    ];
    let degrees = (1..=255).collect();
    let bed = Bed {
        b_th: 300,
        q_max: 1300,
        ecn_threshold: 300,
        report_interval: FOR_EVER,
        degrees,
        more,
        ..Bed::default()
    };
    bed.setup()
}

/// A burst into the slow queue, in which the second packet is a forged one; a packet that is longer than the queue; one that the ACL
/// refuses, one without a route; then, through an idle port, one that policies speak about, and one that is marked.
fn script() -> Vec<Step> {
    let burst = Data { ecn: 1, dscp: UNSCHEDULED, ..Data::roce(200, 5, 1) }.rate(0);
    let forged = Data { src: 3, ..burst };
    let primer = Data { dscp: NO_ROLE, ..Data::scheduled(64) };
    let too_long = Data::roce(1400, 5, 1);
    let denied = Data { ports: (50009, 4791), ..Data::roce(100, 5, 1) };
    let nowhere = Data { dst: 99, ..primer };
    let policed = Data { src: 2, dst: 4, ..Data::roce(100, 7, 1).rate(0) };
    let marked = Data { dst: 4, ..Data::scheduled(120).v6() };
    let all = [primer, burst, forged, burst, burst, burst, burst, too_long, denied, nowhere, policed, marked];
    vec![Step::Send { port: 1, frames: all.iter().map(Data::sent).collect() }]
}

/// A feature, and what shows that it is on.
type Figure = (&'static str, fn(&Observed) -> bool);

const FIGURES: &[Figure] = &[
    ("data", |seen| frames(seen, |frame| frame[36..38] == [0x12, 0xb7]).next().is_some()),
    ("IPv6", |seen| frames(seen, |frame| frame[12..14] == [0x86, 0xdd]).next().is_some()),
    ("report", |seen| counted(seen, "reports_sent", &[0, 1], None) > 0),
    ("degree", |seen| reports(seen).any(|report| report[70] > 0)),
    ("suggested rate", |seen| reports(seen).any(|report| report[78..82] != [0; 4])),
    ("drop by admission", |seen| counted(seen, "drops", &[1], None) > 0),
    ("path report of admission", |seen| counted(seen, "reports_sent", &[2], Some(SLOW)) > 0),
    ("path report of the ACL", |seen| counted(seen, "reports_sent", &[2], Some(1)) > 0),
    ("path report to the CSF", |seen| path_reports(seen, 3)),
    ("drop by the ACL", |seen| counted(seen, "drops", &[3], None) > 0),
    ("drop without route", |seen| counted(seen, "drops", &[4], None) > 0),
    ("advice at the slow port", |seen| counted(seen, "reports_sent", &[3], Some(SLOW)) > 0),
    ("advice at the idle port", |seen| counted(seen, "reports_sent", &[3], Some(IDLE)) > 0),
    ("signal at the slow port", |seen| counted(seen, "rate_signals", &[0], Some(SLOW)) > 0),
    ("signal at the idle port", |seen| counted(seen, "rate_signals", &[0], Some(IDLE)) > 0),
    ("ECN", |seen| counted(seen, "ecn_marked", &[0], None) > 0),
    ("invalid source", |seen| counted(seen, "reports_suppressed", &[4], None) > 0),
    ("mark", |seen| seen.counters.keys().any(|(counter, _)| counter == "marked")),
];

/// What each table's emptiness takes away. Without `port_trust` every port lies outside the domain: nothing is believed there, and
/// nothing said. Advice at the slow port needs a share or a policy, either will do. Only where there would be something to tell it is an
/// invalid source not told.
const GONE: &[(&str, &[&str])] = &[
    ("dscp_map", &["report", "degree", "suggested rate"]),
    (
        "port_trust",
        &[
            "report",
            "degree",
            "suggested rate",
            "path report of admission",
            "path report of the ACL",
            "path report to the CSF",
            "advice at the slow port",
            "advice at the idle port",
        ],
    ),
    (
        "ipv4_route",
        &[
            "data",
            "report",
            "degree",
            "suggested rate",
            "drop by admission",
            "path report of admission",
            "path report to the CSF",
            "advice at the slow port",
            "advice at the idle port",
            "signal at the slow port",
            "signal at the idle port",
            "ECN",
            "invalid source",
        ],
    ),
    ("ipv6_route", &["IPv6", "mark"]),
    (
        "queue_profile",
        &[
            "report",
            "degree",
            "suggested rate",
            "drop by admission",
            "path report of admission",
            "signal at the slow port",
            "ECN",
            "invalid source",
        ],
    ),
    ("congestion_degree", &["degree"]),
    ("fair_share", &["suggested rate", "signal at the slow port"]),
    (
        "reporter",
        &[
            "report",
            "degree",
            "suggested rate",
            "path report of admission",
            "path report of the ACL",
            "path report to the CSF",
            "advice at the slow port",
            "advice at the idle port",
            "invalid source",
        ],
    ),
    ("acl", &["drop by the ACL", "path report of the ACL"]),
    ("csf_address", &["path report to the CSF"]),
    ("path_report", &["path report of admission", "path report of the ACL", "path report to the CSF"]),
    ("rate_advice", &["advice at the slow port", "advice at the idle port"]),
    ("rate_signal", &["signal at the slow port", "signal at the idle port"]),
    ("source_rate_policy", &["advice at the idle port"]),
    ("qp_rate_policy", &["signal at the idle port"]),
    ("source_check", &["invalid source"]),
    ("marking_flow", &["mark"]),
    ("marking_edge", &["mark"]),
];

/// The frames that left through all ports and are as asked for.
fn frames(seen: &Observed, wanted: fn(&[u8]) -> bool) -> impl Iterator<Item = &[u8]> {
    seen.frames.values().flatten().map(|frame| &frame.octets[..]).filter(move |frame| wanted(frame))
}

/// `CONGESTION_REPORT`s over IPv4.
fn reports(seen: &Observed) -> impl Iterator<Item = &[u8]> {
    frames(seen, |frame| frame[12..14] == [8, 0] && frame[36..38] == RDCC_PORT.to_be_bytes())
}

/// Whether a `PATH_REPORT` left through a port.
fn path_reports(seen: &Observed, port: u16) -> bool {
    let frames = seen.frames.get(&port).into_iter().flatten();
    frames.into_iter().any(|frame| frame.octets[36..38] == CREM_PORT.to_be_bytes())
}

/// Packets in the cells of these kinds or causes, of one port or all.
fn counted(seen: &Observed, counter: &str, kinds: &[u64], port: Option<u64>) -> u64 {
    let cells = seen.counters.iter().filter(|((name, index), _)| {
        name == counter
            && kinds.contains(&(index >> 12))
            && port.is_none_or(|port| index >> 3 & 0x1ff == port)
    });
    cells.map(|(_, count)| count.packets).sum()
}

fn run(setup: Setup) -> BTreeSet<&'static str> {
    let case = Case {
        name: "switched_off".to_owned(),
        rule: String::new(),
        setup,
        script: script(),
        expected: Expected::default(),
    };
    let seen = Soft::default().run(&case).unwrap();
    FIGURES.iter().filter(|(_, is_on)| is_on(&seen)).map(|(name, _)| *name).collect()
}

fn table_of(entry: &Entry) -> Option<&str> {
    match entry {
        Entry::Table { table, .. } | Entry::Default { table, .. } => Some(table),
        _ => None,
    }
}

#[test]
fn with_all_tables_filled_everything_happens() {
    let all: BTreeSet<_> = FIGURES.iter().map(|(name, _)| *name).collect();
    assert_eq!(run(everything()), all);
}

#[test]
fn each_empty_table_switches_its_feature_off_and_nothing_else() {
    let gone: BTreeMap<_, _> = GONE.iter().copied().collect();
    let program = Program::load().unwrap();
    let tables: BTreeSet<String> =
        program.info.tables.iter().map(|table| table.preamble.as_ref().unwrap().alias.clone()).collect();
    assert_eq!(tables, gone.keys().map(|&name| name.to_owned()).collect(), "tables of the program");
    let all = run(everything());
    for (table, gone) in gone {
        let mut setup = everything();
        let before = setup.entries.len();
        setup.entries.retain(|entry| table_of(entry) != Some(table));
        assert!(setup.entries.len() < before, "{table} has entries");
        let left = run(setup);
        let missing: BTreeSet<_> = all.difference(&left).copied().collect();
        assert_eq!(missing, gone.iter().copied().collect(), "without {table}");
    }
}
