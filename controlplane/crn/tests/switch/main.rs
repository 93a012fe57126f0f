//! `crn switch` as a process: on real interfaces (as root), over TLS, with files, and what it refuses.
//!
//! Its own harness: tests that need what isn't here are listed as absent and ignored, not as passed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod bed;
mod entries;
mod files;
mod load;
mod lost;
mod process;
mod refusals;
mod tls;
mod veth;
mod wires;

use libtest_mimic::{Arguments, Trial};

/// A test, and what it needs and doesn't find here.
fn trial(name: &str, absent: Option<&str>, test: fn()) -> Trial {
    let shown = absent.map_or_else(|| name.to_owned(), |what| format!("[{what} ABSENT] {name}"));
    let run = move || {
        test();
        Ok(())
    };
    Trial::test(shown, run).with_ignored_flag(absent.is_some())
}

macro_rules! trials {
    ($absent:expr; $($module:ident::$test:ident),+ $(,)?) => {
        [$(trial(stringify!($test), $absent, $module::$test)),+]
    };
}

fn main() {
    let mut all = Vec::new();
    all.extend(trials![None;
        files::packets_are_read_from_files_and_written_to_files,
        files::packets_come_out_the_same_whatever_runs_the_program,
        files::a_file_that_isnt_there_is_named,
        refusals::an_interface_that_isnt_there_is_named,
        refusals::a_program_or_an_address_that_cant_be_used_is_named,
        refusals::wrong_usage_exits_with_2,
        refusals::an_engine_that_isnt_there_is_refused_with_those_that_are,
        tls::tls_by_flags,
        tls::mutual_tls_by_flags,
        tls::a_certificate_that_cant_be_used_is_refused,
        tls::the_topology_says_how_a_switch_is_recognised,
    ]);
    all.extend(trials![refusals::without_setpriv(); refusals::without_permission_it_says_which_is_needed]);
    all.extend(trials![wires::without_namespaces();
        veth::clones_lost_to_an_unset_session_are_shown,
        load::packets_pass_while_a_controller_writes,
        veth::a_controller_makes_it_a_router_and_packets_pass,
        veth::packets_go_to_the_controller_and_come_from_it,
        veth::a_full_queue_drops_and_counts,
        veth::a_group_leaves_out_a_port_whose_link_is_down,
    ]);
    libtest_mimic::run(&Arguments::from_args(), all).exit();
}
