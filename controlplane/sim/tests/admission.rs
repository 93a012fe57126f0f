//! Byte-window admission, moved by the switch's reports, against an incast.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use controller::topology::{self, Scheme};
use sim::{Outcome, Pipeline};

#[test]
fn incast_windows_follow_the_reports_and_nothing_is_dropped() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies/admission-incast.yaml");
    let topology = topology::load(&path).unwrap();
    let pipeline = Pipeline::built_in().unwrap();
    let run = |scheme| {
        let Outcome { summary, .. } = sim::run(&topology, &pipeline, scheme, 1, &mut |_| {}).unwrap();
        summary
    };
    let without = run(Scheme::None);
    assert!(without.bottleneck.drops > 0, "{without:#?}");
    let admitted = run(Scheme::Admission);
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
