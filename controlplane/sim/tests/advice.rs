//! What advice from the network adds to DCQCN, in the two deployments that the document describes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use controller::topology::{self, Scheme, Topology};
use sim::{Pipeline, Summary};

fn load(name: &str) -> Topology {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies").join(name);
    topology::load(&path).unwrap()
}

/// DCQCN alone, and with advice.
fn compare(topology: &Topology) -> [Summary; 2] {
    let pipeline = Pipeline::built_in().unwrap();
    [Scheme::Dcqcn, Scheme::DcqcnAdvice]
        .map(|scheme| sim::run(topology, &pipeline, scheme, 1, &mut |_| {}).unwrap().summary)
}

/// What holds in both deployments: no loss where DCQCN alone loses, a queue at its threshold, and equal shares.
fn advice_helps(alone: &Summary, advised: &Summary) {
    assert_eq!(alone.messages.completed, alone.messages.sent, "{alone:#?}");
    assert_eq!(advised.messages.completed, advised.messages.sent, "{advised:#?}");
    assert!(alone.bottleneck.drops > 0, "{alone:#?}");
    assert_eq!(advised.bottleneck.drops, 0, "{advised:#?}");
    assert!(advised.reports.rate_advice > 0, "{advised:#?}");
    let bound = 1.25 * advised.bottleneck.b_th_octets as f64;
    assert!(advised.steady.queue_mean_octets <= bound, "{advised:#?}");
    assert!(advised.steady.fairness >= 0.95, "{advised:#?}");
}

/// Within a data center: the first sender slows down before DCQCN could know.
#[test]
fn a_congested_uplink_advises_its_senders_within_a_round_trip() {
    let topology = load("scone-uplink.yaml");
    let [alone, advised] = compare(&topology);
    advice_helps(&alone, &advised);
    let base_rtt_us = topology.rdcc.base_rtt_ns as f64 / 1000.0;
    let [alone, advised] = [alone, advised].map(|summary| summary.reaction.first_cut_us.unwrap());
    assert!(advised < 0.6 * base_rtt_us, "{advised} us of {base_rtt_us} us");
    assert!(advised < alone, "{advised} us with advice, {alone} us without");
}

/// The Rate Signal goes the receivers' way, as CNPs do, but says how much at once.
#[test]
fn signals_bound_each_queue_pair() {
    let topology = load("scone-uplink.yaml");
    let pipeline = Pipeline::built_in().unwrap();
    let run = |scheme| sim::run(&topology, &pipeline, scheme, 1, &mut |_| {}).unwrap().summary;
    let [alone, signalled] = [Scheme::Dcqcn, Scheme::DcqcnSignal].map(run);
    // It comes no sooner than DCQCN's own cut, so the burst before that loses here, too: no less, but no more.
    assert!(signalled.bottleneck.drops <= alone.bottleneck.drops, "{signalled:#?}");
    assert_eq!(signalled.messages.completed, signalled.messages.sent, "{signalled:#?}");
    let bound = 1.25 * signalled.bottleneck.b_th_octets as f64;
    assert!(signalled.steady.queue_mean_octets <= bound, "{signalled:#?}");
    assert!(signalled.steady.fairness >= 0.95, "{signalled:#?}");
}

/// Across data centers: the gateway near the source answers in less than a millisecond and its distance; DCQCN takes the
/// WAN's round trip.
#[test]
fn a_gateway_near_the_source_answers_at_once() {
    let topology = load("scone-wan.yaml");
    let [alone, advised] = compare(&topology);
    advice_helps(&alone, &advised);
    let distance_us = topology.links[0].delay_ns as f64 / 1000.0;
    let [alone, advised] = [alone, advised].map(|summary| summary.reaction.first_cut_us.unwrap());
    assert!(advised < 1000.0 + distance_us, "{advised} us");
    assert!(alone > 20_000.0, "{alone} us: DCQCN waits for the WAN");
}

/// Congestion behind the WAN: the gateway there presses back to the one near the senders, which advises them, a way over the WAN
/// after the first dequeue above `B_th`.
#[test]
fn a_remote_gateway_presses_back_over_the_wan() {
    let topology = load("scone-backpressure.yaml");
    let [alone, advised] = compare(&topology);
    advice_helps(&alone, &advised);
    assert!(advised.bottleneck.utilisation > alone.bottleneck.utilisation, "{alone:#?}{advised:#?}");
    let delay_us = |index: usize| topology.links[index].delay_ns as f64 / 1000.0;
    let (distance_us, wan_us) = (delay_us(0), delay_us(3));
    let reaction = advised.reaction;
    assert!(reaction.first_cut_us.unwrap() < 1000.0 + distance_us + wan_us, "{reaction:?}");
    assert_eq!(reaction.first_advice_us, reaction.first_cut_us, "it was the advice: {reaction:?}");
    assert!(alone.reaction.first_cut_us.unwrap() > reaction.first_cut_us.unwrap(), "{alone:#?}");
}

/// Without the gateways the same advice goes to the senders directly; with one that serves nobody there it gets no further.
#[test]
fn advice_takes_the_gateways_way() {
    let topology = load("scone-backpressure.yaml");
    let mut astray = topology.clone();
    let unserved = astray.hosts["gb"].gateway_for;
    astray.hosts.get_mut("ga").unwrap().gateway_for = None;
    let pipeline = Pipeline::built_in().unwrap();
    let run = |topology: &Topology| {
        sim::run(topology, &pipeline, Scheme::DcqcnAdvice, 1, &mut |_| {}).unwrap().summary
    };
    assert!(unserved.is_some());
    assert_eq!(run(&astray).reaction.first_advice_us, None, "intercepted, and nobody to press back to");
    let mut direct = astray;
    direct.hosts.get_mut("gb").unwrap().gateway_for = None;
    let direct = run(&direct).reaction.first_advice_us.unwrap();
    let over_gateways = run(&topology).reaction.first_advice_us.unwrap();
    assert!(direct < over_gateways && over_gateways < direct + 100.0, "{direct} and {over_gateways} us");
}
