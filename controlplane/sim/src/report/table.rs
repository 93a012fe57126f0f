//! The comparison as rows of text, shared by the terminal and the page.

use crate::summary::{Quantiles, Reports, Summary, Tail};

/// One column: its heading (lines separated by `\n`) and what it shows of a run.
pub struct Column {
    /// The heading.
    pub heading: &'static str,
    /// The cell of one run.
    pub cell: fn(&Summary) -> String,
}

/// The columns of the comparison, in order.
pub const COLUMNS: [Column; 10] = [
    Column { heading: "scheme", cell: |s| s.scheme.to_owned() },
    Column {
        heading: "messages\ncompleted",
        cell: |s| format!("{}/{}", s.messages.completed, s.messages.sent),
    },
    Column {
        heading: "completion, us\np50/p99/max",
        cell: |s| {
            let Quantiles { p50, p99, max } = s.messages.fct_us;
            [p50, p99, max].map(three_digits).join("/")
        },
    },
    Column { heading: "scheduled\nx ideal\np50/p99", cell: |s| ratio(&s.messages.slowdown.scheduled) },
    Column { heading: "unscheduled\nx ideal\np50/p99", cell: |s| ratio(&s.messages.slowdown.unscheduled) },
    Column { heading: "goodput\nGbit/s", cell: |s| format!("{:.1}", s.goodput_mbps / 1000.0) },
    Column { heading: "link\nin use", cell: |s| format!("{:.1} %", s.bottleneck.utilisation * 100.0) },
    Column {
        heading: "queue, octets\npeak/mean",
        cell: |s| {
            let mean = rounded(s.bottleneck.queue_mean_octets);
            format!("{}/{}", thousands(s.bottleneck.queue_peak_octets), thousands(mean))
        },
    },
    Column { heading: "drops", cell: |s| thousands(s.bottleneck.drops) },
    Column {
        heading: "reports to\nreceiver/sender",
        cell: |s| {
            let Reports { congestion_to_receiver, congestion_to_sender, .. } = s.reports;
            format!("{}/{}", thousands(congestion_to_receiver), thousands(congestion_to_sender))
        },
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
