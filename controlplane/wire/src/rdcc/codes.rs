//! Identifiers and code points of RDCC. Each is the field as it stands on the wire, so that values which a later
//! registration defines pass through unharmed; the known ones are constants.

use crate::code::code;

/// Assigned by the receiver in `ASSOC_ACCEPT`, never zero; zero in `ASSOC_REQUEST` and in reports of CRNs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssociationId(pub u32);

/// The incarnation of a receiver's RDCC state (RDCC, Association Establishment).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Epoch(pub u16);

/// Identifies a message within an association. Zero is reserved: pool grants and errors about the association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

/// Counts the messages of one originator on one association (RDCC, Common Header).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SequenceNumber(pub u32);

impl SequenceNumber {
    /// Whether `self` comes after `other` in serial number arithmetic (RFC 1982), so that the count may wrap.
    /// Numbers half the space apart are not newer than each other.
    pub const fn is_newer_than(self, other: Self) -> bool {
        let ahead = self.0.wrapping_sub(other.0);
        ahead != 0 && ahead < 1 << 31
    }

    /// The number of the next message.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// The sixteen flag bits; their meaning depends on the Type, undefined ones are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u16);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// `ASSOC_ACCEPT`: the message updates the parameters of an existing association.
    pub const PARAMETER_UPDATE: Self = Self(0x0001);
    /// `ASSOC_REQUEST`: acknowledges a parameter update.
    pub const UPDATE_ACKNOWLEDGMENT: Self = Self(0x0002);
    /// `CREDIT_GRANT`: the grant covers the association's pool; the Message ID is zero.
    pub const POOL: Self = Self(0x0001);
    /// `CREDIT_GRANT`: the Grant Limit equals the message length.
    pub const FINAL: Self = Self(0x0002);

    /// Whether every bit of `flags` is set.
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// These flags and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The 32 capability bits of an association's two ends; unknown ones are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Capabilities(pub u32);

impl Capabilities {
    /// No capability.
    pub const NONE: Self = Self(0);
    /// Pool grants are supported.
    pub const POOL: Self = Self(0x0000_0001);
    /// `SENDER_STATUS` is supported.
    pub const STATUS: Self = Self(0x0000_0002);
    /// Reports of on-path nodes are processed.
    pub const CRN: Self = Self(0x0000_0004);

    /// Whether every bit of `capabilities` is set.
    pub const fn contains(self, capabilities: Self) -> bool {
        self.0 & capabilities.0 == capabilities.0
    }

