//! What a report says, and to whom (RDCC, On-Path Congestion Reporting).

use super::bed::SLOW;
use super::{Bed, Story, TO_RECEIVER, TO_SENDER, cell};
use crate::case::{Case, RATE_PPS};
use crate::entries;
use crate::frames::{Data, Report, renew_ip_checksum};

pub(super) fn cases() -> Vec<Case> {
    vec![to_receiver(), to_sender(), degree(), sequences(), checksum_of_zero(), reserved_flag()]
}

/// The report about one of the default bed's frames: only flow of its queue, hence the whole rate is suggested.
pub(super) fn report(about: Data, sequence: u32, queue_depth: u32, threshold: u32, degree: u8) -> Vec<u8> {
    Report { about, sequence, queue_depth, threshold, degree, rate: 1000 }.frame()
}

/// Reports in a row about frames of one flow that leave so many octets behind, with the degrees; `B_th` is 500.
pub(super) fn series(about: Data, rate: u32, seen: &[(u32, u8)]) -> Vec<Vec<u8>> {
    seen.iter()
        .zip(1..)
        .map(|(&(queue_depth, degree), sequence)| {
            Report { about, sequence, queue_depth, threshold: 500, degree, rate }.frame()
        })
        .collect()
}

/// Six frames of 200 octets leave 1000, 800, 600, 400, 200 and 0 behind; `B_th` is 500, a degree is 20 octets.
pub(super) const SIX: [(u32, u8); 3] = [(1000, 25), (800, 15), (600, 5)];

/// The degrees of [`SIX`].
pub(super) fn six_degrees() -> Vec<u8> {
    SIX.map(|(_, degree)| degree).into()
}

/// Six frames, and their reports to the receiver. Those go through the control queue of the same port: each is out
/// before the next data frame.
pub(super) fn six_to_receiver(data: Data, rate: u32) -> Story {
    let mut story = Story::primed().send(1, &[data; 6]);
    for report in series(data, rate, &SIX) {
        story = story.expect(SLOW, data.forwarded()).expect(SLOW, report);
    }
    story.expect_forwarded(SLOW, &[data; 3]).count("reports_sent", TO_RECEIVER, 3)
}

/// Six frames; their reports turn back to port 1.
pub(super) fn six_to_sender(data: Data, rate: u32) -> Story {
    Story::primed()
        .send(1, &[data; 6])
        .expect_forwarded(SLOW, &[data; 6])
        .expect_all(1, series(data, rate, &SIX))
        .count("reports_sent", TO_SENDER, 3)
}

fn to_receiver() -> Case {
    six_to_receiver(Data::scheduled(200), 1000).end(
        "report_to_receiver",
        "scheduled data above B_th is reported to its receiver, every octet right",
        &Bed::with(&six_degrees(), Vec::new()),
    )
}

fn to_sender() -> Case {
    six_to_sender(Data::unscheduled(200), 1000).end(
        "report_to_sender",
        "unscheduled data above B_th is reported to its sender, every octet right",
        &Bed::with(&six_degrees(), Vec::new()),
    )
}

/// 2,550 octets between the thresholds, 10 a degree, all 255 entries. The frames fill the queue to `Q_max` exactly and
/// leave 2586, 1686, 786, 186, 64 and 0 octets behind.
fn degree() -> Case {
    let data = [64, 900, 900, 600, 122, 64].map(Data::unscheduled);
    Story::primed()
        .send(1, &data)
        .expect_forwarded(SLOW, &data)
        .expect(1, report(data[0], 1, 2586, 100, 248))
        .expect(1, report(data[1], 2, 1686, 100, 158))
        .expect(1, report(data[2], 3, 786, 100, 68))
        .expect(1, report(data[3], 4, 186, 100, 8))
        .count("reports_sent", TO_SENDER, 4)
        .end(
            "degree_by_the_formula",
            "degree is floor(255 (Q - B_th) / (Q_max - B_th))",
            &Bed { b_th: 100, q_max: 2650, degrees: (1..=255).collect(), ..Bed::default() },
        )
}

/// Five frames through port 2, then five through port 3, after a primer of that port: 800 and 600 behind the first two
/// of each. Reports turn back to port 1 from both.
fn sequences() -> Case {
    let two = Data::unscheduled(200);
    let three = Data { dst: 3, ..two };
    let primer = Data { dst: 3, dscp: 0, ..Data::scheduled(64) };
    let seen = [(800, 15), (600, 5)];
    let queue = entries::profile(3, 0, [super::bed::PROFILE, 500, 5600, 0, 1000]);
    Story::primed()
        .send(1, &[two; 5])
        .expect_forwarded(SLOW, &[two; 5])
        .expect_all(1, series(two, 1000, &seen))
        .settle()
        .send(1, &[primer])
        .expect(3, primer.forwarded())
        .settle()
        .send(1, &[three; 5])
        .expect_forwarded(3, &[three; 5])
        .expect_all(1, series(three, 1000, &seen))
        .count("reports_sent", TO_SENDER, 2)
        .count("reports_sent", cell(1, 3, 0), 2)
        .end(
            "one_sequence_per_port",
            "the reports about each port are numbered from 1 by themselves",
            &Bed { rates: vec![(3, RATE_PPS)], ..Bed::with(&[15, 5], vec![queue]) },
        )
}

/// Ports whose report would have the UDP checksum 0.
const ZERO_SUM_PORTS: (u16, u16) = (55307, 4790);

fn zero_sum() -> Data {
    Data { ports: ZERO_SUM_PORTS, ..Data::unscheduled(200) }
}

/// The flow is another one than the primer's: half the rate each.
fn checksum_of_zero() -> Case {
    let data = zero_sum();
    Story::primed()
        .send(1, &[data; 6])
        .expect_forwarded(SLOW, &[data; 6])
        .expect_all(1, series(data, 500, &SIX))
        .count("reports_sent", TO_SENDER, 3)
        .end(
            "report_checksum_of_zero",
            "a report whose UDP checksum would be 0 is sent with all ones",
            &Bed::with(&six_degrees(), Vec::new()),
        )
}

/// A data frame whose reserved flag is set, and which may be fragmented: its report is an atomic datagram.
fn reserved_flag() -> Case {
    let data = Data::unscheduled(200);
    let flagged = |mut frame: Vec<u8>| {
        frame[20] |= 0x80;
        renew_ip_checksum(&mut frame);
        frame
    };
    Story::primed()
        .send_octets(1, vec![flagged(data.sent()); 6])
        .expect_all(SLOW, vec![flagged(data.forwarded()); 6])
        .expect_all(1, series(data, 1000, &SIX))
        .count("reports_sent", TO_SENDER, 3)
        .end(
            "report_without_reserved_flag",
            "a report's IPv4 flags are its own, not those of the data",
            &Bed::with(&six_degrees(), Vec::new()),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_report_would_have_the_checksum_0() {
        let frame = &series(zero_sum(), 500, &SIX)[0];
        assert_eq!(frame[40..42], [0xff, 0xff]);
    }
}
