//! Two RDMA interfaces, a long path that loses packets, and CREM's two functions at its ends, in virtual time.
//!
//! The interfaces are `roce`'s. A packet of the transport counts 4096 octets of payload of which none exist; what CREM
//! sees and codes is the rest of it, headers and ICRC, so that a run costs little. On the link each message takes the time
//! that it would take with its payload.

use core::cmp::Reverse;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::{BinaryHeap, VecDeque};

use crem::crf::{Crf, CrfConfig, Order, Verdict};
use crem::csf::{Csf, CsfConfig};
use crem::{Deliver, IpFields, Packet, Transmit};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use roce::{Endpoint, QpConfig, Recovery, TxPacket};
use wire::crem::FlowAddresses;
use wire::frame::{Datagram, ETHERNET_OCTETS, Ecn, UdpChecksum};
use wire::roce::{UDP_PORT, icrc};
use wire::units::{MbitPerSec, Nanos, Octets};

const PORT: u16 = 50_000;
const MTU: u16 = 4096;
const QPS: [u32; 2] = [0x11, 0x22];
const HOSTS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 1, 2)];
const RATE: MbitPerSec = MbitPerSec(100_000);
/// Ethernet, IPv4, UDP, preamble, frame check sequence, gap.
const LINK_OVERHEAD: u64 = 14 + 20 + 8 + 8 + 4 + 12;
/// T as CREM sees it here: headers and ICRC of any packet of a WRITE, and the length.
const SHORT_T: u16 = 40;
const SHORT_T_OCTETS: u32 = 40;
/// What a symbol lacks to its length with payload.
const MISSING: u64 = 4096;

/// What protects the transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Nothing but the transport.
    Plain(Recovery),
    /// A fixed number of repair symbols per block of 32, and no request is heard.
    Fixed(u8),
    /// CREM, with the transport that it sits under.
    Crem(Recovery),
}

/// What a series of transfers came to.
pub struct Outcome {
    /// Completion times in nanoseconds, in the order of the transfers.
    pub times: Vec<u64>,
    /// Repair messages that left, by octets with their payload.
    pub repair_symbols: u64,
    /// Blocks that were protected.
    pub blocks: u64,
    /// Packets that the transport sent again.
    pub retransmitted: u64,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// An RDMA packet reaches the other host: octets, of the UDP payload in all, IP identification.
    Rdma(usize, Vec<u8>, usize, u16),
    Forth(Vec<u8>),
    Back(Vec<u8>),
}

/// What leaves a host beside its interface's packets.
#[derive(Default)]
struct Out {
    datagrams: VecDeque<Vec<u8>>,
    delivered: Vec<Vec<u8>>,
}

impl Transmit for Out {
    fn transmit(&mut self, _: &crem::FlowKey, _: SocketAddr, octets: &[u8]) {
        self.datagrams.push_back(octets.to_vec());
    }
}

impl Deliver for Out {
    fn deliver(&mut self, packet: &Packet<'_>) {
        self.delivered.push(packet.payload.to_vec());
    }
}

pub struct Path {
    ends: [Endpoint; 2],
    functions: Option<(Csf, Crf)>,
    hears_requests: bool,
    now: u64,
    /// When each host's link is free.
    free_at: [u64; 2],
    out: [Out; 2],
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    order: u64,
    delay: u64,
    loss: f64,
    rng: ChaCha8Rng,
    identification: u16,
}

impl Path {
    /// `loss` is the rate at which packets toward the receiver are lost, repair messages like others. With `prior` the sender
    /// function starts from that loss rate.
    pub fn new(scheme: Scheme, round_trip: u64, loss: f64, seed: u64) -> Self {
        let recovery = match scheme {
            Scheme::Plain(recovery) | Scheme::Crem(recovery) => recovery,
            Scheme::Fixed(_) => Recovery::GoBackN,
        };
        let mut ends = [Endpoint::new(), Endpoint::new()];
        for (host, end) in ends.iter_mut().enumerate() {
            let config = QpConfig {
                mtu: MTU,
                recovery,
                retransmit_timeout: Nanos(round_trip * 4),
                retry_limit: None,
                ..QpConfig::new(QPS[host], QPS[1 - host], IpAddr::V4(HOSTS[1 - host]))
            };
            end.create_qp(config).expect("a valid configuration");
        }
        let order = if recovery == Recovery::GoBackN { Order::Hold } else { Order::Pass };
        let functions = match scheme {
            Scheme::Plain(_) => None,
            Scheme::Fixed(m) => Some((m, 1 << 30)),
            Scheme::Crem(_) => Some((0, 1 << 15)),
        };
        let functions = functions.map(|(fixed, loss_memory)| {
            let csf = CsfConfig {
                symbol_octets: SHORT_T,
                loss_memory,
                prior_loss: if fixed > 0 { rate_for(fixed) } else { 0.0 },
                // A quarter of the source's octets, with payload on both sides of the division.
                repair_permille: 250 * 4112 * (SHORT_T_OCTETS + 32) / (16 * 4168),
                retention_rtts: 4,
                ..CsfConfig::new(PORT, MTU)
            };
            let crf = CrfConfig { max_t: SHORT_T, ..CrfConfig::new(PORT, order) };
            (Csf::new(csf, [7; 32]), Crf::new(crf, [8; 32]))
        });
        Self {
            ends,
            functions,
            hears_requests: !matches!(scheme, Scheme::Fixed(_)),
            now: 0,
            free_at: [0; 2],
            out: [Out::default(), Out::default()],
            events: BinaryHeap::new(),
            order: 0,
            delay: round_trip / 2,
            loss,
            rng: ChaCha8Rng::seed_from_u64(seed),
            identification: 0,
        }
    }

