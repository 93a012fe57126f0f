//! RoCEv2 packets as CREM sees them: which are protected, to which flow they belong, and their source symbols.

use wire::crem::FlowAddresses;
use wire::frame::Ecn;
use wire::roce::{BTH_OCTETS, Bth, ICRC_OCTETS, MASK_24, Opcode, RETH_OCTETS, Reth};
use wire::scone::{RATE_SIGNAL_OCTETS, signal_follows};

/// Octets of the length in front of a source symbol (CREM, Source Symbols).
pub const PREFIX_OCTETS: usize = 2;

/// The shortest UDP payload of a RoCEv2 packet: base transport header and ICRC.
pub const MIN_PAYLOAD: usize = BTH_OCTETS + ICRC_OCTETS;

/// Where the rate of a Rate Signal stands in a UDP payload.
const RATE: core::ops::Range<usize> = BTH_OCTETS + 2..BTH_OCTETS + 6;

/// Ours: READ responses carry the PSNs of the requests that they answer, so toward one queue pair there can be two
/// number spaces at a time. Each is a flow of its own; this bit of the Flow Label, above the 24 of the queue pair, tells the
/// flow of responses from that of requests.
pub const RESPONSES: u32 = 0x0100_0000;

/// What the IP and UDP headers of a packet say beyond the addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IpFields {
    /// UDP source port.
    pub source_port: u16,
    /// IPv4 identification; 0 with IPv6.
    pub identification: u16,
    /// IPv4's flag Don't Fragment; false with IPv6.
    pub dont_fragment: bool,
    /// Six bits of DSCP.
    pub dscp: u8,
    /// The ECN field.
    pub ecn: Ecn,
    /// IPv4 time to live, IPv6 hop limit.
    pub hop_limit: u8,
}

/// A RoCEv2 packet, whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Source and destination address.
    pub addresses: FlowAddresses,
    /// The rest of the headers before the UDP payload.
    pub ip: IpFields,
    /// The UDP payload, from the base transport header through the ICRC.
    pub payload: &'a [u8],
}

/// A protected flow: addresses, destination queue pair and number space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Source and destination.
    pub addresses: FlowAddresses,
    /// The queue pair in the low 24 bits, and [`RESPONSES`] or not.
    pub label: u32,
}

impl FlowKey {
    /// The flow of requests toward `destination_qp`.
    pub const fn requests(addresses: FlowAddresses, destination_qp: u32) -> Self {
        Self { addresses, label: destination_qp & MASK_24 }
    }

    /// The flow of READ responses toward `destination_qp`.
    pub const fn responses(addresses: FlowAddresses, destination_qp: u32) -> Self {
        Self { addresses, label: destination_qp & MASK_24 | RESPONSES }
    }

    /// The destination queue pair.
    pub const fn destination_qp(&self) -> u32 {
        self.label & MASK_24
    }
}

/// What a packet is to CREM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A packet that is protected.
    Source(Source),
    /// An acknowledgement or a congestion notification.
    Other,
}

/// A packet that is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub key: FlowKey,
    pub bth: Bth,
    /// Positions that it takes: more than one for a READ request (CREM, Source Blocks).
    pub positions: u32,
}

//= CREM, Source Blocks: 69087dc0 1c653e3d
/// Reads the base transport header; `None` when the payload is too short for a RoCEv2 packet. `mtu` is the RDMA MTU.
pub(crate) fn classify(packet: &Packet<'_>, mtu: u16) -> Option<Kind> {
    if packet.payload.len() < MIN_PAYLOAD {
        return None;
    }
    let bth = Bth::decode(packet.payload).ok()?;
    if !is_source(bth.opcode) {
        return Some(Kind::Other);
    }
    let key = if is_response(bth.opcode) {
        FlowKey::responses(packet.addresses, bth.destination_qp)
    } else {
        FlowKey::requests(packet.addresses, bth.destination_qp)
    };
    Some(Kind::Source(Source { key, bth, positions: positions(&bth, packet.payload, mtu) }))
}

