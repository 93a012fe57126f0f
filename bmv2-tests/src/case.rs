//! One case: what is put in, what is done, what must come out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::setup::{Entry, Setup};
use crate::target::Observed;

/// Packets a second of the slow queue of a case.
pub const RATE_PPS: u64 = 10;
/// Microseconds between two packets of the slow queue. A burst enters within a small part of it; report intervals
/// are far longer or far shorter.
pub const PERIOD_US: u64 = 1_000_000 / RATE_PPS;

/// Frames that a step may send. `simple_switch` reads an interface through libpcap with its default buffer, 2 MiB, of which
/// a frame takes some 64 KiB on a veth: of a burst of 40, some are lost before the switch sees them (seen with 1.15.5).
pub const BURST_FRAMES: usize = 30;

/// A test of one rule.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name; a recording's file name.
    pub name: String,
    /// The rule that it proves.
    pub rule: String,
    /// Ports and entries.
    pub setup: Setup,
    /// What is done, in order.
    pub script: Vec<Step>,
    /// What must come out.
    pub expected: Expected,
}

/// A step of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Frames enter through a port, one right behind the other. From the controller (port [`CPU_PORT`]) each has a
    /// `packet_out` header in front.
    ///
    /// [`CPU_PORT`]: crate::program::CPU_PORT
    Send {
        /// Port.
        port: u16,
        /// The frames.
        frames: Vec<Vec<u8>>,
    },
    /// Nothing more is done until so many frames, from the case's beginning on, have left through a port.
    Await(Await),
    /// The controller writes entries.
    Write(Vec<Entry>),
}

/// So many frames have left through a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Await {
    /// Port.
    pub port: u16,
    /// Frames since the case's beginning.
    pub frames: usize,
}

/// What must come out. Where it is `None`, only a recording of BMv2 decides.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// All frames of each port, in order, octet for octet. A port that isn't here must send nothing.
    pub frames: Option<BTreeMap<u16, Vec<Vec<u8>>>>,
    /// Packets in all counter cells that aren't 0.
    pub counters: BTreeMap<(String, u64), u64>,
}

impl Case {
    /// What differs between the expectations and what was seen; empty: nothing.
    #[must_use]
    pub fn differences(&self, observed: &Observed) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(frames) = &self.expected.frames {
            let seen = observed.octets();
            found.extend(frame_differences(frames, &seen));
        }
        let counted: BTreeMap<_, _> =
            observed.counters.iter().map(|(cell, count)| (cell.clone(), count.packets)).collect();
        found.extend(counter_differences(&self.expected.counters, &counted));
        found
    }
}

impl Observed {
    /// The frames of each port that sent any, without their times.
    #[must_use]
    pub fn octets(&self) -> BTreeMap<u16, Vec<Vec<u8>>> {
        let mut octets = BTreeMap::new();
        for (&port, frames) in &self.frames {
            if !frames.is_empty() {
                octets.insert(port, frames.iter().map(|frame| frame.octets.clone()).collect());
            }
        }
        octets
    }
}

/// Compares the frames of all ports, in order, octet for octet.
#[must_use]
pub fn frame_differences(
    expected: &BTreeMap<u16, Vec<Vec<u8>>>,
    seen: &BTreeMap<u16, Vec<Vec<u8>>>,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut ports: Vec<u16> = expected.keys().chain(seen.keys()).copied().collect();
    ports.sort_unstable();
    ports.dedup();
    for port in ports {
        let wanted = expected.get(&port).map_or(&[][..], Vec::as_slice);
        let got = seen.get(&port).map_or(&[][..], Vec::as_slice);
        if wanted.len() != got.len() {
            found.push(format!("port {port}: {} frames expected, {} seen", wanted.len(), got.len()));
        }
        for (place, (wanted, got)) in wanted.iter().zip(got).enumerate() {
            if wanted != got {
                found.push(format!("port {port}, frame {place}: {}", first_difference(wanted, got)));
            }
        }
    }
    found
}

/// Compares counter cells; those that are absent are 0.
#[must_use]
pub fn counter_differences<T: PartialEq + std::fmt::Debug>(
    expected: &BTreeMap<(String, u64), T>,
    seen: &BTreeMap<(String, u64), T>,
) -> Vec<String> {
    let mut cells: Vec<_> = expected.keys().chain(seen.keys()).collect();
    cells.sort();
    cells.dedup();
    let mut found = Vec::new();
    for cell @ (counter, index) in cells {
        let (wanted, got) = (expected.get(cell), seen.get(cell));
        if wanted != got {
            let show = |value: Option<&T>| value.map_or("0".to_owned(), |value| format!("{value:?}"));
            found.push(format!(
                "counter {counter}[{index}] ({}): {} expected, {} seen",
                describe_index(*index),
                show(wanted),
                show(got)
            ));
        }
    }
    found
}

/// The index of the program's counters, taken apart.
fn describe_index(index: u64) -> String {
    format!("kind or cause {}, port {}, queue {}", index >> 12, index >> 3 & 0x1ff, index & 7)
}

/// Where two frames differ first, with both in hexadecimal.
fn first_difference(wanted: &[u8], got: &[u8]) -> String {
    let place = wanted.iter().zip(got).take_while(|(a, b)| a == b).count();
    let mut text =
        format!("{} octets expected, {} seen, first difference at octet {place}", wanted.len(), got.len());
    let _ = write!(text, "\n    expected {}\n    seen     {}", hex(wanted), hex(got));
    text
}

/// The first octets of a frame; a report fits.
fn hex(octets: &[u8]) -> String {
    let mut text = String::new();
    for octet in octets.iter().take(96) {
        let _ = write!(text, "{octet:02x}");
    }
    if octets.len() > 96 {
        text.push_str("..");
    }
    text
}
