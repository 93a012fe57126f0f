//! Opcodes of the base transport header.

use core::fmt;

/// The opcode octet: transport in the upper three bits, operation in the lower five. Unknown ones are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Opcode(pub u8);

macro_rules! opcodes {
    ($($constant:ident = $value:literal, $text:literal;)*) => {
        impl Opcode {
            $(#[doc = $text] pub const $constant: Self = Self($value);)*

            /// The operation's name; `None` for an opcode that isn't listed here.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

opcodes! {
    SEND_FIRST = 0x00, "RC SEND First";
    SEND_MIDDLE = 0x01, "RC SEND Middle";
    SEND_LAST = 0x02, "RC SEND Last";
    SEND_LAST_IMMEDIATE = 0x03, "RC SEND Last with Immediate";
    SEND_ONLY = 0x04, "RC SEND Only";
    SEND_ONLY_IMMEDIATE = 0x05, "RC SEND Only with Immediate";
    WRITE_FIRST = 0x06, "RC RDMA WRITE First";
    WRITE_MIDDLE = 0x07, "RC RDMA WRITE Middle";
    WRITE_LAST = 0x08, "RC RDMA WRITE Last";
    WRITE_LAST_IMMEDIATE = 0x09, "RC RDMA WRITE Last with Immediate";
    WRITE_ONLY = 0x0A, "RC RDMA WRITE Only";
    WRITE_ONLY_IMMEDIATE = 0x0B, "RC RDMA WRITE Only with Immediate";
    READ_REQUEST = 0x0C, "RC RDMA READ Request";
    READ_RESPONSE_FIRST = 0x0D, "RC RDMA READ Response First";
    READ_RESPONSE_MIDDLE = 0x0E, "RC RDMA READ Response Middle";
    READ_RESPONSE_LAST = 0x0F, "RC RDMA READ Response Last";
    READ_RESPONSE_ONLY = 0x10, "RC RDMA READ Response Only";
    ACKNOWLEDGE = 0x11, "RC Acknowledge";
    ATOMIC_ACKNOWLEDGE = 0x12, "RC Atomic Acknowledge";
    COMPARE_SWAP = 0x13, "RC Compare and Swap";
    FETCH_ADD = 0x14, "RC Fetch and Add";
    CNP = 0x81, "Congestion Notification Packet";
}

/// Where a packet stands in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// The first of several.
    First,
    /// Neither first nor last.
    Middle,
    /// The last of several.
    Last,
    /// The whole message.
    Only,
}

impl Position {
    /// The position of packet `index` (from 0) of `count`.
    pub const fn of(index: u32, count: u32) -> Self {
        match (index == 0, index + 1 >= count) {
            (true, true) => Self::Only,
            (true, false) => Self::First,
            (false, false) => Self::Middle,
            (false, true) => Self::Last,
        }
    }

    /// Whether a message starts here.
    pub const fn starts(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    /// Whether a message ends here.
    pub const fn ends(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

impl Opcode {
    /// The SEND for a packet at `position`; an `immediate` goes with the last one.
    pub const fn send(position: Position, immediate: bool) -> Self {
        match (position, immediate) {
            (Position::First, _) => Self::SEND_FIRST,
            (Position::Middle, _) => Self::SEND_MIDDLE,
            (Position::Last, false) => Self::SEND_LAST,
            (Position::Last, true) => Self::SEND_LAST_IMMEDIATE,
            (Position::Only, false) => Self::SEND_ONLY,
            (Position::Only, true) => Self::SEND_ONLY_IMMEDIATE,
        }
    }

    /// The RDMA WRITE with immediate for a packet at `position`; the immediate goes with the last one.
    pub const fn write_immediate(position: Position) -> Self {
        match position {
            Position::First | Position::Middle => Self::write(position),
            Position::Last => Self::WRITE_LAST_IMMEDIATE,
            Position::Only => Self::WRITE_ONLY_IMMEDIATE,
        }
    }

    /// The RDMA READ response for a packet at `position`.
    pub const fn read_response(position: Position) -> Self {
        match position {
            Position::First => Self::READ_RESPONSE_FIRST,
            Position::Middle => Self::READ_RESPONSE_MIDDLE,
            Position::Last => Self::READ_RESPONSE_LAST,
            Position::Only => Self::READ_RESPONSE_ONLY,
        }
    }

    /// The RDMA WRITE (without immediate) for a packet at `position`.
    pub const fn write(position: Position) -> Self {
        match position {
            Position::First => Self::WRITE_FIRST,
            Position::Middle => Self::WRITE_MIDDLE,
            Position::Last => Self::WRITE_LAST,
            Position::Only => Self::WRITE_ONLY,
        }
    }

    /// Where a SEND, RDMA WRITE or RDMA READ response stands in its message; `None` for all other packets.
    pub const fn position(self) -> Option<Position> {
        Some(match self {
            Self::SEND_FIRST | Self::WRITE_FIRST | Self::READ_RESPONSE_FIRST => Position::First,
            Self::SEND_MIDDLE | Self::WRITE_MIDDLE | Self::READ_RESPONSE_MIDDLE => Position::Middle,
            Self::SEND_LAST
            | Self::SEND_LAST_IMMEDIATE
            | Self::WRITE_LAST
            | Self::WRITE_LAST_IMMEDIATE
            | Self::READ_RESPONSE_LAST => Position::Last,
            Self::SEND_ONLY
            | Self::SEND_ONLY_IMMEDIATE
            | Self::WRITE_ONLY
            | Self::WRITE_ONLY_IMMEDIATE
            | Self::READ_RESPONSE_ONLY => Position::Only,
            _ => return None,
        })
    }

    /// An RDMA WRITE packet, with or without immediate.
    pub const fn is_write(self) -> bool {
        Self::WRITE_FIRST.0 <= self.0 && self.0 <= Self::WRITE_ONLY_IMMEDIATE.0
    }

    /// A SEND packet, with or without immediate.
    pub const fn is_send(self) -> bool {
        self.0 <= Self::SEND_ONLY_IMMEDIATE.0
    }

    /// An RDMA READ response.
    pub const fn is_read_response(self) -> bool {
        Self::READ_RESPONSE_FIRST.0 <= self.0 && self.0 <= Self::READ_RESPONSE_ONLY.0
    }

    /// Whether a [`super::Reth`] follows the base header.
    pub const fn has_reth(self) -> bool {
        matches!(self, Self::WRITE_FIRST | Self::WRITE_ONLY | Self::WRITE_ONLY_IMMEDIATE | Self::READ_REQUEST)
    }

    /// Whether an [`super::Aeth`] follows the base header.
    pub const fn has_aeth(self) -> bool {
        matches!(
            self,
            Self::ACKNOWLEDGE
                | Self::ATOMIC_ACKNOWLEDGE
                | Self::READ_RESPONSE_FIRST
                | Self::READ_RESPONSE_LAST
                | Self::READ_RESPONSE_ONLY
        )
    }

    /// Whether an [`super::ImmDt`] follows, behind the other extension headers.
    pub const fn has_immediate(self) -> bool {
        matches!(
            self,
            Self::SEND_LAST_IMMEDIATE
                | Self::SEND_ONLY_IMMEDIATE
                | Self::WRITE_LAST_IMMEDIATE
                | Self::WRITE_ONLY_IMMEDIATE
        )
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "opcode {:#04x}", self.0),
        }
    }
}
