//! `PATH_REPORT`, method 3 (CREM, Path Reports): what the switch itself refuses.
//!
//! A frame longer than `Q_max` never gets into a queue, full or not.

use super::bed::SLOW;
use super::{
    Bed, CONGESTION, CORRUPTION, FLOW_INTERVAL, FOR_EVER, PATH, POLICY, PORT_LIMIT, PSN_LIMIT, Story, cell,
};
use crate::case::Case;
use crate::entries::{self, mapped};
use crate::frames::{Data, PathReport, host_address, host_address_6};
use crate::setup::Entry;

pub(super) fn cases() -> Vec<Case> {
    vec![
        congestion(),
        policy(),
        gathered(),
        taken_over(),
        causes(),
        csf(),
        opcodes(),
        port_limit(),
        corruption(),
        switched_off(),
    ]
}

const BY_CONGESTION: u8 = 1;
const BY_POLICY: u8 = 3;
/// Longer than the bed's `Q_max` of 1000.
const TOO_LONG: usize = 1400;

fn bed(more: Vec<Entry>) -> Bed {
    Bed { b_th: 900, q_max: 1000, more, ..Bed::default() }
}

fn first(about: Data, cause: u8) -> Vec<u8> {
    PathReport::first(about, cause).frame()
}

/// Three flows, one of them IPv6, between packets that fit. The first two have the same five-tuple and differ in their
/// queue pair. The second flow's next drop falls into its interval. The switch knows nothing of ports but RoCEv2's.
fn congestion() -> Case {
    let fits = Data::roce(100, 6, 1);
    let refused = [Data::roce(TOO_LONG, 7, 10), Data::roce(TOO_LONG, 8, 0x00ff_ffff)];
    let again = Data::roce(TOO_LONG, 8, 0);
    let six = Data::roce(TOO_LONG, 9, 30).v6();
    let other = Data { ports: (50000, 4790), roce: None, ..refused[0] };
    Story::primed()
        .send(1, &[fits, refused[0], refused[1], fits, again, six, other])
        .expect_forwarded(SLOW, &[fits; 2])
        .expect(1, first(refused[0], BY_CONGESTION))
        .expect(1, first(refused[1], BY_CONGESTION))
        .expect(1, first(six, BY_CONGESTION))
        .count("drops", CONGESTION, 5)
        .count("reports_sent", PATH, 3)
        .count("reports_suppressed", FLOW_INTERVAL, 1)
        .end(
            "path_report_congestion",
            "a data packet that octet admission refuses is reported to its source: flow label, PSN, cause 1",
            &bed(vec![entries::path_report(FOR_EVER)]),
        )
}

/// Refused by the ACL: all to port 4791, but for what comes from port 50001. The report is about the port of entry. What isn't
/// RoCEv2 is refused and not reported.
fn policy() -> Case {
    let refused = Data::roce(100, 7, 10);
    let six = Data::roce(120, 9, 30).v6();
    let excepted = Data { ports: (50001, 4791), ..refused };
    let short = Data { roce: None, mark: 4, ..Data::roce(14 + 20 + 8 + 15, 0, 0) };
    let acl = vec![
        entries::path_report(FOR_EVER),
        entries::deny(1, vec![entries::whole("dst_port", 4791, 16)]),
        entries::permit(2, vec![entries::whole("src_port", 50001, 16), entries::whole("protocol", 17, 8)]),
        entries::deny(3, vec![entries::whole("src_addr", mapped(host_address(4)), 128)]),
    ];
    let from_four = Data { src: 4, ..excepted };
    Story::new()
        .send(1, &[refused, six, excepted, short, from_four])
        .expect(SLOW, excepted.forwarded())
        .expect(1, first(refused, BY_POLICY))
        .expect(1, first(six, BY_POLICY))
        .expect(4, first(from_four, BY_POLICY))
        .count("drops", POLICY, 4)
        .count("reports_sent", cell(2, 1, 0), 3)
        .end(
            "path_report_policy",
            "a data packet that the ACL refuses is reported with cause 3; the highest priority decides",
            &bed(acl),
        )
}

