//! Which machine of a host a datagram is for: both share the RDCC port (RDCC, Port Configuration).

use wire::rdcc::{Direction, Message, MessageType, decode};

/// The machine, or machines, that a datagram is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressee {
    /// The sender only.
    Sender,
    /// The receiver only.
    Receiver,
    /// Either may have sent what this answers or ends; each ignores what it doesn't know.
    Both,
}

/// Tells whom the payload of a datagram to the RDCC port is for, by the Direction column of RDCC, Common Header, and
/// for reports by their Direction field. A datagram that can't be decoded is for both: each counts what it ignores.
pub fn addressee(octets: &[u8]) -> Addressee {
    use MessageType as T;
    match octets.get(1).copied().map(MessageType) {
        Some(T::ASSOC_REQUEST | T::CREDIT_REQUEST | T::SENDER_STATUS | T::CREDIT_RETURN) => {
            Addressee::Receiver
        }
        Some(T::ASSOC_ACCEPT | T::CREDIT_GRANT | T::MSG_DONE) => Addressee::Sender,
        Some(T::CONGESTION_REPORT) => match decode(octets) {
            Ok((_, Message::CongestionReport(report))) if report.direction == Direction::TO_SENDER => {
                Addressee::Sender
            }
            Ok(_) => Addressee::Receiver,
            Err(_) => Addressee::Both,
        },
        _ => Addressee::Both,
    }
}
