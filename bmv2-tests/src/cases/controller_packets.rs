//! Packets from and to the controller.

use super::{Bed, Story};
use crate::case::Case;
use crate::entries;
use crate::frames::{CONTROL, Data, ROUTER_MAC, host_address};
use crate::program::CPU_PORT;
use crate::setup::Call;

pub(super) fn cases() -> Vec<Case> {
    vec![out_and_in()]
}

/// The controller sends a frame that isn't IP, and one that a router would drop; host 8's address is its own.
fn out_and_in() -> Case {
    let mut arp = [[0xff; 6], ROUTER_MAC].concat();
    arp.extend([0x08, 0x06]);
    arp.resize(60, 0xa5);
    let expired = Data { ttl: 1, ..Data::scheduled(100) }.sent();
    let to_controller = Data { dst: 8, dscp: CONTROL, ..Data::scheduled(100) };
    let more = vec![
        entries::member(8, CPU_PORT, 0x0200_0000_0008),
        entries::route(host_address(8), Call::Member(8)),
    ];
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
            &Bed::with(&[], more),
        )
}
