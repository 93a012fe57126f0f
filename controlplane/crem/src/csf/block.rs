//! Source blocks of a flow (CREM, Source Blocks).

use wire::crem::Bitmap;
use wire::roce::Psn;
use wire::units::Nanos;

use crate::configuration::Configuration;

/// A block: open while it takes packets, then kept for retransmission.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub start: Psn,
    /// Positions so far; at most the configuration's k.
    pub covered: u8,
    pub present: Bitmap,
    pub configuration: Configuration,
    pub closed_at: Nanos,
    /// The first Repair Index that was never used.
    pub next_index: u16,
    /// Ordinary repair symbols sent or about to be.
    pub ordinary: u16,
    /// When a request was answered last.
    pub answered_at: Option<Nanos>,
    /// Positions that a node on the path dropped, as it says.
    pub dropped: Bitmap,
}

impl Block {
    pub(super) fn new(start: Psn, configuration: Configuration) -> Self {
        Self {
            start,
            covered: 0,
            present: Bitmap::EMPTY,
            configuration,
            closed_at: Nanos(0),
            next_index: 0,
            ordinary: 0,
            answered_at: None,
            dropped: Bitmap::EMPTY,
        }
    }

    /// The position of a PSN in this block, if it is one of its k.
    pub(super) fn position(&self, psn: Psn) -> Option<u8> {
        u8::try_from(psn.ahead_of(self.start)).ok().filter(|&position| position < self.covered)
    }

    /// The PSN behind the last position.
    pub(super) fn end(&self) -> Psn {
        self.start.plus(self.covered.into())
    }

    /// How many Repair Indices were never used.
    pub(super) fn indices_left(&self) -> u16 {
        self.configuration.code.indices(self.covered).saturating_sub(self.next_index)
    }
}

/// What a job sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Symbols with rising indices over the set.
    Coded { next: u8, left: u8 },
    /// The sources of the set themselves.
    Copies,
    /// The description of the block.
    Info,
}

/// Repair messages for one block that wait for the rate limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub start: Psn,
    pub covered: u8,
    pub present: Bitmap,
    pub configuration: Configuration,
    /// L: all present positions, or what a request named.
    pub over: Bitmap,
    /// The Request ID that is answered; 0 for ordinary symbols.
    pub session: u16,
    pub work: Work,
    /// Symbols that couldn't leave by then are dropped.
    pub expires: Nanos,
}

impl Job {
    pub(super) fn is_ordinary(&self) -> bool {
        self.session == 0
    }
}
