//! The figures at the end.

use rdcc::receiver::ReceiverStats;
use rdcc::sender::SenderStats;
use serde::Serialize;
use serde::ser::SerializeMap as _;
use wire::units::Nanos;

use super::admission::AdmissionView;
use super::transport::TransportStats;
use super::workload::Progress;
use crate::driver::Traffic;

/// What a host did. Times in microseconds, rates in Mbit/s.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How long it ran.
    pub ran: f64,
    /// The messages it sent, at a sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
    /// The sender's counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<Counters>,
    /// The receiver's counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<Counters>,
    /// Byte-window admission in front of the sender's posts, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission: Option<AdmissionView>,
    /// The data transport's counters.
    pub transport: Counters,
    /// The sockets' counters.
    pub datagrams: Counters,
}

/// A sender's messages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Messages {
    /// Batches that began.
    pub batches: u32,
    /// Messages handed over.
    pub submitted: u64,
    /// Those that the receiver has.
    pub done: u64,
    /// Those that ended otherwise.
    pub aborted: u64,
    /// Those given back because the receiver doesn't answer; counted as aborted too.
    pub without_rdcc: u64,
    /// Octets of those done.
    pub octets: u64,
    /// From submission to `MSG_DONE`: half of the messages took no longer, 99 in a hundred, and all.
    pub completion: Quantiles,
    /// Octets done over the time that batches took.
    pub goodput: f64,
}

/// Quantiles of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

/// Named counters; each with what it counts, and whether it only grows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(pub Vec<Counter>);

/// A counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Its name.
    pub name: &'static str,
    /// What it counts.
    pub help: &'static str,
    /// Its value.
    pub value: u64,
    /// Whether it may also fall.
    pub gauge: bool,
}

impl Counters {
    /// The value of a counter; `None` if there is none of that name.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|counter| counter.name == name).map(|counter| counter.value)
    }
}

impl Serialize for Counters {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for counter in &self.0 {
            map.serialize_entry(counter.name, &counter.value)?;
        }
        map.end()
    }
}

pub(crate) const fn counter(name: &'static str, help: &'static str, value: u64) -> Counter {
    Counter { name, help, value, gauge: false }
}

pub(crate) const fn gauge(name: &'static str, help: &'static str, value: u64) -> Counter {
    Counter { name, help, value, gauge: true }
}

impl From<ReceiverStats> for Counters {
    fn from(stats: ReceiverStats) -> Self {
        Self(vec![
            gauge("budget", "G in octets", stats.budget),
            gauge("outstanding", "Octets granted or announced and not yet received", stats.outstanding),
            gauge("outstanding_peak", "The largest value of outstanding", stats.outstanding_peak),
            gauge("pacing_sum", "Sum of the Pacing Rates in force, Mbit/s", stats.pacing_sum),
            gauge("associations", "Associations", stats.associations),
            gauge("pending_messages", "Messages announced and not complete", stats.pending_messages),
            gauge("breaker_open", "1 while nobody may send unscheduled data", stats.breaker_open.into()),
            counter(
                "invariant_violations",
                "Times that a rule of the budget was broken",
                stats.invariant_violations,
            ),
            counter("credit_granted", "Octets of credit granted", stats.credit_granted),
            counter(
                "credit_reclaimed",
                "Octets of credit reclaimed from expired grants",
                stats.credit_reclaimed,
            ),
            counter("credit_returned", "Octets of credit returned", stats.credit_returned),
            counter("unscheduled_octets", "Octets announced as unscheduled", stats.unscheduled_octets),
            counter("unscheduled_expired", "Octets announced that never came", stats.unscheduled_expired),
            counter(
                "breaker_openings",
                "Times that unscheduled data was forbidden for its losses",
                stats.breaker_openings,
            ),
            counter("parameter_updates", "Parameter updates sent", stats.parameter_updates),
            counter("grants", "CREDIT_GRANTs sent", stats.grants),
            counter("refreshes", "Grants that only refreshed lifetime and rate", stats.refreshes),
            counter("pool_grants", "Grants for pools, refreshes included", stats.pool_grants),
            counter("reports_heard", "Congestion reports acted on", stats.reports_heard),
            counter("reports_ignored", "Congestion reports ignored", stats.reports_ignored),
            counter("ce_octets", "Octets marked Congestion Experienced", stats.ce_octets),
            counter("decreases", "Multiplicative decreases", stats.decreases),
            counter("messages_completed", "Messages completed", stats.messages_completed),
            counter("unmatched_octets", "Octets that belong to no announced message", stats.unmatched_octets),
            counter("excess_octets", "Octets beyond credit", stats.excess_octets),
            counter("datagrams_ignored", "Datagrams ignored", stats.datagrams_ignored),
        ])
    }
}

