//! What attempts have left in a switch isn't forgotten by the attempts after them.

use super::*;

/// A lab whose switch breaks off amid its first entries.
fn broken() -> Lab {
    let mut lab = Lab::new(&parse(&text("incast-8to1.yaml")));
    lab.switches.get_mut("s1").expect("there").breaks_after = Some(100);
    lab.controller.start(lab.now);
    lab.run();
    lab
}

fn remains(lab: &Lab) -> Remains {
    lab.controller.failure("s1").expect("failed").remains.clone()
}

#[test]
fn a_switch_that_dies_mid_batch_and_stays_away_is_incomplete_after_every_attempt() {
    let mut lab = broken();
    let Remains::Unknown { pushed: true, of } = remains(&lab) else { panic!("{:?}", remains(&lab)) };
    assert!(of > 400, "{of}");
    lab.switches.get_mut("s1").expect("there").away = true;
    for _ in 0..2 {
        lab.controller.start(lab.now);
        lab.run();
        assert_eq!(remains(&lab), Remains::Unknown { pushed: true, of });
    }
    assert!(remains(&lab).to_string().contains("the program was pushed, and up to"), "{}", remains(&lab));
    lab.switches.get_mut("s1").expect("there").away = false;
    lab.controller.start(lab.now);
    assert_eq!(lab.run(), [ready("s1", true, of - 100)], "only what was missing; the push counts");
    assert_eq!(lab.controller.left("s1"), None);
    // From here on an attempt that gets nowhere has changed nothing.
    lab.controller.handle_event("s1", Event::Closed("gone".to_owned()), lab.now);
    assert_eq!(remains(&lab), Remains::Untouched);
}

#[test]
fn what_was_left_is_known_too_where_another_controller_is_primary_then() {
    let mut lab = broken();
    lab.switches.get_mut("s1").expect("there").other_primary = true;
    lab.controller.start(lab.now);
    lab.run();
    assert_eq!(lab.controller.state("s1"), Some(State::Backup));
    assert!(matches!(lab.controller.left("s1"), Some(Remains::Unknown { pushed: true, .. })));
}

#[test]
fn a_program_that_is_refused_after_the_copies_are_gone_leaves_the_old_one_without_them() {
    let mut lab = Lab::new(&parse(&text("incast-8to1.yaml")));
    lab.controller.start(lab.now);
    lab.run();
    let switch = lab.switches.get_mut("s1").expect("there");
    switch.cookie = Some(7);
    switch.refuse = Some(RequestError::Refused { code: 3, message: "no".to_owned() });
    lab.controller.check("s1", lab.now);
    lab.run();
    assert!(
        matches!(remains(&lab), Remains::CopiesDeleted { deleted } if deleted > 0),
        "{:?}",
        remains(&lab)
    );
    lab.controller.start(lab.now);
    assert!(matches!(&lab.run()[..], [ControllerEvent::Ready { pushed: true, .. }]));
}

#[test]
fn an_interruption_ends_what_is_under_way_with_what_it_may_have_left() {
    let mut lab = Lab::new(&parse(&text("incast-8to1.yaml")));
    lab.controller.start(lab.now);
    pump(&mut lab.controller, &mut lab.clients, lab.now);
    lab.controller.interrupt("interrupted", lab.now);
    assert_eq!(remains(&lab), Remains::Untouched, "before anything was written");

    let mut lab = Lab::new(&parse(&text("incast-8to1.yaml")));
    lab.controller.start(lab.now);
    while lab.controller.state("s1") != Some(State::Writing) {
        pump(&mut lab.controller, &mut lab.clients, lab.now);
        let client = lab.clients.get_mut("s1").expect("there");
        let next =
            [client.next_service(), client.poll_timeout()].into_iter().flatten().min().expect("something");
        lab.now = next;
        client.serve(lab.switches.get_mut("s1").expect("there"), next);
    }
    lab.controller.interrupt("interrupted", lab.now);
    assert!(
        matches!(remains(&lab), Remains::Unknown { pushed: true, of } if of > 400),
        "{:?}",
        remains(&lab)
    );
    assert!(lab.controller.settled());
}
