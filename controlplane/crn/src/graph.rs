//! `crn graph`: a picture of a topology.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use controller::topology::{End, Link, Rate, Topology};
use miette::{Context as _, IntoDiagnostic as _, Result};

use crate::output::{self, say_as_is};

mod svg;

/// Arguments of `crn graph`.
#[derive(clap::Args)]
pub struct Args {
    /// Topology file
    #[arg(value_name = "TOPOLOGY")]
    topology: PathBuf,
    /// What to draw with
    #[arg(long, value_enum, default_value = "svg")]
    format: Format,
    /// Write here instead of to standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A picture by itself
    Svg,
    /// A diagram for Markdown pages
    Mermaid,
    /// Graphviz
    Dot,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let topology = output::load(&args.topology)?;
    let text = match args.format {
        Format::Svg => svg::draw(&topology),
        Format::Mermaid => mermaid(&topology),
        Format::Dot => dot(&topology),
    };
    if let Some(path) = &args.out {
        return write(path, &text);
    }
    say_as_is!("{text}");
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).into_diagnostic().wrap_err_with(|| format!("can't write {}", path.display()))
}

/// What stands at a link: its rate.
fn label(link: &Link) -> String {
    Rate::new(link.rate_bps).to_string()
}

/// A node's name, and the port at its end; none for a host.
fn end(end: &End) -> (&str, Option<u16>) {
    match end {
        End::Port(port) => (&port.switch, Some(port.port)),
        End::Host(name) => (name, None),
    }
}

fn dot(topology: &Topology) -> String {
    let mut text = format!("graph \"{}\" {{\n  node [fontname=\"sans-serif\"];\n", topology.name);
    for (name, switch) in &topology.switches {
        let _ =
            writeln!(text, "  \"{name}\" [shape=box, style=filled, label=\"{name}\\n{}\"];", switch.address);
    }
    for (name, host) in &topology.hosts {
        let _ = writeln!(text, "  \"{name}\" [shape=ellipse, label=\"{name}\\n{}\"];", host.address);
    }
    for link in &topology.links {
        let [(from, from_port), (to, to_port)] = [end(&link.ends[0]), end(&link.ends[1])];
        let tail = from_port.map_or_else(String::new, |port| format!(", taillabel=\"{port}\""));
        let head = to_port.map_or_else(String::new, |port| format!(", headlabel=\"{port}\""));
        let _ = writeln!(text, "  \"{from}\" -- \"{to}\" [label=\"{}\"{tail}{head}];", label(link));
    }
    text.push_str("}\n");
    text
}

fn mermaid(topology: &Topology) -> String {
    // Names may hold characters that mermaid's own names can't.
    let ids: BTreeMap<&str, String> = topology
        .switches
        .keys()
        .chain(topology.hosts.keys())
        .enumerate()
        .map(|(number, name)| (name.as_str(), format!("n{number}")))
        .collect();
    let id = |name: &str| ids.get(name).cloned().unwrap_or_default();
    let mut text = "graph TD\n".to_owned();
    for (name, switch) in &topology.switches {
        let _ = writeln!(text, "  {}[\"{name}<br/>{}\"]", id(name), switch.address);
    }
    for (name, host) in &topology.hosts {
        let _ = writeln!(text, "  {}([\"{name}<br/>{}\"])", id(name), host.address);
    }
    for link in &topology.links {
        let [(from, from_port), (to, to_port)] = [end(&link.ends[0]), end(&link.ends[1])];
        let ports: Vec<String> = [from_port, to_port].iter().flatten().map(u16::to_string).collect();
        let _ = writeln!(text, "  {} ---|\"{} ({})\"| {}", id(from), label(link), ports.join("-"), id(to));
    }
    text
}
