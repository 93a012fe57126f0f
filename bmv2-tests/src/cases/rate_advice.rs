//! Rate Advice to sources (SCONE, Solution 1).

use super::bed::{PRIMER, PROFILE, SLOW};
use super::reports::{report, six_degrees};
use super::{
    ADVICE, Bed, FLOW_INTERVAL, FOR_EVER, PORT_LIMIT, SOURCE_INTERVAL, SOURCE_INVALID, Story, TO_SENDER, cell,
};
use crate::case::Case;
use crate::entries::{self, mapped};
use crate::frames::{Advice, CONTROL, Data, UNSCHEDULED, host_address, host_address_6};
use crate::setup::Entry;

pub(super) fn cases() -> Vec<Case> {
    vec![
        by_policy(),
        by_class(),
        congested(),
        nothing_known(),
        beside_signal(),
        with_policy(),
        floor(),
        deferred(),
        only_data(),
        limits(),
    ]
}

/// Port 2's data queue in counters that have no other part.
const SLOW_DATA: u64 = 2 << 3;
/// Every source.
const ALL: (u128, i32) = (0, 0);

fn source(host: u8) -> (u128, i32) {
    (mapped(host_address(host)), 128)
}

fn advice(about: Data, rate: u32) -> Vec<u8> {
    Advice { about, rate }.frame()
}

//~ SCONE, UDP Encapsulation: 9e755c4f 8be0094c 4d207520 c504e26a
//~ SCONE, Acquisition of Advised Rate: 797344dd
//~ SCONE, Rate Policy Based on Network Element Configuration: ac16ce65
/// Policies alone, nothing congested: the longest prefix decides, the floor doesn't bind it. A source is told once,
/// whatever its queue pairs.
fn by_policy() -> Case {
    let one = Data { dst: 4, ..Data::roce(100, 5, 1) };
    let other_pair = Data { ports: (50001, 4791), ..Data { dst: 4, ..Data::roce(100, 6, 1) } };
    let three = Data { src: 3, ..one };
    let more = vec![
        entries::rate_advice(FOR_EVER, 100),
        entries::source_rate(0, source(1), 40_000),
        entries::source_rate(0, ALL, 5),
        entries::source_rate(0, (host_address_6(0), 64), 70_000),
    ];
    Story::new()
        .send(1, &[one, other_pair, one, three, one.v6()])
        .expect_forwarded(4, &[one, other_pair, one, three, one.v6()])
        .expect(1, advice(one, 40_000))
        .expect(3, advice(three, 5))
        .expect(1, advice(one.v6(), 70_000))
        .count("reports_sent", cell(3, 4, 0), 3)
        .end(
            "rate_advice_by_policy",
            "a source that a policy limits is told its rate, once per interval, and the data goes on",
            &Bed::with(&[], more),
        )
}

/// DSCP 30 is class 3. The interval is the source's, whatever the class.
fn by_class() -> Case {
    let class_0 = Data { dst: 4, ..Data::roce(100, 5, 1) };
    let class_3 = Data { dscp: 30, ..class_0 };
    let more = vec![
        entries::class(30, [3, 0, 0]),
        entries::rate_advice(0, 100),
        entries::source_rate(0, source(1), 40_000),
        entries::source_rate(3, source(1), 777),
    ];
    Story::new()
        .send(1, &[class_3])
        .expect(4, class_3.forwarded())
        .expect(1, advice(class_3, 777))
        .settle()
        .send(1, &[class_0])
        .expect(4, class_0.forwarded())
        .expect(1, advice(class_0, 40_000))
        .count("reports_sent", cell(3, 4, 0), 2)
        .end(
            "rate_advice_by_class",
            "each traffic class has policies of its own; the next interval's packet is advised again",
            &Bed::with(&[], more),
        )
}

