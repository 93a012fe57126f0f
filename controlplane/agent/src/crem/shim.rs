//! The gateway between two interfaces, as a machine: frames go in and come out.
//!
//! Every frame goes on unchanged, but for packets that the receiver function takes, and CREM messages for this gateway. Frames for one
//! side come out in order.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use crem::crf::{Crf, CrfConfig, CrfStats, Verdict};
use crem::csf::{Csf, CsfConfig, CsfStats};
use crem::{Deliver, FlowKey, Packet, Transmit};
use ipnet::IpNet;
use wire::crem::FlowAddresses;
use wire::units::Nanos;

use super::frame::{OutOf, Seen, Template, udp_checksum_of};

/// A side of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where the hosts are that it serves.
    Inside,
    /// The path that loses packets.
    Outside,
}

/// The gateway's setting.
#[derive(Clone, Debug)]
pub struct ShimConfig {
    /// The sender function's; its `serves` are the hosts inside, and empty means any.
    pub csf: CsfConfig,
    /// The receiver function's.
    pub crf: CrfConfig,
    /// Addresses of the gateway's own: CREM messages to them are for it, from either side.
    pub addresses: Vec<IpAddr>,
    /// DSCP of CREM messages.
    pub dscp: u8,
}

/// What the gateway counted beside its two functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShimStats {
    /// Frames from inside and from outside.
    pub frames: [u64; 2],
    /// `RoCEv2` packets of hosts inside, to and from them.
    pub packets: [u64; 2],
    /// CREM messages that came.
    pub messages: u64,
    /// Of these, those with a wrong UDP checksum.
    pub damaged: u64,
    /// CREM messages sent.
    pub sent: u64,
    /// Packets delivered by the receiver function.
    pub delivered: u64,
    /// Packets between hosts beyond what the gateway can keep in mind: they pass unprotected.
    pub untracked: u64,
    /// Frames that couldn't be made: too long for IP.
    pub unsent: u64,
}

/// The gateway.
#[derive(Debug)]
pub struct Shim {
    csf: Csf,
    crf: Crf,
    out: Out,
    serves: Vec<IpNet>,
    addresses: Vec<IpAddr>,
    port: u16,
    stats: ShimStats,
}

/// Frames of a flow, by addresses and UDP source port.
type Templates = BTreeMap<(FlowAddresses, u16), (Template, Nanos)>;

/// What a flow's functions write into: frames for both sides, made as the flow's own are.
#[derive(Debug)]
struct Out {
    /// For inside, and for outside.
    queues: [VecDeque<Vec<u8>>; 2],
    /// Memory for frames.
    spare: Vec<Vec<u8>>,
    templates: Templates,
    most: usize,
    port: u16,
    dscp: u8,
    /// The function that writes: the sender's messages go outside along with the flow, the receiver's against it.
    back: bool,
    sent: u64,
    delivered: u64,
    unsent: u64,
}

/// Frames kept for reuse.
const SPARE: usize = 1024;
/// Flows of one pair of hosts and source port each, beside what the functions hold.
const TEMPLATES_PER_FLOW: usize = 4;
/// What wasn't used for so long may go when room is needed.
const FORGOTTEN: Nanos = Nanos(60_000_000_000);

impl Out {
    fn frame(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    fn recycle(&mut self, frame: Vec<u8>) {
        if self.spare.len() < SPARE {
            self.spare.push(frame);
        }
    }

    /// Keeps in mind how a flow's frames look; false when there is no room.
    fn learn(&mut self, seen: &Seen<'_>, now: Nanos) -> bool {
        let key = (seen.addresses, seen.ip.source_port);
        if let Some((template, used)) = self.templates.get_mut(&key) {
            template.update(seen);
            *used = now;
            return true;
        }
        if self.templates.len() >= self.most {
            self.templates.retain(|_, (_, used)| now.saturating_sub(*used) < FORGOTTEN);
        }
        let room = self.templates.len() < self.most;
        if room {
            self.templates.insert(key, (Template::of(seen), now));
        }
        room
    }

    fn push(&mut self, side: Side, written: bool, frame: Vec<u8>) {
        if written {
            self.queues[side as usize].push_back(frame);
        } else {
            self.unsent += 1;
            self.recycle(frame);
        }
    }
}

impl Transmit for Out {
    fn transmit(&mut self, flow: &FlowKey, to: SocketAddr, octets: &[u8]) {
        let mut frame = self.frame();
        let (from, back) =
            (if self.back { flow.addresses.destination() } else { flow.addresses.source() }, self.back);
        let message = OutOf { from, to, port: self.port, dscp: self.dscp, octets };
        let of_flow = (flow.addresses, 0)..=(flow.addresses, u16::MAX);
        let template = self.templates.range(of_flow).max_by_key(|(_, (_, used))| *used);
        let written = template.is_some_and(|(_, (template, _))| template.message(&message, back, &mut frame));
        self.sent += u64::from(written);
        self.push(Side::Outside, written, frame);
    }
}

impl Deliver for Out {
    fn deliver(&mut self, packet: &Packet<'_>) {
        let mut frame = self.frame();
        let template = self.templates.get(&(packet.addresses, packet.ip.source_port));
        let written = template.is_some_and(|(template, _)| template.packet(packet, &mut frame));
        self.delivered += u64::from(written);
        self.push(Side::Inside, written, frame);
    }
}

impl Shim {
    /// A gateway that has seen nothing. The seeds feed nonces and Flow IDs: they come from a secure source.
    pub fn new(config: ShimConfig, seeds: [[u8; 32]; 2]) -> Self {
        let ShimConfig { csf, crf, addresses, dscp } = config;
        let out = Out {
            queues: [VecDeque::new(), VecDeque::new()],
            spare: Vec::new(),
            templates: Templates::new(),
            most: csf.max_flows.saturating_add(crf.max_flows).saturating_mul(TEMPLATES_PER_FLOW),
            port: csf.port,
            dscp,
            back: false,
            sent: 0,
            delivered: 0,
            unsent: 0,
        };
        let (serves, port) = (csf.serves.clone(), csf.port);
        let [sender, receiver] = seeds;
        Self {
            csf: Csf::new(csf, sender),
            crf: Crf::new(crf, receiver),
            out,
            serves,
            addresses,
            port,
            stats: ShimStats::default(),
        }
    }

