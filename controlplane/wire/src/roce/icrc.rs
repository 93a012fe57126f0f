//! The invariant CRC that ends a RoCEv2 packet.

use crc32fast::Hasher;

use super::{BTH_OCTETS, DecodeError};
use crate::scone::{RATE_SIGNAL_OCTETS, SIGNAL_FOLLOWS};

/// Octets of the invariant CRC.
pub const ICRC_OCTETS: usize = 4;

const IPV4_OCTETS: usize = 20;
const IPV6_OCTETS: usize = 40;
const UDP_OCTETS: usize = 8;

/// What stands in for the local routing header of InfiniBand, which RoCE doesn't have.
const LOCAL_ROUTE: [u8; 8] = [0xff; 8];

/// The invariant CRC of a packet, in the order in which its octets are sent.
///
/// `head` starts with the IP header (version 4 without options, or version 6 without extension headers) and ends
/// anywhere behind the base transport header; `zeros` octets of value zero follow it, which is how a payload that is
/// not in the buffer is counted. Fields that may change on the way count as ones: of IPv4 the type of service, the time
/// to live and the checksum, of IPv6 the traffic class, the flow label and the hop limit, the UDP checksum, and in the
/// base transport header FECN, BECN and the six bits beside them. Ours: where a Rate Signal follows the base transport
/// header ([`crate::scone::signal_follows`], with a Length of 10), its rate counts as ones too, so that switches may
/// rewrite it. `head` must then hold it.
///
/// # Errors
/// [`DecodeError`] when `head` ends before the end of the base transport header.
pub fn icrc(head: &[u8], zeros: usize) -> Result<[u8; ICRC_OCTETS], DecodeError> {
    let ipv4 = head.first().is_none_or(|octet| octet >> 4 == 4);
    let ip_octets = if ipv4 { IPV4_OCTETS } else { IPV6_OCTETS };
    let masked_octets = ip_octets + UDP_OCTETS + BTH_OCTETS;
    let too_short = DecodeError { offset: head.len(), needed: masked_octets, available: head.len() };
    let (headers, rest) = head.split_at_checked(masked_octets).ok_or(too_short)?;

    let (headers, rest) = match rest.first_chunk::<RATE_SIGNAL_OCTETS>() {
        Some(signal) if carries_signal(headers, signal) => {
            head.split_at_checked(masked_octets + RATE_SIGNAL_OCTETS).ok_or(too_short)?
        }
        _ => (headers, rest),
    };

    let mut buffer = [0; IPV6_OCTETS + UDP_OCTETS + BTH_OCTETS + RATE_SIGNAL_OCTETS];
    let masked = buffer.get_mut(..headers.len()).ok_or(too_short)?;
    masked.copy_from_slice(headers);
    if let Some(rate) = masked.get_mut(masked_octets + 2..masked_octets + 6) {
        rate.fill(0xff);
    }
    // (offset, bits that count as ones)
    let ip: &[(usize, u8)] = if ipv4 {
        &[(1, 0xff), (8, 0xff), (10, 0xff), (11, 0xff)]
    } else {
        &[(0, 0x0f), (1, 0xff), (2, 0xff), (3, 0xff), (7, 0xff)]
    };
    let behind = [(ip_octets + 6, 0xff), (ip_octets + 7, 0xff), (ip_octets + UDP_OCTETS + 4, 0xff)];
    for &(offset, bits) in ip.iter().chain(&behind) {
        if let Some(octet) = masked.get_mut(offset) {
            *octet |= bits;
        }
    }

    let mut hasher = Hasher::new();
    hasher.update(&LOCAL_ROUTE);
    hasher.update(masked);
    hasher.update(rest);
    for start in (0..zeros).step_by(ZEROS.len()) {
        hasher.update(ZEROS.get(..zeros - start).unwrap_or(&ZEROS));
    }
    // Unlike every other field, the CRC goes out with its low octet first.
    Ok(hasher.finalize().to_le_bytes())
}

