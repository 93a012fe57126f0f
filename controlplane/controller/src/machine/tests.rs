use p4runtime::p4::v1::{CounterData, CounterEntry, Entity, Index, entity};
use p4runtime::p4::v1::{PacketReplicationEngineEntry, packet_replication_engine_entry};

use super::*;
use crate::client::SwitchClient as _;
use crate::topology;
use crate::topology::Origin;

mod lab;
mod left;
mod together;

use lab::{DELAY, Lab, is_copy, parse, pipeline, text};

fn ready(switch: &str, pushed: bool, written: usize) -> ControllerEvent {
    ControllerEvent::Ready { switch: switch.to_owned(), pushed, written }
}

#[test]
fn a_fresh_switch_gets_program_and_entries_and_a_second_start_writes_nothing() {
    let topology = parse(&text("incast-8to1.yaml"));
    let mut lab = Lab::new(&topology);
    lab.controller.start(lab.now);
    let told = lab.run();
    let count = lab.switches["s1"].held.len();
    assert_eq!(told, [ready("s1", true, count)]);
    let write = format!("write {count}");
    assert_eq!(lab.log("s1"), ["arbitrate", "cookie", "push", "read", &write]);
    assert_eq!(lab.now, Nanos(5 * 2 * DELAY.0), "five requests, each there and back");
    assert!(lab.controller.all_ready());

    lab.controller = Controller::new(pipeline(), &topology, 2).expect("fits");
    lab.controller.start(lab.now);
    assert_eq!(lab.run(), [ready("s1", false, 0)]);
    assert_eq!(lab.log("s1"), ["arbitrate", "cookie", "read"]);
}

/// BMv2 keeps clone sessions over a push; every copy would come twice.
#[test]
fn copies_of_another_program_are_deleted_before_the_push() {
    let mut lab = Lab::new(&parse(&text("incast-8to1.yaml")));
    let switch = lab.switches.get_mut("s1").expect("there");
    switch.cookie = Some(7);
    let stray = p4runtime::p4::v1::CloneSessionEntry { session_id: 9, ..Default::default() };
    switch.held.push(Entity {
        entity: Some(entity::Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
            r#type: Some(packet_replication_engine_entry::Type::CloneSessionEntry(stray)),
        })),
    });
    lab.controller.start(lab.now);
    lab.run();
    let log = lab.log("s1");
    assert_eq!(log[..6], ["arbitrate", "cookie", "read copies", "write 1", "push", "read"]);
    assert_eq!(lab.switches["s1"].held.iter().filter(|entity| is_copy(entity)).count(), 1, "ours alone");
}

#[test]
fn a_backup_writes_nothing_until_it_becomes_primary() {
    let mut lab = Lab::new(&parse(&text("incast-8to1.yaml")));
    lab.switches.get_mut("s1").expect("there").other_primary = true;
    lab.controller.start(lab.now);
    assert_eq!(lab.run(), [ControllerEvent::Backup { switch: "s1".to_owned() }]);
    assert_eq!(lab.log("s1"), ["arbitrate"]);
    assert!(lab.controller.settled() && !lab.controller.all_ready());
    lab.unasked("s1", Event::Primary(true));
    assert!(matches!(lab.run()[..], [ControllerEvent::Ready { pushed: true, .. }]));
    lab.unasked("s1", Event::Primary(false));
    assert_eq!(lab.run(), [ControllerEvent::Backup { switch: "s1".to_owned() }]);
}

#[test]
fn one_switch_that_fails_is_named_and_does_not_hold_up_the_other() {
    let mut lab = Lab::new(&parse(&text("uplink.yaml")));
    let error = RequestError::Refused { code: 3, message: "no such program".to_owned() };
    lab.switches.get_mut("leaf1").expect("there").refuse = Some(error.clone());
    lab.controller.start(lab.now);
    let told = lab.run();
    let failed = ControllerEvent::Failed { switch: "leaf1".to_owned(), state: State::PushingProgram, error };
    assert!(told.contains(&failed), "{told:?}");
    assert_eq!(lab.controller.state("leaf2"), Some(State::Ready));
    assert_eq!(lab.controller.state("leaf1"), Some(State::Failed));
    lab.controller.start(lab.now);
    lab.run();
    assert!(lab.controller.all_ready(), "a new start tries the failed one again");
    lab.log("leaf1");
    assert!(lab.log("leaf2").iter().filter(|line| line.as_str() == "arbitrate").count() == 1);
}

#[test]
fn a_connection_that_breaks_is_a_failure_and_late_replies_are_ignored() {
    let mut lab = Lab::new(&parse(&text("incast-8to1.yaml")));
    lab.controller.start(lab.now);
    pump(&mut lab.controller, &mut lab.clients, lab.now);
    lab.controller.handle_event("s1", Event::Closed("gone".to_owned()), lab.now);
    let told = lab.run();
    assert!(
        matches!(&told[..], [ControllerEvent::Failed { state: State::Arbitrating, .. }]),
        "the reply that comes later moves nothing: {told:?}"
    );
}

