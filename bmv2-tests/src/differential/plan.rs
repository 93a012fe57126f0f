//! Programs to compare, and what their packets are made from.

use std::fs;
use std::path::{Path, PathBuf};

use p4runtime::p4::v1::Update;

use crate::case::RATE_PPS;
use crate::cases::Bed;
use crate::differential::Round;
use crate::differential::draw::Draw;
use crate::entries;
use crate::frames::{Data, Family, Mark, NO_ROLE, Roce, SCHEDULED, UNSCHEDULED, Where};
use crate::program::Program;
use crate::setup::{Port, Setup};
use crate::target::TargetError;

/// Ports with interfaces, for programs that don't say which.
const PORTS: u16 = 8;

/// How packets enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// One at a time; no queue has a rate.
    Single,
    /// Bursts of so many into a slow queue.
    Bursts(usize),
}

/// One program with its ports.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its name; a recording's file name.
    pub name: String,
    /// The compiled program.
    pub program: Program,
    /// Ports with interfaces.
    pub ports: Vec<Port>,
    /// How packets enter.
    pub load: Load,
    /// Where frames come from.
    source: Source,
}

/// Where frames and entries come from.
#[derive(Clone, Debug)]
enum Source {
    /// The project's test bed.
    Bed,
    /// Frames of a packet test, to be changed at random; entries from P4Info.
    Frames(Vec<(u16, Vec<u8>)>),
}

/// The project's program, packets one at a time and in bursts.
///
/// # Errors
/// It can't be read.
pub fn own() -> Result<Vec<Plan>, TargetError> {
    let program = Program::load()?;
    let plan = |name: &str, load, ports| Plan {
        name: name.to_owned(),
        program: program.clone(),
        ports,
        load,
        source: Source::Bed,
    };
    let unlimited = (1..=4).map(|port| Port { port, rate_pps: None, depth_packets: 1000 }).collect();
    let slow = Bed::default().setup().ports;
    Ok(vec![plan("crn", Load::Single, unlimited), plan("crn-bursts", Load::Bursts(8), slow)])
}

/// p4c's samples, where they are.
///
/// # Errors
/// One of them can't be read.
pub fn samples() -> Result<Vec<Plan>, TargetError> {
    let Some(folder) = samples_folder() else { return Ok(Vec::new()) };
    let unreadable = |error| TargetError::program(&folder, &error);
    let mut jsons = Vec::new();
    for entry in fs::read_dir(&folder).map_err(|error| unreadable(error.to_string()))? {
        let path = entry.map_err(|error| unreadable(error.to_string()))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            jsons.push(path);
        }
    }
    jsons.sort();
    let plans = jsons.iter().map(|json| sample(json)).collect::<Result<Vec<_>, _>>()?;
    Ok(plans.into_iter().flatten().collect())
}