//~ SCONE, Calculation Based on Egress Bandwidth Congestion Status: fd589a17 e1266f1e
/// Two sources, one of them IPv6: 1000 Mbit/s / 2 x (1 - degree / 510) = 475 (25), 485 (15), and 500 octets of excess
/// nobody hears of: the third packet is of the first source again.
fn congested() -> Case {
    let one = Data::roce(200, 5, 1);
    let three = Data { src: 3, ..one }.v6();
    Story::primed()
        .send(1, &[one, three, one, three, one, three])
        .expect_forwarded(SLOW, &[one, three, one, three, one, three])
        .expect(1, advice(one, 475))
        .expect(3, advice(three, 485))
        .count("reports_sent", ADVICE, 2)
        .count("reports_suppressed", SOURCE_INTERVAL, 1)
        .end(
            "rate_advice_congested",
            "a congested queue advises each source its share, less the more it is congested",
            &Bed::with(&six_degrees(), vec![entries::rate_advice(FOR_EVER, 0)]),
        )
}

/// Without shares and without a policy there is nothing to advise: the first burst neither starts the source's interval nor
/// takes what the port's limit leaves, which is one report. With shares the second burst's first packet is advised.
fn nothing_known() -> Case {
    let data = Data::roce(200, 5, 1);
    let more = vec![entries::rate_advice(FOR_EVER, 0), entries::report_meter(SLOW, 0, 1)];
    Story::primed()
        .send(1, &[data; 6])
        .expect_forwarded(SLOW, &[data; 6])
        .write(vec![entries::share(PROFILE, 1, 1000)])
        .send(1, &[PRIMER])
        .expect_forwarded(SLOW, &[PRIMER])
        .settle()
        .send(1, &[data; 6])
        .expect_forwarded(SLOW, &[data; 6])
        .expect(1, advice(data, 950))
        .count("reports_sent", ADVICE, 1)
        .count("reports_suppressed", SOURCE_INTERVAL, 2)
        .end(
            "rate_advice_without_a_rate",
            "where neither a share nor a policy is known, no interval starts and no limit is used up",
            &Bed { most_flows: 0, ..Bed::with(&six_degrees(), more) },
        )
}

/// One source, two flows beside the primer's, which is the first of them: a flow's share is 500, the source's 1000. The first
/// packet's Rate Signal says 500 x (1 - 25/510) = 475, the advice made from it 1000 x (1 - 25/510) = 950.
fn beside_signal() -> Case {
    let one = Data::roce(200, 5, 1).rate(0);
    let two = Data { ports: (50001, 4791), ..one };
    let said = |data: Data, rate| data.rate(rate);
    let more = vec![entries::rate_advice(FOR_EVER, 0), entries::rate_signal(0xab, 0)];
    Story::primed()
        .send(1, &[one, two, one, two, one, two])
        .expect_forwarded(SLOW, &[said(one, 475), said(two, 485), said(one, 495), two, one, two])
        .expect(1, advice(one, 950))
        .count("reports_sent", ADVICE, 1)
        .count("reports_suppressed", SOURCE_INTERVAL, 2)
        .count("rate_signals", SLOW_DATA, 3)
        .end(
            "rate_advice_beside_rate_signal",
            "a packet's Rate Signal has the flow's share, the advice made from the same packet the source's",
            &Bed::with(&six_degrees(), more),
        )
}

/// The first source's policy is below its share of 475, the second's above its 485, the third packet's 495 is told to the
/// first again: never above the policy.
fn with_policy() -> Case {
    let one = Data::roce(200, 5, 1);
    let three = Data { src: 3, ..one };
    let more = vec![
        entries::rate_advice(1000, 0),
        entries::source_rate(0, source(1), 474),
        entries::source_rate(0, source(3), 486),
    ];
    // The primer is data of the first source too.
    Story::primed()
        .expect(1, advice(PRIMER, 474))
        .settle()
        .send(1, &[one, three, one, three, one, three])
        .expect_forwarded(SLOW, &[one, three, one, three, one, three])
        .expect(1, advice(one, 474))
        .expect(3, advice(three, 485))
        .expect(1, advice(one, 474))
        .expect(3, advice(three, 486))
        .expect(1, advice(one, 474))
        .expect(3, advice(three, 486))
        .count("reports_sent", ADVICE, 7)
        .end(
            "rate_advice_never_above_policy",
            "advice is the lower of the queue's share and the source's policy, congested or not",
            &Bed::with(&six_degrees(), more),
        )
}

