//! A receiver that more comes to than it can serve: its memory stays what it is, and it still serves who keeps to the
//! protocol. A process of its own, since the memory of all of it is measured.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::rc::Rc;
use std::time::Duration;

use agent::rdcc::settings::Carrier;
use agent::rdcc::{Event, Given, MessageShape, Role, Settings, Shared, Workload, run};
use agent::socket::{Buffers, Outbox, Socket, tos};
use tokio::sync::oneshot;
use wire::rdcc::{AssocRequest, AssociationId, Capabilities, Epoch, Flags, Header, Message, SequenceNumber};
use wire::units::{MbitPerSec, Nanos};

const PORT: u16 = 52_100;
/// Where Binding Kind 1 carries data.
const DATA_PORT: u16 = 4791;
const RECEIVER: Ipv4Addr = Ipv4Addr::new(127, 77, 200, 1);
const FLOOD: Ipv4Addr = Ipv4Addr::new(127, 77, 200, 9);
const SENDER: Ipv4Addr = Ipv4Addr::new(127, 77, 200, 2);
/// Rounds of datagrams, and datagrams of each kind in a round.
const ROUNDS: u64 = 400;
const ROUND: u64 = 64;
/// Associations that are let in; the flood asks for more.
const ASSOCIATIONS: usize = 512;

fn settings(address: Ipv4Addr) -> Settings {
    let given = Given {
        address: Some(address),
        rdcc_port: Some(PORT),
        link_rate: Some(MbitPerSec(400)),
        base_rtt: Some(Nanos(30_000_000)),
        dscp: Some((26, 28, 48)),
        ..Given::default()
    };
    let mut settings = Settings::new(None, &given, Carrier::RoceV2).unwrap();
    settings.receiver.max_associations = ASSOCIATIONS;
    settings
}

/// Resident memory of this process in octets.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes * 1024
}

fn association(nonce: u64) -> Vec<u8> {
    let header = Header {
        association_id: AssociationId(0),
        epoch: Epoch(0),
        flags: Flags::NONE,
        sequence_number: SequenceNumber(0),
    };
    let request = AssocRequest {
        sender_nonce: nonce,
        capabilities: Capabilities::STATUS,
        line_rate: MbitPerSec(100_000),
    };
    Message::AssocRequest(request).to_octets(&header)
}

/// RDCC, Security Considerations: requests for associations, undecodable datagrams to both ports, as fast as they go.
#[test]
fn a_flood_takes_no_memory_and_keeps_nobody_out_who_was_in() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let body = Box::pin(async {
        let receiver_settings = settings(RECEIVER);
        let (stop, stopped) = oneshot::channel::<()>();
        let receiving = run(
            receiver_settings,
            Role::Receiver,
            Workload::default(),
            Box::new(|_, _| {}),
            Shared::default(),
            async { drop(stopped.await) },
        );
        let (up, is_up) = oneshot::channel::<()>();
        let up = Cell::new(Some(up));
        let done = Rc::new(Cell::new(0));
        let counted = Rc::clone(&done);
        let observe = Box::new(move |_: Nanos, event: &Event| match event {
            Event::AssociationUp { .. } => drop(up.take().map(|up| up.send(()))),
            Event::MessageDone { .. } => counted.set(counted.get() + 1),
            _ => {}
        });
        // One that came before the flood, and sends all through it.
        let load = Workload {
            to: vec![RECEIVER],
            messages: vec![MessageShape::new(100_000)],
            batches: 20,
            gap: Nanos(50_000_000),
        };
        let sending =
            run(settings(SENDER), Role::Sender, load, observe, Shared::default(), std::future::pending());
        let flooding = async {
            is_up.await.unwrap();
            let sockets = [Socket::bind(SocketAddrV4::new(FLOOD, 0)).unwrap()];
            let (mut buffers, mut outbox) = (Buffers::default(), Outbox::default());
            let mut after_a_quarter = 0;
            for round in 0..ROUNDS {
                for n in 0..ROUND {
                    let garbage = [0x5a; 1400];
                    let request = association(round * ROUND + n);
                    for (port, octets) in
                        [(PORT, request.as_slice()), (PORT, &garbage), (DATA_PORT, &garbage)]
                    {
                        outbox.push(0, SocketAddrV4::new(RECEIVER, port), tos(48), |out| out.extend(octets));
                        if outbox.is_full() {
                            outbox.flush(&sockets, &mut buffers);
                            tokio::task::yield_now().await;
                        }
                    }
                }
                if round == ROUNDS / 4 {
                    after_a_quarter = resident();
                }
            }
            let grown = resident().saturating_sub(after_a_quarter);
            assert!(grown < 1 << 20, "{grown} octets more than after a quarter of the flood");
        };
        let serving = async {
            let (sent, ()) = tokio::join!(sending, flooding);
            stop.send(()).unwrap();
            sent.unwrap()
        };
        let (received, sent) = tokio::join!(receiving, serving);
        let received = received.unwrap();
        assert_eq!(done.get(), 20, "{sent:#?}");
        let counters = received.receiver.as_ref().unwrap();
        assert_eq!(counters.get("associations"), Some(ASSOCIATIONS as u64), "{received:#?}");
        assert!(counters.get("datagrams_ignored") > Some(0), "{received:#?}");
        assert_eq!(counters.get("invariant_violations"), Some(0));
    });
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(240), body).await.unwrap() });
}
