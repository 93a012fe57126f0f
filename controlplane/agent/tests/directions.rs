//! Two hosts that send to each other: what happens to one direction's association leaves the other's data alone.

#![allow(clippy::unwrap_used, reason = "tests")]

mod domain;

use std::rc::Rc;
use std::time::Duration;

use agent::rdcc::settings::Carrier;
use agent::rdcc::{Event, Role};
use domain::{Events, address, agent, in_a_runtime, settings, workload};
use tokio::sync::oneshot;
use wire::units::Nanos;

/// A host drops the idle association of one that still receives from it, again and again; nothing of either is lost.
fn an_association_that_comes_and_goes(test: u8, carrier: Carrier) {
    in_a_runtime(async {
        let (rare, steady) = (address(test, 1), address(test, 2));
        let start = |own, load, idle: Option<Nanos>| {
            let (stop, stopped) = oneshot::channel();
            let mut settings = settings(own, carrier, |_| {});
            if let Some(idle) = idle {
                settings.receiver.idle_timeout = idle;
            }
            let events = Events::default();
            let running = agent(settings, Role::Both, load, Rc::clone(&events), stopped);
            (stop, events, running)
        };
        let mut pauses = workload(&[steady], &[(64_000, false)], 4);
        pauses.gap = Nanos(600_000_000);
        let rarely = start(rare, pauses, None);
        let steadily = start(steady, workload(&[rare], &[(2_000_000, false)], 40), Some(Nanos(150_000_000)));
        let both_done = async {
            let batches = |events: &Events| {
                events.borrow().iter().filter(|event| matches!(event, Event::BatchDone { .. })).count()
            };
            while batches(&rarely.1) < 4 || batches(&steadily.1) < 40 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            rarely.0.send(()).unwrap();
            steadily.0.send(()).unwrap();
        };
        let (rare, steady, ()) = tokio::join!(rarely.2, steadily.2, both_done);
        let lost = |event: &&Event| matches!(event, Event::AssociationLost { .. });
        assert!(rarely.1.borrow().iter().filter(lost).count() > 0, "the idle association was never dropped");
        assert_eq!(steadily.1.borrow().iter().filter(lost).count(), 0);
        let messages = [rare.messages.unwrap(), steady.messages.unwrap()];
        assert_eq!(messages.map(|messages| (messages.done, messages.aborted)), [(4, 0), (40, 0)]);
        let received = [rare.receiver.unwrap(), steady.receiver.unwrap()];
        assert_eq!(received[0].get("messages_completed"), Some(40));
        assert_eq!(received[1].get("messages_completed"), Some(4));
    });
}

#[test]
fn queue_pairs_of_the_other_direction_go_on() {
    an_association_that_comes_and_goes(20, Carrier::RoceV2);
}

#[test]
fn pieces_of_the_other_direction_go_on() {
    an_association_that_comes_and_goes(21, Carrier::Opaque { port: 52_200 });
}
