//! The Rate Signal in passing packets (SCONE, Solution 2).

use super::bed::SLOW;
use super::reports::six_degrees;
use super::{Bed, Story, cell};
use crate::case::Case;
use crate::entries::{self, mapped};
use crate::frames::{CONTROL, Data, Roce, Signal, Sum, host_address, host_address_6};
use crate::setup::Entry;

pub(super) fn cases() -> Vec<Case> {
    vec![by_policy(), left_alone(), congested(), smaller_of_both(), floor()]
}

const KIND: u8 = 0xab;
const QP: u32 = 0x21;
/// `rate_signals` of port 4's data queue.
const FAST: u64 = cell(0, 4, 0);
/// `rate_signals` of port 2's data queue.
const SLOWLY: u64 = cell(0, 2, 0);

/// 25,000 Mbit/s to one queue pair of host 4, in both families.
fn policies() -> Vec<Entry> {
    vec![
        entries::rate_signal(KIND, 0),
        entries::qp_rate(mapped(host_address(4)), QP, 25_000),
        entries::qp_rate(host_address_6(4), QP, 25_000),
    ]
}

fn to_four() -> Data {
    Data { dst: 4, ..Data::roce(100, QP, 1) }
}

//~ SCONE, Rate Policy Based on Network Element Configuration: ac16ce65
/// 0 is set, more is lowered; the same and less stay. The UDP checksum follows where there is one; the ICRC, which takes
/// the rate as ones, stays right.
fn by_policy() -> Case {
    let data = to_four();
    let cases =
        [(0, 25_000), (30_000, 25_000), (u32::MAX, 25_000), (25_000, 25_000), (24_999, 24_999), (1, 1)];
    let none = Data { sum: Sum::Zero, ..data };
    let mut story = Story::new();
    for plain in [data, none, data.v6()] {
        let sent = cases.map(|(rate, _)| plain.rate(rate));
        let seen = cases.map(|(_, rate)| plain.rate(rate));
        story = story.send(1, &sent).expect_forwarded(4, &seen).settle();
    }
    story.count("rate_signals", FAST, 9).end(
        "rate_signal_by_policy",
        "a Rate Signal is set or lowered to the queue pair's policy and never raised; checksums hold",
        &Bed::with(&[], policies()),
    )
}

/// No policy for the queue pair, no extension, another type, length or version, no data, the control role.
fn left_alone() -> Case {
    let data = to_four().rate(30_000);
    let signal = |change: fn(Signal) -> Signal| {
        let changed = |roce: Roce| Roce { signal: roce.signal.map(change), ..roce };
        Data { roce: data.roce.map(changed), ..data }
    };
    let mut sent = vec![
        Data { roce: data.roce.map(|roce| Roce { qp: QP + 1, ..roce }), ..data },
        to_four(),
        signal(|signal| Signal { kind: KIND + 1, ..signal }),
        signal(|signal| Signal { length: 14, ..signal }),
        signal(|signal| Signal { version: 2, ..signal }),
    ];
    sent.extend([0x11, 0x12, 0x51, 0x52, 0xb1, 0xb2, 0x81].map(|opcode| data.opcode(opcode)));
    let control = Data { dscp: CONTROL, ..data };
    let story = Story::new().send(1, &sent).expect_forwarded(4, &sent).settle();
    story.send(1, &[control]).expect(4, control.forwarded()).end(
        "rate_signal_left_alone",
        "only the domain's Rate Signals in data packets are rewritten, and only where there is a rate",
        &Bed::with(&[], policies()),
    )
}

//~ SCONE, Calculation Based on Egress Bandwidth Congestion Status: 9cf0fad8
/// One flow, 1000 Mbit/s x (1 - degree / 510): 950 (25), 970 (15), 990 (5); then the queue is below `B_th`.
fn congested() -> Case {
    let data = |rate| Data::roce(200, QP, 1).rate(rate);
    Story::primed()
        .send(1, &[data(0), data(2000), data(980), data(2000), data(0), data(3)])
        .expect_forwarded(SLOW, &[data(950), data(970), data(980), data(2000), data(0), data(3)])
        .count("rate_signals", SLOWLY, 2)
        .end(
            "rate_signal_congested",
            "in a congested queue a Rate Signal is lowered to the flow's share, less the more it is congested",
            &Bed::with(&six_degrees(), vec![entries::rate_signal(KIND, 0)]),
        )
}

/// The queue pair's 960 against shares of 950, 970, 990 and none.
fn smaller_of_both() -> Case {
    let data = |rate| Data::roce(200, QP, 1).rate(rate);
    let more = vec![entries::rate_signal(KIND, 0), entries::qp_rate(mapped(host_address(2)), QP, 960)];
    Story::primed()
        .send(1, &[data(0), data(2000), data(0), data(2000), data(0), data(959)])
        .expect_forwarded(SLOW, &[data(950), data(960), data(960), data(960), data(960), data(959)])
        .count("rate_signals", SLOWLY, 5)
        .end(
            "rate_signal_smaller_of_both",
            "policy and share: the smaller one counts",
            &Bed::with(&six_degrees(), more),
        )
}

/// 400 and 200 octets behind, 100 of them `B_th`: degrees 75 and 25 of 1,020 octets, shares of 852 and 950, a floor of 960.
fn floor() -> Case {
    let data = |rate| Data::roce(200, QP, 1).rate(rate);
    Story::primed()
        .send(1, &[data(0), data(0), data(0)])
        .expect_forwarded(SLOW, &[data(960), data(960), data(0)])
        .count("rate_signals", SLOWLY, 2)
        .end(
            "rate_signal_floor",
            "no queue sets less than the floor",
            &Bed { b_th: 100, q_max: 1120, ..Bed::with(&[75, 25], vec![entries::rate_signal(KIND, 960)]) },
        )
}
