//! Bursts that nobody chose by hand: the documents' formulas say what must come out.

use super::bed::SLOW;
use super::{Bed, CONGESTION, Story, TO_RECEIVER, TO_SENDER};
use crate::case::{BURST_FRAMES, Case};
use crate::frames::{Data, Family, NO_ROLE, Report, SCHEDULED, UNSCHEDULED};

const FRAMES: usize = BURST_FRAMES;
const B_TH: u32 = 4000;
const Q_MAX: u32 = 16000;
const ECN_THRESHOLD: u32 = 6000;
/// More flows than a burst can have: 3 senders, 4 ports, 2 families.
const MOST_FLOWS: u32 = 24;
/// What the bed's `fair_share` divides, Mbit/s.
const SERVICE_RATE: u32 = 1000;

pub(super) fn cases() -> Vec<Case> {
    vec![burst("random_burst_one", 1), burst("random_burst_two", 2)]
}

/// A burst of sizes, roles, flows, families and ECN fields drawn from a seed.
fn burst(name: &str, seed: u64) -> Case {
    let mut draw = Draw(seed);
    let frames: Vec<Data> = (0..FRAMES).map(|_| draw.frame()).collect();
    let (admitted, refused) = admit(&frames);
    let flows = flows_of(&admitted);
    let mut story = Story::primed().send(1, &frames);
    let (mut to_receiver, mut to_sender, mut marked) = (0, 0, 0);
    let mut sequence = 0;
    let mut behind: u32 = admitted.iter().map(Data::charge).sum();
    for data in &admitted {
        behind -= data.charge();
        let marks = behind > ECN_THRESHOLD && (data.ecn == 1 || data.ecn == 2);
        marked += u64::from(marks);
        let ecn = if marks { 3 } else { data.ecn };
        story = story.expect(SLOW, Data { ecn, ..*data }.forwarded());
        if behind <= B_TH || data.dscp == NO_ROLE {
            continue;
        }
        sequence += 1;
        *if data.dscp == SCHEDULED { &mut to_receiver } else { &mut to_sender } += 1;
        let report = Report {
            about: *data,
            sequence,
            queue_depth: behind,
            threshold: B_TH,
            // RDCC, On-Path Congestion Reporting.
            degree: u8::try_from(255 * (behind - B_TH) / (Q_MAX - B_TH)).unwrap_or(u8::MAX),
            rate: SERVICE_RATE / flows,
        };
        story = story.expect(report.to().into(), report.frame());
    }
    let cells = [
        ("reports_sent", TO_RECEIVER, to_receiver),
        ("reports_sent", TO_SENDER, to_sender),
        ("ecn_marked", TO_RECEIVER, marked),
        ("drops", CONGESTION, refused),
    ];
    for (counter, index, packets) in cells.into_iter().filter(|(_, _, packets)| *packets > 0) {
        story = story.count(counter, index, packets);
    }
    story.end(
        name,
        "occupancy, admission, degree, suggested rate, direction and marking follow the formulas",
        &Bed {
            b_th: B_TH,
            q_max: Q_MAX,
            ecn_threshold: ECN_THRESHOLD,
            degrees: (1..=255).collect(),
            most_flows: MOST_FLOWS.into(),
            ..Bed::default()
        },
    )
}

/// What fits into the queue, in order, and how many frames don't.
fn admit(frames: &[Data]) -> (Vec<Data>, u64) {
    let (mut admitted, mut octets, mut refused) = (Vec::new(), 0, 0);
    for data in frames {
        if octets + data.charge() > Q_MAX {
            refused += 1;
        } else {
            octets += data.charge();
            admitted.push(*data);
        }
    }
    (admitted, refused)
}

/// Flows as the switch counts them: those that share a slot are one. The primer is of one more.
fn flows_of(admitted: &[Data]) -> u32 {
    let primer = Data::scheduled(64);
    let mut slots: Vec<u32> = admitted.iter().chain([&primer]).map(|data| data.flow_hash() & 0xfff).collect();
    slots.sort_unstable();
    slots.dedup();
    u32::try_from(slots.len()).unwrap_or(u32::MAX)
}

/// A small generator (splitmix64): the frames must be the same for ever.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ mixed >> 31) % limit
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        let place = usize::try_from(self.below(choices.len() as u64)).unwrap_or_default();
        choices[place]
    }

    fn frame(&mut self) -> Data {
        let octets = usize::try_from(62 + self.below(1300)).unwrap_or(62);
        Data {
            family: self.one_of(&[Family::V4, Family::V4, Family::V6]),
            src: self.one_of(&[1, 3, 4]),
            ports: (self.one_of(&[50000, 50001, 50002, 50003]), 4791),
            dscp: self.one_of(&[SCHEDULED, UNSCHEDULED, NO_ROLE]),
            ecn: self.one_of(&[0, 1, 2, 3]),
            mark: self.one_of(&[0, 0x55, 0xff]),
            ..Data::scheduled(octets)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A burst that fits, or that stays below the thresholds, would prove little.
    #[test]
    fn the_bursts_reach_every_rule() {
        for case in cases() {
            for (counter, index) in [
                ("reports_sent", TO_RECEIVER),
                ("reports_sent", TO_SENDER),
                ("ecn_marked", TO_RECEIVER),
                ("drops", CONGESTION),
            ] {
                let cell = (counter.to_owned(), index);
                assert!(case.expected.counters.contains_key(&cell), "{}: {cell:?}", case.name);
            }
        }
    }
}