/// Three sources have 1000 / 3 = 333 each: 316 (degree 25) and 329 (5) are below the floor of 330, and so is a policy of 50,
/// which holds.
fn floor() -> Case {
    let one = Data::roce(200, 5, 1);
    let three = Data { src: 3, ..one };
    let four = Data { src: 4, ..one };
    let more = vec![entries::rate_advice(FOR_EVER, 330), entries::source_rate(0, source(4), 50)];
    Story::primed()
        .send(1, &[one, four, three, three, three, three])
        .expect_forwarded(SLOW, &[one, four, three, three, three, three])
        .expect(1, advice(one, 330))
        .expect(4, advice(four, 50))
        .expect(3, advice(three, 330))
        .count("reports_sent", ADVICE, 3)
        .end(
            "rate_advice_floor",
            "no queue advises less than the floor; a policy may",
            &Bed::with(&six_degrees(), more),
        )
}

/// Unscheduled RoCEv2: the first packet's report is the `CONGESTION_REPORT`, the advice waits for the second, whose
/// `CONGESTION_REPORT` the interval holds back; both are held back for the third.
fn deferred() -> Case {
    let data = Data { dscp: UNSCHEDULED, ..Data::roce(200, 5, 1) };
    Story::primed()
        .send(1, &[data; 6])
        .expect_forwarded(SLOW, &[data; 6])
        .expect(1, report(data, 1, 1000, 500, 25))
        .expect(1, advice(data, 970))
        .count("reports_sent", TO_SENDER, 1)
        .count("reports_sent", ADVICE, 1)
        .count("reports_deferred", ADVICE, 1)
        .count("reports_suppressed", FLOW_INTERVAL, 2)
        .count("reports_suppressed", SOURCE_INTERVAL, 1)
        .end(
            "rate_advice_deferred",
            "one report per packet: CONGESTION_REPORT first, the advice is deferred, counted and sent with the next",
            &Bed { report_interval: FOR_EVER, ..Bed::with(&six_degrees(), vec![entries::rate_advice(FOR_EVER, 0)]) },
        )
}

/// Acknowledgements, a CNP, what isn't RoCEv2, what is in the control role.
fn only_data() -> Case {
    let data = Data { dst: 4, ..Data::roce(100, 5, 1) };
    let mut sent: Vec<Data> =
        [0x11, 0x12, 0x51, 0x52, 0xb1, 0xb2, 0x81].map(|opcode| data.opcode(opcode)).into();
    sent.push(Data { roce: None, ports: (50000, 4790), ..data });
    let control = Data { dscp: CONTROL, ..data };
    let story = Story::new().send(1, &sent).expect_forwarded(4, &sent).settle();
    story.send(1, &[control]).expect(4, control.forwarded()).end(
        "rate_advice_only_for_data",
        "no advice for acknowledgements, CNPs, other traffic, or what is in the control role",
        &Bed::with(&[], vec![entries::rate_advice(0, 0), entries::source_rate(0, ALL, 5)]),
    )
}

/// Port 3 is outside the domain. The port's meter lets one report through, to source 4.
fn limits() -> Case {
    let four = Data { src: 4, ..Data::roce(200, 5, 1) };
    let outside = Data { src: 3, ..four };
    let one = Data { src: 1, ..four };
    let more: Vec<Entry> = vec![
        entries::rate_advice(FOR_EVER, 0),
        entries::source_rate(0, ALL, 5),
        entries::report_meter(SLOW, 0, 1),
        entries::source_valid(1, (mapped(host_address(4)), 128), true),
        entries::source_valid(1, (mapped(host_address(1)), 128), true),
        entries::source_valid(1, ALL, false),
    ];
    Story::new()
        .send(1, &[four])
        .expect(SLOW, four.forwarded())
        .expect(4, advice(four, 5))
        .settle()
        .send(3, &[outside])
        .expect(SLOW, outside.forwarded())
        .settle()
        .send(1, &[outside])
        .expect(SLOW, outside.forwarded())
        .settle()
        .send(1, &[one])
        .expect(SLOW, one.forwarded())
        .count("reports_sent", ADVICE, 1)
        .count("reports_suppressed", SOURCE_INVALID, 2)
        .count("reports_suppressed", PORT_LIMIT, 1)
        .end(
            "rate_advice_limits",
            "no advice to sources that aren't valid on their port, nor beyond the port's limit; both counted",
            &Bed { trusted: vec![1, 2, 4], ..Bed::with(&[], more) },
        )
}
