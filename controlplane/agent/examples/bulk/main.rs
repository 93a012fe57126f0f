//! A bulk transfer over real UDP sockets with the admission controller compiled out, off, observing and enforcing.
//!
//! Sender and receiver are `roce` endpoints behind the agent's sockets and loop, on one thread, over loopback. Each arm has sockets,
//! endpoints and a controller of its own and the same warm-up; then all arms take a turn in every round, in an order that
//! changes, so that what else the machine does meets all alike. The figure of an arm is the median over the rounds of its time
//! over that of the arm without the controller in the same round: processor time of the thread, and wall clock.
//!
//! `bulk --arm NAME --rounds N` runs one arm, for instruction counts (`valgrind --tool=callgrind`).

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]
#![allow(clippy::disallowed_methods, reason = "a benchmark has a clock")]

mod gate;
mod transfer;

use std::time::{Duration, Instant};

use admission::Mode;
use gate::{Controlled, Gate, Without};
use nix::time::{ClockId, clock_gettime};
use transfer::Transfer;

/// A workload of one round.
#[derive(Clone, Copy)]
pub struct Load {
    name: &'static str,
    /// Octets of a slice.
    slice: u32,
    /// Slices of a round.
    slices: u32,
    /// Posted and not complete, at most: the depth of a send queue.
    depth: usize,
}

const LOADS: [Load; 2] = [
    Load { name: "bulk, 64 KiB slices", slice: 64 << 10, slices: 96, depth: 16 },
    Load { name: "small, 256 B messages", slice: 256, slices: 4096, depth: 64 },
];

const WARM_UP: u32 = 5;
const ROUNDS: usize = 200;

/// What a round took.
#[derive(Clone, Copy, Default)]
struct Took {
    processor: Duration,
    wall: Duration,
}

trait Arm {
    fn name(&self) -> &'static str;
    fn round(&mut self) -> Took;
    /// What the controller says of the run.
    fn says(&self) -> String;
}

struct Of<G: Gate> {
    name: &'static str,
    runtime: tokio::runtime::Runtime,
    transfer: Transfer<G>,
}

fn processor_time() -> Duration {
    Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap())
}

impl<G: Gate> Arm for Of<G> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn round(&mut self) -> Took {
        let (wall, processor) = (Instant::now(), processor_time());
        self.runtime.block_on(self.transfer.round());
        Took { processor: processor_time().saturating_sub(processor), wall: wall.elapsed() }
    }

    fn says(&self) -> String {
        self.transfer.says()
    }
}

fn arm<G: Gate + 'static>(name: &'static str, load: Load, gate: G) -> Box<dyn Arm> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let transfer = runtime.block_on(async { Transfer::new(load, gate) });
    let mut arm = Of { name, runtime, transfer };
    for _ in 0..WARM_UP {
        arm.round();
    }
    Box::new(arm)
}

fn arms(load: Load) -> Vec<Box<dyn Arm>> {
    vec![
        arm("compiled out", load, Without::new()),
        // The same once more: what differs between two that are alike is noise.
        arm("compiled out again", load, Without::new()),
        arm("off", load, Controlled::new(Mode::Off)),
        arm("observe", load, Controlled::new(Mode::Observe)),
        arm("enforce", load, Controlled::new(Mode::Enforce)),
    ]
}

fn compare(load: Load, rounds: usize) {
    let mut arms = arms(load);
    let mut took: Vec<Vec<Took>> = vec![Vec::with_capacity(rounds); arms.len()];
    for round in 0..rounds {
        let mut this = vec![Took::default(); arms.len()];
        for turn in 0..arms.len() {
            // Another arm first in each round, and every second round backwards.
            let turn = if round % 2 == 0 { turn } else { arms.len() - 1 - turn };
            let index = (turn + round) % arms.len();
            this[index] = arms[index].round();
        }
        for (all, took) in took.iter_mut().zip(this) {
            all.push(took);
        }
    }
    let octets = f64::from(load.slice) * f64::from(load.slices);
    println!("\n{}: {} of them a round, {rounds} rounds\n", load.name, load.slices);
    println!(
        "| arm | processor time | 95 % of its median | wall clock | Mbit/s (median) | ns a slice | says |\n|---|---|---|---|---|---|---|"
    );
    for (index, arm) in arms.iter().enumerate() {
        let ratios = |of: fn(&Took) -> Duration| -> Vec<f64> {
            let both = took[index].iter().zip(&took[0]);
            sorted(both.map(|(arm, without)| of(arm).as_secs_f64() / of(without).as_secs_f64()))
        };
        let processor = ratios(|took| took.processor);
        let (low, high) = interval(&processor);
        let wall = sorted(took[index].iter().map(|took| took.wall.as_secs_f64()));
        let busy = sorted(took[index].iter().map(|took| took.processor.as_secs_f64()));
        println!(
            "| {} | {:.4} | {low:.4} to {high:.4} | {:.4} | {:.0} | {:.0} | {} |",
            arm.name(),
            median(&processor),
            median(&ratios(|took| took.wall)),
            octets * 8.0 / median(&wall) / 1e6,
            median(&busy) * 1e9 / f64::from(load.slices),
            arm.says(),
        );
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

/// Between which values the median lies with 95 %: by ranks, whatever the distribution.
fn interval(sorted: &[f64]) -> (f64, f64) {
    let (middle, half) = (sorted.len() / 2, (sorted.len() * 96 / 100).isqrt());
    (sorted[middle.saturating_sub(half)], sorted[(middle + half).min(sorted.len() - 1)])
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let value = |flag: &str| words.iter().position(|word| word == flag).and_then(|at| words.get(at + 1));
    let rounds = value("--rounds").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let Some(name) = value("--arm") else {
        for load in LOADS {
            compare(load, rounds);
        }
        return;
    };
    let load = LOADS[usize::from(words.iter().any(|word| word == "--small"))];
    let mut arm = match name.as_str() {
        "out" => arm("compiled out", load, Without::new()),
        "off" => arm("off", load, Controlled::new(Mode::Off)),
        "observe" => arm("observe", load, Controlled::new(Mode::Observe)),
        _ => arm("enforce", load, Controlled::new(Mode::Enforce)),
    };
    for _ in 0..rounds {
        arm.round();
    }
    println!("{}: {}", arm.name(), arm.says());
}
