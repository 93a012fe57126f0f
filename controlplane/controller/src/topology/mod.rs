//! Topology YAML: what an operator edits, checked whole before anything is touched.
//!
//! [`load`] and [`parse`] give a [`Topology`], or every error of the file at once as [`TopologyErrors`].
//! The steps: text to a tree whose nodes know their places (`node`), tree to the file's shape (`decode`,
//! `raw`), shape to checked values (`check`).

mod check;
mod decode;
mod fabric;
mod model;
mod node;
mod places;
mod ports;
mod prefix;
mod problem;
mod quantity;
mod raw;
mod schema;
mod scheme;
mod shape;
mod values;

use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::sync::Arc;

use miette::NamedSource;

use crate::text::disturbs;

pub use fabric::{Distances, Fabric};
pub use model::*;
pub use places::{Origin, Place, Places};
pub use ports::{PortFault, is_host_port, port_fault};
pub use prefix::{Prefix, mapped};
pub use problem::{Problem, SHOWN, Span, TopologyErrors};
pub use quantity::{
    Bits, Fraction, Nanos, Octets, OctetsOrNone, PacketRate, Packets, Parts, Quantity, QuantityError, Rate,
    Size, SizeOrZero, Time, Unit,
};
pub use schema::schema;
pub use scheme::Scheme;

/// The largest file that is read, in octets; a thousand nodes take a tenth of it.
const FILE_LIMIT: usize = 4 << 20;
/// The longest line that is read, in octets: an error repeats the line that it is about.
const LINE_LIMIT: usize = 8192;

/// Reads and checks a topology file.
///
/// # Errors
/// Everything that is wrong with the file, also that it can't be read or isn't UTF-8.
pub fn load(path: &Path) -> Result<Topology, TopologyErrors> {
    parse_octets(&path.display().to_string(), &read_octets(path)?)
}

/// A topology file's octets, at most one more than are allowed.
///
/// # Errors
/// It can't be read, or is a pipe that nobody may ever write to.
pub fn read_octets(path: &Path) -> Result<Vec<u8>, TopologyErrors> {
    let name = path.display().to_string();
    match read(path) {
        Ok(octets) => Ok(octets),
        Err(error) => {
            let problem =
                Problem::error("topology::unreadable", format!("can't read {name}: {}", reason(&error)))
                    .hint(match error.kind() {
                        std::io::ErrorKind::NotFound => "check the path; topologies/ holds examples",
                        std::io::ErrorKind::IsADirectory => "name a file in it",
                        std::io::ErrorKind::Other => {
                            "name a file; what a command prints can be read as <(command) or /dev/stdin"
                        }
                        std::io::ErrorKind::PermissionDenied => "check the file's permissions",
                        _ => "check the path, and the links on it",
                    });
            Err(TopologyErrors { file: name, errors: vec![problem], warnings: Vec::new() })
        }
    }
}

/// A file that hasn't been read in `seconds`: its file system doesn't answer.
pub fn too_slow(path: &Path, seconds: u64) -> TopologyErrors {
    let name = path.display().to_string();
    let problem = Problem::error("topology::unreadable", format!("{name} hasn't been read in {seconds} s"))
        .hint("does its file system answer?");
    TopologyErrors { file: name, errors: vec![problem], warnings: Vec::new() }
}

/// The file's octets, one more than allowed at most: a device has no end.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    // A named pipe is opened only when somebody writes, perhaps never. What a shell or the system opens for us has a writer.
    let opened = path.starts_with("/dev") || path.starts_with("/proc");
    if !opened && std::fs::metadata(path)?.file_type().is_fifo() {
        return Err(std::io::Error::other("is a named pipe"));
    }
    let mut octets = Vec::new();
    std::fs::File::open(path)?.take(FILE_LIMIT as u64 + 1).read_to_end(&mut octets)?;
    Ok(octets)
}

/// The system's reason without its number.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

