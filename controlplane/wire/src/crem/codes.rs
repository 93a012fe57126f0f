//! Identifiers and code points of CREM. Each is the field as it stands on the wire, so that values which a later
//! registration defines pass through unharmed; the known ones are constants.

use crate::code::code;

/// Assigned by the receiver in `HELLO_ACK`; zero in `HELLO` and in `PATH_REPORT`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// The eight flag bits; their meaning depends on the Type, undefined ones are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// `REPAIR`: coded retransmission; the Lost Source Bitmap is present.
    pub const RETX: Self = Self(0x80);
    /// `REPAIR`: the last repair symbol that is meant for the block in this round.
    pub const LAST: Self = Self(0x40);
    /// `REPAIR`: block information only, without a symbol.
    pub const INFO: Self = Self(0x20);
    /// `REPAIR_REQUEST`: the form with PSN ranges.
    pub const RANGES: Self = Self(0x10);
    /// `REPAIR_REQUEST`: the lost packets themselves are asked for.
    pub const FALLBACK: Self = Self(0x20);
    /// `PATH_REPORT`: lists of dropped PSNs were cut to fit.
    pub const TRUNCATED: Self = Self(0x80);

    /// Whether every bit of `flags` is set.
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// These flags with the bits of `flags` set or cleared.
    #[must_use]
    pub const fn set(self, flags: Self, set: bool) -> Self {
        if set { Self(self.0 | flags.0) } else { Self(self.0 & !flags.0) }
    }
}

code! {
    /// What kind of message it is, four bits (CREM, Message Formats).
    MessageType(u8) {
        /// Sender to receiver: a repair symbol, or information about a block.
        REPAIR = 1 => "REPAIR",
        /// Sender to receiver: protect this flow.
        HELLO = 2 => "HELLO",
        /// Receiver to sender: the flow's identifier and the receiver's limits.
        HELLO_ACK = 3 => "HELLO_ACK",
        /// Sender to receiver: a new configuration.
        PARAM_UPDATE = 4 => "PARAM_UPDATE",
        /// Receiver to sender: the configuration is accepted, or why not.
        PARAM_ACK = 5 => "PARAM_ACK",
        /// Receiver to sender: what is lost.
        REPAIR_REQUEST = 6 => "REPAIR_REQUEST",
        /// Receiver to sender: counts of an interval.
        LOSS_REPORT = 7 => "LOSS_REPORT",
        /// On-path node to sender: loss and delay by hop.
        PATH_REPORT = 8 => "PATH_REPORT",
        /// Either way: the flow is no longer protected.
        CLOSE = 9 => "CLOSE",
    }
}

code! {
    /// A FEC scheme. The document's table of schemes is lost; the numbers are our decision.
    Scheme(u8) {
        /// Repair symbol i is source symbol i.
        SOURCE_COPY = 0 => "Source Copy",
        /// Cauchy Reed-Solomon over GF(2^8).
        CAUCHY = 1 => "Cauchy",
        /// The exclusive-or of all source symbols.
        XOR = 2 => "XOR",
    }
}

code! {
    /// What is protected (CREM, Message Formats).
    FlowKind(u8) {
        /// A queue pair of RoCEv2.
        ROCEV2 = 1 => "RoCEv2",
    }
}

code! {
    /// The receiver's answer to a configuration (CREM, Message Formats).
    ParamStatus(u8) {
        /// The configuration may be used.
        ACCEPTED = 0 => "accepted",
        /// The scheme is not supported.
        UNSUPPORTED_SCHEME = 1 => "unsupported scheme",
        /// k, m or T is above the receiver's limits.
        LIMITS_EXCEEDED = 2 => "limits exceeded",
        /// There is no memory for it now.
        RESOURCES_EXHAUSTED = 3 => "resources exhausted",
    }
}

code! {
    /// Why a flow is closed. The document names only 4; the others are our decision.
    CloseReason(u8) {
        /// Protection is no longer wanted.
        NORMAL = 0 => "normal",
        /// The protected flow ended.
        FLOW_ENDED = 1 => "flow ended",
        /// A limit was reached.
        LIMITS = 2 => "limits",
        /// The other side doesn't answer.
        NO_ANSWER = 3 => "no answer",
        /// Loss or marking stayed above the bounds of the circuit breaker.
        PERSISTENT_LOSS = 4 => "persistent loss or marking",
    }
}

code! {
    /// How a Path Reporter measures (CREM, Message Formats).
    Method(u8) {
        /// Alternate Marking (RFC 9341).
        ALTERNATE_MARKING = 1 => "Alternate Marking",
        /// Clustered Alternate Marking (RFC 9342).
        CLUSTERED_ALTERNATE_MARKING = 2 => "Clustered Alternate Marking",
        /// A node's account of its own drops.
        NODE_LOCAL = 3 => "node-local drop accounting",
    }
}

code! {
    /// Why packets were lost. The document's registry is lost; the values are our decision, 192 and above are private.
    Cause(u8) {
        /// Not known.
        UNKNOWN = 0 => "unknown",
        /// A queue overflowed.
        CONGESTION = 1 => "congestion",
        /// The frame was corrupted.
        CORRUPTION = 2 => "corruption",
        /// A rule dropped them.
        POLICY = 3 => "policy",
    }
}

/// A set of schemes: bit s, from the least significant one, stands for scheme s. Unknown bits are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Schemes(pub u16);

impl Schemes {
    /// Whether `scheme` is in the set.
    pub const fn contains(self, scheme: Scheme) -> bool {
        scheme.0 < 16 && self.0 >> scheme.0 & 1 == 1
    }

    /// This set and `scheme`, if it has a bit.
    #[must_use]
    pub const fn with(self, scheme: Scheme) -> Self {
        if scheme.0 < 16 { Self(self.0 | 1 << scheme.0) } else { self }
    }

    /// The schemes in both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl MessageType {
    /// The least Length of a message of this Type, header included; `None` for an unknown Type.
    pub const fn minimum_length(self) -> Option<u16> {
        // REPAIR with one word of bitmap, HELLO with IPv4 addresses, REPAIR_REQUEST without a range, PATH_REPORT without
        // an entry.
        Some(match self {
            Self::REPAIR | Self::PATH_REPORT => 24,
            Self::HELLO | Self::LOSS_REPORT => 40,
            Self::HELLO_ACK => 32,
            Self::PARAM_UPDATE => 20,
            Self::PARAM_ACK | Self::CLOSE | Self::REPAIR_REQUEST => 12,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_are_bits_from_the_least_significant() {
        let both = Schemes::default().with(Scheme::CAUCHY).with(Scheme::XOR);
        assert_eq!(both, Schemes(0b110));
        assert!(both.contains(Scheme::XOR) && !both.contains(Scheme::SOURCE_COPY));
        assert!(!Schemes(u16::MAX).contains(Scheme(16)), "scheme 16 has no bit");
        assert_eq!(both.with(Scheme(200)), both);
    }

    #[test]
    fn flags_are_set_and_cleared() {
        let flags = Flags(0x01).set(Flags::RETX, true);
        assert!(flags.contains(Flags::RETX) && !flags.contains(Flags::INFO));
        assert_eq!(flags.set(Flags::RETX, false), Flags(0x01));
    }
}