/// How many PSNs a packet takes.
pub(crate) fn positions(bth: &Bth, payload: &[u8], mtu: u16) -> u32 {
    if bth.opcode != Opcode::READ_REQUEST {
        return 1;
    }
    let extended = payload.get(BTH_OCTETS + if carries_rate(payload) { RATE_SIGNAL_OCTETS } else { 0 }..);
    let reth =
        extended.filter(|octets| octets.len() >= RETH_OCTETS).and_then(|octets| Reth::decode(octets).ok());
    reth.map_or(1, |reth| reth.dma_length.div_ceil(mtu.max(1).into()).clamp(1, MASK_24 / 2))
}

/// All opcodes but acknowledgements (of RC, RD and XRC) and CNP.
fn is_source(opcode: Opcode) -> bool {
    let acknowledges = matches!(opcode.0 & 0x1f, 0x11 | 0x12) && matches!(opcode.0 >> 5, 0 | 2 | 5);
    !acknowledges && opcode != Opcode::CNP
}

fn is_response(opcode: Opcode) -> bool {
    (Opcode::READ_RESPONSE_FIRST.0..=Opcode::READ_RESPONSE_ONLY.0).contains(&(opcode.0 & 0x1f))
        && matches!(opcode.0 >> 5, 0 | 2 | 5)
}

/// Whether a Rate Signal follows the base transport header.
fn carries_rate(payload: &[u8]) -> bool {
    payload.get(BTH_OCTETS + 1).is_some_and(|&length| usize::from(length) == RATE_SIGNAL_OCTETS)
        && payload.len() >= MIN_PAYLOAD + RATE_SIGNAL_OCTETS
        && Bth::decode(payload).is_ok_and(|bth| signal_follows(&bth))
}

/// The rate that a packet carries in a Rate Signal, as it stands there.
pub(crate) fn rate_of(payload: &[u8]) -> Option<[u8; 4]> {
    if !carries_rate(payload) {
        return None;
    }
    payload.get(RATE)?.first_chunk().copied()
}

/// Puts a rate back.
pub(crate) fn set_rate(payload: &mut [u8], rate: [u8; 4]) {
    if let Some(place) = payload.get_mut(RATE) {
        place.copy_from_slice(&rate);
    }
}

//= CREM, Source Symbols: f829ded6 d5b2b049 992117ba
/// Writes the source symbol of `payload` over all of `symbol`; false, and nothing written, when it doesn't fit. Ours: the rate of a
/// Rate Signal counts as 0, because switches rewrite it between the two sides.
pub(crate) fn write_symbol(payload: &[u8], symbol: &mut [u8]) -> bool {
    let Ok(length) = u16::try_from(payload.len()) else { return false };
    let Some((prefix, rest)) = symbol.split_at_mut_checked(PREFIX_OCTETS) else { return false };
    let Some((place, padding)) = rest.split_at_mut_checked(payload.len()) else { return false };
    prefix.copy_from_slice(&length.to_be_bytes());
    place.copy_from_slice(payload);
    padding.fill(0);
    if carries_rate(payload) {
        set_rate(place, [0; 4]);
    }
    true
}