/// While the interval holds a flow's report back, four PSNs are kept and the fifth and sixth only counted.
fn gathered() -> Case {
    let drop = |psn| Data::roce(TOO_LONG, 7, psn);
    let report = |psn, lost, held: &[u32]| {
        PathReport { lost, held: held.to_vec(), ..PathReport::first(drop(psn), BY_CONGESTION) }.frame()
    };
    Story::new()
        .send(1, &[drop(100), drop(101), drop(102)])
        .expect(1, report(100, 1, &[]))
        .write(vec![entries::path_report(0)])
        .send(1, &[drop(103)])
        .expect(1, report(103, 3, &[101, 102]))
        .write(vec![entries::path_report(FOR_EVER)])
        .send(1, &[drop(104), drop(105), drop(106), drop(107)])
        .write(vec![entries::path_report(0)])
        .send(1, &[drop(108)])
        .expect(1, report(108, 5, &[104, 105, 106, 107]))
        .write(vec![entries::path_report(FOR_EVER)])
        .send(1, &[drop(109), drop(110), drop(111), drop(112), drop(113), drop(114)])
        .write(vec![entries::path_report(0)])
        .send(1, &[drop(115)])
        .expect(1, report(115, 7, &[109, 110, 111, 112]))
        .count("drops", CONGESTION, 16)
        .count("reports_sent", PATH, 4)
        .count("reports_suppressed", FLOW_INTERVAL, 12)
        .count("reports_suppressed", PSN_LIMIT, 2)
        .end(
            "path_report_gathers_psns",
            "up to four PSNs wait for the flow's next report, those beyond are counted and make it Truncated",
            &bed(vec![entries::path_report(FOR_EVER)]),
        )
}

/// What the switch knows a RoCEv2 flow by: CRC-32 of addresses in the form of both families and the queue pair.
fn path_hash(qp: u32) -> u32 {
    let addresses = [1, 2].map(|host| mapped(host_address(host)).to_be_bytes()).concat();
    crc32fast::hash(&[&addresses, &qp.to_be_bytes()[1..]].concat())
}

/// Two queue pairs whose flows share a slot. The second never reports what the slot held for the first.
fn taken_over() -> Case {
    let slot = |qp| path_hash(qp) & 0x3fff;
    let second = (8..1 << 24).find(|&qp| slot(qp) == slot(7)).unwrap_or_default();
    let (a, b) = (|psn| Data::roce(TOO_LONG, 7, psn), |psn| Data::roce(TOO_LONG, second, psn));
    let lost_for_ever = PathReport { lost: 2, held: vec![4], ..PathReport::first(b(5), BY_CONGESTION) };
    Story::new()
        .send(1, &[a(1), a(2), b(1)])
        .expect(1, first(a(1), BY_CONGESTION))
        .write(vec![entries::path_report(0)])
        .send(1, &[b(3)])
        .expect(1, first(b(3), BY_CONGESTION))
        .write(vec![entries::path_report(FOR_EVER)])
        .send(1, &[b(4)])
        .write(vec![entries::path_report(0)])
        .send(1, &[b(5)])
        .expect(1, lost_for_ever.frame())
        .count("drops", CONGESTION, 6)
        .count("reports_sent", PATH, 3)
        .count("reports_suppressed", FLOW_INTERVAL, 3)
        .count("reports_suppressed", PSN_LIMIT, 2)
        .end(
            "path_report_slot_taken_over",
            "a flow that takes over another one's slot reports its own PSNs alone; the other's are counted",
            &bed(vec![entries::path_report(FOR_EVER)]),
        )
}

/// One queue pair whose packets admission refuses, and the ACL where they come from port 50001. While the interval lasts, the
/// ACL's 11 is held and admission's 12 is not; then each is reported under its own cause.
fn causes() -> Case {
    let full = |psn| Data::roce(TOO_LONG, 7, psn);
    let denied = |psn| Data { ports: (50001, 4791), ..Data::roce(100, 7, psn) };
    let both = PathReport { lost: 2, held: vec![11], ..PathReport::first(denied(13), BY_POLICY) };
    let acl = entries::deny(1, vec![entries::whole("src_port", 50001, 16)]);
    Story::new()
        .send(1, &[full(10), denied(11), full(12)])
        .expect(1, first(full(10), BY_CONGESTION))
        .write(vec![entries::path_report(0)])
        .send(1, &[denied(13)])
        .expect(1, both.frame())
        .settle()
        .send(1, &[full(14)])
        .expect(1, first(full(14), BY_CONGESTION))
        .count("drops", CONGESTION, 3)
        .count("drops", POLICY, 2)
        .count("reports_sent", PATH, 2)
        .count("reports_sent", cell(2, 1, 0), 1)
        .count("reports_suppressed", FLOW_INTERVAL, 1)
        .count("reports_suppressed", cell(0, 1, 0), 1)
        .count("reports_suppressed", PSN_LIMIT, 1)
        .end(
            "path_report_of_one_cause",
            "no PSN is reported under a cause that isn't its own; one that can't wait beside another cause's is counted",
            &bed(vec![entries::path_report(FOR_EVER), acl]),
        )
}

