//! The comparison as rows of text, shared by the terminal and the page.

use crate::run::Outcome;
use crate::summary::{Quantiles, Reports, Summary, Tail};

/// One column: its heading (lines separated by `\n`) and what it shows of a run.
pub struct Column {
    /// The heading.
    pub heading: &'static str,
    /// The cell of one run.
    pub cell: fn(&Summary) -> String,
    /// Whether the comparison has anything to show here.
    shown: fn(&[Outcome]) -> bool,
}

fn always(_: &[Outcome]) -> bool {
    true
}

/// Rates that congestion cut: a comparison of DCQCN's schemes. Its reports are Rate Advice.
fn rates(outcomes: &[Outcome]) -> bool {
    outcomes.iter().any(|o| o.summary.reaction.first_cut_us.is_some())
}

/// Packets that get lost on the way, or that CREM restores.
fn repair(outcomes: &[Outcome]) -> bool {
    outcomes.iter().any(|o| o.summary.path.lost + o.summary.crem.blocks > 0)
}

/// The columns of a comparison, in order.
pub fn columns(outcomes: &[Outcome]) -> Vec<&'static Column> {
    COLUMNS.iter().filter(|column| (column.shown)(outcomes)).collect()
}

static COLUMNS: [Column; 15] = [
    Column { heading: "scheme", cell: |s| s.scheme.to_owned(), shown: always },
    Column {
        heading: "messages\ncompleted",
        cell: |s| format!("{}/{}", s.messages.completed, s.messages.sent),
        shown: always,
    },
    Column {
        heading: "completion, us\np50/p99/max",
        cell: |s| {
            let Quantiles { p50, p99, max } = s.messages.fct_us;
            [p50, p99, max].map(three_digits).join("/")
        },
        shown: always,
    },
    Column {
        heading: "scheduled\nx ideal\np50/p99",
        cell: |s| ratio(&s.messages.slowdown.scheduled),
        shown: always,
    },
    Column {
        heading: "unscheduled\nx ideal\np50/p99",
        cell: |s| ratio(&s.messages.slowdown.unscheduled),
        shown: |outcomes| outcomes.iter().any(|o| !o.summary.messages.slowdown.unscheduled.p50.is_nan()),
    },
    Column { heading: "goodput\nGbit/s", cell: |s| format!("{:.1}", s.goodput_mbps / 1000.0), shown: always },
    Column {
        heading: "link\nin use",
        cell: |s| format!("{:.1} %", s.bottleneck.utilisation * 100.0),
        shown: always,
    },
    Column {
        heading: "queue, octets\npeak/mean",
        cell: |s| {
            let mean = rounded(s.bottleneck.queue_mean_octets);
            format!("{}/{}", thousands(s.bottleneck.queue_peak_octets), thousands(mean))
        },
        shown: always,
    },
    Column {
        heading: "settled queue\n/fairness",
        cell: |s| {
            let mean = s.steady.queue_mean_octets;
            format!("{}/{:.2}", known(mean, thousands(rounded(mean))), s.steady.fairness)
        },
        shown: rates,
    },
    Column { heading: "drops", cell: |s| thousands(s.bottleneck.drops), shown: always },
    Column {
        heading: "lost on the link\n/sent again",
        cell: |s| format!("{}/{}", thousands(s.path.lost), thousands(s.path.sent_again)),
        shown: repair,
    },
    Column {
        heading: "restored\n/largest m",
        cell: |s| format!("{}/{}", thousands(s.crem.restored), s.crem.largest_m),
        shown: repair,
    },
    Column {
        heading: "first cut/\nadvice, us",
        cell: |s| {
            let micros = |us: Option<f64>| us.map_or_else(|| "-".to_owned(), |us| format!("{us:.1}"));
            format!("{}/{}", micros(s.reaction.first_cut_us), micros(s.reaction.first_advice_us))
        },
        shown: rates,
    },
    Column { heading: "rate\nadvice", cell: |s| thousands(s.reports.rate_advice), shown: rates },
    Column {
        heading: "reports to\nreceiver/sender",
        cell: |s| {
            let Reports { congestion_to_receiver, congestion_to_sender, .. } = s.reports;
            format!("{}/{}", thousands(congestion_to_receiver), thousands(congestion_to_sender))
        },
        shown: |outcomes| !rates(outcomes),
    },
];

fn ratio(tail: &Tail) -> String {
    [tail.p50, tail.p99].map(|value| known(value, format!("{value:.2}"))).join("/")
}

/// A figure, or a dash where nothing completed that it could be of.
fn known(value: f64, text: String) -> String {
    if value.is_nan() { "-".to_owned() } else { text }
}

/// Microseconds with as many decimals as say something beside the digits before them.
fn three_digits(micros: f64) -> String {
    let decimals = usize::from(micros < 100.0);
    known(micros, format!("{micros:.decimals$}"))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a mean of octets: positive, far below 2^53"
)]
fn rounded(value: f64) -> u64 {
    value.round() as u64
}

/// `1234567` as `1,234,567`.
pub fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn digits_are_grouped_in_threes() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(value), text);
        }
    }
}
