//! CREM around the hosts of a fabric: a long path that loses packets, and a queue that drops them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use controller::topology::{self, Scheme, Topology};
use sim::{Outcome, Pipeline, Summary};

fn load(name: &str) -> Topology {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies").join(name);
    topology::load(&path).unwrap()
}

fn run(topology: &Topology, scheme: Scheme) -> Summary {
    let pipeline = Pipeline::built_in().unwrap();
    let Outcome { summary, .. } = sim::run(topology, &pipeline, scheme, 1, &mut |_| {}).unwrap();
    assert_eq!(summary.messages.completed, summary.messages.sent, "{summary:#?}");
    summary
}

/// 16 MiB over 20 ms and 100 Gbit/s, one packet in a thousand lost.
#[test]
fn losses_of_a_long_path_are_repaired_within_a_round_trip() {
    //~ CREM, Redundancy Policy: c4a03a10
    let mut topology = load("crem-longhaul.yaml");
    topology.workloads[0].batches = 24;
    let lossy = topology.clone();
    topology.workloads[0].loss_ppm = 0;
    let free = run(&topology, Scheme::None);
    assert_eq!((free.path.lost, free.path.sent_again), (0, 0), "{free:#?}");
    let plain = run(&lossy, Scheme::None);
    assert!(plain.path.lost > 12, "{plain:#?}");
    assert!(plain.messages.fct_us.p50 > free.messages.fct_us.p50 + 20_000.0, "{plain:#?}");
    for scheme in [Scheme::Crem, Scheme::CremPass] {
        let summary = run(&lossy, scheme);
        assert!(summary.path.lost > 12 && summary.crem.restored > 12, "{summary:#?}");
        // The first transfers run while the flow is set up and its loss rate is learnt.
        assert!(summary.messages.fct_us.p50 <= free.messages.fct_us.p50 + 1_000.0, "{summary:#?}");
        assert!(summary.crem.repair_share < 0.25, "{summary:#?}");
        if scheme == Scheme::Crem {
            assert!(summary.path.sent_again < plain.path.sent_again / 2, "{summary:#?}");
        }
    }
}

/// A queue drops one packet in fifty and more, and m stays where it is without any loss; the same losses on a link raise it.
#[test]
fn congestion_does_not_raise_the_number_of_repair_symbols() {
    //~ CREM, Loss Reports: efd8d6b5
    let topology = load("crem-congestion.yaml");
    let congested = run(&topology, Scheme::Crem);
    assert!(congested.bottleneck.drops > 500, "{congested:#?}");
    assert!(congested.crem.path_reports > 0, "{congested:#?}");
    assert_eq!(congested.crem.largest_m, 0, "{congested:#?}");
    let mut lossy = topology;
    lossy.workloads[0].loss_ppm = 20_000;
    lossy.profiles.values_mut().for_each(|profile| {
        (profile.q_max, profile.b_th, profile.ecn_threshold) = (16_000_000, 15_000_000, 15_000_000);
    });
    let lossy = run(&lossy, Scheme::Crem);
    assert_eq!(lossy.bottleneck.drops, 0, "{lossy:#?}");
    assert!(lossy.crem.largest_m > 0, "{lossy:#?}");
}