/// Host 3 repairs for host 1, in both families; host 4 for itself.
fn csf() -> Case {
    let one = Data::roce(TOO_LONG, 7, 10);
    let four = Data { src: 4, ..one };
    let told = |about, to| PathReport { to, ..PathReport::first(about, BY_CONGESTION) }.frame();
    let sources = [
        entries::csf((mapped(host_address(0)), 127), mapped(host_address(3))),
        entries::csf((host_address_6(0), 127), host_address_6(3)),
    ];
    Story::new()
        .send(1, &[one])
        .send(4, &[four])
        .expect(3, told(one, 3))
        .expect(4, told(four, 4))
        .settle()
        .send(1, &[one.v6()])
        .expect(3, told(one.v6(), 3))
        .settle()
        .send(4, &[four.v6()])
        .expect(4, told(four.v6(), 4))
        .count("drops", CONGESTION, 4)
        .count("reports_sent", PATH, 4)
        .end(
            "path_report_to_csf",
            "a PATH_REPORT goes to the csf_address of its source, else to the source",
            &bed([vec![entries::path_report(FOR_EVER)], sources.to_vec()].concat()),
        )
}

/// Every acknowledgement and the CNP, and the opcodes beside them, each to a queue pair of its own.
fn opcodes() -> Case {
    let no_data = [0x11, 0x12, 0x51, 0x52, 0xb1, 0xb2, 0x81];
    let data = [0x00, 0x04, 0x0d, 0x10, 0x13, 0x50, 0x53, 0x80, 0x82, 0xb0, 0xb3, 0xff];
    let packet = |opcode: u8| Data::roce(TOO_LONG, 0x100 + u32::from(opcode), 1).opcode(opcode);
    Story::new()
        .send(1, &no_data.map(packet))
        .send(1, &data.map(packet))
        .expect_all(1, data.map(|opcode| first(packet(opcode), BY_CONGESTION)).into())
        .count("drops", CONGESTION, 19)
        .count("reports_sent", PATH, 12)
        .end(
            "path_report_opcodes",
            "acknowledgements and CNPs aren't data: refused, not reported",
            &bed(vec![entries::path_report(FOR_EVER)]),
        )
}

/// The port's meter lets two reports through and isn't refilled. The flow that the third is about keeps its PSN.
fn port_limit() -> Case {
    let drop = |qp| Data::roce(TOO_LONG, qp, 1);
    Story::new()
        .send(1, &[drop(7), drop(8), drop(9)])
        .expect(1, first(drop(7), BY_CONGESTION))
        .expect(1, first(drop(8), BY_CONGESTION))
        .count("drops", CONGESTION, 3)
        .count("reports_sent", PATH, 2)
        .count("reports_suppressed", PORT_LIMIT, 1)
        .end(
            "path_report_port_limit",
            "PATH_REPORTs count against the port's limit too",
            &bed(vec![entries::path_report(FOR_EVER), entries::report_meter(SLOW, 0, 2)]),
        )
}

/// The source of a packet with a bad checksum isn't to be trusted.
fn corruption() -> Case {
    let mut bad = Data::roce(TOO_LONG, 7, 10).sent();
    bad[24] ^= 0x40;
    Story::new().send_octets(1, vec![bad]).count("drops", CORRUPTION, 1).end(
        "path_report_not_about_corruption",
        "a packet with a bad IPv4 checksum is counted and never reported",
        &bed(vec![entries::path_report(FOR_EVER)]),
    )
}

fn switched_off() -> Case {
    Story::new().send(1, &[Data::roce(TOO_LONG, 7, 10)]).count("drops", CONGESTION, 1).end(
        "path_report_off",
        "without path_report's entry nothing is said about refused packets",
        &bed(Vec::new()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flows that share a slot hold each other back: the other cases' must not.
    #[test]
    fn the_queue_pairs_have_slots_of_their_own() {
        let mut slots: Vec<u32> = (6..10).chain(0x100..0x200).map(|qp| path_hash(qp) & 0x3fff).collect();
        slots.sort_unstable();
        let all = slots.len();
        slots.dedup();
        assert_eq!(slots.len(), all);
    }
}
