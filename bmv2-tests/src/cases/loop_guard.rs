//! Reports never cause reports.

use super::bed::SLOW;
use super::reports::series;
use super::{Bed, CONGESTION, POLICY, Story, TO_RECEIVER, TO_SENDER, cell};
use crate::case::{Case, RATE_PPS};
use crate::entries;
use crate::frames::{CONTROL, CREM_PORT, Data, PathReport, RDCC_PORT, ROCE_PORT, SCONE_PORT};

pub(super) fn cases() -> Vec<Case> {
    vec![
        rdcc_datagrams(),
        control_datagrams(),
        reports_in_a_congested_queue(),
        control_role(),
        refused_control(),
        control_port_of_roce(),
    ]
}

/// Datagrams to each of the three control ports between data frames, all with the DSCP of unscheduled data and from ports
/// above 49152: 1400, 1200, 1000, 800, 600 behind.
fn control_datagrams() -> Case {
    let data = Data::unscheduled(200);
    let to = |port| Data { ports: (50000, port), ..data };
    let all = [data, to(RDCC_PORT), to(CREM_PORT), to(SCONE_PORT), data, data, data, data];
    // Four flows share the queue.
    Story::primed()
        .send(1, &all)
        .expect_forwarded(SLOW, &all)
        .expect_all(1, series(data, 250, &[(1400, 45), (600, 5)]))
        .count("reports_sent", TO_SENDER, 2)
        .end(
            "no_report_about_control_ports",
            "a datagram to any of the three control ports is never reported about, whatever its DSCP says",
            &Bed::with(&[45, 5], Vec::new()),
        )
}

/// Datagrams to the RDCC port between data frames, all with the DSCP of scheduled data.
fn rdcc_datagrams() -> Case {
    let data = Data::scheduled(200);
    let rdcc = Data { ports: (50000, RDCC_PORT), ..data };
    // Two flows share the queue: half the rate each.
    let reports = series(data, 500, &[(1000, 25), (600, 5)]);
    Story::primed()
        .send(1, &[data, rdcc, data, rdcc, data, rdcc])
        .expect(SLOW, data.forwarded())
        .expect(SLOW, reports[0].clone())
        .expect_forwarded(SLOW, &[rdcc, data])
        .expect(SLOW, reports[1].clone())
        .expect_forwarded(SLOW, &[rdcc, data, rdcc])
        .count("reports_sent", TO_RECEIVER, 2)
        .end(
            "no_report_about_rdcc_datagrams",
            "a datagram to the RDCC port is never reported about, whatever its DSCP says",
            &Bed::with(&[25, 5], Vec::new()),
        )
}

/// Reports come twice as fast as port 1's control queue is served, and the threshold of that queue is 0: they stand in
/// it, above its threshold, and nothing is said about them.
fn reports_in_a_congested_queue() -> Case {
    let data = Data::unscheduled(200);
    Story::primed()
        .send(1, &[data; 8])
        .expect_forwarded(SLOW, &[data; 8])
        .expect_all(1, series(data, 1000, &[(1400, 45), (1200, 35), (1000, 25), (800, 15), (600, 5)]))
        .count("reports_sent", TO_SENDER, 5)
        .end(
            "no_report_about_reports",
            "reports that stand in a congested queue are not reported about",
            &Bed {
                degrees: vec![45, 35, 25, 15, 5],
                rates: vec![(1, RATE_PPS / 2)],
                control_b_th: 0,
                ..Bed::default()
            },
        )
}

/// Control datagrams in a congested control queue. The first leaves at once and isn't there to be seen waiting: it is
/// sent alone.
fn control_role() -> Case {
    let control = Data { dscp: CONTROL, ports: (50000, 7), ..Data::scheduled(200) };
    Story::new()
        .send(1, &[control])
        .expect(SLOW, control.forwarded())
        .settle()
        .send(1, &[control; 5])
        .expect_forwarded(SLOW, &[control; 5])
        .end(
            "no_report_about_control",
            "packets of the control role are not reported about",
            &Bed { control_b_th: 0, ..Bed::default() },
        )
}

/// What looks like RoCEv2 data and has the control role: the ACL refuses one, admission the other. A packet of no role that is refused
/// in the same way is reported.
fn refused_control() -> Case {
    let denied = Data { ports: (50001, ROCE_PORT), ..Data::roce(100, 7, 1) };
    let long = Data::roce(1400, 7, 1);
    let control = |data| Data { dscp: CONTROL, ..data };
    let told = |about, cause| PathReport::first(about, cause).frame();
    let more = vec![entries::path_report(0), entries::deny(1, vec![entries::whole("src_port", 50001, 16)])];
    Story::new()
        .send(1, &[control(denied), control(long), denied])
        .expect(1, told(denied, 3))
        .settle()
        .send(1, &[long])
        .expect(1, told(long, 1))
        .count("drops", POLICY, 2)
        .count("drops", CONGESTION, 1)
        .count("drops", cell(1, 2, 7), 1)
        .count("reports_sent", cell(2, 1, 0), 1)
        .count("reports_sent", cell(2, 2, 0), 1)
        .end(
            "no_path_report_about_control",
            "what has the control role and is refused causes no PATH_REPORT",
            &Bed { b_th: 900, q_max: 1000, control_b_th: 900, control_q_max: 1000, more, ..Bed::default() },
        )
}

/// A domain whose RDCC port is RoCEv2's (`crn validate` refuses it): nothing that goes there is data, so it is neither reported
/// nor advised about, and no rate is written into it.
fn control_port_of_roce() -> Case {
    let data = Data { dst: 4, ..Data::roce(100, 7, 1).rate(0) };
    let denied = Data { ports: (50001, ROCE_PORT), ..data };
    let more = vec![
        Bed::default().reporter_with(ROCE_PORT),
        entries::path_report(0),
        entries::deny(1, vec![entries::whole("src_port", 50001, 16)]),
        entries::rate_advice(0, 0),
        entries::source_rate(0, (0, 0), 5),
        entries::rate_signal(0xab, 0),
        entries::qp_rate(entries::mapped([10, 0, 0, 4]), 7, 500),
    ];
    Story::new().send(1, &[denied, data]).expect(4, data.forwarded()).count("drops", POLICY, 1).end(
        "no_report_about_a_control_port_of_roce",
        "a datagram to a control port is never taken for RoCEv2 data, whatever the port's number",
        &Bed::with(&[], more),
    )
}