/// Checks a topology file's octets; `name` is what errors call it.
///
/// # Errors
/// Everything that is wrong, also that it isn't UTF-8.
pub fn parse_octets(name: &str, octets: &[u8]) -> Result<Topology, TopologyErrors> {
    match std::str::from_utf8(octets) {
        Ok(text) => parse(name, text),
        Err(error) => {
            let offset = error.valid_up_to();
            let shown = octets.get(..octets.len().min(offset + 80)).unwrap_or(octets);
            let text = String::from_utf8_lossy(shown);
            let octet = octets.get(offset).copied().unwrap_or_default();
            let span = Span { start: offset, len: char::REPLACEMENT_CHARACTER.len_utf8() };
            let problem =
                Problem::error("topology::utf8", format!("octet {offset} ({octet:#04x}) isn't UTF-8"))
                    .at(span, "not UTF-8 from here on")
                    .hint("save the file as UTF-8");
            Err(failed(name, &text, vec![problem]))
        }
    }
}

/// Checks the text of a topology file; `name` is what errors call it.
///
/// # Errors
/// Everything that is wrong with the text.
pub fn parse(name: &str, text: &str) -> Result<Topology, TopologyErrors> {
    if let Some(problem) = too_large(text) {
        // Not the text: what is too long to read is too long to show.
        return Err(failed(name, "", vec![problem]));
    }
    let tree = node::parse(text).map_err(|problem| failed(name, text, vec![problem]))?;
    if matches!(tree.value, node::Value::Null) {
        let problem = Problem::error("topology::empty", "the file holds no topology")
            .hint("start with `name: my-fabric`; topologies/incast-8to1.yaml is a complete example");
        return Err(failed(name, text, vec![problem]));
    }
    let mut problems = decode::Problems::default();
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    let start = Span { start: 0, len: text.lines().next().map_or(0, str::len) };
    let file: Option<raw::File> = decode::FromNode::from_node(&tree, start, &mut problems);
    let topology = file.and_then(|file| check::topology(&file, folder, start, &mut problems));
    let refused = problems.0.iter().any(|problem| !problem.warning);
    match topology {
        Some(mut topology) if !refused => {
            topology.warnings = in_file(name, text, problems.0);
            topology.places.in_file(name, text);
            Ok(topology)
        }
        _ => Err(failed(name, text, problems.0)),
    }
}

/// Whether a text is beyond what an error could show a place in.
fn too_large(text: &str) -> Option<Problem> {
    if text.len() > FILE_LIMIT {
        let message = format!("the file is larger than {} MiB", FILE_LIMIT >> 20);
        return Some(Problem::error("topology::too_large", message).hint("is it a topology file?"));
    }
    let (line, octets) = text
        .lines()
        .map(str::len)
        .zip(1..)
        .map(|(len, line)| (line, len))
        .find(|(_, len)| *len > LINE_LIMIT)?;
    let message = format!("line {line} has {octets} octets; at most {LINE_LIMIT} are read");
    Some(Problem::error("topology::too_large", message).hint("break the line"))
}

fn failed(name: &str, text: &str, problems: Vec<Problem>) -> TopologyErrors {
    let (warnings, errors) = in_file(name, text, problems).into_iter().partition(|problem| problem.warning);
    TopologyErrors { file: name.to_owned(), errors, warnings }
}

/// The problems in the order of the file, each with the text it is about.
fn in_file(name: &str, text: &str, mut problems: Vec<Problem>) -> Vec<Problem> {
    let source = Arc::new(NamedSource::new(name, printable(text)));
    problems.sort_by_key(|problem| problem.places.first().map(|(span, _)| *span));
    problems.into_iter().map(|problem| problem.in_source(&source)).collect()
}

/// The text without what would disturb a terminal, every character where it was.
fn printable(text: &str) -> String {
    let hidden = |c: char| disturbs(c) && !matches!(c, '\n' | '\r' | '\t');
    if !text.contains(hidden) {
        return text.to_owned();
    }
    let spaces = |c: char| " ".repeat(c.len_utf8());
    text.chars().map(|c| if hidden(c) { spaces(c) } else { c.to_string() }).collect()
}

/// The name that was probably meant: the same but for case, or close by edit distance.
fn nearest<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = text.to_lowercase();
    let scored = names.map(|name| (strsim::damerau_levenshtein(&wanted, &name.to_lowercase()), name));
    let (distance, name) = scored.min_by_key(|(distance, _)| *distance)?;
    // A third of the letters may be wrong; of one or two letters, none but their case.
    (distance * 3 <= wanted.chars().count()).then_some(name)
}
