//! Occupancy in octets, over random interleavings of ingress, queue, egress, silent drops, clones and multicast: the
//! compiled program runs in softswitch, whose steps are driven one by one, beside an account of what really is in the
//! queues.
//!
//! With A the program's account of a queue (`queue_enqueued` - `queue_dequeued`) and T the octets that really are in it,
//! between ingress and it, or between it and egress, A = T + D - W holds after every step:
//!
//! * D, the surplus: octets that the full queue dropped in silence after the packet that left last had been charged. It is
//!   gone when a packet charged later leaves, or one that leaves the queue empty: it lasts for one residence.
//! * W, the blind spot: what was sent to an empty queue between a packet's leaving it and that packet's egress, one packet
//!   that was between ingress and the queue included. It is gone when the next charged packet leaves.
//!
//! Where nothing comes in between, W is 0; where nothing is dropped in silence, D is 0; where neither happens, A is exact.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod arrivals;
mod bench;
mod changes;
mod truth;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use arrivals::{Arrival, Kind};
use bench::{Bench, DATA_PORTS, Fault};
use changes::Mutant;

/// One step of the switch, if it can be done.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A packet goes through ingress, unless the one before it isn't queued yet: ingress is one thread.
    Arrive(Arrival),
    /// What ingress sent to a port is queued.
    Release,
    /// A port takes a packet from its queues, unless one is on its way through egress: a port has one egress thread.
    Take(u16),
    /// The packet that a port has taken goes through egress.
    Egress(u16),
}

fn arrivals() -> impl Strategy<Value = Arrival> {
    let kind = prop_oneof![
        5 => Just(Kind::Scheduled),
        3 => Just(Kind::Unscheduled),
        2 => Just(Kind::Unclassified),
        2 => Just(Kind::Control),
        2 => Just(Kind::Denied),
        2 => Just(Kind::Multicast),
        1 => Just(Kind::NotIp),
    ];
    let port = prop::sample::select(DATA_PORTS.to_vec());
    (kind, port, any::<bool>(), 40..900usize).prop_map(|(kind, port, ipv6, octets)| Arrival {
        kind,
        port,
        ipv6,
        octets,
    })
}

fn ports() -> impl Strategy<Value = u16> {
    prop::sample::select(bench::PORTS.to_vec())
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => arrivals().prop_map(Step::Arrive),
        5 => Just(Step::Release),
        3 => ports().prop_map(Step::Take),
        3 => ports().prop_map(Step::Egress),
    ];
    prop::collection::vec(step, 1..160)
}

/// Ingress with the queue behind it, or the queue with egress behind it: nothing comes in between.
fn in_order(steps: Vec<Step>) -> Vec<Step> {
    steps
        .into_iter()
        .flat_map(|step| match step {
            Step::Arrive(_) => vec![step, Step::Release, Step::Release, Step::Release, Step::Release],
            Step::Take(port) => vec![step, Step::Egress(port), Step::Release, Step::Release],
            Step::Release | Step::Egress(_) => vec![],
        })
        .collect()
}

fn play(bench: &mut Bench, steps: &[Step]) -> Result<(), Fault> {
    for &step in steps {
        match step {
            Step::Arrive(arrival) => bench.arrive(arrival)?,
            Step::Release => bench.release()?,
            Step::Take(port) => bench.take(port),
            Step::Egress(port) => bench.egress(port)?,
        }
    }
    bench.finish()
}

/// The same interleavings in every run.
fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

fn holds(bench: Bench, cases: u32, shape: fn(Vec<Step>) -> Vec<Step>) -> Result<Bench, String> {
    let bench = std::cell::RefCell::new(bench);
    runner(cases)
        .run(&steps(), |steps| {
            let mut bench = bench.borrow_mut();
            bench.reset();
            play(&mut bench, &shape(steps)).map_err(|fault| TestCaseError::fail(fault.0))
        })
        .map_err(|error| error.to_string())?;
    Ok(bench.into_inner())
}

/// Few packets fit into a queue, so that it drops in silence before `Q_max` is reached.
const FEW_PACKETS: u32 = 4;
const MANY_PACKETS: u32 = 1000;

#[test]
fn the_account_is_exact_where_nothing_comes_in_between_and_nothing_is_dropped_in_silence() {
    let seen = holds(Bench::new(MANY_PACKETS, None), 150, in_order).unwrap().seen;
    assert!(seen.refused > 50 && seen.charged > 1000 && seen.waited > 300, "{seen:?}");
    assert!(seen.clones > 100 && seen.reports > 100 && seen.copies > 100 && seen.uncharged > 20, "{seen:?}");
    assert_eq!((seen.silent, seen.surplus, seen.blind), (0, 0, 0), "{seen:?}");
}

#[test]
fn a_silent_drops_surplus_lasts_for_one_residence() {
    let seen = holds(Bench::new(FEW_PACKETS, None), 150, in_order).unwrap().seen;
    assert!(seen.silent > 100 && seen.surplus > 50, "{seen:?}");
    assert_eq!(seen.blind, 0, "{seen:?}");
}

#[test]
fn races_make_a_blind_spot_until_the_next_charged_packet_leaves() {
    let seen = holds(Bench::new(MANY_PACKETS, None), 300, |steps| steps).unwrap().seen;
    assert!(seen.blind > 50 && seen.refused > 20, "{seen:?}");
    assert_eq!(seen.silent, 0, "{seen:?}");
}

#[test]
fn races_and_silent_drops_together() {
    let seen = holds(Bench::new(FEW_PACKETS, None), 300, |steps| steps).unwrap().seen;
    assert!(seen.blind > 50 && seen.surplus > 50, "{seen:?}");
}

/// The other side: what BMV2.md calls wrong is noticed.
#[test]
fn a_program_that_keeps_the_surplus_of_an_empty_queue_is_noticed() {
    let mutant = Mutant { left: "deq_qdepth", op: "==", value: "0x000000", instead: "0x07ffff" };
    assert!(holds(Bench::new(FEW_PACKETS, Some(&mutant)), 150, in_order).is_err());
}

#[test]
fn a_program_that_settles_uncharged_packets_is_noticed() {
    let mutant = Mutant { left: "metadata_t.charged", op: "==", value: "0x01", instead: "0x00" };
    assert!(holds(Bench::new(MANY_PACKETS, Some(&mutant)), 150, in_order).is_err());
}