/// A file that doesn't fit one switch changes nothing on any.
#[test]
fn a_topology_that_does_not_fit_leaves_the_old_one_in_force() {
    let good = parse(&text("uplink.yaml"));
    let mut lab = Lab::new(&good);
    lab.controller.start(lab.now);
    lab.run();
    for switch in ["leaf1", "leaf2"] {
        lab.log(switch);
    }
    let mut bad = text("uplink.yaml");
    for port in 1..=9 {
        let plain = format!("\"leaf2:{port}\", r{port}] }}");
        bad = bad.replace(&plain, &format!("\"leaf2:{port}\", r{port}], rate: {port}Gbps }}"));
    }
    let error = lab.controller.set_topology(&parse(&bad), lab.now).expect_err("too many profiles");
    assert!(error.to_string().contains("leaf2"), "{error}");
    assert_eq!(lab.run(), []);
    assert!(lab.log("leaf1").is_empty() && lab.log("leaf2").is_empty());
    lab.controller.set_topology(&good, lab.now).expect("fits");
    lab.run();
    assert_eq!(lab.log("leaf1"), ["read"], "the same again is read and not written");
}

#[test]
fn counters_come_by_name_kind_port_and_queue() {
    let mut lab = Lab::new(&parse(&text("incast-8to1.yaml")));
    lab.controller.read_counters("s1", lab.now);
    assert_eq!(lab.run(), [], "not before the switch is ready");
    lab.controller.start(lab.now);
    lab.run();
    let index = &pipeline().index;
    let counter_id = index.counters.find("drops").expect("there").id;
    for (at, packet_count) in [(1 << 12 | 9 << 3, 57), (0, 0)] {
        lab.switches.get_mut("s1").expect("there").held.push(Entity {
            entity: Some(entity::Entity::CounterEntry(CounterEntry {
                counter_id,
                index: Some(Index { index: at }),
                data: Some(CounterData { byte_count: packet_count * 100, packet_count }),
            })),
        });
    }
    lab.controller.read_counters("s1", lab.now);
    let cell =
        CounterCell { counter: "drops".to_owned(), kind: 1, port: 9, queue: 0, packets: 57, octets: 5700 };
    assert_eq!(lab.run(), [ControllerEvent::Counters { switch: "s1".to_owned(), cells: vec![cell] }]);
}

/// A switch that holds what the file said, and a file with more in it.
fn changed_lab() -> (Lab, Topology) {
    let mut lab = Lab::new(&parse(&text("incast-8to1.yaml")));
    lab.controller.start(lab.now);
    lab.run();
    lab.log("s1");
    let more = text("incast-8to1.yaml")
        .replace("q_max: 1MB, report_interval: 10us }\n  #", "q_max: 2MB, report_interval: 10us }\n  #");
    (lab, parse(&more))
}

fn sorted(held: &[Entity]) -> Vec<String> {
    let mut all: Vec<String> = held.iter().map(|entity| format!("{entity:?}")).collect();
    all.sort();
    all
}

/// What is applied is either complete or rolled back, and it is said which.
#[test]
fn refused_entries_are_named_with_their_line_and_all_others_are_taken_back() {
    let (mut lab, more) = changed_lab();
    let before = sorted(&lab.switches["s1"].held);
    let table = pipeline().index.tables.find("congestion_degree").expect("there").id;
    lab.switches.get_mut("s1").expect("there").full_table = Some(table);
    lab.controller.set_topology(&more, lab.now).expect("fits");
    let told = lab.run();
    assert!(matches!(&told[..], [ControllerEvent::Failed { state: State::Writing, .. }]), "{told:?}");
    let failure = lab.controller.failure("s1").expect("failed");
    assert_eq!(failure.refused.len(), 255);
    let (change, reason) = &failure.refused[0];
    assert_eq!(reason.message, "the table is full");
    assert_eq!(change.origin, Some(Origin::Profile("data".to_owned())));
    let place = more.place(change.origin.as_ref().expect("known")).expect("in a file");
    assert_eq!(place.to_string(), "test:23", "the profile's line");
    // The fake refuses the entries that would have to be put back as well, and that is said.
    assert!(matches!(failure.remains, Remains::Partly { .. }), "{:?}", failure.remains);
    lab.switches.get_mut("s1").expect("there").full_table = None;
    lab.controller.start(lab.now);
    assert!(
        matches!(&lab.run()[..], [ControllerEvent::Ready { pushed: false, .. }]),
        "the next apply completes it"
    );
    assert!(sorted(&lab.switches["s1"].held) != before, "the new thresholds");
}