    /// These capabilities and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The Class octet of a `CREDIT_REQUEST` as it came. [`TrafficClass::value`] is what to act on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TrafficClass(pub u8);

impl TrafficClass {
    /// The class, 0 (first served) to 7; the document has values above 7 treated as 7.
    pub const fn value(self) -> u8 {
        if self.0 > 7 { 7 } else { self.0 }
    }
}

/// The Weight octet of a `CREDIT_REQUEST` as it came. [`Weight::value`] is what to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Weight(pub u8);

impl Weight {
    /// The weight, 1 to 255; the document has zero treated as 1.
    pub const fn value(self) -> u8 {
        if self.0 == 0 { 1 } else { self.0 }
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self(1)
    }
}

code! {
    /// What kind of message it is (RDCC, Common Header, the table of message types).
    MessageType(u8) {
        /// Sender to receiver: open an association, or acknowledge a parameter update.
        ASSOC_REQUEST = 0x01 => "ASSOC_REQUEST",
        /// Receiver to sender: the association and its parameters.
        ASSOC_ACCEPT = 0x02 => "ASSOC_ACCEPT",
        /// Sender to receiver: announces a message.
        CREDIT_REQUEST = 0x03 => "CREDIT_REQUEST",
        /// Receiver to sender: permission to transmit.
        CREDIT_GRANT = 0x04 => "CREDIT_GRANT",
        /// Sender to receiver: unused credit and a suggested rate.
        SENDER_STATUS = 0x05 => "SENDER_STATUS",
        /// On-path node to either end: a queue above its threshold.
        CONGESTION_REPORT = 0x06 => "CONGESTION_REPORT",
        /// Receiver to sender: all octets arrived.
        MSG_DONE = 0x07 => "MSG_DONE",
        /// Either way: the message is abandoned.
        CANCEL = 0x08 => "CANCEL",
        /// Sender to receiver: credit that will not be used.
        CREDIT_RETURN = 0x09 => "CREDIT_RETURN",
        /// Either way: something was refused.
        ERROR = 0x0A => "ERROR",
    }
}

code! {
    /// What the sender would like for a message (RDCC, RDCC Registries: Service Hints).
    ServiceHint(u8) {
        /// No wish.
        NONE = 0 => "none",
        /// Latency-sensitive.
        LATENCY_SENSITIVE = 1 => "latency-sensitive",
        /// Throughput-oriented.
        THROUGHPUT_ORIENTED = 2 => "throughput-oriented",
    }
}

code! {
    /// How a Binding Value names the message at the data transport (RDCC, Transport Bindings).
    BindingKind(u8) {
        /// Reserved.
        RESERVED = 0 => "reserved",
        /// Queue pair, first message sequence number and count of RDMA messages: [`super::RoceBinding`].
        ROCEV2 = 1 => "RoCEv2",
        /// An identifier agreed by configuration.
        OPAQUE = 2 => "opaque",
    }
}

code! {
    /// Why, in CANCEL and ERROR (RDCC, the table of reason codes).
    Reason(u16) {
        /// Nothing went wrong.
        NO_ERROR = 0x0000 => "NO_ERROR",
        /// No new association is admitted.
        ASSOC_REFUSED = 0x0001 => "ASSOC_REFUSED",
        /// The Association ID or the Epoch is not known here.
        UNKNOWN_ASSOCIATION = 0x0002 => "UNKNOWN_ASSOCIATION",
        /// No credit for a while.
        BUDGET_EXHAUSTED = 0x0003 => "BUDGET_EXHAUSTED",
        /// The Type is not supported.
        UNSUPPORTED_TYPE = 0x0004 => "UNSUPPORTED_TYPE",
        /// The message is larger than the receiver takes.
        MESSAGE_TOO_LARGE = 0x0005 => "MESSAGE_TOO_LARGE",
        /// The application gave up.
        APPLICATION_ABORT = 0x0006 => "APPLICATION_ABORT",
        /// The Binding Kind is not supported.
        UNSUPPORTED_BINDING = 0x0007 => "UNSUPPORTED_BINDING",
    }
}

code! {
    /// To whom a `CONGESTION_REPORT` is sent.
    Direction(u8) {
        /// To the receiver: the reported packet is credit-scheduled.
        TO_RECEIVER = 1 => "to receiver",
        /// To the sender: the reported packet is unscheduled.
        TO_SENDER = 2 => "to sender",
    }
}

impl MessageType {
    /// The size in octets, header included, that the document defines for this Type: a message's Length is at
    /// least this. For `CONGESTION_REPORT` it is the size with IPv4 addresses. `None` for an unknown Type.
    pub const fn minimum_length(self) -> Option<u16> {
        Some(match self {
            Self::ASSOC_REQUEST | Self::ASSOC_ACCEPT | Self::CONGESTION_REPORT => 48,
            Self::CREDIT_REQUEST => 56,
            Self::CREDIT_GRANT => 40,
            Self::SENDER_STATUS | Self::MSG_DONE | Self::CREDIT_RETURN => 32,
            Self::CANCEL | Self::ERROR => 28,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_compare_across_the_wrap() {
        let newer = |a, b| SequenceNumber(a).is_newer_than(SequenceNumber(b));
        assert!(newer(1, 0));
        assert!(newer(0, u32::MAX));
        assert!(newer(0x7fff_ffff, 0));
        assert!(!newer(5, 5));
        assert!(!newer(0, 1));
        assert!(!newer(0x8000_0000, 0));
        assert!(!newer(0, 0x8000_0000));
        assert_eq!(SequenceNumber(u32::MAX).next(), SequenceNumber(0));
    }

    #[test]
    fn class_above_seven_is_seven_and_weight_zero_is_one() {
        assert_eq!([0, 7, 8, 255].map(|class| TrafficClass(class).value()), [0, 7, 7, 7]);
        assert_eq!([0, 1, 255].map(|weight| Weight(weight).value()), [1, 1, 255]);
    }
}
