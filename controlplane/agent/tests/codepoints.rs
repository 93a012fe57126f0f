//! What the agent's datagrams look like from outside: their codepoints, and how many go in a system call.

#![allow(clippy::unwrap_used, reason = "tests")]

mod domain;

use std::collections::BTreeSet;
use std::net::SocketAddrV4;
use std::time::Duration;

use agent::clock::Clock;
use agent::rdcc::settings::Carrier;
use agent::rdcc::{MessageShape, Role};
use agent::socket::{BATCH, Buffers, ECT0, Outbox, Socket, tos};
use domain::{Events, PORT, address, agent, in_a_runtime, settings, workload};
use rdcc::receiver::Receiver;
use tokio::sync::oneshot;

//~ RDCC, Unscheduled Transmission: 24170a25
//~ RDCC, Traffic Classes and Pool Credit: 07476ba2
/// Data on the wire has the codepoint of unscheduled data, or of its message's Traffic Class, and can be marked.
#[test]
fn data_has_the_codepoint_of_its_kind_and_class() {
    in_a_runtime(async {
        let hosts = [address(22, 1), address(22, 2)];
        let bind = |port| Socket::bind(SocketAddrV4::new(hosts[0], port)).unwrap();
        let sockets = [bind(PORT), bind(wire::roce::UDP_PORT)];
        // The receiver's machine without its transport: the test is at the port that data comes to.
        let config = settings(hosts[0], Carrier::RoceV2, |_| {}).receiver;
        let mut receiver = Receiver::new(config, [1; 32]).unwrap();
        let mut sending = settings(hosts[1], Carrier::RoceV2, |_| {});
        sending.dscp.scheduled[2] = 27;
        let mut load = workload(&hosts[..1], &[(1000, true), (9000, false)], 1);
        load.messages.push(MessageShape { class: 2, ..MessageShape::new(9000) });
        let (stop, stopped) = oneshot::channel();
        let sender = agent(sending, Role::Sender, load, Events::default(), stopped);
        let looking = async {
            let clock = Clock::start();
            let (mut buffers, mut outbox) = (Buffers::default(), Outbox::default());
            let mut seen = BTreeSet::new();
            while seen.len() < 3 {
                tokio::time::sleep(Duration::from_millis(1)).await;
                let now = clock.now();
                receiver.handle_timeout(now);
                let control = |arrived: &agent::socket::Arrived<'_>, _| {
                    receiver.handle_datagram(arrived.from, arrived.octets, now);
                };
                buffers.receive(0, &sockets[0], control).unwrap();
                let look = |arrived: &agent::socket::Arrived<'_>, _| {
                    seen.insert(arrived.tos);
                };
                buffers.receive(1, &sockets[1], look).unwrap();
                while let Some(datagram) = receiver.poll_transmit() {
                    outbox.push(0, datagram.to, tos(48), |out| out.extend_from_slice(&datagram.octets));
                }
                outbox.flush(&sockets, &mut buffers);
            }
            stop.send(()).unwrap();
            seen
        };
        let (_, seen) = tokio::join!(sender, looking);
        assert_eq!(seen, [26, 27, 28].map(|dscp| tos(dscp) | ECT0).into());
    });
}

/// A batch that waits in the socket comes with one system call.
#[test]
fn many_datagrams_come_at_once() {
    in_a_runtime(async {
        let sockets = [1, 2].map(|n| Socket::bind(SocketAddrV4::new(address(23, n), 0)).unwrap());
        let (mut buffers, mut outbox) = (Buffers::default(), Outbox::default());
        while !outbox.is_full() {
            outbox.push(0, sockets[1].local(), 0, |out| out.push(1));
        }
        sockets[0].writable().await.unwrap();
        assert_eq!(outbox.flush(&sockets, &mut buffers), None);
        assert_eq!((outbox.sent(), outbox.waiting()), (BATCH as u64, 0));
        std::future::poll_fn(|context| sockets[1].poll_readable(context)).await;
        assert_eq!(buffers.receive(1, &sockets[1], |_, _| {}).unwrap(), BATCH);
    });
}