/// Where p4c's samples are, if they are here: beside the repository, or where `CONFORMANCE` says.
#[must_use]
pub fn samples_folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/conformance");
    let folder = std::env::var_os("CONFORMANCE").map_or_else(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

/// A sample; none for a program whose output is random or a time.
fn sample(json: &Path) -> Result<Option<Plan>, TargetError> {
    let program = Program::load_files(json, &json.with_extension("p4info.txtpb"))?;
    let text = String::from_utf8_lossy(&program.json);
    if text.contains("modify_field_rng_uniform") {
        return Ok(None);
    }
    let stf = json.with_extension("stf");
    let test = fs::read_to_string(&stf).map_err(|error| TargetError::program(&stf, &error))?;
    let frames: Vec<(u16, Vec<u8>)> = test.lines().filter_map(packet).collect();
    let ports = (0..PORTS).map(|port| Port { port, rate_pps: None, depth_packets: 1000 }).collect();
    Ok(Some(Plan {
        name: json.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        program,
        ports,
        load: Load::Single,
        source: Source::Frames(frames),
    }))
}

/// `packet PORT HEX...`
fn packet(line: &str) -> Option<(u16, Vec<u8>)> {
    let mut words = line.split('#').next()?.split_whitespace();
    if words.next()? != "packet" {
        return None;
    }
    let port = words.next()?.parse().ok().filter(|&port| port < PORTS)?;
    let digits: String = words.collect();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    Some((port, digits.as_bytes().chunks(2).map(octet).collect::<Option<_>>()?))
}

impl Plan {
    /// Entries, drawn from a seed.
    ///
    /// # Errors
    /// The project's own entries don't fit its program.
    pub fn updates(&self, seed: u64) -> Result<Vec<Update>, TargetError> {
        let mut draw = Draw::new(seed);
        match &self.source {
            Source::Bed => self.bed(&mut draw).updates(&self.program),
            Source::Frames(frames) => Ok(draw.updates(&self.program, frames, PORTS)),
        }
    }

    /// What the controller writes, with policies drawn at random.
    fn bed(&self, draw: &mut Draw) -> Setup {
        let mut more = Vec::new();
        for priority in 1..=6 {
            let key = match draw.below(3) {
                0 => vec![entries::whole("src_port", 50000 + u128::from(draw.below(8)), 16)],
                1 => vec![entries::whole("dst_port", 4700 + u128::from(draw.below(100)), 16)],
                _ => vec![entries::whole("protocol", u128::from(draw.below(20)), 8)],
            };
            let make = if draw.below(2) == 0 { entries::deny } else { entries::permit };
            more.push(make(priority, key));
        }
        // Once about each flow: the interval is longer than any run.
        more.push(entries::path_report(u32::MAX));
        // No shares: the number of flows goes by the clock.
        let bed = Bed { degrees: (1..=255).collect(), most_flows: 0, more, ..Bed::default() };
        Setup { ports: self.ports.clone(), entries: bed.setup().entries }
    }

    /// The next round.
    #[must_use]
    pub fn round(&self, draw: &mut Draw) -> Round {
        match (&self.source, self.load) {
            (Source::Bed, Load::Single) => single(draw),
            (Source::Bed, Load::Bursts(most)) => burst(draw, most),
            (Source::Frames(frames), _) => {
                let (port, mut frame) = draw.one_of(frames).cloned().unwrap_or_default();
                draw.change(&mut frame);
                Round { port, frames: vec![frame] }
            }
        }
    }

    /// What goes before a burst, so that the slow queue has just been served; nothing for single packets.
    #[must_use]
    pub fn primer(&self) -> Option<Round> {
        let primer = Data { dscp: NO_ROLE, ..Data::scheduled(64) };
        matches!(self.load, Load::Bursts(_)).then(|| Round { port: 1, frames: vec![primer.sent()] })
    }

    /// Microseconds between two packets of the slow queue.
    #[must_use]
    pub fn period_us(&self) -> u64 {
        1_000_000 / RATE_PPS
    }
}

/// A frame of the test bed; half of them then changed at random.
fn single(draw: &mut Draw) -> Round {
    let ports: Vec<u16> = vec![1, 2, 3, 4];
    let port = draw.one_of(&ports).copied().unwrap_or(1);
    let mut frame = data(draw, u8::try_from(port).unwrap_or(1)).sent();
    if draw.below(2) == 0 {
        draw.change(&mut frame);
    }
    Round { port, frames: vec![frame] }
}

/// A burst toward the slow port, whose frames are all forwarded.
fn burst(draw: &mut Draw, most: usize) -> Round {
    let n = 1 + draw.below(most as u64);
    let frames = (0..n).map(|_| Data { dst: 2, ..data(draw, 1) }.sent()).collect();
    Round { port: 1, frames }
}

fn data(draw: &mut Draw, src: u8) -> Data {
    let octets = usize::try_from(62 + draw.below(1300)).unwrap_or(62);
    let mut pick = |from: &[u8]| draw.one_of(from).copied().unwrap_or_default();
    let family = if pick(&[4, 4, 6]) == 6 { Family::V6 } else { Family::V4 };
    let (dst, dscp) = (pick(&[1, 2, 3, 4, 5]), pick(&[SCHEDULED, UNSCHEDULED, NO_ROLE]));
    let (ecn, ttl, mark) = (pick(&[0, 1, 2, 3]), pick(&[64, 64, 1, 2, 255]), pick(&[0, 0x55, 0xff]));
    let src_port = 50000 + u16::from(pick(&[0, 1, 2, 3, 4, 5, 6, 7]));
    let vlan = (pick(&[0, 0, 1]) == 1).then(|| u16::from_be_bytes([pick(&[0, 0x60, 0xe0]), pick(&[1, 9])]));
    let roce = (pick(&[0, 1]) == 1).then(|| Roce {
        opcode: pick(&[4, 6, 10, 17, 129]),
        qp: pick(&[1, 2]).into(),
        psn: pick(&[0, 1, 255]).into(),
        signal: None,
    });
    let option = (family == Family::V6 && pick(&[0, 0, 1]) == 1).then(|| Mark {
        within: if pick(&[0, 1]) == 0 { Where::HopByHop } else { Where::Destination },
        flow: pick(&[1, 2, 200]).into(),
        loss: pick(&[0, 1]) == 1,
        delay: pick(&[0, 1]) == 1,
        octets: pick(&[8, 16]),
        blank: pick(&[0, 0, 0, 1]) == 1,
    });
    let ports = (src_port, 4791);
    Data { family, src, dst, ports, dscp, ecn, ttl, mark, vlan, roce, option, ..Data::scheduled(octets) }
}
