//! CREM's two functions around a host's RoCEv2 packets.
//!
//! Payloads are virtual in the simulator: what CREM sees, codes and restores of a packet is its transport headers, how
//! many octets follow them, and an ICRC over these. On links every message takes the time that it would take with its payload.

use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;

use controller::topology::{Scheme, Topology};
use crem::crf::{Crf, CrfConfig, Order, Verdict};
use crem::csf::{Csf, CsfConfig};
use crem::{Deliver, FlowKey, IpFields, Packet, Transmit};
use roce::Recovery;
use wire::crem::{Flags, FlowAddresses, MessageType, RawHeader};
use wire::frame::{ETHERNET_OCTETS, Parsed, UdpChecksum};
use wire::roce::{Bth, ICRC_OCTETS, icrc};
use wire::units::Nanos;

use crate::parameters;
use crate::summary::Crem;

/// T: transport headers, the count of octets that follow, ICRC, length.
const SYMBOL_OCTETS: u16 = 48;
/// What stands behind the transport headers instead of payload.
const COUNT_OCTETS: usize = 2;
/// What a packet has of the first two, mostly: the base transport header, the count, the ICRC.
const SHORT_OCTETS: u64 = 12 + 2 + 4;
/// What a repair message has besides its symbol, with blocks of 32.
const REPAIR_OCTETS: u64 = 32;
/// Packets that may overtake each other at a selective-repeat receiver.
const REORDER_PACKETS: u32 = 8192;

/// A message for another host, and the octets that it stands for beyond its own.
#[derive(Debug)]
pub struct Message {
    pub to: SocketAddr,
    pub octets: Vec<u8>,
    pub virtual_octets: usize,
}

/// A packet that the receiver function delivers.
#[derive(Debug)]
pub struct Delivered {
    pub from: std::net::IpAddr,
    pub source_port: u16,
    pub head: Vec<u8>,
    /// Of the whole UDP payload.
    pub octets: usize,
}

/// What the functions write into.
#[derive(Debug)]
struct Out {
    payload: usize,
    messages: VecDeque<Message>,
    delivered: VecDeque<Delivered>,
}

impl Transmit for Out {
    fn transmit(&mut self, _: &FlowKey, to: SocketAddr, octets: &[u8]) {
        let raw = RawHeader::decode(octets).ok();
        let carries = raw.is_some_and(|raw| {
            raw.message_type == MessageType::REPAIR && !raw.header.flags.contains(Flags::INFO)
        });
        let virtual_octets = if carries { self.payload } else { 0 };
        self.messages.push_back(Message { to, octets: octets.to_vec(), virtual_octets });
    }
}

impl Deliver for Out {
    fn deliver(&mut self, packet: &Packet<'_>) {
        // The functions deliver only what they were shown, or what they restored and verified.
        let Some((head, rest)) = packet
            .payload
            .len()
            .checked_sub(COUNT_OCTETS + ICRC_OCTETS)
            .and_then(|at| packet.payload.split_at_checked(at))
        else {
            return;
        };
        let behind = rest.first_chunk().map_or(0, |count| usize::from(u16::from_be_bytes(*count)));
        self.delivered.push_back(Delivered {
            from: packet.addresses.source(),
            source_port: packet.ip.source_port,
            head: head.to_vec(),
            octets: head.len() + behind,
        });
    }
}

/// What is heard of a flow's state, for the figures.
#[derive(Debug, Default)]
struct Largest {
    m: u8,
    loss: f64,
}

/// The functions of a host.
#[derive(Debug)]
pub struct Protected {
    csf: Csf,
    crf: Crf,
    out: Out,
    port: u16,
    flows: BTreeSet<FlowKey>,
    largest: Largest,
    /// Octets of protected packets and of repair messages as they are on links.
    octets: [u64; 2],
}

/// How the transport recovers under a scheme.
pub fn recovery(scheme: Scheme) -> Recovery {
    match scheme {
        Scheme::CremPass => Recovery::SelectiveRepeat { reorder_packets: REORDER_PACKETS },
        _ => Recovery::GoBackN,
    }
}

impl Protected {
    /// Functions without flows, for packets of `payload` octets.
    pub fn new(topology: &Topology, scheme: Scheme, payload: u64, seed: [u8; 32]) -> Self {
        let port = topology.domain.ports.crem;
        let mtu = u16::try_from(payload).unwrap_or(u16::MAX);
        let initial_rtt = Nanos(topology.rdcc.base_rtt_ns.max(1));
        let order = if scheme == Scheme::CremPass { Order::Pass } else { Order::Hold };
        let defaults = CsfConfig::new(port, mtu);
        // The share that real octets have, in those that the functions see.
        let symbol = u64::from(SYMBOL_OCTETS) + REPAIR_OCTETS;
        let share = u64::from(defaults.repair_permille) * (payload + 16) * symbol;
        let share = share / (SHORT_OCTETS * (payload + symbol));
        let csf = CsfConfig {
            symbol_octets: SYMBOL_OCTETS,
            initial_rtt,
            repair_permille: u32::try_from(share).unwrap_or(u32::MAX),
            reporters: parameters::crn_addresses(topology),
            ..defaults
        };
        let crf = CrfConfig { max_t: SYMBOL_OCTETS, initial_rtt, ..CrfConfig::new(port, order) };
        let mut other = seed;
        other[31] ^= 1;
        Self {
            csf: Csf::new(csf, seed),
            crf: Crf::new(crf, other),
            out: Out { payload: usize::from(mtu), messages: VecDeque::new(), delivered: VecDeque::new() },
            port,
            flows: BTreeSet::new(),
            largest: Largest::default(),
            octets: [0; 2],
        }
    }

