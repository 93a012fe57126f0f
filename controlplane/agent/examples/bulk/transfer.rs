//! Sender and receiver, both behind the agent's loop.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use agent::clock::Clock;
use agent::driver::{Machine, drive};
use agent::sealed::Seal;
use agent::socket::{Arrived, ECT0, Outbox, Socket};
use roce::{Endpoint, QpConfig, TxContent, WcStatus};
use wire::units::Nanos;

use crate::Load;
use crate::gate::Gate;

const SENDER: usize = 0;
const QPS: [u32; 2] = [0x11, 0x22];
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(127, 80, 0, 1), Ipv4Addr::new(127, 80, 0, 2)];

/// A transfer that goes on from round to round.
pub struct Transfer<G: Gate> {
    pair: Pair<G>,
    sockets: [Socket; 2],
    clock: Clock,
}

impl<G: Gate> Transfer<G> {
    pub fn new(load: Load, gate: G) -> Self {
        let sockets = ADDRESSES.map(|address| Socket::bind(SocketAddrV4::new(address, 0)).unwrap());
        let locals = [sockets[0].local(), sockets[1].local()].map(|local| match local {
            SocketAddr::V4(local) => local,
            SocketAddr::V6(_) => unreachable!("bound to IPv4"),
        });
        let ends = [0, 1].map(|end| {
            let other = 1 - end;
            let config = QpConfig {
                source_port: locals[end].port(),
                // Loopback loses nothing unless a buffer is full; a busy machine must not look like loss.
                retransmit_timeout: Nanos(500_000_000),
                ..QpConfig::new(QPS[end], QPS[other], ADDRESSES[other].into())
            };
            let mut endpoint = Endpoint::new();
            endpoint.create_qp(config).unwrap();
            endpoint
        });
        let pair =
            Pair { ends, locals, load, gate, unposted: 0, posted: 0, seal: Seal::default(), received: 0 };
        Self { pair, sockets, clock: Clock::start() }
    }

    /// One round, to its last completion.
    pub async fn round(&mut self) {
        self.pair.unposted = self.pair.load.slices;
        drive(&mut self.pair, &self.sockets, self.clock, std::future::pending()).await.unwrap();
    }

    pub fn says(&self) -> String {
        self.pair.gate.says()
    }
}

/// Both ends: datagrams between their sockets go through the kernel.
struct Pair<G: Gate> {
    ends: [Endpoint; 2],
    locals: [SocketAddrV4; 2],
    load: Load,
    gate: G,
    /// Slices of the round that wait.
    unposted: u32,
    posted: usize,
    seal: Seal,
    received: u64,
}

impl<G: Gate> Pair<G> {
    /// Posts what the depth and the gate allow.
    fn post(&mut self, now: Nanos) {
        while self.unposted > 0 && self.posted < self.load.depth && self.gate.admit(self.load.slice) {
            self.ends[SENDER].post(QPS[SENDER], 0, self.load.slice, 0, now).unwrap();
            self.unposted -= 1;
            self.posted += 1;
        }
    }

    fn complete(&mut self, now: Nanos) {
        while let Some(completion) = self.ends[SENDER].poll_completion() {
            assert_eq!(completion.status, WcStatus::Success);
            self.gate.complete(completion.status.number(), now);
            self.posted -= 1;
        }
    }
}

impl<G: Gate> Machine for Pair<G> {
    fn handle_datagram(&mut self, arrived: &Arrived<'_>, now: Nanos) {
        let end = arrived.socket;
        let SocketAddr::V4(from) = arrived.from else { return };
        assert!(self.seal.is_intact(from, self.locals[end], arrived.octets));
        let octets = arrived.octets;
        self.ends[end].handle_packet(from.ip().to_owned().into(), octets, octets.len(), false, now).unwrap();
        while let Some(received) = self.ends[end].poll_receive() {
            self.received += u64::from(received.octets);
        }
        if end == SENDER {
            self.complete(now);
        }
    }

    fn handle_timeout(&mut self, now: Nanos) {
        for end in &mut self.ends {
            end.handle_timeout(now);
        }
    }

    fn poll_timeout(&mut self) -> Option<Nanos> {
        let ends = self.ends.iter_mut().filter_map(Endpoint::poll_timeout).min();
        ends.into_iter().chain(self.gate.poll_timeout()).min()
    }

    fn poll_transmit(&mut self, outbox: &mut Outbox, now: Nanos) {
        self.gate.handle_turn(now);
        self.post(now);
        for end in 0..self.ends.len() {
            while !outbox.is_full()
                && let Some(packet) = self.ends[end].poll_transmit(now)
            {
                let addresses = (self.locals[end], self.locals[1 - end]);
                let ecn = if packet.is_data() { ECT0 } else { 0 };
                let seal = &mut self.seal;
                outbox.push(end, addresses.1, ecn, |octets| {
                    let payload = |octets: &mut Vec<u8>| {
                        if let TxContent::Data { offset, .. } = packet.content {
                            let value = offset.to_be_bytes()[2];
                            octets.resize(octets.len() + packet.payload_octets as usize, value);
                        }
                    };
                    seal.write(addresses, &packet, payload, octets);
                });
            }
        }
    }

    fn stop(&mut self, _now: Nanos) {}

    fn is_finished(&self) -> bool {
        self.unposted == 0 && self.posted == 0
    }
}
