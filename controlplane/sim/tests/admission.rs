//! Byte-window admission, moved by the switch's reports, against an incast.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use controller::topology::{self, Scheme, Topology};
use sim::{Outcome, Pipeline, Summary};

fn load() -> Topology {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies/admission-incast.yaml");
    topology::load(&path).unwrap()
}

fn run(topology: &Topology, scheme: Scheme) -> Summary {
    let pipeline = Pipeline::built_in().unwrap();
    let Outcome { summary, .. } = sim::run(topology, &pipeline, scheme, 1, &mut |_| {}).unwrap();
    summary
}

#[test]
fn incast_windows_follow_the_reports_and_nothing_is_dropped() {
    let topology = load();
    let without = run(&topology, Scheme::None);
    assert_eq!(without.heard, sim::Heard::default());
    assert!(without.bottleneck.drops > 0, "{without:#?}");
    let admitted = run(&topology, Scheme::Admission);
    assert_eq!(admitted.messages.completed, admitted.messages.sent, "{admitted:#?}");
    assert_eq!(admitted.bottleneck.drops, 0, "{admitted:#?}");
    assert!(admitted.reports.congestion_to_sender > 0, "{admitted:#?}");
    assert!(admitted.reaction.first_cut_us.unwrap() < 50.0, "{admitted:#?}");
    assert!(admitted.bottleneck.utilisation >= 0.95, "{admitted:#?}");
    assert!(admitted.steady.fairness >= 0.95, "{admitted:#?}");
    // Once windows have settled, the queue stands about its threshold.
    let settled = admitted.steady.queue_mean_octets;
    assert!(settled <= 1.5 * admitted.bottleneck.b_th_octets as f64, "{admitted:#?}");
}

/// The switch says nothing, its marks do: CNPs move the windows.
#[test]
fn cnps_shrink_windows_where_dcqcn_runs_behind_them() {
    let mut topology = load();
    // Reports wait for a queue that the marks never let grow so long.
    for profile in topology.profiles.values_mut() {
        profile.b_th = profile.q_max / 10 * 9;
        profile.ecn_threshold = 60_000;
    }
    let summary = run(&topology, Scheme::DcqcnAdmission);
    assert_eq!(summary.messages.completed, summary.messages.sent, "{summary:#?}");
    assert_eq!(summary.heard.reports, 0, "{summary:#?}");
    assert!(summary.heard.cnps > 0, "{summary:#?}");
    assert!(summary.reaction.first_cut_us.is_none(), "nothing was above B_th: {summary:#?}");
    let alone = run(&topology, Scheme::Admission);
    assert_eq!(alone.heard.cnps, 0, "no DCQCN, no CNP");
    assert!(summary.bottleneck.drops <= alone.bottleneck.drops, "{summary:#?}{alone:#?}");
}

/// A queue too short for the first windows: what it drops comes back as `PATH_REPORT`s.
#[test]
fn path_reports_of_dropped_packets_shrink_windows() {
    let mut topology = load();
    topology.domain.reports.path_interval_ns = Some(50_000);
    for profile in topology.profiles.values_mut() {
        profile.q_max = profile.q_max.min(300_000);
        profile.b_th = profile.q_max / 10 * 9;
        profile.ecn_threshold = profile.b_th;
    }
    let summary = run(&topology, Scheme::Admission);
    assert_eq!(summary.messages.completed, summary.messages.sent, "{summary:#?}");
    assert!(summary.heard.path_reports > 0, "{summary:#?}");
    assert_eq!(summary.heard.cnps, 0, "{summary:#?}");
    let without = run(&topology, Scheme::None);
    assert!(summary.bottleneck.drops < without.bottleneck.drops, "{summary:#?}{without:#?}");
}

/// Credit in front: the receiver's lower grants press on the routes, and its budget still holds.
#[test]
fn lower_grants_press_on_routes_behind_credit() {
    let summary = run(&load(), Scheme::RdccAdmission);
    assert_eq!(summary.messages.completed, summary.messages.sent, "{summary:#?}");
    assert!(summary.heard.grants > 0, "{summary:#?}");
    assert_eq!(summary.rdcc.invariant_violations, 0, "{summary:#?}");
    assert!(summary.rdcc.outstanding_peak_octets <= summary.rdcc.budget_octets, "{summary:#?}");
    assert_eq!(summary.bottleneck.drops, 0, "{summary:#?}");
}