    /// Transfers of `octets` each, one after the other, a round trip apart; the first `warm_up` don't count.
    pub fn transfers(&mut self, octets: u32, warm_up: usize, count: usize) -> Outcome {
        let mut times = Vec::new();
        let mut before = (0, 0, 0);
        for transfer in 0..warm_up + count {
            if transfer == warm_up {
                before = self.counts();
            }
            let start = self.now;
            self.ends[0].post(QPS[0], transfer as u64, octets, 0, Nanos(start)).expect("an open queue pair");
            let end = loop {
                self.step();
                if self.ends[0].poll_completion().is_some() {
                    break self.now;
                }
            };
            if transfer >= warm_up {
                times.push(end - start);
            }
            let rest = self.now + 4 * self.delay;
            while self.next_time() <= rest {
                self.step();
            }
            self.now = rest;
        }
        let after = self.counts();
        Outcome {
            times,
            repair_symbols: after.0 - before.0,
            blocks: after.1 - before.1,
            retransmitted: after.2 - before.2,
        }
    }

    fn counts(&self) -> (u64, u64, u64) {
        let (symbols, blocks) = self.functions.as_ref().map_or((0, 0), |(csf, _)| {
            let stats = csf.stats();
            (stats.ordinary + stats.retransmissions + stats.copies, stats.blocks)
        });
        (symbols, blocks, self.ends[0].stats().retransmitted_packets)
    }

    /// When something happens next: an arrival, a timer, a link with something to send.
    fn next_time(&mut self) -> u64 {
        let arrival = self.events.peek().map(|Reverse((at, _, _))| *at);
        let timers = self.ends.iter_mut().filter_map(Endpoint::poll_timeout).map(|at| at.0).min();
        let functions = self.functions.as_ref().and_then(|(csf, crf)| {
            [csf.next_timeout(), crf.next_timeout()].into_iter().flatten().map(|at| at.0).min()
        });
        let links = [(0, QPS[0]), (1, QPS[1])].into_iter().filter_map(|(host, qp)| {
            let busy = !self.out[host].datagrams.is_empty() || self.ends[host].is_active(qp);
            busy.then_some(self.free_at[host])
        });
        arrival
            .into_iter()
            .chain(timers)
            .chain(functions)
            .chain(links)
            .min()
            .unwrap_or(u64::MAX)
            .max(self.now)
    }

    fn step(&mut self) {
        let next = self.next_time();
        assert_ne!(next, u64::MAX, "something is under way");
        self.now = next;
        let now = Nanos(next);
        while self.events.peek().is_some_and(|Reverse((at, _, _))| *at <= next) {
            if let Some(Reverse((_, _, event))) = self.events.pop() {
                self.arrive(event);
            }
        }
        for end in &mut self.ends {
            end.handle_timeout(now);
        }
        if let Some((csf, crf)) = &mut self.functions {
            csf.timeout(now, &mut self.out[0]);
            crf.timeout(now, &mut self.out[1]);
        }
        self.hand_over();
        let mut sent = false;
        for host in 0..2 {
            sent |= self.send(host);
        }
        if !sent && self.next_time() == next {
            // An interface that is active with nothing to send: its next packet waits for an answer or a timer.
            self.free_at = self.free_at.map(|at| at.max(next + 100));
        }
    }

