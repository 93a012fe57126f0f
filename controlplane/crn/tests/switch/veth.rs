//! Packets through real interfaces, between two namespaces.

use nix::sys::signal::Signal;
use p4runtime::bytes::encode;
use p4runtime::client::Event;
use p4runtime::p4::v1::{PacketMetadata, PacketOut};

use crate::bed::{Bed, in_a_thread};
use crate::entries::{packet, route, route_to_any};
use crate::files::recorded;
use crate::lost;
use crate::process::{CPU_PORT, Process, text};
use crate::wires::{Wires, set_link};

pub fn a_controller_makes_it_a_router_and_packets_pass() {
    in_a_thread(|| {
        let mut bed = Bed::new(2, &["--cpu-port", "509", "--pcap", "."]);
        bed.write([route(&bed.index, 1, 1), route(&bed.index, 2, 2)].concat());
        let Bed { wires, process, folder, .. } = bed;

        wires.send(1, &packet(1, 2, None, 0xaa));
        let came = wires.receive(2);
        assert_eq!(came[..12], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0xfe], "to the next hop, from the router");
        assert_eq!(came[14 + 8], 63, "TTL");
        assert_eq!(came[42..60], [0xaa; 18]);
        wires.send(2, &packet(2, 1, None, 0xbb));
        assert_eq!(wires.receive(1)[42..60], [0xbb; 18]);

        // The kernel takes VLAN tags off; the switch sees them all the same.
        wires.send(1, &packet(1, 2, Some([0x81, 0, 0x60, 5]), 0xcc));
        wires.receive(2);

        // More than a batch, without loss and in order, although nothing waits in between.
        for mark in 0..200 {
            wires.send(1, &packet(1, 2, None, mark));
        }
        for mark in 0..200 {
            assert_eq!(wires.receive(2)[42..60], [mark; 18]);
        }

        let output = process.end(Signal::SIGTERM);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        assert!(said.contains("port 1 (s1): 202 in"), "{said}");
        assert!(said.contains("port 2 (s2): 1 in"), "{said}");
        for (name, packets) in [("s1_in", 202), ("s1_out", 1), ("s2_in", 1), ("s2_out", 202)] {
            let found = recorded(&folder.path().join(format!("{name}.pcap")));
            assert_eq!(found.len(), packets, "{name}");
            if packets > 1 {
                assert_eq!(found[1][12..18], [0x81, 0, 0x60, 5, 8, 0], "{name}: the tag");
            }
        }
    });
}

pub fn packets_go_to_the_controller_and_come_from_it() {
    in_a_thread(|| {
        let mut bed = Bed::new(1, &["--cpu-port", "509"]);
        bed.write([route(&bed.index, 99, CPU_PORT)].concat());
        let Bed { wires, process, tokio, index, mut client, .. } = bed;
        wires.send(1, &packet(1, 99, None, 0xdd));
        let packet_in = tokio.block_on(async {
            loop {
                match client.event().await.unwrap() {
                    Event::PacketIn(packet) => return packet,
                    Event::Arbitration(_) => {}
                    other => panic!("unexpected: {other:?}"),
                }
            }
        });
        assert_eq!(packet_in.payload[42..60], [0xdd; 18]);
        let header = index.controller_headers.find("packet_in").unwrap();
        let port = header.field("ingress_port").unwrap().id;
        let value = packet_in.metadata.iter().find(|found| found.metadata_id == port).unwrap();
        assert_eq!(value.value, encode(1));

        let header = index.controller_headers.find("packet_out").unwrap();
        let port = header.field("egress_port").unwrap().id;
        let metadata = vec![PacketMetadata { metadata_id: port, value: encode(1) }];
        let payload = packet(7, 8, None, 0xee);
        let packet_out = PacketOut { payload: payload.clone(), metadata };
        tokio.block_on(client.packet_out(packet_out)).unwrap();
        assert_eq!(wires.receive(1), payload, "as the controller gave it");
        assert_eq!(process.end(Signal::SIGINT).status.code(), Some(0));
    });
}

/// A rate holds packets in the queue, and a depth bounds how many.
pub fn a_full_queue_drops_and_counts() {
    in_a_thread(|| {
        let mut bed = Bed::new(2, &["--queue-rate", "2=1", "--queue-depth", "2=3"]);
        bed.write([route(&bed.index, 1, 1), route(&bed.index, 2, 2)].concat());
        let Bed { wires, process, .. } = bed;
        // One a second: the first leaves at once, three wait, the rest is dropped, if all come within the second.
        for mark in 0..50 {
            wires.send(1, &packet(1, 2, None, mark));
        }
        // Another port is served meanwhile; its packet tells that the fifty were handled.
        wires.send(1, &packet(1, 1, None, 0xff));
        assert_eq!(wires.receive(1)[42..60], [0xff; 18]);
        assert_eq!(wires.receive(2)[42..60], [0; 18]);
        assert!(wires.waiting(2) < 4, "no more than the rate allows");
        let said = text(&process.end(Signal::SIGTERM).stdout);
        let dropped = said.lines().find(|line| line.contains("dropped at full queues")).expect(&said);
        let dropped: u64 = dropped.split_whitespace().next().unwrap().parse().unwrap();
        assert!((40..50).contains(&dropped), "{said}");
    });
}

/// P4Runtime, Action Profile Group: a member is left out while the port it watches is down.
pub fn a_group_leaves_out_a_port_whose_link_is_down() {
    in_a_thread(|| {
        let mut bed = Bed::new(3, &[]);
        bed.write([route(&bed.index, 1, 1), route_to_any(&bed.index, 9, &[2, 3])].concat());
        let Bed { wires, process, .. } = bed;
        // One flow, that of its source port: it goes to one of the two.
        wires.send(1, &packet(1, 9, None, 0));
        let (used, other) = loop {
            match (wires.waiting(2), wires.waiting(3)) {
                (0, 0) => std::thread::yield_now(),
                (_, 0) => break (2, 3),
                (0, _) => break (3, 2),
                both => panic!("one packet came out twice: {both:?}"),
            }
        };
        set_link(&format!("s{used}"), "down");
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while wires.waiting(other) == 0 {
            assert!(std::time::Instant::now() < deadline, "the flow never moved to port {other}");
            wires.send(1, &packet(1, 9, None, 1));
            // A packet to port 1 tells that the one before it was handled.
            wires.send(1, &packet(1, 1, None, 2));
            wires.receive(1);
        }
        assert_eq!(process.end(Signal::SIGTERM).status.code(), Some(0));
    });
}

/// `crn apply`, packets, and `crn status`, each a process.
pub fn clones_lost_to_an_unset_session_are_shown() {
    in_a_thread(|| {
        let wires = Wires::new(2);
        let folder = tempfile::tempdir().unwrap();
        let process = Process::start(folder.path(), &["--no-p4", "-i", "1@s1", "-i", "2@s2"]);
        lost::on(&wires, &process.address);
        assert_eq!(process.end(Signal::SIGTERM).status.code(), Some(0));
    });
}
