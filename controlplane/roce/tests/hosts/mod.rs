//! Two hosts with memory, and a link that loses, repeats and reorders: payloads are real octets here.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use core::net::{IpAddr, Ipv4Addr};
use std::collections::{BTreeMap, HashMap, VecDeque};

use roce::{
    Carried, Completion, Disposition, Endpoint, MemoryRegion, QpConfig, ReceiveCompletion, ReceiveRequest,
    TxContent, TxPacket, WorkRequest,
};
use wire::roce::Headers;
use wire::units::Nanos;

pub const A: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
pub const B: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

pub const TICK: u64 = 100;
pub const DELAY: u64 = 1000;

/// Where a host's memory is, and under which key.
pub const BASE: u64 = 0x1000_0000;
pub const KEY: u32 = 7;

/// What the link does to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Delivered so many ticks late.
    Deliver(u64),
    Lose,
    /// Delivered twice, the second time so many ticks late.
    Repeat(u64),
}

#[derive(Default)]
pub struct Host {
    pub endpoint: Endpoint,
    pub memory: Vec<u8>,
    /// What is sent, by queue pair and work request.
    messages: HashMap<(u32, u64), Vec<u8>>,
    /// What came: into receives, and by READs.
    pub receives: HashMap<(u32, u64), Vec<u8>>,
    pub reads: HashMap<(u32, u64), Vec<u8>>,
    /// Payloads of packets that wait for one before them.
    held: HashMap<(u32, bool, u32), Vec<u8>>,
    pub completions: Vec<Completion>,
    pub receive_completions: Vec<ReceiveCompletion>,
    /// Receives to post, one every so often.
    pub later: VecDeque<(u32, ReceiveRequest)>,
}

impl Host {
    pub fn submit(&mut self, qp: u32, work: WorkRequest, content: &[u8], now: u64) {
        self.messages.insert((qp, work.wr_id), content.to_vec());
        self.reads.insert((qp, work.wr_id), vec![0; work.octets as usize]);
        self.endpoint.submit(qp, work, Nanos(now)).unwrap();
    }

    fn post_receive(&mut self, qp: u32, receive: ReceiveRequest) {
        self.receives.insert((qp, receive.wr_id), vec![0; receive.octets as usize]);
        self.endpoint.post_receive(qp, receive).unwrap();
    }

    fn payload(&self, packet: &TxPacket) -> Vec<u8> {
        let octets = packet.payload_octets as usize;
        if octets == 0 {
            return Vec::new();
        }
        let (from, at) = match packet.content {
            TxContent::Data { wr_id, offset, .. } => (&self.messages[&(packet.qp, wr_id)], offset as usize),
            TxContent::ReadResponse { address, key } => {
                assert_eq!(key, KEY);
                (&self.memory, usize::try_from(address - BASE).unwrap())
            }
            _ => return Vec::new(),
        };
        from[at..at + octets].to_vec()
    }

    fn take(&mut self, from: IpAddr, packet: &TxPacket, payload: Vec<u8>, now: u64) {
        let (headers, _) = Headers::decode(&packet.head).unwrap();
        let qp = headers.bth.destination_qp;
        let octets = packet.udp_payload_octets();
        let taken = self.endpoint.handle_packet(from, &packet.head, octets, false, Nanos(now)).unwrap();
        let answer = headers.bth.opcode.is_read_response();
        // Acknowledgements are numbered in the other direction.
        if packet.payload_octets > 0 && matches!(taken, Disposition::Taken | Disposition::Held) {
            self.held.insert((qp, answer, headers.bth.psn.value()), payload);
        }
        while let Some(received) = self.endpoint.poll_receive() {
            let answer = matches!(received.carried, Carried::ReadResponse { .. });
            if received.octets == 0 {
                continue;
            }
            let payload = self.held.remove(&(received.qp, answer, received.psn.value())).unwrap();
            assert_eq!(payload.len(), received.octets as usize);
            let offset = received.offset as usize;
            let (place, at) = match received.carried {
                Carried::Send { wr_id } => (self.receives.get_mut(&(received.qp, wr_id)).unwrap(), offset),
                Carried::ReadResponse { wr_id } => {
                    (self.reads.get_mut(&(received.qp, wr_id)).unwrap(), offset)
                }
                Carried::Write { address, key } => {
                    assert_eq!(key, KEY);
                    (&mut self.memory, usize::try_from(address - BASE).unwrap())
                }
            };
            place[at..at + payload.len()].copy_from_slice(&payload);
        }
    }
}

