//! The domain's boundary: roles and control datagrams from outside.

use super::bed::SLOW;
use super::{Bed, Story, cell};
use crate::case::Case;
use crate::entries;
use crate::frames::{Advice, CONTROL, CREM_PORT, Data, NO_ROLE, RDCC_PORT, SCONE_PORT, renew_ip_checksum};

/// `drops` of ingress port 3, cause 3 (policy).
const POLICY: u64 = 3 << 12 | 3 << 3;

pub(super) fn cases() -> Vec<Case> {
    vec![untrusted_port(), one_without_the_other(), sources_of_both(), hidden_ports()]
}

/// Host 3 is outside. Its datagrams to the three control ports are dropped; its scheduled data goes on without a DSCP
/// and is never reported.
fn untrusted_port() -> Case {
    let data = Data { src: 3, ..Data::scheduled(200) };
    let reset = Data { dscp: NO_ROLE, ..data };
    let control = |port| Data { dscp: CONTROL, ports: (50000, port), ..data };
    let attempt = [
        data,
        control(RDCC_PORT),
        data,
        control(RDCC_PORT + 1),
        data,
        control(RDCC_PORT + 2),
        data,
        data,
        data,
    ];
    Story::primed().send(3, &attempt).expect_forwarded(SLOW, &[reset; 6]).count("drops", POLICY, 3).end(
        "untrusted_port",
        "roles and control datagrams from outside the domain aren't believed, and nothing is reported about them",
        &Bed { trusted: vec![1, 2, 4], ..Bed::default() },
    )
}

/// Port 3's DSCPs are believed and no control datagram may enter there; port 4 the other way round. A DSCP that means
/// nothing in the domain passes everywhere.
fn one_without_the_other() -> Case {
    let data = Data { dst: 1, ..Data::scheduled(200) };
    let rdcc = Data { ports: (50000, RDCC_PORT), ..data };
    let foreign = Data { dscp: 10, ..data };
    let reset = |data| Data { dscp: NO_ROLE, ..data };
    Story::new()
        .send(3, &[data, rdcc, foreign])
        .expect_forwarded(1, &[data, foreign])
        .settle()
        .send(4, &[data, rdcc, foreign])
        .expect_forwarded(1, &[reset(data), reset(rdcc), foreign])
        .count("drops", POLICY, 1)
        .end(
            "trust_in_parts",
            "DSCPs are believed or reset, and control datagrams admitted or dropped, by the port's own entry",
            &Bed {
                trusted: vec![1, 2],
                more: vec![entries::trust(3, true, false), entries::trust(4, false, true)],
                ..Bed::default()
            },
        )
}

/// A port that is trusted in one way lies inside: its sources are advised.
fn sources_of_both() -> Case {
    let data = |src| Data { src, dst: 1, ..Data::roce(100, 7, 1) };
    let advice = |src| Advice { about: data(src), rate: 5 }.frame();
    Story::new()
        .send(3, &[data(3)])
        .expect(1, data(3).forwarded())
        .expect(3, advice(3))
        .settle()
        .send(4, &[data(4)])
        .expect(1, data(4).forwarded())
        .expect(4, advice(4))
        .settle()
        .send(2, &[data(2)])
        .expect(1, data(2).forwarded())
        .count("reports_sent", cell(3, 1, 0), 2)
        .count("reports_suppressed", cell(4, 1, 0), 1)
        .end(
            "trust_of_sources",
            "only a port that is trusted in no way lies outside the domain, where nobody is told anything",
            &Bed {
                trusted: vec![1],
                more: vec![
                    entries::trust(3, true, false),
                    entries::trust(4, false, true),
                    entries::rate_advice(0, 0),
                    entries::source_rate(0, (0, 0), 5),
                ],
                ..Bed::default()
            },
        )
}

/// The IPv4 packet of a frame becomes a fragment, so many octets into its datagram.
pub(super) fn fragment(mut frame: Vec<u8>, offset: u16, more: bool) -> Vec<u8> {
    let bits = (u16::from(more) << 13) | (offset / 8);
    frame[20..22].copy_from_slice(&bits.to_be_bytes());
    renew_ip_checksum(&mut frame);
    frame
}

/// Eight octets of an extension header behind the IPv6 header of a frame.
pub(super) fn extended(mut frame: Vec<u8>, header: u8, mut octets: [u8; 8]) -> Vec<u8> {
    octets[0] = std::mem::replace(&mut frame[20], header);
    let length = u16::from_be_bytes([frame[18], frame[19]]) + 8;
    frame[18..20].copy_from_slice(&length.to_be_bytes());
    frame.splice(54..54, octets);
    frame
}

/// A datagram to a control port can't hide from the boundary in fragments, nor behind extension headers that the switch
/// doesn't look into. Fragments of other datagrams pass, and so does what comes from inside.
fn hidden_ports() -> Case {
    type Change = fn(Vec<u8>) -> Vec<u8>;
    let data = Data { dst: 4, dscp: NO_ROLE, ..Data::scheduled(120) };
    let to = |port, data: Data| Data { ports: (50000, port), ..data };
    let first_6: Change = |frame| extended(frame, 44, [0, 0, 0, 1, 0, 0, 0, 9]);
    let later_6: Change = |frame| extended(frame, 44, [0, 0, 0, 0x61, 0, 0, 0, 9]);
    let routed: Change = |frame| extended(frame, 43, [0; 8]);
    let twice: Change = |frame| extended(extended(frame, 60, [0; 8]), 60, [0, 0, 1, 4, 0, 0, 0, 0]);
    let first: Change = |frame| fragment(frame, 0, true);
    let later: Change = |frame| fragment(frame, 96, false);
    let refused: [(Data, Change); 6] = [
        (to(RDCC_PORT, data), first),
        (to(CREM_PORT, data), first),
        (to(SCONE_PORT, data.v6()), first_6),
        (data.v6(), routed),
        (data.v6(), twice),
        (data.v6(), |frame| extended(extended(frame, 60, [0; 8]), 44, [0, 0, 0, 1, 0, 0, 0, 9])),
    ];
    let passing: [(Data, Change); 4] = [
        (data, first),
        (to(RDCC_PORT, data), later),
        (data.v6(), first_6),
        (to(RDCC_PORT, data).v6(), later_6),
    ];
    let all: Vec<(Data, Change)> = refused.iter().chain(&passing).copied().collect();
    let sent = |list: &[(Data, Change)]| list.iter().map(|(data, change)| change(data.sent())).collect();
    let seen = |list: &[(Data, Change)]| list.iter().map(|(data, change)| change(data.forwarded())).collect();
    Story::new()
        .send_octets(3, sent(&all))
        .expect_all(4, seen(&passing))
        .settle()
        .send_octets(1, sent(&all))
        .expect_all(4, seen(&all))
        .count("drops", POLICY, 6)
        .end(
            "trust_hidden_ports",
            "no datagram to a control port enters in fragments or behind headers that aren't looked into",
            &Bed { trusted: vec![1, 2, 4], ..Bed::default() },
        )
}