#[test]
fn a_rolled_back_switch_holds_exactly_what_it_held_before() {
    let mut lab = Lab::new(&parse(&text("incast-8to1.yaml")));
    lab.controller.start(lab.now);
    lab.run();
    lab.log("s1");
    let before = sorted(&lab.switches["s1"].held);
    // Another route in a table that takes no more; the new thresholds are made and taken back.
    let more = text("incast-8to1.yaml")
        .replace("  r: { address: 10.0.0.9 }", "  r: { address: 10.0.0.9 }\n  x: { address: 10.0.0.10 }")
        .replace(
            "  - { endpoints: [\"s1:9\", r] }",
            "  - { endpoints: [\"s1:9\", r] }\n  - { endpoints: [\"s1:10\", x] }",
        );
    let table = pipeline().index.tables.find("ipv4_route").expect("there").id;
    lab.switches.get_mut("s1").expect("there").full_table = Some(table);
    lab.controller.set_topology(&parse(&more), lab.now).expect("fits");
    lab.run();
    let failure = lab.controller.failure("s1").expect("failed");
    assert_eq!(failure.refused.len(), 1);
    assert_eq!(failure.refused[0].0.origin, Some(Origin::Host("x".to_owned())));
    assert!(matches!(failure.remains, Remains::RolledBack { made } if made > 3), "{:?}", failure.remains);
    assert!(sorted(&lab.switches["s1"].held) == before, "not what it held before");
    let log = lab.log("s1");
    assert_eq!(
        log.iter().map(|line| line.split(' ').next().expect("a word")).collect::<Vec<_>>(),
        ["read", "write", "read", "write"]
    );
}

#[test]
fn a_connection_that_breaks_mid_batch_leaves_what_the_next_start_completes() {
    let (mut lab, more) = changed_lab();
    lab.switches.get_mut("s1").expect("there").breaks_after = Some(100);
    lab.controller.set_topology(&more, lab.now).expect("fits");
    lab.run();
    let failure = lab.controller.failure("s1").expect("failed");
    assert!(matches!(failure.remains, Remains::Unknown { pushed: false, of: 519 }), "{:?}", failure.remains);
    lab.log("s1");
    lab.controller.start(lab.now);
    assert_eq!(lab.run(), [ready("s1", false, 419)], "only what was missing");
    assert_eq!(lab.controller.failure("s1"), None);
}

/// A controller killed between the deletions and the insertions of a change: whoever comes next completes it.
#[test]
fn a_controller_killed_between_delete_and_insert_is_completed_by_its_successor() {
    let (mut lab, more) = changed_lab();
    lab.switches.get_mut("s1").expect("there").breaks_after = Some(255);
    lab.controller.set_topology(&more, lab.now).expect("fits");
    lab.run();
    lab.controller = Controller::new(pipeline(), &more, 2).expect("fits");
    lab.controller.start(lab.now);
    assert_eq!(lab.run(), [ready("s1", false, 264)]);
    lab.controller.check("s1", lab.now);
    assert_eq!(lab.run(), [ready("s1", false, 0)]);
}

#[test]
fn drift_is_corrected_and_a_program_that_somebody_else_pushed_is_replaced() {
    let mut lab = Lab::new(&parse(&text("incast-8to1.yaml")));
    lab.controller.start(lab.now);
    lab.run();
    let count = lab.switches["s1"].held.len();
    lab.switches.get_mut("s1").expect("there").held.pop();
    lab.controller.check("s1", lab.now);
    assert_eq!(lab.run(), [ready("s1", false, 1)]);
    let switch = lab.switches.get_mut("s1").expect("there");
    (switch.cookie, switch.held) = (Some(99), Vec::new());
    lab.controller.check("s1", lab.now);
    assert_eq!(lab.run(), [ready("s1", true, count)]);
    let switch = lab.switches.get_mut("s1").expect("there");
    (switch.cookie, switch.held) = (None, Vec::new());
    lab.controller.check("s1", lab.now);
    assert_eq!(lab.run(), [ready("s1", true, count)], "a switch that was restarted");
}

/// P4Runtime remembers the highest election id, so that a successor needs a higher one.
#[test]
fn a_backup_claims_a_vacancy_with_a_higher_id_and_hands_over_without_a_write() {
    let mut lab = Lab::new(&parse(&text("incast-8to1.yaml")));
    lab.controller.start(lab.now);
    lab.run();
    lab.controller = Controller::new(pipeline(), &parse(&text("incast-8to1.yaml")), 3).expect("fits");
    lab.switches.get_mut("s1").expect("there").other_primary = true;
    lab.controller.start(lab.now);
    assert_eq!(lab.run(), [ControllerEvent::Backup { switch: "s1".to_owned() }]);
    lab.switches.get_mut("s1").expect("there").other_primary = false;
    lab.unasked("s1", Event::Vacant { election_id: 10 });
    assert_eq!(lab.run(), [ready("s1", false, 0)], "nothing changed, so nothing is written");
    assert_eq!(lab.switches["s1"].claims, [1, 3, 13]);
}