pub struct Link<F> {
    pub hosts: [Host; 2],
    pub now: u64,
    fate: F,
    order: u64,
    flying: BTreeMap<(u64, u64), (usize, TxPacket, Vec<u8>)>,
    /// Ticks between two receives that are posted late.
    pub receive_every: u64,
}

impl<F: FnMut(usize, &TxPacket) -> Fate> Link<F> {
    pub fn new(configs: &[QpConfig], memory: usize, fate: F) -> Self {
        let mut hosts = [Host::default(), Host::default()];
        for (index, host) in hosts.iter_mut().enumerate() {
            host.memory = vec![0; memory];
            let region =
                MemoryRegion { address: BASE, octets: memory as u64, remote_write: true, remote_read: true };
            host.endpoint.register_memory(KEY, region);
            for config in configs {
                let config = QpConfig { check_memory: true, ..*config };
                let config = match index {
                    0 => QpConfig { remote: B, ..config },
                    _ => QpConfig {
                        local_qp: config.remote_qp,
                        remote_qp: config.local_qp,
                        remote: A,
                        first_psn: config.first_remote_psn,
                        first_remote_psn: config.first_psn,
                        ..config
                    },
                };
                host.endpoint.create_qp(config).unwrap();
            }
        }
        Self { hosts, now: 0, fate, order: 0, flying: BTreeMap::new(), receive_every: 1 }
    }

    /// Runs until nothing is left to do, or until `limit` ticks went by. Gives whether it came to rest.
    pub fn run(&mut self, limit: u64) -> bool {
        for tick in 0..limit {
            if tick.is_multiple_of(self.receive_every) {
                for host in &mut self.hosts {
                    if let Some((qp, receive)) = host.later.pop_front() {
                        host.post_receive(qp, receive);
                    }
                }
            }
            let sent = self.tick();
            let waiting = self
                .hosts
                .iter_mut()
                .any(|host| host.endpoint.poll_timeout().is_some() || !host.later.is_empty());
            if !sent && !waiting && self.flying.is_empty() {
                return true;
            }
        }
        false
    }

    fn tick(&mut self) -> bool {
        let mut sent = false;
        while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (to, packet, payload) = entry.remove();
            self.hosts[to].take([B, A][to], &packet, payload, self.now);
        }
        for index in 0..2 {
            let host = &mut self.hosts[index];
            host.endpoint.handle_timeout(Nanos(self.now));
            if let Some(packet) = host.endpoint.poll_transmit(Nanos(self.now)) {
                sent = true;
                let payload = host.payload(&packet);
                let times = match (self.fate)(index, &packet) {
                    Fate::Deliver(late) => vec![late],
                    Fate::Lose => vec![],
                    Fate::Repeat(late) => vec![0, late],
                };
                for late in times {
                    self.order += 1;
                    let at = (self.now + DELAY + late * TICK, self.order);
                    self.flying.insert(at, (1 - index, packet, payload.clone()));
                }
            }
            let host = &mut self.hosts[index];
            host.completions.extend(core::iter::from_fn(|| host.endpoint.poll_completion()));
            let ended = core::iter::from_fn(|| host.endpoint.poll_receive_completion());
            host.receive_completions.extend(ended);
        }
        self.now += TICK;
        sent
    }
}
