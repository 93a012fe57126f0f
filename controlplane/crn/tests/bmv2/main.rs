//! `crn plan`, `apply`, `status` and `controller` on the real `simple_switch_grpc`, where it is installed; listed as absent where
//! it isn't. The switch listens on the loopback address only, and has no interfaces but in a namespace of its own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod apply;
mod controllers;
#[path = "../switch/lost.rs"]
mod lost;
mod process;
#[path = "../served/mod.rs"]
mod served;
#[path = "../switch/wires.rs"]
#[allow(dead_code, reason = "every test binary uses a part of it")]
mod wires;

use libtest_mimic::{Arguments, Trial};

use process::{Bmv2, NAME};

/// Its own harness: without BMv2 its tests are listed as absent and ignored, not as passed.
fn main() {
    let tests: [(&str, fn()); 8] = [
        (
            "bmv2_takes_everything_and_a_second_apply_writes_nothing",
            apply::bmv2_takes_everything_and_a_second_apply_writes_nothing,
        ),
        ("bmv2_takes_groups_marked_flows_and_queues", apply::bmv2_takes_groups_marked_flows_and_queues),
        ("a_device_id_that_isnt_its_own_is_named", apply::a_device_id_that_isnt_its_own_is_named),
        ("a_backup_takes_over_without_a_write", controllers::a_backup_takes_over_without_a_write),
        ("an_election_id_that_is_taken_is_named", controllers::an_election_id_that_is_taken_is_named),
        ("what_a_higher_apply_changed_is_put_back", controllers::what_a_higher_apply_changed_is_put_back),
        (
            "a_switch_that_restarts_gets_program_and_entries_again",
            controllers::a_switch_that_restarts_gets_program_and_entries_again,
        ),
        ("clones_lost_to_an_unset_session_are_shown", clones_lost_to_an_unset_session_are_shown),
    ];
    let installed = Bmv2::is_installed();
    let trials = tests.map(|(name, test)| {
        let needs_wires = name == "clones_lost_to_an_unset_session_are_shown";
        let absent = match wires::without_namespaces() {
            _ if !installed => Some(NAME),
            Some(what) if needs_wires => Some(what),
            _ => None,
        };
        let shown = absent.map_or_else(|| name.to_owned(), |what| format!("[{what} ABSENT] {name}"));
        let trial = move || {
            test();
            Ok(())
        };
        Trial::test(shown, trial).with_ignored_flag(absent.is_some())
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit();
}

/// As on `crn switch`; BMv2 has no counter of its own for them either.
fn clones_lost_to_an_unset_session_are_shown() {
    // A namespace belongs to a thread.
    let story = || {
        let wires = wires::Wires::new(2);
        let more = ["-i", "1@s1", "-i", "2@s2"];
        let mut switch = Bmv2::at(process::free_port(), process::free_port(), lost::DEVICE, &more);
        lost::on(&wires, &switch.address);
        assert!(switch.lives());
    };
    std::thread::spawn(story).join().unwrap();
}
