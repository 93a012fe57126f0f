//! A packet on its way through the switch.

use crate::packet::Packet;
use crate::program::Program;

/// Marks a clone request, so that session 0 is one too.
pub(crate) const CLONE_REQUESTED: u32 = 1 << 16;

/// A packet and everything the program knows about it.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Flight {
    /// Fields, parameters, temporaries and constants: see [`crate::layout`].
    pub frame: Vec<u64>,
    /// The packet as it came in; the deparser replaces what was parsed.
    pub packet: Packet,
    /// Octets of it that the parser took.
    pub parsed: usize,
    /// The place of the header that was extracted last among those that leave.
    pub last_emitted: u32,
    /// Whether the headers that were extracted are still the ones to leave, octet for octet where they came.
    pub in_place: bool,
    /// The port it first came in by.
    pub ingress_port: u16,
    /// Octets it had when it entered: what counters and meters count.
    pub ingress_octets: usize,
    /// The length the program sees in egress: headers added and removed by the program counted, nothing else.
    pub length: u32,
    /// Cut to so many octets after the deparser.
    pub truncate: usize,
    pub clone_session: u32,
    pub clone_list: u32,
    pub digest: u32,
    pub resubmit: u32,
    pub recirculate: u32,
    pub exit: bool,
    /// An assertion failed or the program ran away: the packet is dropped.
    pub dead: bool,
    /// Backward jumps it may still take.
    pub fuel: u32,
    pub parser_error: u32,
    pub checksum_error: bool,
    pub enqueued_ns: u64,
    /// Not to leave before.
    pub send_ns: u64,
    /// Octets it counts for in its queue.
    pub queued_octets: u64,
}

/// Backward jumps a packet may take in one pass.
const FUEL: u32 = 1 << 20;

impl Flight {
    pub(crate) fn new(program: &Program) -> Flight {
        Flight {
            frame: program.frame.clone(),
            packet: Packet::default(),
            parsed: 0,
            last_emitted: 0,
            in_place: false,
            ingress_port: 0,
            ingress_octets: 0,
            length: 0,
            truncate: usize::MAX,
            clone_session: 0,
            clone_list: 0,
            digest: 0,
            resubmit: 0,
            recirculate: 0,
            exit: false,
            dead: false,
            fuel: FUEL,
            parser_error: 0,
            checksum_error: false,
            enqueued_ns: 0,
            send_ns: 0,
            queued_octets: 0,
        }
    }

    /// Headers invalid, all fields zero: a fresh packet's array.
    pub(crate) fn reset_fields(&mut self, program: &Program) {
        let n = program.layout_data;
        self.frame[..n].copy_from_slice(&program.frame[..n]);
    }

    /// Forgets what the program asked for, not what it computed.
    pub(crate) fn reset_requests(&mut self) {
        self.truncate = usize::MAX;
        self.clone_session = 0;
        self.clone_list = 0;
        self.digest = 0;
        self.resubmit = 0;
        self.recirculate = 0;
        self.exit = false;
        self.dead = false;
        self.fuel = FUEL;
    }

    /// Forgets the requests that end with ingress; `truncate` holds until the packet leaves.
    pub(crate) fn reset_requests_but_truncate(&mut self) {
        let truncate = self.truncate;
        let recirculate = self.recirculate;
        self.reset_requests();
        self.truncate = truncate;
        self.recirculate = recirculate;
    }

    /// All metadata zero.
    pub(crate) fn reset_metadata(&mut self, program: &Program) {
        for &(start, end) in &program.metadata_slots {
            self.frame[start..end].fill(0);
        }
    }

    /// Octets after the parsed headers.
    pub(crate) fn payload_octets(&self) -> usize {
        self.packet.len() - self.parsed
    }
}
