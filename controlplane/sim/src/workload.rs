//! The workload as it runs: batches of messages, when each completed, and what that makes in figures.

use controller::topology::{MessageShape, Mode, Workload};
use wire::units::Nanos;

use crate::link::{self, Link};
use crate::measure::percentile;
use crate::summary::{Messages, Quantiles, Slowdown, Tail};

/// One message of the batch that is running.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Index into the workload's pairs.
    pub pair: usize,
    /// Index into the workload's messages.
    pub shape: usize,
}

/// A message that completed.
#[derive(Clone, Copy, Debug)]
struct Completion {
    mode: Mode,
    time: Nanos,
    slowdown: f64,
}

/// The batches of one workload.
#[derive(Debug)]
pub struct Batches {
    shapes: Vec<MessageShape>,
    pairs: usize,
    planned: u32,
    /// Completion time of each shape's messages were the bottleneck theirs alone.
    ideals: Vec<Nanos>,
    bottleneck: Link,
    running: Option<Batch>,
    last_delivery: Nanos,
    completions: Vec<Completion>,
    completed_octets: u64,
    intervals: Vec<(Nanos, Nanos)>,
    utilisations: Vec<f64>,
    /// The later half of each batch's time until its first large message completed.
    steady: Vec<(Nanos, Nanos)>,
}

/// The batch that is running.
#[derive(Debug)]
struct Batch {
    start: Nanos,
    /// The first grant or the first arrival of data: from here on the link could have been busy.
    first_activity: Option<Nanos>,
    open: usize,
    /// No message of the largest shape has completed.
    all_sending: bool,
    delivered_link_octets: u64,
}

/// Completion time of each shape's messages, were the bottleneck theirs alone: all of them over its link, and a round trip.
pub fn ideals(workload: &Workload, bottleneck: Link, base_rtt: Nanos) -> Vec<Nanos> {
    let ideal = |shape: &MessageShape| {
        let octets = workload.pairs.len() as u64 * link::message_octets(shape.size, workload.payload);
        bottleneck.serialisation(octets) + base_rtt
    };
    workload.messages.iter().map(ideal).collect()
}

impl Batches {
    /// The batches of `workload` over `bottleneck`, none started.
    pub fn new(workload: &Workload, bottleneck: Link, base_rtt: Nanos) -> Self {
        Self {
            shapes: workload.messages.clone(),
            pairs: workload.pairs.len(),
            planned: workload.batches,
            ideals: ideals(workload, bottleneck, base_rtt),
            bottleneck,
            running: None,
            last_delivery: Nanos(0),
            completions: Vec::new(),
            completed_octets: 0,
            intervals: Vec::new(),
            utilisations: Vec::new(),
            steady: Vec::new(),
        }
    }

    /// Starts the next batch and lists its messages; `None` when all have run.
    pub fn start(&mut self, now: Nanos) -> Option<Vec<Transfer>> {
        if self.intervals.len() >= self.planned as usize {
            return None;
        }
        // All senders start a shape before any starts the next, as an application handing over a step does.
        let transfers: Vec<_> = (0..self.pairs)
            .flat_map(|pair| (0..self.shapes.len()).map(move |shape| Transfer { pair, shape }))
            .collect();
        self.last_delivery = now;
        self.running = Some(Batch {
            start: now,
            first_activity: None,
            open: transfers.len(),
            all_sending: true,
            delivered_link_octets: 0,
        });
        Some(transfers)
    }

    /// Notes a grant or an arrival of data.
    pub fn activity(&mut self, now: Nanos) {
        if let Some(batch) = &mut self.running {
            batch.first_activity.get_or_insert(now);
        }
    }

    /// For how long a running batch has delivered nothing; zero between batches.
    pub fn idle_for(&self, now: Nanos) -> Nanos {
        if self.running.is_some() { now - self.last_delivery } else { Nanos(0) }
    }

    /// Notes that a frame's data was delivered in order.
    pub fn delivered(&mut self, frame_octets: u64, now: Nanos) {
        self.last_delivery = now;
        if let Some(batch) = &mut self.running {
            batch.delivered_link_octets += link::on_the_link(frame_octets);
        }
    }

    /// Notes that a message's last octet arrived; true when that ends the batch.
    pub fn completed(&mut self, transfer: Transfer, now: Nanos) -> bool {
        let Some(batch) = &mut self.running else { return false };
        let shape = self.shapes[transfer.shape];
        let time = now - batch.start;
        let slowdown = time.0 as f64 / self.ideals[transfer.shape].0 as f64;
        self.completions.push(Completion { mode: shape.mode, time, slowdown });
        self.completed_octets += shape.size;
        if batch.all_sending && self.shapes.iter().all(|other| other.size <= shape.size) {
            batch.all_sending = false;
            self.steady.push((batch.start + Nanos((now - batch.start).0 / 2), now));
        }
        batch.open -= 1;
        if batch.open > 0 {
            return false;
        }
        let busy = now - batch.first_activity.unwrap_or(batch.start);
        let needed = self.bottleneck.serialisation(batch.delivered_link_octets);
        self.utilisations.push(needed.0 as f64 / busy.0.max(1) as f64);
        self.intervals.push((batch.start, now));
        self.running = None;
        true
    }

    /// When all senders were sending and had time to settle: the later half of each batch until its first message of the
    /// largest size completed.
    pub fn steady(&self) -> &[(Nanos, Nanos)] {
        &self.steady
    }

    /// (completed, planned) batches.
    pub fn progress(&self) -> (u64, u64) {
        (self.intervals.len() as u64, u64::from(self.planned))
    }

    /// Start and end of each completed batch, and of the one that `now` cuts off.
    pub fn intervals(&self, now: Nanos) -> Vec<(Nanos, Nanos)> {
        let cut = self.running.as_ref().map(|batch| (batch.start, now));
        self.intervals.iter().copied().chain(cut).collect()
    }

    /// Delivered octets over the link's capacity, the mean of the batches.
    pub fn utilisation(&self) -> f64 {
        if self.utilisations.is_empty() {
            return 0.0;
        }
        self.utilisations.iter().sum::<f64>() / self.utilisations.len() as f64
    }

    /// Payload octets of completed messages over the batches' durations, in Mbit/s.
    pub fn goodput_mbps(&self, now: Nanos) -> f64 {
        let time: u64 = self.intervals(now).iter().map(|&(from, to)| (to - from).0).sum();
        if time == 0 { 0.0 } else { self.completed_octets as f64 * 8000.0 / time as f64 }
    }

    /// The messages' figures.
    pub fn messages(&self) -> Messages {
        let times = sorted(self.completions.iter().map(|c| c.time.0 as f64 / 1000.0));
        let tail = |mode| {
            let slowdowns = sorted(self.completions.iter().filter(|c| c.mode == mode).map(|c| c.slowdown));
            Tail { p50: percentile(&slowdowns, 50.0), p99: percentile(&slowdowns, 99.0) }
        };
        Messages {
            sent: u64::from(self.planned) * (self.pairs * self.shapes.len()) as u64,
            completed: self.completions.len() as u64,
            fct_us: Quantiles {
                p50: percentile(&times, 50.0),
                p99: percentile(&times, 99.0),
                max: percentile(&times, 100.0),
            },
            slowdown: Slowdown { scheduled: tail(Mode::Scheduled), unscheduled: tail(Mode::Unscheduled) },
        }
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}
