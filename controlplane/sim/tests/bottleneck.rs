//! A sender that is the bottleneck: no receiver and no switch sees its link, only its own status tells.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use controller::topology::{self, Scheme};
use sim::Pipeline;
use wire::units::Nanos;

#[test]
fn receivers_settle_at_the_senders_shares_within_two_round_trips() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies/sender-bottleneck.yaml");
    let topology = topology::load(&path).unwrap();
    let outcome =
        sim::run(&topology, &Pipeline::built_in().unwrap(), Scheme::RdccCrn, 1, &mut |_| {}).unwrap();
    let summary = &outcome.summary;
    assert_eq!(summary.messages.completed, summary.messages.sent, "{summary:#?}");
    assert_eq!((summary.bottleneck.drops, summary.rdcc.invariant_violations), (0, 0), "{summary:#?}");

    let rtt = topology.rdcc.base_rtt_ns;
    // The first grants are a request, a jitter and an answer away.
    let start = outcome.batches[0].0 + Nanos(rtt + topology.rdcc.start_jitter_ns);
    let share = topology.links[0].rate_bps / topology.hosts.len().saturating_sub(1) as u64;
    for window in 2..20 {
        let from = start + Nanos(window * rtt);
        let octets = outcome.deliveries.octets(&[(from, from + Nanos(4 * rtt))]);
        let expected = share as f64 * (4 * rtt) as f64 / 8e9;
        for got in octets {
            // A packet more or less at either end of the window.
            let slack = 2.0 * 4160.0;
            assert!(
                (got as f64 - expected).abs() <= 0.05 * expected + slack,
                "window {window}: {got}, {expected:.0}"
            );
        }
    }
}
