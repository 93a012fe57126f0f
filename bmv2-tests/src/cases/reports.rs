//! What a report says, and to whom (RDCC, On-Path Congestion Reporting).

use super::bed::SLOW;
use super::{Bed, Story, TO_RECEIVER, TO_SENDER};
use crate::case::Case;
use crate::frames::{Data, Report};

pub(super) fn cases() -> Vec<Case> {
    vec![to_receiver(), to_sender(), degree()]
}

/// The report about one of the default bed's frames: only flow of its queue, hence the whole rate is suggested.
pub(super) fn report(about: Data, sequence: u32, queue_depth: u32, threshold: u32, degree: u8) -> Vec<u8> {
    Report { about, sequence, queue_depth, threshold, degree, rate: 1000 }.frame()
}

/// Six frames of 200 octets leave 1000, 800, 600, 400, 200 and 0 behind; `B_th` is 500, a degree is 20 octets.
/// Reports go through the control queue of the same port: each is out before the next data frame.
fn to_receiver() -> Case {
    let data = Data::scheduled(200);
    Story::primed()
        .send(1, &[data; 6])
        .expect(SLOW, data.forwarded())
        .expect(SLOW, report(data, 1, 1000, 500, 25))
        .expect(SLOW, data.forwarded())
        .expect(SLOW, report(data, 2, 800, 500, 15))
        .expect(SLOW, data.forwarded())
        .expect(SLOW, report(data, 3, 600, 500, 5))
        .expect_forwarded(SLOW, &[data; 3])
        .count("reports_sent", TO_RECEIVER, 3)
        .end(
            "report_to_receiver",
            "scheduled data above B_th is reported to its receiver, every octet right",
            &Bed { degrees: vec![25, 15, 5], ..Bed::default() },
        )
}

/// As [`to_receiver`], but the reports turn back to port 1.
fn to_sender() -> Case {
    let data = Data::unscheduled(200);
    Story::primed()
        .send(1, &[data; 6])
        .expect_forwarded(SLOW, &[data; 6])
        .expect(1, report(data, 1, 1000, 500, 25))
        .expect(1, report(data, 2, 800, 500, 15))
        .expect(1, report(data, 3, 600, 500, 5))
        .count("reports_sent", TO_SENDER, 3)
        .end(
            "report_to_sender",
            "unscheduled data above B_th is reported to its sender, every octet right",
            &Bed { degrees: vec![25, 15, 5], ..Bed::default() },
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
