//! Limits on reports: per flow and per port.

use super::bed::SLOW;
use super::reports::report;
use super::{Bed, FLOW_INTERVAL, PORT_LIMIT, Story, TO_RECEIVER, TO_SENDER};
use crate::case::Case;
use crate::entries;
use crate::frames::{Data, Report};

pub(super) fn cases() -> Vec<Case> {
    vec![flow_interval(), port_limit(), no_reporter()]
}

/// Two flows in turn, eight frames: 1400, 1200, 1000, 800, 600, 400, 200, 0 behind. An interval of a minute: one report
/// per flow, three packets above `B_th` are held back.
fn flow_interval() -> Case {
    let a = Data::scheduled(200);
    let b = Data { ports: (50001, 4791), ..a };
    let said = |about, sequence, queue_depth, degree| {
        Report { about, sequence, queue_depth, threshold: 500, degree, rate: 500 }.frame()
    };
    Story::primed()
        .send(1, &[a, b, a, b, a, b, a, b])
        .expect(SLOW, a.forwarded())
        .expect(SLOW, said(a, 1, 1400, 45))
        .expect(SLOW, b.forwarded())
        .expect(SLOW, said(b, 2, 1200, 35))
        .expect_forwarded(SLOW, &[a, b, a, b, a, b])
        .count("reports_sent", TO_RECEIVER, 2)
        .count("reports_suppressed", FLOW_INTERVAL, 3)
        .end(
            "flow_interval",
            "within the report interval a flow is reported once, whatever other flows do",
            &Bed { report_interval: 60_000_000, degrees: vec![45, 35], ..Bed::default() },
        )
}

/// Eight frames, five above `B_th`; the port's meter lets two reports through and isn't refilled.
fn port_limit() -> Case {
    let data = Data::unscheduled(200);
    let limit = entries::report_meter(SLOW, 0, 2);
    Story::primed()
        .send(1, &[data; 8])
        .expect_forwarded(SLOW, &[data; 8])
        .expect(1, report(data, 1, 1400, 500, 45))
        .expect(1, report(data, 2, 1200, 500, 35))
        .count("reports_sent", TO_SENDER, 2)
        .count("reports_suppressed", PORT_LIMIT, 3)
        .end(
            "port_limit",
            "reports about a port stop at the port's limit, and what is held back is counted",
            &Bed { degrees: vec![45, 35], more: vec![limit], ..Bed::default() },
        )
}

fn no_reporter() -> Case {
    let data = Data::scheduled(200);
    Story::primed().send(1, &[data; 6]).expect_forwarded(SLOW, &[data; 6]).end(
        "no_reporter_no_reports",
        "without the reporter's entry nothing is reported and everything is forwarded",
        &Bed { reporter: false, ..Bed::default() },
    )
}
