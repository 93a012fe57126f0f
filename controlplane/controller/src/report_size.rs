//! What the switches' reports take of a link: the frame that the program makes, and what a link spends on it besides.

use crate::pipeline::generated::constants as p4;
use crate::topology::Reports;

/// Frame check sequence (4), preamble (8) and gap (12) (docs/decisions/link-octets.md).
const LINK_OVERHEAD: u64 = 24;
/// Part of that: the shortest frame of the program is counted with it.
const CHECK_SEQUENCE: u64 = 4;

/// What a switch sends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// `CONGESTION_REPORT` (RDCC, Message Formats).
    Congestion,
    /// `PATH_REPORT` with as many PSNs as one holds (CREM, Message Formats).
    Path,
    /// Rate Advice (SCONE, Payload Format).
    RateAdvice,
}

impl ReportKind {
    /// Octets that the longest of its kind takes of a link, without a VLAN tag.
    pub fn octets(self, ipv6: bool) -> u64 {
        // One PSN is in the length already.
        let more_psns = u64::from(p4::PATH_REPORT_HELD_PSNS) * u64::from(p4::PATH_REPORT_PSN_OCTETS);
        let message = match (self, ipv6) {
            (Self::Congestion, false) => u64::from(p4::RDCC_CONGESTION_REPORT_IPV4_OCTETS),
            (Self::Congestion, true) => u64::from(p4::RDCC_CONGESTION_REPORT_IPV6_OCTETS),
            (Self::Path, false) => u64::from(p4::PATH_REPORT_IPV4_OCTETS) + more_psns,
            (Self::Path, true) => u64::from(p4::PATH_REPORT_IPV6_OCTETS) + more_psns,
            (Self::RateAdvice, false) => u64::from(p4::RATE_ADVICE_IPV4_OCTETS),
            (Self::RateAdvice, true) => u64::from(p4::RATE_ADVICE_IPV6_OCTETS),
        };
        let network = u64::from(if ipv6 { p4::IPV6_OCTETS } else { p4::IPV4_OCTETS });
        let frame = u64::from(p4::ETHERNET_OCTETS) + network + u64::from(p4::UDP_OCTETS) + message;
        frame.max(u64::from(p4::MIN_FRAME_OCTETS) - CHECK_SEQUENCE) + LINK_OVERHEAD
    }
}

/// Octets of the longest report that a switch may send: meters count packets, so their rate follows from this one.
pub fn longest(reports: &Reports, ipv6: bool) -> u64 {
    let path = reports.path_interval_ns.map(|_| ReportKind::Path);
    let advice = reports.rate_advice.map(|_| ReportKind::RateAdvice);
    let others = [path, advice].into_iter().flatten().map(|kind| kind.octets(ipv6));
    others.fold(ReportKind::Congestion.octets(ipv6), u64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documents' lengths, added up by hand: Ethernet, IP, UDP, message, 24 on the link.
    #[test]
    fn lengths_are_those_of_the_documents() {
        for (kind, ipv4, ipv6) in [
            (ReportKind::Congestion, 14 + 20 + 8 + 16 + 24 + 8 + 24, 14 + 40 + 8 + 16 + 24 + 32 + 24),
            (
                ReportKind::Path,
                14 + 20 + 8 + (8 + 4 + 8 + 4 + 20 + 5 * 4) + 24,
                14 + 40 + 8 + (8 + 4 + 32 + 4 + 20 + 5 * 4) + 24,
            ),
            (ReportKind::RateAdvice, 60 + 24, 14 + 40 + 8 + 28 + 24),
        ] {
            assert_eq!((kind.octets(false), kind.octets(true)), (ipv4, ipv6), "{kind:?}");
        }
    }

    #[test]
    fn the_longest_is_among_those_that_are_sent() {
        let none = Reports::default();
        assert_eq!((longest(&none, false), longest(&none, true)), (114, 158));
        let advice = Reports { rate_advice: Some((1, 1)), ..none };
        assert_eq!((longest(&advice, false), longest(&advice, true)), (114, 158));
        let path = Reports { path_interval_ns: Some(0), ..none };
        assert_eq!((longest(&path, false), longest(&path, true)), (130, 174));
    }
}