    /// What was counted.
    pub fn stats(&self) -> ShimStats {
        ShimStats {
            sent: self.out.sent,
            delivered: self.out.delivered,
            unsent: self.out.unsent,
            ..self.stats
        }
    }

    /// What the sender function counted.
    pub fn sender(&self) -> &CsfStats {
        self.csf.stats()
    }

    /// What the receiver function counted.
    pub fn receiver(&self) -> &CrfStats {
        self.crf.stats()
    }

    /// Flows that the receiver function protects, and octets that their symbols take.
    pub fn held(&self) -> (usize, usize) {
        (self.crf.flows(), self.crf.memory())
    }

    /// Memory for a frame.
    pub fn spare(&mut self) -> Vec<u8> {
        let mut frame = self.out.frame();
        frame.clear();
        frame
    }

    /// Gives back the memory of a frame that was sent.
    pub fn recycle(&mut self, frame: Vec<u8>) {
        self.out.recycle(frame);
    }

    /// The next frame for a side.
    pub fn poll_frame(&mut self, side: Side) -> Option<Vec<u8>> {
        self.out.queues[side as usize].pop_front()
    }

    /// Takes a frame that came from a side.
    pub fn frame(&mut self, from: Side, frame: Vec<u8>, now: Nanos) {
        self.stats.frames[from as usize] += 1;
        let Some(seen) = Seen::of(&frame) else { return self.pass(from, frame) };
        if seen.destination_port == self.port && self.is_for_us(from, &seen) {
            let checksum = udp_checksum_of(&frame, &seen);
            self.message(&seen, checksum, now);
            return self.out.recycle(frame);
        }
        if seen.destination_port != wire::roce::UDP_PORT {
            return self.pass(from, frame);
        }
        match from {
            Side::Inside if self.serves(seen.addresses.source()) => {
                self.stats.packets[0] += 1;
                if !self.out.learn(&seen, now) {
                    self.stats.untracked += 1;
                    return self.pass(from, frame);
                }
                let packet = seen.packet();
                self.out.back = false;
                // Repair follows its packets.
                let before = self.out.queues[Side::Outside as usize].len();
                self.csf.source(&packet, now, &mut self.out);
                self.out.queues[Side::Outside as usize].insert(before, frame);
            }
            Side::Outside if self.serves(seen.addresses.destination()) => {
                self.stats.packets[1] += 1;
                if !self.out.learn(&seen, now) {
                    self.stats.untracked += 1;
                    return self.pass(from, frame);
                }
                let packet = seen.packet();
                self.csf.reverse(&packet, now);
                self.out.back = true;
                let before = self.out.queues[Side::Inside as usize].len();
                match self.crf.source(&packet, now, &mut self.out) {
                    // What it made restorable comes after it.
                    Verdict::Pass => self.out.queues[Side::Inside as usize].insert(before, frame),
                    Verdict::Taken => self.out.recycle(frame),
                }
            }
            _ => self.pass(from, frame),
        }
    }

    fn pass(&mut self, from: Side, frame: Vec<u8>) {
        let to = match from {
            Side::Inside => Side::Outside,
            Side::Outside => Side::Inside,
        };
        self.out.queues[to as usize].push_back(frame);
    }

    fn serves(&self, address: IpAddr) -> bool {
        self.serves.is_empty() || self.serves.iter().any(|prefix| prefix.contains(&address))
    }

    //= CREM, Path Reports: 29faf103
    /// CREM messages from outside to the hosts that it serves are the gateway's, and those to its own addresses.
    fn is_for_us(&self, from: Side, seen: &Seen<'_>) -> bool {
        let to = seen.addresses.destination();
        self.addresses.contains(&to) || (from == Side::Outside && self.serves(to))
    }

    fn message(&mut self, seen: &Seen<'_>, checksum: u16, now: Nanos) {
        self.stats.messages += 1;
        if !seen.is_intact(checksum) {
            self.stats.damaged += 1;
            return;
        }
        let peer = SocketAddr::new(seen.addresses.source(), seen.ip.source_port);
        let for_receiver = self.crf.wants(peer, seen.payload);
        self.out.back = for_receiver;
        if for_receiver {
            self.crf.datagram(peer, seen.payload, seen.ip.ecn, now, &mut self.out);
        } else {
            self.csf.datagram(peer, seen.payload, now, &mut self.out);
        }
    }

    /// When to call [`Shim::timeout`] next.
    pub fn next_timeout(&self) -> Option<Nanos> {
        self.csf.next_timeout().into_iter().chain(self.crf.next_timeout()).min()
    }

    /// Does what is due.
    pub fn timeout(&mut self, now: Nanos) {
        self.out.back = false;
        self.csf.timeout(now, &mut self.out);
        self.out.back = true;
        self.crf.timeout(now, &mut self.out);
    }

    /// Ends: held packets come out, and the other sides are told.
    pub fn end(&mut self, now: Nanos) {
        self.out.back = false;
        self.csf.end(now, &mut self.out);
        self.out.back = true;
        self.crf.end(now, &mut self.out);
    }
}
