//! Reports that come to nothing: each is counted somewhere.

use super::bed::SLOW;
use super::reports::{SIX, series, six_degrees};
use super::{Bed, NOT_UDP, REPORT, Story, TO_SENDER};
use crate::case::Case;
use crate::frames::{Data, renew_ip_checksum};

pub(super) fn cases() -> Vec<Case> {
    vec![no_session(), no_route(), full_queue(), not_udp()]
}

/// Three packets above `B_th`, three clones that lead nowhere.
fn no_session() -> Case {
    let data = Data::unscheduled(200);
    Story::primed()
        .send(1, &[data; 6])
        .expect_forwarded(SLOW, &[data; 6])
        .count("reports_triggered", TO_SENDER, 3)
        .end(
            "reports_without_clone_session",
            "reports that an unset clone session loses were triggered and not sent: the counters show how many",
            &Bed { clone_session: false, ..Bed::with(&six_degrees(), Vec::new()) },
        )
}

/// Nobody knows the way to host 99, whose packets come through port 1.
fn no_route() -> Case {
    let data = Data { src: 99, ..Data::unscheduled(200) };
    Story::primed()
        .send(1, &[data; 6])
        .expect_forwarded(SLOW, &[data; 6])
        .count("reports_sent", TO_SENDER, 3)
        .count("drops", REPORT, 3)
        .end(
            "reports_without_route",
            "a report that has no route is counted by the port and queue that it is about",
            &Bed::with(&six_degrees(), Vec::new()),
        )
}

/// A report costs 90 octets; 89 fit into the control queue.
fn full_queue() -> Case {
    let data = Data::unscheduled(200);
    Story::primed()
        .send(1, &[data; 6])
        .expect_forwarded(SLOW, &[data; 6])
        .count("reports_sent", TO_SENDER, 3)
        .count("drops", REPORT, 3)
        .end(
            "reports_refused_by_a_full_queue",
            "a report that its queue refuses is counted by the port and queue that it is about",
            &Bed { control_q_max: 89, control_b_th: 88, ..Bed::with(&six_degrees(), Vec::new()) },
        )
}

/// Another protocol in an IPv4 frame, its first four octets the ports.
pub(super) fn protocol(mut frame: Vec<u8>, protocol: u8) -> Vec<u8> {
    frame[23] = protocol;
    renew_ip_checksum(&mut frame);
    frame
}

/// TCP, a later fragment and SCTP among UDP, all scheduled or unscheduled: 1200, 1000, 800 and 600 behind.
fn not_udp() -> Case {
    let data = Data::unscheduled(200);
    let scheduled = Data { dscp: 26, ..data };
    let fragment = |mut frame: Vec<u8>| {
        frame[20..22].copy_from_slice(&[0, 9]);
        renew_ip_checksum(&mut frame);
        frame
    };
    // The payload is a TCP header's thirteenth octet too: five words.
    let tcp = Data { mark: 0x50, ..data };
    let change = |tcp: Vec<u8>, fragments: Vec<u8>, sctp: Vec<u8>, udp: Vec<u8>| {
        vec![
            protocol(tcp, 6),
            fragment(fragments),
            protocol(sctp, 132),
            udp.clone(),
            udp.clone(),
            udp.clone(),
            udp,
        ]
    };
    let sent = change(tcp.sent(), scheduled.sent(), data.sent(), data.sent());
    let seen = change(tcp.forwarded(), scheduled.forwarded(), data.forwarded(), data.forwarded());
    // TCP's flow, the fragment's and SCTP's, of which no ports are known, and UDP's, which is the primer's.
    Story::primed()
        .send_octets(1, sent)
        .expect_all(SLOW, seen)
        .expect_all(1, series(data, 250, &[(600, 5)]))
        .count("reports_sent", TO_SENDER, 1)
        .count("reports_suppressed", NOT_UDP, 3)
        .end(
            "no_report_without_udp",
            "scheduled and unscheduled data that isn't UDP, or is a fragment, isn't reported about and is counted",
            &Bed::with(&[SIX[2].1], Vec::new()),
        )
}
