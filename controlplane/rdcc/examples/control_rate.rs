//! How many control messages one core handles in a receiver, and what a grant costs beside idle associations.
//!
//! `cargo run --release -p rdcc --example control_rate`. The figures stand in `docs/benchmarks.md`.
//!
//! Each message is one Credit Unit: `CREDIT_REQUEST` in, `CREDIT_GRANT` out, its data in, `MSG_DONE` out, three control
//! messages. Datagrams are made beforehand; decoding them, the machine and the encoding of its answers are measured.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement: it reads the clock, and a failure ends it"
)]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rdcc::receiver::{DataArrival, Receiver, ReceiverConfig};
use wire::rdcc::{
    AssocRequest, AssociationId, BindingKind, Capabilities, CreditRequest, Epoch, Flags, Header, Message,
    MessageId, RoceBinding, SequenceNumber, ServiceHint, TrafficClass, Weight,
};
use wire::units::{MbitPerSec, Micros, Nanos, Octets};

const UNIT: u64 = 4096;
const PORT: u16 = 52_100;
const QP: u32 = 7;

struct World {
    receiver: Receiver,
    ids: Vec<AssociationId>,
    now: Nanos,
    round: u64,
}

fn address(index: usize) -> SocketAddr {
    let [_, a, b, c] = u32::try_from(index).unwrap().to_be_bytes();
    SocketAddr::from(([10, a, b, c], PORT))
}

impl World {
    fn new(associations: usize) -> Self {
        let mut config = ReceiverConfig::new(MbitPerSec(400_000), Nanos(8_000), Octets(UNIT));
        config.max_associations = associations;
        let mut world = Self {
            receiver: Receiver::new(config, [1; 32]).unwrap(),
            ids: Vec::new(),
            now: Nanos(0),
            round: 0,
        };
        for index in 0..associations {
            let request = Message::AssocRequest(AssocRequest {
                sender_nonce: index as u64,
                capabilities: Capabilities::NONE,
                line_rate: MbitPerSec(400_000),
            });
            let octets = request.to_octets(&header(AssociationId(0), Epoch(0), 1));
            world.receiver.handle_datagram(address(index), &octets, world.now);
            let answer = world.receiver.poll_transmit().unwrap();
            world.ids.push(wire::rdcc::decode(&answer.octets).unwrap().0.association_id);
        }
        world
    }

    /// One message of each of the first `active` associations; gives the control messages and the time they took.
    fn run(&mut self, active: usize) -> (u64, Duration) {
        let round = self.round;
        self.round += 1;
        let requests: Vec<(SocketAddr, Vec<u8>)> = (0..active)
            .map(|index| {
                let first_msn = u32::try_from(round).unwrap() & 0x00ff_ffff;
                let binding = RoceBinding { destination_qp: QP, first_msn, rdma_messages: 1 };
                let request = Message::CreditRequest(CreditRequest {
                    message_id: MessageId(round + 1),
                    message_length: Octets(UNIT),
                    unscheduled_sent: Octets(0),
                    class: TrafficClass(0),
                    weight: Weight(1),
                    service_hint: ServiceHint::NONE,
                    binding_kind: BindingKind::ROCEV2,
                    deadline: Micros(0),
                    binding_value: binding.to_value(),
                });
                let sequence = u32::try_from(round).unwrap() + 2;
                (address(index), request.to_octets(&header(self.ids[index], Epoch(1), sequence)))
            })
            .collect();
        let start = Instant::now();
        let mut control = 0;
        let mut due = Vec::new();
        let mut requests = requests.into_iter();
        let mut done = 0;
        while done < active {
            // As on a link: a unit's time passes for each request and each arrival.
            self.now += Nanos(84);
            if let Some((from, octets)) = requests.next() {
                control += 1;
                self.receiver.handle_datagram(from, &octets, self.now);
            } else {
                self.receiver.handle_timeout(self.now);
            }
            while let Some(datagram) = self.receiver.poll_transmit() {
                control += 1;
                match datagram.octets[1] {
                    4 => due.push(datagram.to),
                    7 => done += 1,
                    _ => {}
                }
            }
            for to in due.drain(..) {
                let msn = u32::try_from(round).unwrap() & 0x00ff_ffff;
                let arrival =
                    DataArrival { from: to.ip(), qp: QP, msn, octets: 4096, ce: false, source_port: 49_152 };
                self.receiver.handle_data(arrival, self.now);
            }
            while self.receiver.poll_event().is_some() {}
        }
        (control, start.elapsed())
    }
}

fn header(association_id: AssociationId, epoch: Epoch, sequence: u32) -> Header {
    Header { association_id, epoch, flags: Flags::NONE, sequence_number: SequenceNumber(sequence) }
}

fn measure(associations: usize, active: usize) {
    let mut world = World::new(associations);
    let rounds = (200_000 / active).max(3);
    world.run(active);
    let (mut control, mut time) = (0, Duration::ZERO);
    for _ in 0..rounds {
        let (messages, took) = world.run(active);
        control += messages;
        time += took;
    }
    let rate = control as f64 / time.as_secs_f64() / 1e6;
    let each = time.as_nanos() as f64 / (rounds * active) as f64;
    println!("| {associations} | {active} | {rate:.2} | {each:.0} |");
    assert_eq!(world.receiver.stats().invariant_violations, 0);
}

fn main() {
    println!("| associations | active | control messages/s (millions) | ns per message of one unit |");
    println!("|---|---|---|---|");
    for (associations, active) in [(1000, 1000), (10, 10), (1000, 10), (10_000, 10), (100_000, 10)] {
        measure(associations, active);
    }
}
