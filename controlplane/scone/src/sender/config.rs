//! What a sender is told about its domain, and what it counts.

use core::net::IpAddr;
use std::collections::BTreeSet;

use wire::scone::DecodeError;
use wire::units::{BitPerSec, MbitPerSec};

use crate::bound::{Approach, ApproachError};

/// Parameters of a [`super::Sender`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SenderConfig {
    /// The network elements and gateways whose Rate Advice is taken: the trusted domain (SCONE, Security Considerations).
    pub elements: BTreeSet<IpAddr>,
    /// Our own addresses: advice for others is not for us.
    pub addresses: BTreeSet<IpAddr>,
    /// The type octet of the Rate Signal extension in this domain; `None` where Solution 2 isn't used.
    pub extension_type: Option<u8>,
    /// Advice below this is taken for forged, and no bound of a queue pair goes below it (SCONE, Security Considerations).
    pub floor: MbitPerSec,
    /// The rate of our link: where bounds start, and where they end.
    pub line_rate: BitPerSec,
    /// How bounds follow advice.
    pub approach: Approach,
}

/// A configuration that can't be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Of the approach.
    #[error(transparent)]
    Approach(#[from] ApproachError),
    /// A floor of zero would let advice stop everything.
    #[error("floor of {floor}; it should be 1 Mbit/s to the line rate, {line_rate}")]
    Floor {
        /// The floor given.
        floor: MbitPerSec,
        /// The line rate given.
        line_rate: BitPerSec,
    },
    /// Zero reads as "no extension" in a CNP.
    #[error("Rate Signal extension type 0; it should be 1 to 255, the same in the whole domain")]
    ExtensionType,
}

impl SenderConfig {
    /// A sender at `line_rate` that trusts nobody yet: floor 10 Mbit/s, the default approach.
    pub fn new(line_rate: BitPerSec) -> Self {
        Self {
            elements: BTreeSet::new(),
            addresses: BTreeSet::new(),
            extension_type: None,
            floor: MbitPerSec(10),
            line_rate,
            approach: Approach::default(),
        }
    }

    /// Whether the parameters can be.
    ///
    /// # Errors
    /// [`ConfigError`] names the first that can't.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.approach.check()?;
        if self.floor == MbitPerSec(0) || BitPerSec::from(self.floor) > self.line_rate {
            return Err(ConfigError::Floor { floor: self.floor, line_rate: self.line_rate });
        }
        if self.extension_type == Some(0) {
            return Err(ConfigError::ExtensionType);
        }
        Ok(())
    }
}

/// A queue pair that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderQp {
    /// Its number here.
    pub qp: u32,
    /// Which of our addresses it sends from.
    pub local: IpAddr,
    /// Where its data goes; feedback comes from there.
    pub peer: IpAddr,
}

/// What a bound applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// All queue pairs of one of our addresses together (Solution 1).
    Address(IpAddr),
    /// A queue pair (Solution 2).
    Qp(u32),
}

/// Advice that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advised {
    /// To what.
    pub subject: Subject,
    /// The advised rate.
    pub rate: MbitPerSec,
}

/// A bound in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    /// Of what.
    pub subject: Subject,
    /// The rate that was advised last.
    pub advised: BitPerSec,
    /// The bound now.
    pub bound: BitPerSec,
    /// When the advice expires; in the past while the bound is released.
    pub expires: wire::units::Nanos,
}

/// Why advice was discarded. It had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Discarded {
    /// The octets are no message.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// Rate Advice from elsewhere than the configured network elements.
    #[error(
        "Rate Advice from {0}, which is no network element of this domain; add it to `elements` if it should be"
    )]
    NotAnElement(IpAddr),
    /// Rate Advice for an address that isn't ours.
    #[error("Rate Advice for {0}, which is none of this host's addresses")]
    NotOurAddress(IpAddr),
    /// A rate that no honest element advises.
    #[error("an advised rate of {rate}; it should be at least the floor, {floor}")]
    BelowFloor {
        /// The rate.
        rate: MbitPerSec,
        /// The configured floor.
        floor: MbitPerSec,
    },
    /// Feedback for a queue pair that isn't ours.
    #[error("feedback for queue pair {0:#x}, which doesn't send from this host")]
    UnknownQp(u32),
    /// Feedback from elsewhere than the queue pair's other end.
    #[error("feedback for queue pair {qp:#x} from {from}; it should come from {peer}")]
    WrongPeer {
        /// The queue pair.
        qp: u32,
        /// Where the feedback came from.
        from: IpAddr,
        /// The queue pair's other end.
        peer: IpAddr,
    },
    /// An extension of another type.
    #[error("extension type {0:#04x} is not this domain's Rate Signal")]
    WrongType(u8),
}

/// Counts since the sender began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Rate Advice that was taken.
    pub advice: u64,
    /// Feedback in dedicated packets that was taken.
    pub dedicated: u64,
    /// Feedback in CNPs that was taken.
    pub cnps: u64,
    /// Feedback in acknowledgements that was taken.
    pub acks: u64,
    /// Octets that were no message.
    pub malformed: u64,
    /// Advice from no network element, or feedback from elsewhere than the other end.
    pub untrusted: u64,
    /// Advice for another's address or queue pair, or of another extension type.
    pub not_ours: u64,
    /// Advice below the floor.
    pub below_floor: u64,
}

impl SenderStats {
    pub(super) fn count(&mut self, discarded: &Discarded) {
        let counter = match discarded {
            Discarded::Malformed(_) => &mut self.malformed,
            Discarded::NotAnElement(_) | Discarded::WrongPeer { .. } => &mut self.untrusted,
            Discarded::NotOurAddress(_) | Discarded::UnknownQp(_) | Discarded::WrongType(_) => {
                &mut self.not_ours
            }
            Discarded::BelowFloor { .. } => &mut self.below_floor,
        };
        *counter += 1;
    }
}
