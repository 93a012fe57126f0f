//! VLAN-tagged frames: the tag stays, its four octets are charged, reports carry it.

use super::bed::SLOW;
use super::reports::{six_degrees, six_to_sender};
use super::{ADVICE, Bed, CONGESTION, PATH, Story};
use crate::case::Case;
use crate::entries;
use crate::frames::{Advice, Data, PathReport};

pub(super) fn cases() -> Vec<Case> {
    vec![congestion(), admission(), signal()]
}

/// Priority 3, eligible to be dropped, VLAN 7.
const TAG: Option<u16> = Some(3 << 13 | 1 << 12 | 7);

fn congestion() -> Case {
    six_to_sender(Data { vlan: TAG, ..Data::unscheduled(200) }, 1000).end(
        "vlan_congestion_report",
        "a tagged frame's octets count with their tag, and its report has that VLAN's tag with a control priority",
        &Bed::with(&six_degrees(), Vec::new()),
    )
}

/// `Q_max` 200: a tagged frame of 200 octets fits, one of 201 doesn't, and is reported; another source's passing frame is advised
/// by policy.
fn admission() -> Case {
    let tagged = |octets| Data { vlan: TAG, ..Data::roce(octets, 7, 1) };
    let six = Data { dst: 4, ..tagged(200).v6() };
    let more = vec![
        entries::path_report(0),
        entries::rate_advice(0, 0),
        entries::source_rate(0, (0xfd00 << 112, 16), 9),
    ];
    Story::new()
        .send(1, &[tagged(201)])
        .expect(1, PathReport::first(tagged(201), 1).frame())
        .settle()
        .send(1, &[tagged(200)])
        .expect(SLOW, tagged(200).forwarded())
        .settle()
        .send(1, &[six])
        .expect(4, six.forwarded())
        .expect(1, Advice { about: six, rate: 9 }.frame())
        .count("drops", CONGESTION, 1)
        .count("reports_sent", PATH, 1)
        .count("reports_sent", ADVICE + (2 << 3), 1)
        .end(
            "vlan_admission",
            "a tag is charged at admission; PATH_REPORT and Rate Advice carry it",
            &Bed { b_th: 100, q_max: 200, more, ..Bed::default() },
        )
}

fn signal() -> Case {
    let data = |rate| Data { vlan: TAG, dst: 4, ecn: 2, ..Data::roce(100, 7, 1) }.rate(rate);
    let more = vec![entries::rate_signal(0xab, 0), entries::qp_rate(entries::mapped([10, 0, 0, 4]), 7, 500)];
    Story::new().send(1, &[data(0)]).expect(4, data(500).forwarded()).count("rate_signals", 4 << 3, 1).end(
        "vlan_rate_signal",
        "a Rate Signal behind a tag is rewritten too",
        &Bed::with(&[], more),
    )
}
