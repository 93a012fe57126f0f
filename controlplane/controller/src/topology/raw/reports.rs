//! Reports besides the congestion reports.

use crate::topology::decode::{Int, Located};
use crate::topology::quantity::{Rate, Time};
use crate::topology::shape::mapping;

mapping! {
    /// Reports besides the congestion reports; what isn't given isn't sent.
    struct Reports = "domain.reports" {
        optional {
            /// `PATH_REPORT` about packets that the switch drops.
            path: PathReports;
            /// Rate Advice to sources.
            rate_advice: RateAdvice;
            /// Lower the Rate Signal that packets carry.
            rate_signal: RateSignal;
        }
    }
}

mapping! {
    /// `PATH_REPORT` about packets that the switch drops.
    struct PathReports = "domain.reports.path" {
        required {
            /// Shortest time between two about one flow, in whole microseconds; 0us: every drop.
            interval: Located<Time> = "100us";
        }
    }
}

mapping! {
    /// Rate Advice to sources.
    struct RateAdvice = "domain.reports.rate_advice" {
        required {
            /// Shortest time between two to one source, in whole microseconds.
            interval: Located<Time> = "100us";
        }
        optional {
            /// Lowest rate that congestion may advise; a policy may go below it. Default 1Mbps.
            floor: Rate;
        }
    }
}

mapping! {
    /// Lower the Rate Signal that packets carry.
    struct RateSignal = "domain.reports.rate_signal" {
        required {
            /// The type octet that says so in the packet.
            kind: Located<Int<0, 255>> = "1";
        }
        optional {
            /// Lowest rate that congestion may signal; default 1Mbps.
            floor: Rate;
        }
    }
}