const ZEROS: [u8; 256] = [0; 256];

/// Whether the base transport header that `headers` end with announces an extension, and it is of a Rate Signal's length.
fn carries_signal(headers: &[u8], signal: &[u8; RATE_SIGNAL_OCTETS]) -> bool {
    let reserved = headers.len().checked_sub(4).and_then(|offset| headers.get(offset));
    let [_, length, ..] = signal;
    reserved.is_some_and(|octet| octet & SIGNAL_FOLLOWS != 0) && usize::from(*length) == RATE_SIGNAL_OCTETS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    /// A CNP as a ConnectX-4 Lx sent it (IP header to ICRC).
    const CAPTURED_CNP: &str = "45c2003c718c400040119161 0a0011010a001201 000012b700280000
        8100ffff4000011800000000 00000000000000000000000000000000 82fd002a";

    #[test]
    fn icrc_of_a_captured_cnp() {
        let packet = octets(CAPTURED_CNP);
        let (head, tail) = packet.split_at(packet.len() - ICRC_OCTETS);
        assert_eq!(icrc(head, 0).unwrap(), tail);
        let (short, _) = head.split_at(40);
        assert_eq!(icrc(short, 16).unwrap(), tail, "octets that are only counted are zeros");
    }

    #[test]
    fn variant_fields_do_not_count_and_all_others_do() {
        let ipv4 = octets(CAPTURED_CNP);
        let mut ipv6 = octets("6c200123 0028 11 40");
        ipv6.extend(0..32u8);
        ipv6.extend_from_slice(&ipv4[20..]);
        let variant_ipv4 = [1, 8, 10, 11, 26, 27, 32];
        let variant_ipv6 = [1, 2, 3, 7, 46, 47, 52];
        for (packet, variant) in [(ipv4, variant_ipv4), (ipv6, variant_ipv6)] {
            let before = icrc(&packet, 3).unwrap();
            for offset in 1..packet.len() {
                let mut changed = packet.clone();
                changed[offset] ^= 0x21;
                assert_eq!(icrc(&changed, 3).unwrap() == before, variant.contains(&offset), "octet {offset}");
            }
            assert_ne!(icrc(&packet, 4).unwrap(), before);
        }
    }

    #[test]
    fn a_rate_signals_rate_does_not_count_and_the_rest_of_it_does() {
        let plain = octets(CAPTURED_CNP);
        let signal = [0xe5, 10, 0, 0, 0, 0, 0, 0, 0, 1];
        for ip in [plain[..20].to_vec(), [&[0x60][..], &[0; 39]].concat()] {
            let bth = ip.len() + 8;
            let mut packet = [&ip[..], &plain[20..40], &signal, &[1, 2, 3, 4]].concat();
            let without = icrc(&packet, 0).unwrap();
            packet[bth + 8] |= SIGNAL_FOLLOWS;
            let before = icrc(&packet, 0).unwrap();
            assert_ne!(before, without);
            for offset in bth + BTH_OCTETS..packet.len() {
                let mut changed = packet.clone();
                changed[offset] ^= 0x21;
                let rate = (bth + BTH_OCTETS + 2..bth + BTH_OCTETS + 6).contains(&offset);
                assert_eq!(icrc(&changed, 0).unwrap() == before, rate, "octet {offset}");
            }
            // Without the bit, the same octets are payload.
            packet[bth + 8] &= !SIGNAL_FOLLOWS;
            packet[bth + BTH_OCTETS + 2] ^= 0x21;
            assert_ne!(icrc(&packet, 0).unwrap(), without);
        }
    }

    #[test]
    fn a_packet_without_a_whole_base_header_is_refused() {
        assert_eq!(icrc(&[0x45; 39], 0).unwrap_err().needed, 40);
        assert_eq!(icrc(&[0x60; 59], 0).unwrap_err().needed, 60);
        assert_eq!(icrc(&[], 0).unwrap_err().needed, 40);
    }
}
