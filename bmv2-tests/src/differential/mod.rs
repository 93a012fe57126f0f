//! The same random entries and packets through `simple_switch_grpc` and through softswitch, outputs compared octet for
//! octet.
//!
//! Nothing here knows what a program should do: BMv2 decides. One packet is in flight at a time, so that clocks and depths
//! can't differ; only [`plan::Load::Bursts`] sends several at once, behind a queue that has just been served, so that each
//! one's depth is known. What is drawn follows from a seed: [`recording`] keeps digests of what BMv2 let out, for machines
//! without it.

pub mod draw;
pub mod live;
pub mod plan;
pub mod recording;
pub mod soft;

use std::collections::BTreeMap;

/// What left the switch after one round, by port, in order.
pub type Outputs = BTreeMap<u16, Vec<Vec<u8>>>;

/// Frames that enter through a port, one right behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Port.
    pub port: u16,
    /// The frames.
    pub frames: Vec<Vec<u8>>,
}

/// Says in hexadecimal how two outputs of a round differ.
#[must_use]
pub fn difference(place: usize, round: &Round, bmv2: &Outputs, soft: &Outputs) -> Option<String> {
    if bmv2 == soft {
        return None;
    }
    let said = |outputs: &Outputs| {
        let lines: Vec<String> = outputs
            .iter()
            .flat_map(|(port, frames)| frames.iter().map(move |frame| format!("{port} {}", hex(frame))))
            .collect();
        if lines.is_empty() { "nothing".to_owned() } else { lines.join("\n    ") }
    };
    let sent: Vec<String> =
        round.frames.iter().map(|frame| format!("{} {}", round.port, hex(frame))).collect();
    Some(format!(
        "round {place}, in:\n    {}\n  BMv2:\n    {}\n  softswitch:\n    {}",
        sent.join("\n    "),
        said(bmv2),
        said(soft)
    ))
}

fn hex(octets: &[u8]) -> String {
    use std::fmt::Write as _;
    octets.iter().fold(String::new(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}
