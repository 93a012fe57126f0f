//! The collector over switches that only count: packets are counted at each point of their way unless they are lost before.

#![allow(clippy::expect_used, reason = "clippy knows test functions, not the helpers beside them")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;

use controller::marking::{Collector, FlowCounts, Measured, Place, Reading};
use controller::topology::{self, Topology};
use wire::crem::{Cause, Method};
use wire::units::Nanos;

/// Two leaves and as many spines between as are asked for; the first link of a spine is its uplink from `l1`.
fn topology(spines: usize, more: &str) -> Topology {
    let mut text = "\
name: t
domain:
  ports: { rdcc: 52100, crem: 52101, scone: 52102 }
  dscp: [{ dscp: 48, role: control, class: 7, queue: 7 }]
defaults: { link: { rate: 100Gbps, delay: 1us }, profile: p, control_profile: p }
profiles:
  p: { ecn_threshold: 100kB, q_max: 1MB, report_interval: 10us }
hosts:
  a: { address: 10.0.1.1, ipv6: \"fd01::1\" }
  b: { address: 10.0.2.1, ipv6: \"fd02::1\" }
marking:
  period: 1048576us
  flows:
    - { name: bulk, from: a, to: b, protocol: udp, destination_port: 4791, queue_pair: 17 }
"
    .to_owned();
    text += more;
    let mut switches = "switches:\n".to_owned();
    let mut links = "links:\n  - { endpoints: [\"l1:1\", a] }\n  - { endpoints: [\"l2:1\", b] }\n".to_owned();
    for (number, name) in
        (1..).zip(["l1", "l2"].into_iter().map(str::to_owned).chain((1..=spines).map(|n| format!("s{n}"))))
    {
        let _ = writeln!(
            switches,
            "  {name}: {{ target: soft, device_id: {number}, reporter_id: {}, address: 10.255.0.{number} }}",
            number * 11
        );
    }
    for spine in 1..=spines {
        let port = spine + 1;
        let _ = writeln!(links, "  - {{ endpoints: [\"l1:{port}\", \"s{spine}:1\"] }}");
        let _ = writeln!(links, "  - {{ endpoints: [\"s{spine}:2\", \"l2:{port}\"] }}");
    }
    topology::parse("t.yaml", &(text + &switches + &links))
        .unwrap_or_else(|errors| panic!("{}", errors.render(100, false)))
}

const PERIOD: u64 = 1_048_576_000;

/// Where packets of a burst are lost.
#[derive(Clone, Copy, Default)]
struct Lost {
    /// On the link into the spine.
    uplink: u64,
    /// Within the spine, for want of room.
    spine: u64,
    /// On the link into the last leaf.
    downlink: u64,
}

struct World {
    collector: Collector,
    counts: BTreeMap<String, FlowCounts>,
    /// Switches that don't answer.
    silent: Vec<&'static str>,
    now: u64,
    /// How wide the switches' counters are.
    mask: u64,
    log: Vec<Measured>,
}

impl World {
    fn new(topology: &Topology) -> Self {
        let collector = Collector::new(topology, Nanos(0)).expect("there are flows");
        let counts = topology.switches.keys().map(|name| (name.clone(), FlowCounts::default())).collect();
        Self { collector, counts, silent: Vec::new(), now: 0, mask: u64::MAX, log: Vec::new() }
    }

    fn at(&mut self, switch: &str) -> &mut FlowCounts {
        self.counts.get_mut(switch).expect("a switch")
    }

    /// Packets over a spine.
    fn send(&mut self, spine: &str, colour: usize, packets: u64, lost: Lost) {
        let mask = self.mask;
        let add = |to: &mut u64, packets: u64| *to = to.wrapping_add(packets) & mask;
        let mut left = packets;
        let entry = self.at("l1");
        add(&mut entry.arrived[colour], left);
        add(&mut entry.departed[colour], left);
        left -= lost.uplink;
        let counts = self.at(spine);
        add(&mut counts.arrived[colour], left);
        left -= lost.spine;
        add(&mut counts.departed[colour], left);
        counts.congestion += lost.spine;
        left -= lost.downlink;
        self.arrive(colour, left);
    }

    /// Packets come to the last leaf.
    fn arrive(&mut self, colour: usize, packets: u64) {
        let mask = self.mask;
        let exit = self.at("l2");
        exit.arrived[colour] = exit.arrived[colour].wrapping_add(packets) & mask;
        exit.departed[colour] = exit.departed[colour].wrapping_add(packets) & mask;
    }

    /// Delay-marked packets in a bin of a switch.
    fn delayed(&mut self, switch: &str, bin: usize) {
        self.at(switch).delay[bin] += 1;
    }

    /// One round, and a quarter of a period.
    fn round(&mut self) -> Option<Measured> {
        let now = Nanos(self.now);
        for switch in self.collector.handle_timeout(now) {
            let answer = (!self.silent.contains(&switch.as_str()))
                .then(|| Reading::from([(0, self.counts[&switch].clone())]));
            self.collector.answer(&switch, answer, now);
        }
        self.now += PERIOD / 4;
        self.collector.poll_measured()
    }

    /// A whole period: four rounds with packets in each, the losses in the second; gives what was measured meanwhile, which
    /// is the period before.
    fn period(&mut self, colour: usize, lost: Lost) -> Option<Measured> {
        let mut measured = Vec::new();
        for part in 0..4 {
            self.send("s1", colour, 100, if part == 1 { lost } else { Lost::default() });
            measured.extend(self.round());
        }
        self.log.extend(measured.iter().cloned());
        measured.pop()
    }
}

fn lost(measured: &Measured) -> Vec<(&str, Place, u32)> {
    measured.hops.iter().map(|hop| (hop.switch.as_str(), hop.place, hop.entry.lost)).collect()
}

#[test]
fn losses_are_told_by_link_and_switch_with_their_cause() {
    let mut world = World::new(&topology(1, ""));
    assert_eq!(world.round(), None);
    assert_eq!(world.round(), None, "nothing came, all is known");
    assert_eq!(world.period(0, Lost { uplink: 3, spine: 5, downlink: 2 }), None);
    let first = world.period(1, Lost::default()).expect("measured while the next goes on");
    assert_eq!((first.packets, first.missing.len()), (400, 0));
    assert_eq!(
        lost(&first),
        [
            ("l1", Place::Switch, 0),
            ("s1", Place::Link, 3),
            ("s1", Place::Switch, 5),
            ("l2", Place::Link, 2),
            ("l2", Place::Switch, 0)
        ]
    );
    let (to, report) = first.report.as_ref().expect("RoCEv2");
    assert_eq!(*to, IpAddr::from([0xfd01, 0, 0, 0, 0, 0, 0, 1]), "the sender");
    assert_eq!((report.method, report.flow_label, report.entries.len()), (Method::ALTERNATE_MARKING, 17, 5));
    let told: Vec<_> = report.entries.iter().map(|entry| (entry.node_id, entry.lost, entry.cause)).collect();
    let (unknown, corruption) = (Cause::UNKNOWN, Cause::CORRUPTION);
    assert_eq!(
        told,
        [
            (11, 0, unknown),
            (33, 3, corruption),
            (33, 5, Cause::CONGESTION),
            (22, 2, corruption),
            (22, 0, unknown)
        ]
    );
    let second = world.period(0, Lost::default()).expect("measured");
    assert!(lost(&second).iter().all(|(.., lost)| *lost == 0));
    let period = |measured: &Measured| measured.hops[0].entry.period;
    assert_eq!(period(&second), period(&first) + 1);
}

/// The collector begins amid the traffic: the first colour that it sees whole is the one after.
#[test]
fn what_was_seen_in_part_is_not_told() {
    let mut world = World::new(&topology(1, ""));
    for colour in [0, 1, 0] {
        world.send("s1", colour, 1000, Lost { uplink: 9, ..Lost::default() });
    }
    assert_eq!(world.period(0, Lost { uplink: 7, ..Lost::default() }), None);
    assert_eq!(world.period(1, Lost { uplink: 4, ..Lost::default() }), None, "colour 0 was seen in part");
    let measured = world.period(0, Lost::default()).expect("colour 1, whole");
    assert_eq!((measured.packets, measured.hops[1].entry.lost), (400, 4));
}

/// Answers of one round come one after the other: that of the last switch may have packets of the next period already.
#[test]
fn a_reading_that_is_ahead_of_the_others_makes_up_no_loss() {
    let mut world = World::new(&topology(1, ""));
    for _ in 0..3 {
        world.send("s1", 0, 100, Lost::default());
        world.round();
    }
    // Amid the traffic: colour 0 is on, nothing is known of colour 1. Of it 40 packets are through when `l2` is read.
    world.at("l2").arrived[1] += 40;
    world.at("l2").departed[1] += 40;
    world.send("s1", 0, 100, Lost::default());
    world.round();
    for switch in ["l1", "s1"] {
        world.at(switch).arrived[1] += 40;
        world.at(switch).departed[1] += 40;
    }
    for colour in [1, 0, 1, 0] {
        world.period(colour, Lost::default());
    }
    assert!(world.log.len() >= 2);
    for measured in &world.log {
        assert!(lost(measured).iter().all(|(.., lost)| *lost == 0), "{measured:?}");
    }
}

#[test]
fn late_packets_are_waited_for_until_half_a_period() {
    let mut world = World::new(&topology(1, ""));
    world.round();
    world.round();
    assert_eq!(world.period(0, Lost { downlink: 6, ..Lost::default() }), None);
    // Of six that seemed lost four are only late, and two of these very late.
    world.send("s1", 1, 100, Lost::default());
    assert_eq!(world.round(), None, "the other colour has begun");
    world.arrive(0, 1);
    assert_eq!(world.round(), None, "one came: there may be more");
    world.arrive(0, 1);
    let measured = world.round().expect("half a period later there is no more time");
    assert_eq!(measured.hops[3].entry.lost, 4);
    world.arrive(0, 2);
    world.round();
    // Colour 1 is over; the next period of colour 0 loses three, and what came too late doesn't hide them.
    world.period(0, Lost { downlink: 3, ..Lost::default() });
    let measured = world.period(1, Lost::default()).expect("measured");
    assert_eq!((measured.hops[3].switch.as_str(), measured.hops[3].entry.lost), ("l2", 1));
    assert_eq!(measured.packets, 400);
}

#[test]
fn counters_that_wrap_lose_nothing() {
    for top in [u64::from(u32::MAX), u64::MAX] {
        let mut world = World::new(&topology(1, ""));
        for counts in world.counts.values_mut() {
            (counts.arrived, counts.departed) = ([top - 150; 2], [top - 150; 2]);
        }
        world.round();
        world.round();
        world.mask = top;
        world.period(0, Lost { uplink: 2, ..Lost::default() });
        let measured = world.period(1, Lost::default()).expect("measured");
        assert_eq!((measured.packets, measured.hops[1].entry.lost), (400, 2), "{top:#x}");
    }
}

#[test]
fn over_a_switch_that_is_missing_its_neighbours_are_compared() {
    let mut world = World::new(&topology(1, ""));
    world.round();
    world.round();
    world.period(0, Lost::default());
    world.silent = vec!["s1"];
    world.period(1, Lost { uplink: 3, spine: 5, downlink: 2 });
    world.silent.clear();
    let measured = world.period(0, Lost::default()).expect("measured");
    assert_eq!(measured.missing, Vec::<String>::new(), "read again before colour 1 was taken");
    world.silent = vec!["s1"];
    world.period(1, Lost { uplink: 3, spine: 5, downlink: 2 });
    let measured = world.period(0, Lost::default()).expect("measured");
    assert_eq!(measured.missing, ["s1"]);
    assert_eq!(
        lost(&measured),
        [("l1", Place::Switch, 0), ("l2", Place::Link, 10), ("l2", Place::Switch, 0)]
    );
    assert_eq!(measured.hops[1].entry.cause, Cause::UNKNOWN, "nobody says where");
    world.silent.clear();
    // The neighbours' counters went on meanwhile: a whole period must be seen before the switch counts again.
    for colour in [1, 0, 1] {
        world.period(colour, Lost { spine: 1, ..Lost::default() });
    }
    let measured = world.period(0, Lost::default()).expect("measured");
    assert_eq!(measured.missing, Vec::<String>::new());
    assert_eq!(measured.hops[2].entry.lost, 1);
}

#[test]
fn without_the_switch_that_marks_nothing_is_told_and_afterwards_nothing_is_made_up() {
    let mut world = World::new(&topology(1, ""));
    world.round();
    world.round();
    world.period(0, Lost::default());
    world.silent = vec!["l1"];
    for colour in [1, 0, 1] {
        world.period(colour, Lost::default());
    }
    world.silent.clear();
    for colour in [0, 1, 0, 1] {
        world.period(colour, Lost::default());
    }
    let measured = world.period(0, Lost::default()).expect("measured again");
    assert_eq!((measured.packets, measured.missing.len()), (400, 0));
    for measured in &world.log {
        assert!(lost(measured).iter().all(|(.., lost)| *lost == 0), "{measured:?}");
    }
}

#[test]
fn a_switch_that_started_anew_counts_from_its_next_whole_period() {
    let mut world = World::new(&topology(1, ""));
    world.round();
    world.round();
    world.period(0, Lost::default());
    world.period(1, Lost::default());
    *world.at("s1") = FlowCounts::default();
    let measured = world.period(0, Lost::default()).expect("measured");
    assert_eq!(measured.missing, ["s1"], "colour 1 went back");
    let measured = world.period(1, Lost::default()).expect("measured");
    assert_eq!(measured.missing, ["s1"], "colour 0 too");
    assert!(lost(&measured).iter().all(|(.., lost)| *lost == 0));
    let measured = world.period(0, Lost { uplink: 1, ..Lost::default() }).expect("measured");
    assert!(measured.missing.is_empty(), "{measured:?}");
    let measured = world.period(1, Lost::default()).expect("measured");
    assert_eq!(measured.hops[1].entry.lost, 1);
}

#[test]
fn over_several_ways_clusters_are_compared() {
    let mut world = World::new(&topology(2, ""));
    world.round();
    world.round();
    for spine in ["s1", "s2"] {
        world.send(spine, 0, 500, Lost { uplink: 2, spine: u64::from(spine == "s2"), downlink: 3 });
    }
    for _ in 0..6 {
        world.round();
    }
    world.send("s1", 1, 10, Lost::default());
    let measured = (0..6).find_map(|_| world.round());
    // Colour 0 was closed by time, long before.
    assert!(measured.is_some_and(|measured| measured.packets == 10));

    let mut world = World::new(&topology(2, ""));
    world.round();
    world.round();
    for spine in ["s1", "s2"] {
        world.send(spine, 0, 500, Lost { uplink: 2, spine: u64::from(spine == "s2"), downlink: 3 });
    }
    let measured = (0..8).find_map(|_| world.round()).expect("a pause closes it");
    assert_eq!(
        lost(&measured),
        [
            ("l1", Place::Switch, 0),
            ("s1", Place::Link, 4),
            ("s1", Place::Switch, 0),
            ("s2", Place::Switch, 1),
            ("l2", Place::Link, 6),
            ("l2", Place::Switch, 0)
        ]
    );
    let report = &measured.report.as_ref().expect("RoCEv2").1;
    assert_eq!(report.method, Method::CLUSTERED_ALTERNATE_MARKING);
    // With a spine missing, all between the leaves that can't be told apart is one.
    world.silent = vec!["s2"];
    world.send("s1", 1, 500, Lost { uplink: 1, ..Lost::default() });
    world.send("s2", 1, 500, Lost { spine: 1, ..Lost::default() });
    let measured = (0..8).find_map(|_| world.round()).expect("a pause closes it");
    assert_eq!(measured.missing, ["s2"]);
    assert_eq!(
        lost(&measured),
        [
            ("l1", Place::Switch, 0),
            ("s1", Place::Link, 2),
            ("s1", Place::Switch, 0),
            ("l2", Place::Switch, 0)
        ]
    );
}

#[test]
fn delay_changes_are_from_period_to_period() {
    let mut world = World::new(&topology(1, ""));
    world.round();
    world.round();
    let mut changes = Vec::new();
    for (colour, bin) in [(0, 3), (1, 6), (0, 6), (1, 2), (0, 2), (1, 2)] {
        world.delayed("s1", bin);
        if let Some(measured) = world.period(colour, Lost::default()) {
            changes.push(measured.hops[2].entry.delay_change);
        }
    }
    // The middles of the bins: 12, 96, 96, 6, 6.
    assert_eq!(changes, [0, 84, 0, -90, 0]);
}

#[test]
fn reports_go_where_the_file_says_and_not_about_what_cannot_be_roce() {
    let report_to = "policies: { report_to: [{ sources: \"fd01::/64\", address: \"fd01::99\" }, { sources: \"fd01::/16\", address: \"fd01::98\" }] }\n";
    let topology = topology(1, report_to);
    let mut world = World::new(&topology);
    world.round();
    world.round();
    world.period(0, Lost::default());
    let measured = world.period(1, Lost::default()).expect("measured");
    let (to, _) = measured.report.expect("RoCEv2");
    assert_eq!(to, IpAddr::from([0xfd01, 0, 0, 0, 0, 0, 0, 0x99]), "the longest prefix");
    let mut other = topology.clone();
    for (protocol, port) in [(6, 4791), (17, 4792)] {
        let flow = &mut other.marking.as_mut().expect("there").flows[0];
        (flow.protocol, flow.destination_port) = (Some(protocol), Some(port));
        let mut world = World::new(&other);
        world.round();
        world.round();
        world.period(0, Lost::default());
        assert!(world.period(1, Lost::default()).expect("measured all the same").report.is_none());
    }
}

#[test]
fn periods_too_short_to_be_read_are_not_collected() {
    let mut topology = topology(1, "");
    let marking = topology.marking.as_mut().expect("there");
    marking.period_log2 = 17;
    assert!(Collector::new(&topology, Nanos(0)).is_some());
    topology.marking.as_mut().expect("there").period_log2 = 16;
    assert!(Collector::new(&topology, Nanos(0)).is_none());
}

/// A switch that doesn't answer holds the others up for half a period only, and isn't asked twice.
#[test]
fn an_answer_that_does_not_come_is_waited_for_half_a_period() {
    let mut collector = Collector::new(&topology(1, ""), Nanos(0)).expect("there are flows");
    assert_eq!(collector.handle_timeout(Nanos(0)), ["l1", "l2", "s1"]);
    assert_eq!(collector.poll_timeout(), Nanos(PERIOD / 4));
    for switch in ["l1", "l2"] {
        collector.answer(switch, Some(Reading::new()), Nanos(5));
    }
    let nobody: [&str; 0] = [];
    assert_eq!(collector.handle_timeout(Nanos(PERIOD / 4)), nobody, "it may still come");
    assert_eq!(collector.poll_timeout(), Nanos(PERIOD / 2));
    assert_eq!(collector.handle_timeout(Nanos(PERIOD / 2)), ["l1", "l2"]);
    for switch in ["l1", "l2"] {
        collector.answer(switch, Some(Reading::new()), Nanos(PERIOD / 2 + 1));
    }
    assert_eq!(collector.poll_timeout(), Nanos(PERIOD / 4 * 3), "it isn't waited for again");
    collector.answer("s1", None, Nanos(PERIOD / 2 + 2));
    assert_eq!(collector.handle_timeout(Nanos(2 * PERIOD)), ["l1", "l2", "s1"]);
    assert_eq!(
        collector.poll_timeout(),
        Nanos(PERIOD / 4 * 9),
        "rounds that were missed aren't caught up with"
    );
    for switch in ["l1", "l2", "s1"] {
        collector.answer(switch, Some(Reading::new()), Nanos(PERIOD / 16 * 37));
    }
    assert_eq!(
        collector.poll_timeout(),
        Nanos(PERIOD / 16 * 37),
        "a long round is followed by the next at once"
    );
}
