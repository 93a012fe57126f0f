//! `CREDIT_REQUEST`, Type 0x03, and the RoCEv2 binding that it carries.

use super::codes::{BindingKind, MessageId, ServiceHint, TrafficClass, Weight};
use crate::octets::{Ended, Reader};
use crate::units::{Micros, Octets};

/// Announces a message (RDCC, Credit Requests and Grants).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CreditRequest {
    /// The sender's choice, increasing within the association, never zero.
    pub message_id: MessageId,
    /// Total length of the message.
    pub message_length: Octets,
    /// Octets sent, or about to be sent, without credit.
    pub unscheduled_sent: Octets,
    /// The class as it came; see [`TrafficClass::value`].
    pub class: TrafficClass,
    /// The weight as it came; see [`Weight::value`].
    pub weight: Weight,
    /// What the sender would like.
    pub service_hint: ServiceHint,
    /// How to read the Binding Value.
    pub binding_kind: BindingKind,
    /// By when, counted from the transmission of the request; zero for none.
    pub deadline: Micros,
    /// The message's identity at the data transport; see [`CreditRequest::roce_binding`].
    pub binding_value: u64,
}

/// The Binding Value of kind 1 (RDCC, Transport Bindings): which RDMA messages carry the RDCC message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RoceBinding {
    /// Destination queue pair, 24 bits.
    pub destination_qp: u32,
    /// Message sequence number that the responder will give the first of the RDMA messages, 24 bits.
    pub first_msn: u32,
    /// How many RDMA messages.
    pub rdma_messages: u16,
}

const MASK_24: u32 = 0x00ff_ffff;

impl RoceBinding {
    /// The 64 bits of the field. Bits of the two numbers above 24 are cut off.
    pub fn to_value(self) -> u64 {
        u64::from(self.destination_qp & MASK_24) << 40
            | u64::from(self.first_msn & MASK_24) << 16
            | u64::from(self.rdma_messages)
    }

    /// The three parts of a Binding Value.
    pub fn from_value(value: u64) -> Self {
        let [qp0, qp1, qp2, msn0, msn1, msn2, count0, count1] = value.to_be_bytes();
        Self {
            destination_qp: u32::from_be_bytes([0, qp0, qp1, qp2]),
            first_msn: u32::from_be_bytes([0, msn0, msn1, msn2]),
            rdma_messages: u16::from_be_bytes([count0, count1]),
        }
    }
}

impl CreditRequest {
    /// The RoCEv2 binding, when the Binding Kind says that it is one.
    pub fn roce_binding(&self) -> Option<RoceBinding> {
        (self.binding_kind == BindingKind::ROCEV2).then(|| RoceBinding::from_value(self.binding_value))
    }

    pub(super) fn decode(body: &mut Reader<'_>) -> Result<Self, Ended> {
        Ok(Self {
            message_id: MessageId(body.u64()?),
            message_length: Octets(body.u64()?),
            unscheduled_sent: Octets(body.u64()?),
            class: TrafficClass(body.u8()?),
            weight: Weight(body.u8()?),
            service_hint: ServiceHint(body.u8()?),
            binding_kind: BindingKind(body.u8()?),
            deadline: Micros(body.u32()?),
            binding_value: body.u64()?,
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.message_id.0.to_be_bytes());
        out.extend_from_slice(&self.message_length.0.to_be_bytes());
        out.extend_from_slice(&self.unscheduled_sent.0.to_be_bytes());
        out.extend_from_slice(&[self.class.0, self.weight.0, self.service_hint.0, self.binding_kind.0]);
        out.extend_from_slice(&self.deadline.0.to_be_bytes());
        out.extend_from_slice(&self.binding_value.to_be_bytes());
    }
}
