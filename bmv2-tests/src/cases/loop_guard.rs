//! Reports never cause reports.

use super::bed::SLOW;
use super::reports::series;
use super::{Bed, Story, TO_RECEIVER, TO_SENDER};
use crate::case::{Case, RATE_PPS};
use crate::frames::{CONTROL, CREM_PORT, Data, RDCC_PORT, SCONE_PORT};

pub(super) fn cases() -> Vec<Case> {
    vec![rdcc_datagrams(), control_datagrams(), reports_in_a_congested_queue(), control_role()]
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
