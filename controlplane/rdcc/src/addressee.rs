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

//= RDCC, RDCC Message Types: 3b48d1ae bf652728 8ab8fac5 01a95fd6 00cef283 86dd0f5c
//= RDCC, RDCC Message Types: abd187bb b5a62a14 fc558831 2f7b7feb
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

#[cfg(test)]
mod tests {
    use super::*;
    use wire::rdcc::MessageType as T;

    //~ RDCC, RDCC Message Types: 3b48d1ae bf652728 8ab8fac5 01a95fd6 00cef283 86dd0f5c
    //~ RDCC, RDCC Message Types: abd187bb b5a62a14 fc558831 2f7b7feb
    /// RDCC, RDCC Message Types: both columns of the table.
    #[test]
    fn every_type_has_its_direction_and_length() {
        let table = [
            (1, T::ASSOC_REQUEST, Addressee::Receiver, 48),
            (2, T::ASSOC_ACCEPT, Addressee::Sender, 48),
            (3, T::CREDIT_REQUEST, Addressee::Receiver, 56),
            (4, T::CREDIT_GRANT, Addressee::Sender, 40),
            (5, T::SENDER_STATUS, Addressee::Receiver, 32),
            (7, T::MSG_DONE, Addressee::Sender, 32),
            (8, T::CANCEL, Addressee::Both, 28),
            (9, T::CREDIT_RETURN, Addressee::Receiver, 32),
            (10, T::ERROR, Addressee::Both, 28),
        ];
        for (code, message_type, whom, length) in table {
            assert_eq!((message_type, message_type.minimum_length()), (T(code), Some(length)));
            assert_eq!(addressee(&[0x10, code]), whom, "{message_type}");
        }
        assert_eq!((T::CONGESTION_REPORT, T(6).minimum_length()), (T(6), Some(48)));
        for (direction, whom) in [(1, Addressee::Receiver), (2, Addressee::Sender)] {
            for (af, length) in [(4u8, 48usize), (6, 72)] {
                let mut report = vec![0; length];
                (report[0], report[1], report[29], report[30]) = (0x10, 6, direction, af);
                report[3] = u8::try_from(length).unwrap();
                assert_eq!(addressee(&report), whom);
            }
        }
    }
}
