//! Packets from and to the controller.

use super::{Bed, Story, cell};
use crate::case::Case;
use crate::entries;
use crate::frames::{Advice, CONTROL, Data, ROUTER_MAC, host_address, host_address_6};
use crate::program::CPU_PORT;
use crate::setup::{Call, Entry};

pub(super) fn cases() -> Vec<Case> {
    vec![out_and_in(), reports()]
}

/// Host 8 is the controller.
fn host_8() -> Vec<Entry> {
    vec![
        entries::member(8, CPU_PORT, 0x0200_0000_0008),
        entries::route(host_address(8), Call::Member(8)),
        entries::route_6(host_address_6(8), Call::Member(8)),
    ]
}

/// The controller sends a frame that isn't IP, and one that a router would drop; host 8's address is its own.
fn out_and_in() -> Case {
    let mut arp = [[0xff; 6], ROUTER_MAC].concat();
    arp.extend([0x08, 0x06]);
    arp.resize(60, 0xa5);
    let expired = Data { ttl: 1, ..Data::scheduled(100) }.sent();
    let to_controller = Data { dst: 8, dscp: CONTROL, ..Data::scheduled(100) };
    Story::new()
        .packet_out(3, &arp)
        .settle()
        .packet_out(4, &expired)
        .settle()
        .send(3, &[to_controller])
        .expect_packet_in(3, &to_controller.forwarded())
        .end(
            "controller_packets",
            "the controller's packets leave as they are through the port that it names; it hears where one entered",
            &Bed::with(&[], host_8()),
        )
}

/// Data for the controller is advised about: the report isn't the controller's frame, so no `packet_in` header stands in it. And
/// a report to the controller is whole behind that header. A recirculated packet has entered through port 0.
fn reports() -> Case {
    let policy = vec![entries::rate_advice(0, 0), entries::source_rate(0, (0, 0), 5)];
    let advice = |about| Advice { about, rate: 5 }.frame();
    let families = [Data::roce(300, 7, 1), Data::roce(300, 7, 1).v6()];
    let mut story = Story::new();
    for data in families {
        let to_controller = Data { dst: 8, ..data };
        let from_controller = Data { src: 8, dst: 4, ..data };
        story = story
            .send(1, &[to_controller])
            .expect_packet_in(1, &to_controller.forwarded())
            .expect(1, advice(to_controller))
            .settle()
            .send(3, &[from_controller])
            .expect(4, from_controller.forwarded())
            .expect_packet_in(0, &advice(from_controller))
            .settle();
    }
    story.count("reports_sent", cell(3, CPU_PORT, 0), 2).count("reports_sent", cell(3, 4, 0), 2).end(
        "reports_and_the_controller",
        "reports about data for the controller have no packet_in header, reports to it are whole behind theirs",
        &Bed::with(&[], [host_8(), policy].concat()),
    )
}
