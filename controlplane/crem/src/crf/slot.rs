//! What is known of each PSN, and the repair symbols of incomplete blocks.

use wire::crem::Bitmap;
use wire::units::Nanos;

use crate::configuration::Configuration;
use crate::packet::IpFields;

/// What is known of a PSN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SlotState {
    /// Nothing.
    #[default]
    Empty,
    /// A packet should have come.
    Missing,
    /// It came.
    Received,
    /// It was decoded.
    Restored,
    /// No packet carries this PSN.
    Absent,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub state: SlotState,
    /// Whether the RDMA receiver has it.
    pub delivered: bool,
    /// Whether it came after it had been missed: perhaps a retransmission.
    pub late: bool,
    pub ip: IpFields,
    /// The rate of its Rate Signal, which the symbol lacks.
    pub rate: Option<[u8; 4]>,
}

/// A packet that should have come. Positions count from a multiple of 2^24, so that they never wrap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing {
    /// When its range is to be asked for; never while it belongs to a known block.
    pub due: Nanos,
    /// When it was asked for first.
    pub requested: Option<Nanos>,
    /// Range requests that named it, and the last of them.
    pub rounds: u8,
    pub request_ids: [u16; 2],
    pub in_block: bool,
    pub given_up: bool,
    /// When the packet behind it went on, so that the transport sends this one again.
    pub refused: Option<Nanos>,
}

impl Default for Missing {
    fn default() -> Self {
        Self {
            due: Nanos::MAX,
            requested: None,
            rounds: 0,
            request_ids: [0; 2],
            in_block: false,
            given_up: false,
            refused: None,
        }
    }
}

impl Missing {
    /// Whether nothing makes it due yet but repair messages that may still come.
    pub(super) fn is_waiting(&self) -> bool {
        self.due == Nanos::MAX && self.requested.is_none() && !self.in_block && !self.given_up
    }
}

/// A repair symbol that is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub place: usize,
    pub index: u8,
    pub over: Bitmap,
}

/// A block whose structure is known and which is incomplete.
#[derive(Debug)]
pub(super) struct Block {
    pub k: u8,
    pub present: Bitmap,
    pub configuration: Configuration,
    pub symbols: Vec<Kept>,
    /// When to ask, or to ask again.
    pub due: Nanos,
    pub requested: Option<Nanos>,
    /// The last requests for this block.
    pub request_ids: [u16; 3],
    /// Coded retransmissions asked for.
    pub rounds: u8,
    pub fallback: bool,
    /// Whether it counts as incomplete in a report.
    pub counted: bool,
}

/// A fixed number of places for symbols.
#[derive(Debug, Default)]
pub(super) struct Store {
    octets: Vec<u8>,
    symbol_octets: usize,
    free: Vec<usize>,
}

impl Store {
    pub(super) fn new(places: u16, symbol_octets: u16) -> Self {
        let (places, symbol_octets) = (usize::from(places), usize::from(symbol_octets));
        Self { octets: vec![0; places * symbol_octets], symbol_octets, free: (0..places).collect() }
    }

    /// Keeps a symbol; `None` when all places are taken.
    pub(super) fn keep(&mut self, symbol: &[u8]) -> Option<usize> {
        let place = self.free.pop()?;
        let start = place * self.symbol_octets;
        if let Some(octets) = self.octets.get_mut(start..start + symbol.len().min(self.symbol_octets)) {
            octets.copy_from_slice(&symbol[..octets.len()]);
        }
        Some(place)
    }

    pub(super) fn get(&self, place: usize, octets: usize) -> &[u8] {
        let start = place * self.symbol_octets;
        self.octets.get(start..start + octets).unwrap_or_default()
    }

    pub(super) fn release(&mut self, symbols: &[Kept]) {
        self.free.extend(symbols.iter().map(|kept| kept.place));
    }
}