impl From<SenderStats> for Counters {
    fn from(stats: SenderStats) -> Self {
        Self(vec![
            counter(
                "invariant_violations",
                "Octets that would have gone without credit",
                stats.invariant_violations,
            ),
            counter("scheduled_octets", "Octets sent under credit", stats.scheduled_octets),
            counter("unscheduled_octets", "Octets sent without credit", stats.unscheduled_octets),
            counter("grants", "Grants acted on", stats.grants),
            counter("credit_received", "Octets of credit received", stats.credit_received),
            counter("credit_expired", "Octets of credit that ran out unused", stats.credit_expired),
            counter("credit_returned", "Octets of credit given back", stats.credit_returned),
            counter("requests", "CREDIT_REQUESTs sent", stats.requests),
            counter("reports_heard", "Congestion reports acted on", stats.reports_heard),
            counter("reports_ignored", "Congestion reports ignored", stats.reports_ignored),
            counter(
                "conversions",
                "Unscheduled messages converted by a report or a pause",
                stats.conversions,
            ),
            counter("status_sent", "SENDER_STATUS sent", stats.status_sent),
            counter("messages_done", "Messages done", stats.messages_done),
            counter("messages_aborted", "Messages aborted", stats.messages_aborted),
            counter("datagrams_ignored", "Datagrams ignored", stats.datagrams_ignored),
        ])
    }
}

impl From<TransportStats> for Counters {
    fn from(stats: TransportStats) -> Self {
        Self(vec![
            counter("data_packets", "Data packets sent for the first time", stats.data_packets),
            counter("retransmitted_packets", "Data packets sent again", stats.retransmitted_packets),
            counter("received_packets", "Data packets taken in", stats.received_packets),
            counter("received_octets", "Payload octets taken in", stats.received_octets),
            counter("marked_octets", "Octets of those marked Congestion Experienced", stats.marked_octets),
            counter(
                "refused_packets",
                "Packets malformed, of strangers, or with a wrong ICRC",
                stats.refused_packets,
            ),
            counter("cnps_sent", "CNPs sent", stats.cnps_sent),
            counter("cnps_received", "CNPs that came", stats.cnps_received),
        ])
    }
}

impl From<Traffic> for Counters {
    fn from(traffic: Traffic) -> Self {
        Self(vec![
            counter("received", "Datagrams that came", traffic.received),
            counter("sent", "Datagrams that the system took", traffic.sent),
            counter("refused", "Datagrams that the system refused", traffic.refused),
            counter("blocked", "Turns in which a socket took no more and nothing was read", traffic.blocked),
        ])
    }
}

impl Messages {
    pub(super) fn of(progress: &Progress) -> Self {
        let mut took: Vec<f64> = progress.took.iter().map(|&nanos| micros(nanos)).collect();
        took.sort_by(f64::total_cmp);
        let busy = progress.busy.0;
        Self {
            batches: progress.batches(),
            submitted: progress.submitted,
            done: took.len() as u64,
            aborted: progress.aborted,
            without_rdcc: progress.without_rdcc,
            octets: progress.octets_done,
            completion: Quantiles {
                p50: quantile(&took, 50),
                p99: quantile(&took, 99),
                max: quantile(&took, 100),
            },
            goodput: if busy == 0 { 0.0 } else { progress.octets_done as f64 * 8000.0 / busy as f64 },
        }
    }
}

/// Microseconds with their fraction.
pub(crate) fn micros(nanos: Nanos) -> f64 {
    nanos.0 as f64 / 1000.0
}

/// The smallest value that `percent` in a hundred don't exceed.
fn quantile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let sorted: Vec<f64> = (1..=200).map(f64::from).collect();
        let found = [50, 99, 100].map(|percent| quantile(&sorted, percent));
        assert!(found.iter().zip([100.0, 198.0, 200.0]).all(|(found, right)| (found - right).abs() < 0.1));
        assert!(quantile(&[], 50).abs() < 0.1);
    }
}