//= CREM, Source Symbols: e3697c7c
/// The payload in a symbol; `None` when the length makes no packet or the padding isn't zero.
pub(crate) fn read_symbol(symbol: &[u8]) -> Option<&[u8]> {
    let (prefix, rest) = symbol.split_first_chunk()?;
    let (payload, padding) = rest.split_at_checked(u16::from_be_bytes(*prefix).into())?;
    (payload.len() >= MIN_PAYLOAD && padding.iter().all(|octet| *octet == 0)).then_some(payload)
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use wire::roce::Psn;

    use super::*;

    fn addresses() -> FlowAddresses {
        FlowAddresses::V4 { source: Ipv4Addr::LOCALHOST, destination: Ipv4Addr::LOCALHOST }
    }

    fn packet(bth: &Bth, rest: &[u8]) -> Vec<u8> {
        let mut payload = bth.to_octets().to_vec();
        payload.extend_from_slice(rest);
        payload.extend_from_slice(&[0xcc; ICRC_OCTETS]);
        payload
    }

    fn kind(payload: &[u8]) -> Option<Kind> {
        classify(&Packet { addresses: addresses(), ip: IpFields::default(), payload }, 1024)
    }

    //~ CREM, Source Blocks: 69087dc0
    #[test]
    fn acknowledgements_and_cnps_are_not_protected_and_all_else_is() {
        for opcode in 0..=255u8 {
            let payload = packet(&Bth::new(Opcode(opcode), 0x12, Psn::new(1)), &[0; 16]);
            let expected = ![0x11, 0x12, 0x51, 0x52, 0xb1, 0xb2, 0x81].contains(&opcode);
            assert_eq!(matches!(kind(&payload), Some(Kind::Source(_))), expected, "{opcode:#04x}");
        }
        assert_eq!(kind(&[0; MIN_PAYLOAD - 1]), None);
    }

    //~ CREM, Source Blocks: 1c653e3d 89a5aaf6
    #[test]
    fn a_read_request_takes_a_psn_for_every_response() {
        for (dma_length, positions) in
            [(0, 1), (1, 1), (1024, 1), (1025, 2), (10_240, 10), (u32::MAX, 1 << 22)]
        {
            let reth = Reth { dma_length, ..Reth::default() };
            let payload = packet(&Bth::new(Opcode::READ_REQUEST, 0x12, Psn::new(1)), &reth.to_octets());
            let Some(Kind::Source(source)) = kind(&payload) else { panic!("a source") };
            assert_eq!(source.positions, positions, "{dma_length}");
            assert_eq!(source.key, FlowKey::requests(addresses(), 0x12));
        }
        let response = packet(&Bth::new(Opcode::READ_RESPONSE_ONLY, 0x12, Psn::new(1)), &[0; 4]);
        let Some(Kind::Source(source)) = kind(&response) else { panic!("a source") };
        assert_eq!(source.key, FlowKey::responses(addresses(), 0x12));
        assert_eq!((source.key.destination_qp(), source.positions), (0x12, 1));
    }

    //~ CREM, Source Symbols: f829ded6 d5b2b049 992117ba e3697c7c
    #[test]
    fn a_symbol_is_length_payload_and_zeros() {
        let payload = packet(&Bth::new(Opcode::SEND_ONLY, 1, Psn::new(1)), b"abc");
        let mut symbol = vec![0xff; payload.len() + 5];
        assert!(write_symbol(&payload, &mut symbol));
        assert_eq!(symbol[..2], [0, 19]);
        assert_eq!(symbol[2..21], payload[..]);
        assert_eq!(symbol[21..], [0; 3]);
        assert_eq!(read_symbol(&symbol), Some(&*payload));
        assert!(write_symbol(&payload, &mut symbol[..21]), "T = payload + 2 is enough");
        assert!(!write_symbol(&payload, &mut symbol[..20]));
    }

    #[test]
    fn symbols_that_hold_no_packet_are_refused() {
        let payload = [7; MIN_PAYLOAD];
        let mut symbol = [0; 32];
        assert!(write_symbol(&payload, &mut symbol));
        for (offset, value) in [(1, 15), (1, 31), (0, 1), (18, 1), (31, 1)] {
            let mut changed = symbol;
            changed[offset] = value;
            assert_eq!(read_symbol(&changed), None, "octet {offset} = {value}");
        }
        assert_eq!(read_symbol(&[0]), None);
    }

    #[test]
    fn the_rate_of_a_rate_signal_is_zero_in_the_symbol() {
        let bth = Bth { reserved7: 1, ..Bth::new(Opcode::SEND_ONLY, 1, Psn::new(1)) };
        let signal = [9, 10, 1, 2, 3, 4, 0, 0, 0, 1];
        let mut payload = packet(&bth, &signal);
        let mut symbol = vec![0; 64];
        assert!(write_symbol(&payload, &mut symbol));
        assert_eq!(rate_of(&payload), Some([1, 2, 3, 4]));
        set_rate(&mut payload, [0; 4]);
        assert_eq!(read_symbol(&symbol), Some(&*payload), "all else is unchanged");
        let plain = packet(&Bth::new(Opcode::SEND_ONLY, 1, Psn::new(1)), &signal);
        assert_eq!(rate_of(&plain), None, "without the bit nothing follows");
    }
}
