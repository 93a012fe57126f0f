//! The figures of one run, as `crn sim --json` prints them.

use serde::Serialize;

/// One run's figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The scheme that ran, by its name in topology files.
    pub scheme: &'static str,
    /// The seed of every random choice.
    pub seed: u64,
    /// What became of the messages.
    pub messages: Messages,
    /// Payload octets of completed messages over the batches' durations, in Mbit/s.
    pub goodput_mbps: f64,
    /// The bottleneck queue that the topology names.
    pub bottleneck: Bottleneck,
    /// How fast the senders reacted to the first congestion there.
    pub reaction: Reaction,
    /// While all senders were sending and had had time to settle: the later half of each batch until its first message of
    /// the largest size completed.
    pub steady: Steady,
    /// Reports that the switches sent, read from their counters over P4Runtime.
    pub reports: Reports,
    /// What moved the windows of admission; all zero where none runs.
    pub heard: Heard,
    /// The receivers' credit accounting; all zero where RDCC doesn't run.
    pub rdcc: Rdcc,
    /// The repair channel; all zero where CREM doesn't run.
    pub crem: Crem,
    /// Packets that the bottleneck's link lost, and that transports sent again.
    pub path: PathLoss,
}

/// Messages sent and completed, and how long they took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Messages {
    /// Messages of the workload, whether or not a run that got stuck came to them.
    pub sent: u64,
    /// Messages whose last octet reached the receiver.
    pub completed: u64,
    /// Completion time from the batch's start, all messages, in microseconds.
    pub fct_us: Quantiles,
    /// Completion time as a multiple of the ideal.
    pub slowdown: Slowdown,
}

/// A distribution in three figures; `null` in JSON where nothing completed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

/// Slowdowns by transmission mode (RDCC, Transmission Mode Selection).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slowdown {
    /// Messages that wait for credit.
    pub scheduled: Tail,
    /// Messages that don't.
    pub unscheduled: Tail,
}

/// A median and a tail; `null` in JSON where nothing completed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tail {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
}

/// The bottleneck queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bottleneck {
    /// The largest occupancy, in octets.
    pub queue_peak_octets: u64,
    /// The time-weighted mean occupancy while batches ran, in octets.
    pub queue_mean_octets: f64,
    /// The queue's threshold `B_th`, in octets.
    pub b_th_octets: u64,
    /// Packets refused by admission or dropped at the tail.
    pub drops: u64,
    /// Octets delivered, headers included, over what the link could carry, averaged over the batches.
    pub utilisation: f64,
}

/// The first reaction to congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Reaction {
    /// From the first dequeue above `B_th` to the first sender whose rate fell below its link's, in microseconds; `null` where
    /// the queue stayed below or no sender has a rate.
    pub first_cut_us: Option<f64>,
    /// From the same dequeue to the first sender that took advice, as Rate Advice or as a signal returned, in microseconds;
    /// `null` where none did.
    pub first_advice_us: Option<f64>,
}

/// What senders settle at; `null` in JSON where no batch got so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Steady {
    /// The time-weighted mean occupancy of the bottleneck queue, in octets.
    pub queue_mean_octets: f64,
    /// Jain's index of what the pairs' receivers got.
    pub fairness: f64,
}

/// Congestion reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reports {
    /// `CONGESTION_REPORT`s about scheduled traffic.
    pub congestion_to_receiver: u64,
    /// `CONGESTION_REPORT`s about unscheduled traffic.
    pub congestion_to_sender: u64,
    /// Rate Advice (SCONE, Solution 1).
    pub rate_advice: u64,
    /// Reports held back by a flow's interval or a port's limit.
    pub suppressed: u64,
    /// How often `CONGESTION_REPORT`s began to come to a host: those with less than four base round trips between them are of one
    /// episode.
    pub episodes: u64,
    /// The largest Queue Depth that one of them told, in octets.
    pub deepest_octets: u64,
}

/// What moved windows of byte-window admission (`docs/admission.md`), over all hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Heard {
    /// `CONGESTION_REPORT`s that reached the sender.
    pub reports: u64,
    /// Rate Advice.
    pub advice: u64,
    /// CNPs.
    pub cnps: u64,
    /// `PATH_REPORT`s with cause congestion.
    pub path_reports: u64,
    /// Grants that gave a message a lower rate than before.
    pub grants: u64,
}

/// RDCC, Receiver Credit Budget.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rdcc {
    /// G of each receiver, in octets.
    pub budget_octets: u64,
    /// The most that was granted or announced and not yet received, at the worst receiver, in octets.
    pub outstanding_peak_octets: u64,
    /// How often a receiver's outstanding credit exceeded its budget, over all receivers.
    pub invariant_violations: u64,
}

/// CREM's functions, over all hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Crem {
    /// Blocks of packets that were protected.
    pub blocks: u64,
    /// Repair symbols sent without being asked for.
    pub ordinary: u64,
    /// Repair symbols and copies sent on request.
    pub requested: u64,
    /// Octets of repair messages over octets of the packets that they protect, payload included.
    pub repair_share: f64,
    /// Packets restored at receivers.
    pub restored: u64,
    /// Packets left to the transport.
    pub given_up: u64,
    /// The largest number of repair symbols that a block was configured to have.
    pub largest_m: u8,
    /// The largest loss rate that a sender estimated when a report had come.
    pub loss_estimate: f64,
    /// `PATH_REPORT`s that senders took.
    pub path_reports: u64,
}

/// Loss on links and what it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PathLoss {
    /// Packets that links lost, as `loss` of links and of the workload asks for.
    pub lost: u64,
    /// Packets that transports sent again.
    pub sent_again: u64,
}
