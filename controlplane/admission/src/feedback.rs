//! This project's reports as congestion feedback: which report says what about which domain. Plain values in, so that
//! any decoder serves.

use core::net::IpAddr;
use std::collections::BTreeMap;

use wire::rdcc::CongestionReport;
use wire::units::MbitPerSec;

/// What a report says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// A queue on the way is above its threshold. With a rate: what the reporter would have the sender send.
    Congestion {
        /// The rate, where one was given.
        rate: Option<MbitPerSec>,
    },
    /// The receiver takes less than before. Never counts against the device, which other receivers share.
    ReceiverPressure {
        /// The rate it still takes, where it said so.
        rate: Option<MbitPerSec>,
    },
}

impl Feedback {
    /// The rate it carries.
    pub const fn rate(self) -> Option<MbitPerSec> {
        match self {
            Self::Congestion { rate } | Self::ReceiverPressure { rate } => rate,
        }
    }
}

/// A rate field of the wire: zero means that none is given.
const fn given(rate: MbitPerSec) -> Option<MbitPerSec> {
    if rate.0 == 0 { None } else { Some(rate) }
}

/// An RDCC `CONGESTION_REPORT` that reached the sender: congestion of the route to the flow's destination.
pub const fn congestion_report(report: &CongestionReport) -> Feedback {
    Feedback::Congestion { rate: given(report.suggested_rate) }
}

/// A receiver's new rate, beside the one before: pressure of the receiver when it is lower, else nothing.
pub fn receiver_rate(before: MbitPerSec, now: MbitPerSec) -> Option<Feedback> {
    (now < before).then_some(Feedback::ReceiverPressure { rate: given(now) })
}

/// A receiver's new credit limit, beside the one before, both as octets that may be outstanding: pressure when it is lower.
pub fn receiver_grant(before: u64, now: u64) -> Option<Feedback> {
    (now < before).then_some(Feedback::ReceiverPressure { rate: None })
}

/// What a receiver grants the messages of one route, message by message: its rate is the sum of theirs. A message that begins
/// or ends moves the sum as well, and presses nobody. Grants for more than [`Grants::MESSAGES`] messages at a time aren't
/// remembered: the other end says how many there are.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    rates: BTreeMap<u64, MbitPerSec>,
}

impl Grants {
    /// Messages remembered at most.
    pub const MESSAGES: usize = 4096;

    /// A grant came that gives `message` this rate. Pressure when the message had a higher one; the rate that it carries is
    /// that of all the route's messages.
    pub fn granted(&mut self, message: u64, rate: MbitPerSec) -> Option<Feedback> {
        if self.rates.len() >= Self::MESSAGES && !self.rates.contains_key(&message) {
            return None;
        }
        let before = self.rates.insert(message, rate);
        before.filter(|before| rate < *before)?;
        let sum = self.rates.values().fold(0_u32, |sum, rate| sum.saturating_add(rate.0));
        Some(Feedback::ReceiverPressure { rate: given(MbitPerSec(sum)) })
    }

    /// The message is over: its rate no longer counts.
    pub fn ended(&mut self, message: u64) {
        self.rates.remove(&message);
    }
}

/// SCONE Rate Advice: congestion of the device that has `address`. Advice of no rate says nothing.
pub fn rate_advice(address: IpAddr, rate: MbitPerSec) -> Option<(IpAddr, Feedback)> {
    given(rate).map(|rate| (address, Feedback::Congestion { rate: Some(rate) }))
}

/// A CNP for a queue pair of the route: congestion.
pub const fn cnp() -> Feedback {
    Feedback::Congestion { rate: None }
}

/// `cause` of a CREM `PATH_REPORT`'s hop entry that stands for congestion (a queue overflowed).
pub const PATH_CAUSE_CONGESTION: u8 = 1;

/// A hop entry of a CREM `PATH_REPORT`: congestion of the route when that is its cause. Unknown cause, corruption, policy
/// and private causes say nothing about congestion.
pub fn path_report(cause: u8) -> Option<Feedback> {
    (cause == PATH_CAUSE_CONGESTION).then_some(Feedback::Congestion { rate: None })
}

