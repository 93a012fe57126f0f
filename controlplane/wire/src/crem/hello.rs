//! `HELLO`, Type 2, and `HELLO_ACK`, Type 3.

use super::codes::{FlowKind, Schemes};
use super::decode_error::DecodeError;
use crate::addresses::FlowAddresses;
use crate::octets::{Ended, Reader};
use crate::roce::MASK_24;

/// Asks for protection of a flow (CREM, Flow Establishment). The Flow ID in the header is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hello {
    /// What is protected.
    pub flow_kind: FlowKind,
    /// The schemes that the sender can use.
    pub schemes: Schemes,
    /// The most positions of a block.
    pub max_k: u8,
    /// The most repair symbols of a block.
    pub max_m: u8,
    /// The longest symbol, in octets.
    pub max_t: u16,
    /// Octets of payload in a full packet of the RDMA connection.
    pub rdma_mtu: u16,
    /// Random; the answer carries it back.
    pub nonce: u64,
    /// The flow's addresses.
    pub flow: FlowAddresses,
    /// The flow's label; for RoCEv2 its low 24 bits are the destination queue pair.
    pub flow_label: u32,
}

impl Hello {
    /// Length of the message in octets, header included.
    #[expect(clippy::len_without_is_empty, reason = "no message is empty")]
    pub const fn len(&self) -> u16 {
        match self.flow {
            FlowAddresses::V4 { .. } => 40,
            FlowAddresses::V6 { .. } => 64,
        }
    }

    /// The destination queue pair of a RoCEv2 flow.
    pub const fn destination_qp(&self) -> u32 {
        self.flow_label & MASK_24
    }

    pub(super) fn decode(body: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let flow_kind = FlowKind(body.u8()?);
        let af = body.u8()?;
        let schemes = Schemes(body.u16()?);
        let (max_k, max_m, max_t) = (body.u8()?, body.u8()?, body.u16()?);
        let rdma_mtu = body.u16()?;
        body.skip::<2>()?;
        let nonce = body.u64()?;
        let flow =
            FlowAddresses::decode(body, af)?.ok_or(DecodeError::UnknownAddressFamily { offset: 9, af })?;
        let flow_label = body.u32()?;
        Ok(Self { flow_kind, schemes, max_k, max_m, max_t, rdma_mtu, nonce, flow, flow_label })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.flow_kind.0, self.flow.af()]);
        out.extend_from_slice(&self.schemes.0.to_be_bytes());
        out.extend_from_slice(&[self.max_k, self.max_m]);
        out.extend_from_slice(&self.max_t.to_be_bytes());
        out.extend_from_slice(&self.rdma_mtu.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.nonce.to_be_bytes());
        self.flow.encode(out);
        out.extend_from_slice(&self.flow_label.to_be_bytes());
    }
}

/// Answers `HELLO` (CREM, Flow Establishment). The Flow ID in the header is the one assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HelloAck {
    /// As in the `HELLO`.
    pub flow_kind: FlowKind,
    /// As in the `HELLO`; not checked, no address follows.
    pub af: u8,
    /// The schemes that the receiver can decode.
    pub schemes: Schemes,
    /// The most positions of a block.
    pub max_k: u8,
    /// The most repair symbols of a block.
    pub max_m: u8,
    /// The longest symbol, in octets.
    pub max_t: u16,
    /// As in the `HELLO`.
    pub rdma_mtu: u16,
    /// The nonce of the `HELLO`.
    pub nonce: u64,
    /// Blocks that the receiver can hold at a time.
    pub max_open_blocks: u16,
}

impl HelloAck {
    pub(super) fn decode(body: &mut Reader<'_>) -> Result<Self, Ended> {
        let flow_kind = FlowKind(body.u8()?);
        let af = body.u8()?;
        let schemes = Schemes(body.u16()?);
        let (max_k, max_m, max_t) = (body.u8()?, body.u8()?, body.u16()?);
        let rdma_mtu = body.u16()?;
        body.skip::<2>()?;
        let nonce = body.u64()?;
        let max_open_blocks = body.u16()?;
        Ok(Self { flow_kind, af, schemes, max_k, max_m, max_t, rdma_mtu, nonce, max_open_blocks })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.flow_kind.0, self.af]);
        out.extend_from_slice(&self.schemes.0.to_be_bytes());
        out.extend_from_slice(&[self.max_k, self.max_m]);
        out.extend_from_slice(&self.max_t.to_be_bytes());
        out.extend_from_slice(&self.rdma_mtu.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.nonce.to_be_bytes());
        out.extend_from_slice(&self.max_open_blocks.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
    }
}
