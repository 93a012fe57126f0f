//! What a program keeps between packets.

use std::collections::VecDeque;

use crate::config::SwitchStats;
use crate::control::{CounterValue, KeyMatch};
use crate::meter::Meter;
use crate::paged::Paged;
use crate::profile::Profile;
use crate::program::Program;
use crate::registers::Registers;
use crate::switch::DigestSample;
use crate::table::Table;

/// A component of a value set's member: a masked value or a range of its words.
#[derive(Clone, Debug)]
pub(crate) enum SetPart {
    Masked(Vec<u64>, Vec<u64>),
    Range(u64, u64),
}

/// A value set's members, as given and as compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct SetState {
    pub given: Vec<Vec<KeyMatch>>,
    pub members: Vec<Vec<SetPart>>,
}

/// Everything in a switch but its queues.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub tables: Vec<Table>,
    pub profiles: Vec<Profile>,
    pub counters: Vec<Paged<CounterValue>>,
    pub meters: Vec<Paged<Option<Box<Meter>>>>,
    pub registers: Registers,
    pub value_sets: Vec<SetState>,
    pub digests: VecDeque<DigestSample>,
    pub stats: SwitchStats,
    pub random: u64,
    /// What `mark_to_drop` writes.
    pub drop_port: u64,
    /// Scratch space, so that no packet allocates.
    pub octets: Vec<u8>,
    pub masked: Vec<u64>,
    /// Whether packets go through the program's native code.
    pub native: bool,
}

impl State {
    pub(crate) fn new(program: &Program, seed: u64, drop_port: u64) -> State {
        State {
            tables: program.control.tables.iter().map(Table::new).collect(),
            profiles: program.control.profile_infos.iter().map(|_| Profile::default()).collect(),
            counters: program.counters.iter().map(|c| Paged::new(c.size)).collect(),
            meters: program.meters.iter().map(|m| Paged::new(m.size)).collect(),
            registers: Registers::new(&program.registers),
            value_sets: program.parser.value_sets.iter().map(|_| SetState::default()).collect(),
            digests: VecDeque::new(),
            stats: SwitchStats::default(),
            random: seed,
            drop_port,
            octets: Vec::new(),
            masked: Vec::new(),
            native: false,
        }
    }

    /// The next random word (splitmix64: short, seedable, good enough for `random()`).
    pub(crate) fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}
