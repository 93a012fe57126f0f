//! Reports only toward sources that are valid on their port.

use super::bed::SLOW;
use super::reports::{series, six_degrees, six_to_receiver};
use super::trust::extended;
use super::{Bed, CONGESTION, POLICY, SOURCE_INVALID, Story, TO_SENDER, cell};
use crate::case::Case;
use crate::entries::{self, mapped};
use crate::frames::{
    CONTROL, CREM_PORT, Data, PathReport, RDCC_PORT, SCONE_PORT, host_address, host_address_6,
};
use crate::setup::Entry;

pub(super) fn cases() -> Vec<Case> {
    vec![senders(), receivers(), drops(), control_datagrams()]
}

/// Port 1 belongs to host 1 alone.
fn host_1_alone() -> Vec<Entry> {
    vec![
        entries::source_valid(1, (0, 0), false),
        entries::source_valid(1, (mapped(host_address(1)), 128), true),
        entries::source_valid(1, (host_address_6(1), 128), true),
    ]
}

/// 1000, 800 and 600 octets behind; the second claims to be of host 3.
fn senders() -> Case {
    let true_one = Data::unscheduled(200);
    let forged = Data { src: 3, ..true_one };
    let sent = [true_one, forged, true_one, forged, true_one, true_one];
    Story::primed()
        .send(1, &sent)
        .expect_forwarded(SLOW, &sent)
        .expect_all(1, series(true_one, 500, &[(1000, 25), (600, 5)]))
        .count("reports_sent", TO_SENDER, 2)
        .count("reports_suppressed", SOURCE_INVALID, 1)
        .end(
            "source_check_senders",
            "a report to a sender that isn't valid on its port is suppressed and counted",
            &Bed::with(&six_degrees(), host_1_alone()),
        )
}

/// Scheduled data is reported to its receiver, who is who he is.
fn receivers() -> Case {
    six_to_receiver(Data { src: 3, ..Data::scheduled(200) }, 500).end(
        "source_check_receivers",
        "a report to a receiver doesn't depend on the source",
        &Bed::with(&six_degrees(), host_1_alone()),
    )
}

/// Refused by octet admission and by the ACL, in both families; nobody but host 1 hears of it. Another port, without
/// entries, isn't checked.
fn drops() -> Case {
    let long = Data::roce(1400, 7, 1);
    let forged = Data { src: 3, ..long };
    let denied = Data { src: 3, ports: (50001, 4791), ..Data::roce(120, 7, 1) };
    let more = vec![entries::path_report(0), entries::deny(1, vec![entries::whole("src_port", 50001, 16)])];
    let told = |about| PathReport::first(about, 1).frame();
    Story::new()
        .send(1, &[forged, forged.v6(), denied, long])
        .expect(1, told(long))
        .settle()
        .send(3, &[forged])
        .expect(3, told(forged))
        .count("drops", CONGESTION, 4)
        .count("drops", cell(3, 1, 0), 1)
        .count("reports_sent", cell(2, 2, 0), 2)
        .count("reports_suppressed", SOURCE_INVALID, 2)
        .count("reports_suppressed", cell(4, 1, 0), 1)
        .end(
            "source_check_drops",
            "nor is a drop reported to a source that isn't valid on its port",
            &Bed { b_th: 900, q_max: 1000, more: [more, host_1_alone()].concat(), ..Bed::default() },
        )
}

/// Port 1 is trusted and belongs to host 1: datagrams to the control ports that claim to come from elsewhere don't enter there, nor
/// what may hide one. Those of host 1 do, and at port 2, which isn't checked, everybody's.
fn control_datagrams() -> Case {
    let to = |src, port| Data { src, dst: 4, ports: (50000, port), dscp: CONTROL, ..Data::scheduled(100) };
    let each = |src| {
        let four = [RDCC_PORT, CREM_PORT, SCONE_PORT].map(|port| to(src, port));
        [four.to_vec(), four.map(Data::v6).to_vec()].concat()
    };
    // Behind a routing header without segments.
    let hidden = |frame: Vec<u8>| extended(frame, 43, [0; 8]);
    let [forged, own] = [3, 1].map(|src| Data { ports: (50000, 7), ..to(src, 7).v6() });
    Story::new()
        .send(1, &each(3))
        .send_octets(1, vec![hidden(forged.sent())])
        .send(1, &[to(3, 7)])
        .expect(4, to(3, 7).forwarded())
        .settle()
        .send(1, &each(1))
        .expect_forwarded(4, &each(1))
        .send_octets(1, vec![hidden(own.sent())])
        .expect(4, hidden(own.forwarded()))
        .settle()
        .send(2, &each(3))
        .expect_forwarded(4, &each(3))
        .count("drops", POLICY, 7)
        .end(
            "source_check_control_datagrams",
            "no datagram to a control port enters from a source that isn't valid on its port, trusted or not",
            &Bed::with(&[], host_1_alone()),
        )
}
