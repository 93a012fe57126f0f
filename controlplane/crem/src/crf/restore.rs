//! Restored packets: checked before they are delivered (CREM, Receiver Rules).
//!
//! Ours, as decided: the length makes a packet and the padding is zero, sequence number and queue pair are those of the
//! position, and the ICRC is valid. The ICRC also covers header fields that a symbol lacks: the UDP source port is that of the
//! flow's other packets, and the IPv4 identification is tried as that of the nearest packets that came, and as counted on from
//! them.

use wire::crem::FlowAddresses;
use wire::frame::Ecn;
use wire::roce::{Bth, ICRC_OCTETS, Psn, UDP_PORT, icrc};

use super::config::Order;
use super::flow::{Context, Flow, psn_of};
use super::slot::{Slot, SlotState};
use crate::packet::{IpFields, Kind, Packet, classify, read_symbol};
use crate::sink::Deliver;

/// How far a neighbour may be.
const REACH: u64 = 256;

impl Flow {
    //= CREM, Source Blocks: 0420d695
    //= CREM, Receiver Rules: 907ca7f4
    /// Takes a decoded symbol for the missing position: delivers its packet, or holds it until its turn; false when it is
    /// no valid packet of that position.
    pub(super) fn restore<T: Deliver>(
        &mut self,
        position: u64,
        symbol: &[u8],
        ctx: &mut Context<'_, T>,
    ) -> bool {
        let Some(payload) = read_symbol(symbol) else {
            ctx.stats.invalid += 1;
            return false;
        };
        let Some((ip, positions)) = self.headers_of(position, payload, ctx) else {
            ctx.stats.invalid += 1;
            return false;
        };
        self.missing.remove(&position);
        self.ring.put_symbol(psn_of(position), symbol);
        *self.slot_mut(position) =
            Slot { state: SlotState::Restored, delivered: false, late: false, ip, rate: None };
        self.interval.restored += 1;
        ctx.stats.restored += 1;
        self.skip(position + 1, u64::from(positions) - 1, ctx);
        if ctx.config.order == Order::Pass || position < self.deliver {
            self.hand_over(position, ctx);
        }
        true
    }

    /// The headers with which the ICRC is valid, and the positions that the packet takes.
    fn headers_of<T>(
        &self,
        position: u64,
        payload: &[u8],
        ctx: &mut Context<'_, T>,
    ) -> Option<(IpFields, u32)> {
        let packet = Packet { addresses: self.key.addresses, ip: IpFields::default(), payload };
        let Some(Kind::Source(source)) = classify(&packet, self.hello.rdma_mtu) else { return None };
        if source.key != self.key || source.bth.psn != psn_of(position) {
            return None;
        }
        let near = [
            self.neighbour(|distance| position.checked_sub(distance)),
            self.neighbour(|distance| position.checked_add(distance)),
        ];
        let last = self.last.map(|last| (last.ip, last.psn));
        for (ip, psn) in near.into_iter().chain([last]).flatten() {
            #[expect(clippy::cast_possible_truncation, reason = "the identification counts modulo 2^16")]
            let steps = psn_of(position).ahead_of(psn) as u16;
            let counted = ip.identification.wrapping_add(steps);
            for identification in [ip.identification, counted] {
                let ip = IpFields { identification, ..ip };
                if is_valid(self.key.addresses, ip, payload, ctx.buffer) {
                    let ecn = if ip.ecn == Ecn::Ce { Ecn::Ect0 } else { ip.ecn };
                    return Some((IpFields { ecn, ..ip }, source.positions));
                }
                if self.key.addresses.af() == wire::crem::AF_IPV6 {
                    break;
                }
            }
        }
        None
    }

    /// The headers of the nearest packet that is there, in one direction.
    fn neighbour(&self, step: impl Fn(u64) -> Option<u64>) -> Option<(IpFields, Psn)> {
        let is_there =
            |position| matches!(self.slot(position).state, SlotState::Received | SlotState::Restored);
        (1..REACH.min(self.ring.window().into()))
            .map_while(step)
            .take_while(|&other| self.is_tracked(other))
            .find(|&other| is_there(other))
            .map(|other| (self.slot(other).ip, psn_of(other)))
    }
}

/// Whether the ICRC at the end of `payload` is right for a packet with these headers.
fn is_valid(addresses: FlowAddresses, ip: IpFields, payload: &[u8], buffer: &mut Vec<u8>) -> bool {
    let Some((covered, expected)) = payload.split_last_chunk::<ICRC_OCTETS>() else { return false };
    let Ok(udp_octets) = u16::try_from(payload.len() + 8) else { return false };
    buffer.clear();
    // Octets that don't count stay zero.
    match addresses {
        FlowAddresses::V4 { source, destination } => {
            let Some(total) = udp_octets.checked_add(20) else { return false };
            buffer.extend_from_slice(&[0x45, 0]);
            buffer.extend_from_slice(&total.to_be_bytes());
            buffer.extend_from_slice(&ip.identification.to_be_bytes());
            buffer.extend_from_slice(&[if ip.dont_fragment { 0x40 } else { 0 }, 0, 0, 17, 0, 0]);
            buffer.extend_from_slice(&source.octets());
            buffer.extend_from_slice(&destination.octets());
        }
        FlowAddresses::V6 { source, destination } => {
            buffer.extend_from_slice(&[0x60, 0, 0, 0]);
            buffer.extend_from_slice(&udp_octets.to_be_bytes());
            buffer.extend_from_slice(&[17, 0]);
            buffer.extend_from_slice(&source.octets());
            buffer.extend_from_slice(&destination.octets());
        }
    }
    buffer.extend_from_slice(&ip.source_port.to_be_bytes());
    buffer.extend_from_slice(&UDP_PORT.to_be_bytes());
    buffer.extend_from_slice(&udp_octets.to_be_bytes());
    buffer.extend_from_slice(&[0, 0]);
    buffer.extend_from_slice(covered);
    Bth::decode(covered).is_ok() && icrc(buffer, 0).is_ok_and(|found| found == *expected)
}
