//! The degree at the edges of its ranges, from both sides. Every edge of eight profiles, which no burst can reach, stands in
//! `tests/tables`.

use super::bed::SLOW;
use super::{Bed, Story, TO_SENDER};
use crate::case::{BURST_FRAMES, Case};
use crate::frames::{Data, Report};

pub(super) fn cases() -> Vec<Case> {
    vec![
        edges("degree_edges_of_64_octets", 500, 255 * 64, 1),
        edges("degree_edges_of_an_odd_span", 777, 10_007, 0),
        edges("degree_edges_of_a_large_queue", 0, 65_537, 1),
    ]
}

/// A burst whose frames leave behind, in turn, the least octets that have a degree and one octet less than that.
fn edges(name: &str, b_th: u32, span: u32, first: u32) -> Case {
    // RDCC, On-Path Congestion Reporting: floor(255 (Q - B_th) / (Q_max - B_th)).
    let least = |degree: u32| (degree * span).div_ceil(255);
    let depths: Vec<u32> = (0..26).map(|step| b_th + least(250 - 9 * step) - (step + first) % 2).collect();
    let mut behind = depths.clone();
    behind.extend([b_th + 1, b_th, 0]);
    behind.retain(|depth| *depth == 0 || *depth >= 64);
    behind.dedup();
    // A frame is what it takes to get from one depth to the next; shorter ones cost 64.
    let mut kept: Vec<u32> = Vec::new();
    for depth in behind {
        if kept.last().is_none_or(|last| last - depth >= 64) {
            kept.push(depth);
        }
    }
    let sizes = std::iter::once(64).chain(kept.windows(2).map(|pair| pair[0] - pair[1]));
    let frames: Vec<Data> =
        sizes.map(|octets| Data::unscheduled(usize::try_from(octets).unwrap_or_default())).collect();
    assert!(frames.len() <= BURST_FRAMES, "{name}");
    let mut story = Story::primed().send(1, &frames).expect_forwarded(SLOW, &frames);
    let mut sequence = 0;
    for (&about, &queue_depth) in frames.iter().zip(&kept) {
        if queue_depth <= b_th {
            continue;
        }
        sequence += 1;
        let degree = u8::try_from(255 * (queue_depth - b_th) / span).unwrap_or(u8::MAX);
        let report = Report { about, sequence, queue_depth, threshold: b_th, degree, rate: 1000 };
        story = story.expect(1, report.frame());
    }
    story.count("reports_sent", TO_SENDER, sequence.into()).end(
        name,
        "a degree begins at the least octets that the formula gives it, and not one octet before",
        &Bed { b_th, q_max: b_th + span, degrees: (1..=255).collect(), ..Bed::default() },
    )
}