    /// Puts the next packet on a host's link, if that is free.
    fn send(&mut self, host: usize) -> bool {
        if self.free_at[host] > self.now {
            return false;
        }
        if let Some(octets) = self.out[host].datagrams.pop_front() {
            // Only messages with a symbol have a payload.
            let carries = octets[0] & 0xf == 1 && octets[1] & 0x20 == 0;
            let length = octets.len() as u64 + if carries { MISSING } else { 0 };
            let event = if host == 0 { Event::Forth(octets) } else { Event::Back(octets) };
            self.cross(host, length, event);
            return true;
        }
        let Some(packet) = self.ends[host].poll_transmit(Nanos(self.now)) else { return false };
        self.identification = self.identification.wrapping_add(1);
        let octets = sealed(&packet, host, self.identification);
        if host == 0
            && let Some((csf, _)) = &mut self.functions
        {
            csf.source(&seen(&octets, 0, self.identification), Nanos(self.now), &mut self.out[0]);
        }
        let all = packet.udp_payload_octets();
        self.cross(host, all as u64, Event::Rdma(host, octets, all, self.identification));
        true
    }

    /// Takes the link for a packet and, unless it is lost, has it arrive.
    fn cross(&mut self, host: usize, octets: u64, event: Event) {
        let time = RATE.transmission_time(Octets(octets + LINK_OVERHEAD)).unwrap_or_default().0;
        self.free_at[host] = self.now + time;
        let draw = self.rng.next_u64() as f64 / u64::MAX as f64;
        if host == 0 && draw < self.loss {
            return;
        }
        self.order += 1;
        self.events.push(Reverse((self.now + time + self.delay, self.order, event)));
    }

    fn arrive(&mut self, event: Event) {
        let now = Nanos(self.now);
        match (event, &mut self.functions) {
            (Event::Rdma(0, octets, all, identification), Some((_, crf))) => {
                let packet = seen(&octets, 0, identification);
                if crf.source(&packet, now, &mut self.out[1]) == Verdict::Pass {
                    self.take(1, &octets, all);
                }
                self.hand_over();
            }
            (Event::Rdma(1, octets, all, identification), functions) => {
                if let Some((csf, _)) = functions {
                    csf.reverse(&seen(&octets, 1, identification), now);
                }
                self.take(0, &octets, all);
            }
            (Event::Rdma(from, octets, all, _), None) => self.take(1 - from, &octets, all),
            (Event::Forth(octets), Some((_, crf))) => {
                crf.datagram(address(0), &octets, Ecn::Ect0, now, &mut self.out[1]);
                self.hand_over();
            }
            (Event::Back(octets), Some((csf, _))) if self.hears_requests || octets[0] & 0xf != 6 => {
                csf.datagram(address(1), &octets, now, &mut self.out[0]);
            }
            _ => {}
        }
    }

    /// What the receiver function has released goes to the interface.
    fn hand_over(&mut self) {
        for octets in core::mem::take(&mut self.out[1].delivered) {
            let all = octets.len() + usize::from(MTU);
            self.take(1, &octets, all);
        }
    }

    fn take(&mut self, host: usize, octets: &[u8], all: usize) {
        let from = IpAddr::V4(HOSTS[1 - host]);
        // An answer to a packet that came twice may be refused; the transport knows what to do.
        let _ = self.ends[host].handle_packet(from, octets, all, false, Nanos(self.now));
    }
}

fn address(host: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(HOSTS[host]), PORT)
}

/// A loss rate for which the policy chooses `m` of 32.
fn rate_for(m: u8) -> f64 {
    let mut rate = 1e-6;
    while crem::smallest_m(32, rate, 1e-4, 8) < m {
        rate *= 1.1;
    }
    rate
}

fn ip_fields(identification: u16) -> IpFields {
    IpFields {
        source_port: 49_152,
        identification,
        dont_fragment: true,
        dscp: 0,
        ecn: Ecn::Ect0,
        hop_limit: 64,
    }
}

fn seen(octets: &[u8], from: usize, identification: u16) -> Packet<'_> {
    let addresses = FlowAddresses::V4 { source: HOSTS[from], destination: HOSTS[1 - from] };
    Packet { addresses, ip: ip_fields(identification), payload: octets }
}

/// Headers and ICRC of a packet, as if it had no payload.
fn sealed(packet: &TxPacket, from: usize, identification: u16) -> Vec<u8> {
    let mut octets = packet.head.to_vec();
    octets.extend_from_slice(&[0; 4]);
    let datagram = Datagram {
        source_mac: [2; 6],
        destination_mac: [4; 6],
        source: HOSTS[from],
        destination: HOSTS[1 - from],
        source_port: packet.source_port,
        destination_port: UDP_PORT,
        dscp: 0,
        ecn: Ecn::Ect0,
        time_to_live: 64,
        identification,
    };
    let frame = datagram.frame(&octets, 0, UdpChecksum::Zero).expect("a short packet");
    let covered = &frame[ETHERNET_OCTETS..frame.len() - 4];
    let place = octets.len() - 4;
    octets[place..].copy_from_slice(&icrc(covered, 0).expect("whole headers"));
    octets
}
