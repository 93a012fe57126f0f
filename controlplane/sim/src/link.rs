//! A link: how long a frame occupies it and how long it takes to arrive.

use wire::units::Nanos;

/// Octets that a frame occupies on an Ethernet link beyond those from its destination MAC to its last payload
/// octet: preamble and start delimiter 8, frame check sequence 4, gap between frames 12.
pub const FRAME_OVERHEAD: u32 = 24;

/// Headers and trailer of a RoCEv2 data packet: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4.
const DATA_HEADERS: u64 = 58;

/// The RETH that the first packet of an RDMA WRITE carries besides.
const RETH: u64 = 16;

/// What a frame of `octets` occupies on a link, in octets.
pub const fn on_the_link(octets: u64) -> u64 {
    octets + FRAME_OVERHEAD as u64
}

/// What a message occupies on a link when it is sent as one RDMA WRITE in packets of `payload`, in octets.
pub const fn message_octets(size: u64, payload: u64) -> u64 {
    size + size.div_ceil(payload) * on_the_link(DATA_HEADERS) + RETH
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Bit/s.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay: Nanos,
}

impl Link {
    /// How long `octets`, [overhead](FRAME_OVERHEAD) included, occupy the link; rounded up to a nanosecond.
    pub fn serialisation(&self, octets: u64) -> Nanos {
        let nanos = (u128::from(octets) * 8 * 1_000_000_000).div_ceil(u128::from(self.rate_bps.max(1)));
        Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Link = Link { rate_bps: 100_000_000_000, delay: Nanos(2000) };

    #[test]
    fn a_full_packet_takes_a_third_of_a_microsecond_at_100_gbit() {
        assert_eq!(LINK.serialisation(on_the_link(4096 + DATA_HEADERS)), Nanos(335));
    }

    #[test]
    fn a_message_pays_for_each_packet_and_once_for_the_reth() {
        assert_eq!(message_octets(4096, 4096), 4096 + 82 + 16);
        assert_eq!(message_octets(4097, 4096), 4097 + 2 * 82 + 16);
    }
}