    /// The domain's CREM port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A RoCEv2 packet of this host leaves.
    pub fn leaves(&mut self, parsed: &Parsed<'_>, now: Nanos) {
        let Some((addresses, ip, octets)) = shown(parsed) else { return };
        let before = self.csf.stats().protected;
        self.csf.source(&Packet { addresses, ip, payload: &octets }, now, &mut self.out);
        if self.csf.stats().protected > before {
            self.octets[0] += parsed.payload_octets as u64;
            if let Ok(bth) = Bth::decode(&octets) {
                self.flows.insert(FlowKey::requests(addresses, bth.destination_qp));
            }
        }
    }

    /// A RoCEv2 packet arrives: whether it goes on now. What the functions deliver comes after it.
    pub fn arrives(&mut self, parsed: &Parsed<'_>, now: Nanos) -> bool {
        let Some((addresses, ip, octets)) = shown(parsed) else { return true };
        let packet = Packet { addresses, ip, payload: &octets };
        self.csf.reverse(&packet, now);
        self.crf.source(&packet, now, &mut self.out) == Verdict::Pass
    }

    /// A datagram came to the CREM port.
    pub fn take_datagram(&mut self, from: SocketAddr, parsed: &Parsed<'_>, now: Nanos) {
        let octets = parsed.payload_head;
        if self.crf.wants(from, octets) {
            self.crf.datagram(from, octets, parsed.datagram.ecn, now, &mut self.out);
            return;
        }
        self.csf.datagram(from, octets, now, &mut self.out);
        for &key in &self.flows {
            if let Some(flow) = self.csf.flow(key, now) {
                self.largest.m = self.largest.m.max(flow.block.map_or(0, |(_, m)| m));
                self.largest.loss = self.largest.loss.max(flow.loss_rate);
            }
        }
    }

    /// Does what is due.
    pub fn work(&mut self, now: Nanos) {
        self.csf.timeout(now, &mut self.out);
        self.crf.timeout(now, &mut self.out);
    }

    /// When to do it.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.csf.next_timeout().into_iter().chain(self.crf.next_timeout()).min()
    }

    /// The next message to send.
    pub fn poll_message(&mut self) -> Option<Message> {
        let message = self.out.messages.pop_front()?;
        if message.virtual_octets > 0 {
            self.octets[1] += (message.octets.len() + message.virtual_octets) as u64;
        }
        Some(message)
    }

    /// The next packet for the transport.
    pub fn poll_delivered(&mut self) -> Option<Delivered> {
        self.out.delivered.pop_front()
    }

    /// Adds this host's figures.
    pub fn add_to(&self, all: &mut Crem, octets: &mut [u64; 2]) {
        let (sent, restored) = (self.csf.stats(), self.crf.stats());
        all.blocks += sent.blocks;
        all.ordinary += sent.ordinary;
        all.requested += sent.retransmissions + sent.copies;
        all.restored += restored.restored;
        all.given_up += restored.given_up;
        all.largest_m = all.largest_m.max(self.largest.m);
        all.loss_estimate = all.loss_estimate.max(self.largest.loss);
        all.path_reports += sent.path_reports;
        octets.iter_mut().zip(self.octets).for_each(|(all, own)| *all += own);
    }
}

/// A packet as the functions see it, the same at both ends.
fn shown(parsed: &Parsed<'_>) -> Option<(FlowAddresses, IpFields, Vec<u8>)> {
    let datagram = parsed.datagram;
    let behind = u16::try_from(parsed.payload_octets.checked_sub(parsed.payload_head.len())?).ok()?;
    let mut octets = parsed.payload_head.to_vec();
    octets.extend_from_slice(&behind.to_be_bytes());
    octets.extend_from_slice(&[0; ICRC_OCTETS]);
    let frame = datagram.frame(&octets, 0, UdpChecksum::Zero).ok()?;
    let covered = frame.get(ETHERNET_OCTETS..frame.len() - ICRC_OCTETS)?;
    let place = octets.len() - ICRC_OCTETS;
    octets[place..].copy_from_slice(&icrc(covered, 0).ok()?);
    let ip = IpFields {
        source_port: datagram.source_port,
        identification: datagram.identification,
        dont_fragment: true,
        dscp: datagram.dscp,
        ecn: datagram.ecn,
        hop_limit: datagram.time_to_live,
    };
    let addresses = FlowAddresses::V4 { source: datagram.source, destination: datagram.destination };
    Some((addresses, ip, octets))
}
