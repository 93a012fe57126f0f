//! Links that lose something: in the direction that the file says, the same packets in every run of a seed, and no message for it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use controller::topology::{self, Scheme, Topology};
use sim::{Pipeline, Summary};

fn incast() -> Topology {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies/incast-8to1.yaml");
    let mut topology = topology::load(&path).unwrap();
    topology.workloads[0].batches = 2;
    topology
}

fn run(topology: &Topology, seed: u64) -> Summary {
    let pipeline = Pipeline::built_in().unwrap();
    let summary = sim::run(topology, &pipeline, Scheme::RdccCrn, seed, &mut |_| {}).unwrap().summary;
    assert_eq!(summary.messages.completed, summary.messages.sent, "{summary:#?}");
    assert_eq!(summary.rdcc.invariant_violations, 0, "{summary:#?}");
    summary
}

/// The same with a loss on the link of one host, of what leaves the switch and of what leaves the host.
fn with(host: &str, loss_ppm: [u32; 2]) -> Topology {
    let mut topology = incast();
    let link = topology.hosts[host].link;
    topology.links[link].loss_ppm = loss_ppm;
    topology
}

#[test]
fn a_lossless_fabric_loses_nothing_and_a_lossy_link_its_part() {
    assert_eq!(run(&incast(), 1).path.lost, 0);
    // Two batches of a MiB and 2 KiB from each: some 514 packets of 4,096 octets, and what asks for credit, leave a host.
    let sender = run(&with("a1", [0, 20_000]), 1).path.lost;
    assert!((1..=40).contains(&sender), "{sender}");
    // To the receiver goes what all eight send.
    let receiver = run(&with("r", [20_000, 0]), 1).path.lost;
    assert!((40..=140).contains(&receiver), "{receiver}");
    // From it, grants and acknowledgements.
    let back = run(&with("r", [0, 20_000]), 1).path.lost;
    assert!(back > 0, "{back}");
}

#[test]
fn the_same_packets_are_lost_in_every_run_of_a_seed() {
    let lossy = with("r", [10_000, 10_000]);
    let (first, again, other) = (run(&lossy, 1), run(&lossy, 1), run(&lossy, 2));
    assert_eq!(first, again);
    assert_ne!(first.messages.fct_us, other.messages.fct_us);
}

/// A workload's loss is the same on its bottleneck, and comes on top of the link's.
#[test]
fn the_workloads_loss_is_the_bottlenecks() {
    let mut asked = incast();
    asked.workloads[0].loss_ppm = 20_000;
    assert_eq!(run(&asked, 1), run(&with("r", [20_000, 0]), 1));
    let end = topology::End::Port(asked.workloads[0].bottleneck.clone());
    let link = asked.hosts["r"].link;
    for (own, of_workload, together) in
        [(0, 0, 0), (0, 1, 1), (1, 0, 1), (500_000, 500_000, 750_000), (999_999, 999_999, 1_000_000)]
    {
        asked.links[link].loss_ppm = [own, 0];
        asked.workloads[0].loss_ppm = of_workload;
        assert_eq!(asked.loss_ppm(&end), together, "{own} and {of_workload}");
        assert_eq!(asked.loss_ppm(&topology::End::Host("r".to_owned())), 0);
    }
}
