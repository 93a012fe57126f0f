//! Two endpoints and a channel in virtual time: each end sends a packet a tick, the channel delays, loses and repeats.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;

use roce::{Completion, Endpoint, QpConfig, Received, TxPacket};
use wire::units::Nanos;

pub const A: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
pub const B: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

/// How long a packet takes on the link, and on the way.
pub const TICK: u64 = 100;
pub const DELAY: u64 = 1000;

/// What the channel does to a packet: nothing, or one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Deliver,
    Lose,
    /// Delivered twice, the second time after so many ticks more.
    Repeat(u64),
}

pub struct Channel<F> {
    pub ends: [Endpoint; 2],
    pub now: u64,
    pub completions: Vec<Completion>,
    pub received: Vec<Received>,
    /// Packets that A gave out.
    pub sent: Vec<TxPacket>,
    fate: F,
    order: u64,
    /// By arrival time and order of sending: to which end, and what.
    flying: BTreeMap<(u64, u64), (usize, TxPacket)>,
}

impl<F: FnMut(usize, &TxPacket) -> Fate> Channel<F> {
    /// A queue pair `number` at both ends for every config that `configs` gives for A.
    pub fn new(configs: &[QpConfig], fate: F) -> Self {
        let mut ends = [Endpoint::new(), Endpoint::new()];
        for config in configs {
            ends[0].create_qp(QpConfig { remote: B, ..*config }).unwrap();
            let other = QpConfig {
                local_qp: config.remote_qp,
                remote_qp: config.local_qp,
                remote: A,
                first_psn: config.first_remote_psn,
                first_remote_psn: config.first_psn,
                ..*config
            };
            ends[1].create_qp(other).unwrap();
        }
        Self {
            ends,
            now: 0,
            completions: Vec::new(),
            received: Vec::new(),
            sent: Vec::new(),
            fate,
            order: 0,
            flying: BTreeMap::new(),
        }
    }

    /// Runs until nothing is left to do, or until `limit` ticks went by. Gives whether it came to rest.
    pub fn run(&mut self, limit: u64) -> bool {
        for _ in 0..limit {
            let sent = self.tick();
            let waiting = self.ends.iter_mut().any(|end| end.poll_timeout().is_some());
            if !sent && !waiting && self.flying.is_empty() {
                return true;
            }
        }
        false
    }

    /// Gives whether an end sent a packet.
    pub fn tick(&mut self) -> bool {
        let mut sent = false;
        while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (to, packet) = entry.remove();
            let octets = packet.udp_payload_octets();
            let from = [B, A][to];
            self.ends[to].handle_packet(from, &packet.head, octets, false, Nanos(self.now)).unwrap();
        }
        for (end, endpoint) in self.ends.iter_mut().enumerate() {
            endpoint.handle_timeout(Nanos(self.now));
            if let Some(packet) = endpoint.poll_transmit(Nanos(self.now)) {
                sent = true;
                let arrival = self.now + DELAY;
                let to = 1 - end;
                let fate = (self.fate)(end, &packet);
                if fate != Fate::Lose {
                    self.order += 1;
                    self.flying.insert((arrival, self.order), (to, packet));
                }
                if let Fate::Repeat(ticks) = fate {
                    self.order += 1;
                    self.flying.insert((arrival + ticks * TICK, self.order), (to, packet));
                }
                if end == 0 {
                    self.sent.push(packet);
                }
            }
        }
        while let Some(completion) = self.ends[0].poll_completion() {
            self.completions.push(completion);
        }
        while let Some(received) = self.ends[1].poll_receive() {
            self.received.push(received);
        }
        self.now += TICK;
        sent
    }
}
