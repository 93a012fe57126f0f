//! The summary, and how it is written.

use std::collections::BTreeMap;
use std::fmt;

/// Octets of an SRAM block: 1,024 words of 128 bits.
pub const SRAM_BLOCK_OCTETS: usize = 16_384;

/// How much of something is used, of how much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Used.
    pub used: usize,
    /// There are.
    pub of: usize,
}

impl fmt::Display for Share {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (1_000 * self.used).checked_div(self.of).unwrap_or_default();
        write!(out, "{} of {} ({}.{} %)", self.used, self.of, tenths / 10, tenths % 10)
    }
}

/// What one direction's parser takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParserUse {
    /// Rows of its TCAM.
    pub rows: Share,
    /// States on the longest way through it.
    pub depth: usize,
    /// Octets that the way through it takes off at most.
    pub octets: usize,
}

/// What a program takes of the chip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The compiler's version.
    pub compiler: String,
    /// Stages that the chip has.
    pub stages: usize,
    /// By gress, `I` or `E`: the last stage with a table, plus one.
    pub stages_of: BTreeMap<char, usize>,
    /// Blocks of SRAM, of TCAM, of map RAM; ALUs of meters and registers, of counters; gateways; logical tables.
    pub sram: Share,
    pub tcam: Share,
    pub map_ram: Share,
    pub meter_alus: Share,
    pub statistics_alus: Share,
    pub gateways: Share,
    pub logical_tables: Share,
    /// SRAM blocks of registers, meters and counters.
    pub state_blocks: usize,
    /// TCAM blocks by table, for those that have any.
    pub tcam_of: BTreeMap<String, usize>,
    /// Containers by type and width.
    pub phv: BTreeMap<(String, usize), Share>,
    /// By gress.
    pub parsers: BTreeMap<String, ParserUse>,
}

impl Summary {
    /// The stages that the program needs: those of the gress that needs more.
    pub fn stages_in_use(&self) -> usize {
        self.stages_of.values().copied().max().unwrap_or_default()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "compiler                {}", self.compiler)?;
        for (gress, name) in [('I', "ingress"), ('E', "egress")] {
            let used = self.stages_of.get(&gress).copied().unwrap_or_default();
            writeln!(out, "stages, {name:<15} {}", Share { used, of: self.stages })?;
        }
        let rows = [
            ("SRAM blocks", self.sram),
            ("TCAM blocks", self.tcam),
            ("map RAM blocks", self.map_ram),
            ("meter ALUs", self.meter_alus),
            ("statistics ALUs", self.statistics_alus),
            ("gateways", self.gateways),
            ("logical tables", self.logical_tables),
        ];
        for (name, share) in rows {
            writeln!(out, "{name:<23} {share}")?;
        }
        let kibibytes = self.state_blocks * SRAM_BLOCK_OCTETS / 1024;
        writeln!(out, "SRAM of state           {} blocks, {kibibytes} KiB", self.state_blocks)?;
        for ((kind, width), share) in &self.phv {
            writeln!(out, "{:<23} {share}", format!("PHV {kind}, {width} bits"))?;
        }
        for (gress, parser) in &self.parsers {
            let ParserUse { rows, depth, octets } = parser;
            writeln!(
                out,
                "{:<23} {rows} rows, {depth} states and {octets} octets deep",
                format!("parser, {gress}")
            )?;
        }
        for (table, blocks) in &self.tcam_of {
            writeln!(out, "TCAM of {table}: {blocks}")?;
        }
        Ok(())
    }
}
