//! All switches or none.

use super::*;

/// Two switches that hold what the file says, and a controller with a file that changes both.
fn lab() -> (Lab, Vec<Vec<String>>) {
    let mut lab = Lab::new(&parse(&text("uplink.yaml")));
    lab.controller.start(lab.now);
    lab.run();
    let more = text("uplink.yaml").replace("q_max: 4MB", "q_max: 8MB");
    let more = parse(&(more + "policies: { source_rates: [{ from: 10.0.1.0/24, rate: 1Gbps }] }\n"));
    lab.controller = Controller::new(pipeline(), &more, 2).expect("fits");
    lab.controller.all_or_nothing();
    for switch in ["leaf1", "leaf2"] {
        lab.log(switch);
    }
    let before = held(&lab);
    (lab, before)
}

fn held(lab: &Lab) -> Vec<Vec<String>> {
    lab.switches.values().map(|switch| sorted(&switch.held)).collect()
}

fn remains(lab: &Lab, switch: &str) -> Remains {
    lab.controller.failure(switch).expect("failed").remains.clone()
}

#[test]
fn when_all_can_all_are_changed() {
    let (mut lab, before) = lab();
    lab.controller.start(lab.now);
    lab.run();
    assert!(lab.controller.all_ready());
    assert!(!lab.controller.take_back(), "nothing to take back");
    assert!(held(&lab) != before);
}

#[test]
fn nothing_is_written_where_one_switch_has_another_primary() {
    let (mut lab, before) = lab();
    lab.switches.get_mut("leaf2").expect("there").other_primary = true;
    lab.controller.start(lab.now);
    lab.run();
    assert_eq!(
        (lab.controller.state("leaf1"), lab.controller.state("leaf2")),
        (Some(State::Failed), Some(State::Backup))
    );
    assert_eq!(remains(&lab, "leaf1"), Remains::Untouched);
    assert_eq!(lab.controller.failure("leaf1").expect("failed").error, RequestError::NotAll);
    assert!(!lab.controller.take_back(), "nothing to take back");
    assert!(held(&lab) == before);
    assert_eq!(lab.log("leaf1"), ["arbitrate", "cookie", "read"]);
}

/// The other order: the switch that fails does so while the other waits already.
#[test]
fn a_connection_that_breaks_while_the_others_wait_ends_them() {
    let (mut lab, before) = lab();
    lab.controller.hold("leaf1", State::Writing, Request::GetCookie);
    lab.controller.handle_event("leaf2", Event::Closed("gone".to_owned()), lab.now);
    lab.controller.start_one("leaf2", lab.now);
    lab.switches.get_mut("leaf2").expect("there").other_primary = true;
    lab.run();
    assert_eq!(lab.controller.state("leaf1"), Some(State::Failed));
    assert!(held(&lab) == before);
}

#[test]
fn what_was_written_is_taken_back_where_another_switch_refuses() {
    let (mut lab, before) = lab();
    let table = pipeline().index.tables.find("source_rate_policy").expect("there").id;
    lab.switches.get_mut("leaf2").expect("there").full_table = Some(table);
    lab.controller.start(lab.now);
    lab.run();
    assert_eq!(lab.controller.state("leaf1"), Some(State::Ready), "before it is known that leaf2 refuses");
    assert!(lab.controller.take_back());
    lab.run();
    assert!(matches!(remains(&lab, "leaf1"), Remains::RolledBack { made } if made > 100));
    assert!(matches!(remains(&lab, "leaf2"), Remains::RolledBack { .. }));
    assert!(held(&lab) == before, "both hold what they held");
}

#[test]
fn a_program_that_was_pushed_stays_without_entries() {
    let (mut lab, _) = lab();
    let switch = lab.switches.get_mut("leaf1").expect("there");
    (switch.cookie, switch.held) = (None, Vec::new());
    let table = pipeline().index.tables.find("source_rate_policy").expect("there").id;
    lab.switches.get_mut("leaf2").expect("there").full_table = Some(table);
    lab.controller.start(lab.now);
    lab.run();
    assert!(lab.controller.take_back());
    lab.run();
    assert_eq!(remains(&lab, "leaf1"), Remains::ProgramOnly);
    assert_eq!(held(&lab)[0], Vec::<String>::new());
}