/// A rate in octets per second, as windows are computed from.
pub(crate) fn octets_per_second(rate: Option<MbitPerSec>) -> u64 {
    rate.map_or(crate::domain::NO_RATE, |rate| u64::from(rate.0) * 125_000)
}

#[cfg(all(test, not(admission_loom)))]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;
    use wire::rdcc::{Direction, FlowAddresses};
    use wire::units::Octets32;

    #[test]
    fn a_congestion_report_gives_its_rate_and_zero_is_none() {
        let mut report = CongestionReport {
            reporter_id: 7,
            queue_depth: Octets32(200),
            queue_threshold: Octets32(100),
            congestion_degree: 3,
            direction: Direction::TO_SENDER,
            protocol: 17,
            source_port: 1,
            destination_port: 4791,
            suggested_rate: MbitPerSec(12_500),
            flow: FlowAddresses::V4 { source: Ipv4Addr::LOCALHOST, destination: Ipv4Addr::LOCALHOST },
        };
        assert_eq!(congestion_report(&report), Feedback::Congestion { rate: Some(MbitPerSec(12_500)) });
        report.suggested_rate = MbitPerSec(0);
        assert_eq!(congestion_report(&report), Feedback::Congestion { rate: None });
    }

    #[test]
    fn a_receiver_presses_only_when_it_takes_less() {
        let rate = |before, now| receiver_rate(MbitPerSec(before), MbitPerSec(now));
        assert_eq!(rate(100, 100), None);
        assert_eq!(rate(100, 101), None);
        assert_eq!(rate(100, 99), Some(Feedback::ReceiverPressure { rate: Some(MbitPerSec(99)) }));
        assert_eq!(rate(100, 0), Some(Feedback::ReceiverPressure { rate: None }));
        assert_eq!(receiver_grant(10, 10), None);
        assert_eq!(receiver_grant(10, 9), Some(Feedback::ReceiverPressure { rate: None }));
    }

    #[test]
    fn only_a_lower_grant_of_the_same_message_presses_and_it_carries_the_sum() {
        let mut grants = Grants::default();
        let pressure = |rate| Some(Feedback::ReceiverPressure { rate });
        assert_eq!(grants.granted(1, MbitPerSec(100)), None);
        assert_eq!(grants.granted(2, MbitPerSec(50)), None, "another message");
        assert_eq!(grants.granted(1, MbitPerSec(100)), None, "no lower");
        assert_eq!(grants.granted(1, MbitPerSec(60)), pressure(Some(MbitPerSec(110))));
        grants.ended(1);
        assert_eq!(grants.granted(1, MbitPerSec(10)), None, "a message that begins");
        assert_eq!(grants.granted(2, MbitPerSec(49)), pressure(Some(MbitPerSec(59))));
        grants.ended(1);
        assert_eq!(grants.granted(2, MbitPerSec(0)), pressure(None), "no rate at all");
        // However many messages the other end names.
        for message in 1_000..11_000 {
            assert_eq!(grants.granted(message, MbitPerSec(9)), None);
        }
        assert_eq!(grants.rates.len(), Grants::MESSAGES);
    }

    #[test]
    fn advice_names_its_device_and_needs_a_rate() {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let advice = Feedback::Congestion { rate: Some(MbitPerSec(10)) };
        assert_eq!(rate_advice(address, MbitPerSec(10)), Some((address, advice)));
        assert_eq!(rate_advice(address, MbitPerSec(0)), None);
    }

    #[test]
    fn only_cause_congestion_of_a_path_report_is_congestion() {
        for cause in 0..=u8::MAX {
            assert_eq!(path_report(cause).is_some(), cause == 1, "cause {cause}");
        }
        assert_eq!(cnp(), Feedback::Congestion { rate: None });
    }

    #[test]
    fn the_largest_rate_is_no_missing_rate() {
        assert!(octets_per_second(Some(MbitPerSec(u32::MAX))) < octets_per_second(None));
        assert_eq!(octets_per_second(Some(MbitPerSec(8))), 1_000_000);
    }
}
