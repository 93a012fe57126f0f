//! A host's network interface: the frames it builds, one at a time on its link, control datagrams first.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use controller::topology::{self, Mode, Role, Topology};
use softswitch::Packet;
use wire::frame::{Datagram, Ecn, UdpChecksum};
use wire::units::Nanos;

use super::protected;
use crate::link::Link;
use crate::run::RunError;

/// The codepoints that a host marks its packets with.
#[derive(Clone, Copy, Debug)]
pub struct Dscp {
    pub scheduled: u8,
    pub unscheduled: u8,
    pub control: u8,
}

impl Dscp {
    fn of(topology: &Topology) -> Result<Self, RunError> {
        let role = |role: Role| topology.dscp_of(role).ok_or(RunError::NoDscp(role.name()));
        Ok(Self {
            scheduled: role(Role::Scheduled)?,
            unscheduled: role(Role::Unscheduled)?,
            control: role(Role::Control)?,
        })
    }

    /// What data of this mode carries.
    pub fn of_mode(self, mode: Mode) -> u8 {
        match mode {
            Mode::Scheduled => self.scheduled,
            Mode::Unscheduled => self.unscheduled,
        }
    }
}

/// A host's network interface.
#[derive(Debug)]
pub struct Nic {
    pub address: Ipv4Addr,
    mac: [u8; 6],
    uplink: (Link, usize, u16),
    pub dscp: Dscp,
    free_at: Nanos,
    control: VecDeque<Packet>,
    identification: u16,
}

impl Nic {
    /// An interface with nothing to send.
    pub fn new(topology: &Topology, name: &str, host: &topology::Host) -> Result<Self, RunError> {
        let missing = |what: &str| RunError::Missing(what.to_owned());
        let link = topology.links.get(host.link).ok_or_else(|| missing(name))?;
        let switch = topology
            .switches
            .keys()
            .position(|switch| *switch == host.attachment.switch)
            .ok_or_else(|| missing(&host.attachment.switch))?;
        let uplink = Link { rate_bps: link.rate_bps, delay: Nanos(link.delay_ns) };
        Ok(Self {
            address: host.address,
            mac: host.mac,
            uplink: (uplink, switch, host.attachment.port),
            dscp: Dscp::of(topology)?,
            free_at: Nanos(0),
            control: VecDeque::new(),
            identification: 0,
        })
    }

    /// The link to the switch, the switch's index, and the port there.
    pub fn uplink(&self) -> (Link, usize, u16) {
        self.uplink
    }

    /// Whether the next frame may go.
    pub fn is_free(&self, now: Nanos) -> bool {
        self.free_at <= now
    }

    /// It sends until `at`.
    pub fn busy_until(&mut self, at: Nanos) {
        self.free_at = at;
    }

    /// Queues a control datagram, ahead of all data.
    pub fn queue_control(&mut self, source_port: u16, to: SocketAddr, octets: &[u8]) {
        let IpAddr::V4(destination) = to.ip() else { return };
        let header = self.header(destination, source_port, to.port(), self.dscp.control, Ecn::NotEct);
        // Control messages are far smaller than a frame may be.
        if let Ok(head) = header.frame(octets, 0, UdpChecksum::Computed) {
            self.control.push_back(Packet::new(head));
        }
    }

    /// The next control datagram.
    pub fn next_control(&mut self) -> Option<Packet> {
        self.control.pop_front()
    }

    /// The frame of a message of the repair channel: symbols go with the data, all else as control.
    pub fn repair_frame(&mut self, port: u16, message: &protected::Message) -> Option<Packet> {
        let IpAddr::V4(destination) = message.to.ip() else { return None };
        let dscp = if message.virtual_octets > 0 { self.dscp.scheduled } else { self.dscp.control };
        let header = self.header(destination, port, message.to.port(), dscp, Ecn::Ect0);
        let head = header.frame(&message.octets, message.virtual_octets, UdpChecksum::Zero).ok()?;
        Some(Packet::with_virtual_payload(head, message.virtual_octets))
    }

    /// The frame around a packet of the RoCEv2 endpoint.
    pub fn roce_frame(&mut self, packet: &roce::TxPacket) -> Option<Packet> {
        let IpAddr::V4(destination) = packet.destination else { return None };
        let ecn = if packet.is_data() { Ecn::Ect0 } else { Ecn::NotEct };
        let header = Datagram {
            // What isn't fragmented needs none; the ICRC covers it, and a packet that CREM restores has to have it.
            identification: 0,
            ..self.header(destination, packet.source_port, wire::roce::UDP_PORT, packet.dscp, ecn)
        };
        let behind_head = packet.octets_behind_head();
        let head = header.frame(&packet.head, behind_head, UdpChecksum::Zero).ok()?;
        Some(Packet::with_virtual_payload(head, behind_head))
    }

    fn header(
        &mut self,
        destination: Ipv4Addr,
        source_port: u16,
        destination_port: u16,
        dscp: u8,
        ecn: Ecn,
    ) -> Datagram {
        self.identification = self.identification.wrapping_add(1);
        Datagram {
            source_mac: self.mac,
            // The switch is a router: it takes frames whatever their destination MAC and writes the next hop's.
            destination_mac: [0x02, 0, 0, 0, 0, 1],
            source: self.address,
            destination,
            source_port,
            destination_port,
            dscp,
            ecn,
            time_to_live: 64,
            identification: self.identification,
        }
    }
}
