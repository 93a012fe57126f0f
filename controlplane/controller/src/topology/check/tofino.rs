//! What only a Tofino has: its chip, its server, where its ports are plugged in; and which files are a target's program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::decode::{Located, Problems};
use super::super::{
    DeviceFiles, MAX_PORT, P4RuntimeServer, PipelineFiles, Problem, Span, Target, Tofino, raw,
};

/// A Tofino's own; none for other targets.
pub(super) fn check(target: Target, raw: Option<&raw::Tofino>, problems: &mut Problems) -> Option<Tofino> {
    if target != Target::Tofino {
        if let Some(span) = raw.and_then(first) {
            problems.push(
                Problem::error("topology::tofino", "only a Tofino has a chip and a front panel")
                    .at(span, "")
                    .hint("leave `tofino` out, or make it `target: tofino`"),
            );
        }
        return None;
    }
    let Some(raw) = raw else { return Some(Tofino::default()) };
    let mut front_panel = BTreeMap::new();
    for (number, place) in raw.front_panel.iter().flat_map(|all| &all.0) {
        let Some(port) = number.value.parse::<u16>().ok().filter(|port| *port <= MAX_PORT) else {
            problems.push(
                Problem::error("topology::port", format!("`{}` isn't a port number", number.value))
                    .at(number.span, "")
                    .hint(format!("ports are 0 to {MAX_PORT}")),
            );
            continue;
        };
        let Some(place) = place else { continue };
        if let Some((other, _)) = front_panel.iter().find(|(_, taken)| **taken == place.value.0) {
            let message = format!("{} is port {other} already", place.value.0);
            problems.push(
                Problem::error("topology::front_panel", message)
                    .at(place.span, "again here")
                    .hint("a cable is one port"),
            );
        }
        front_panel.insert(port, place.value.0);
    }
    Some(Tofino {
        chip: raw.chip.as_ref().map(|chip| chip.value.0).unwrap_or_default(),
        server: raw.server.as_ref().map(|server| server.value.0).unwrap_or_default(),
        front_panel,
        buffer: raw.buffer.as_ref().map(|buffer| buffer.value.0.get()),
    })
}

/// Where the first thing of it stands that has a place.
fn first(raw: &raw::Tofino) -> Option<Span> {
    let chip = raw.chip.as_ref().map(|chip| chip.span);
    let server = raw.server.as_ref().map(|server| server.span);
    let ports = raw.front_panel.iter().flat_map(|all| &all.0).map(|(number, _)| number.span);
    ports.chain(chip).chain(server).chain(raw.buffer.as_ref().map(|buffer| buffer.span)).next()
}

/// A program's files: for a Tofino those that its server wants.
pub(super) fn program(
    raw: &raw::PipelineFiles,
    folder: &Path,
    server: Option<P4RuntimeServer>,
    problems: &mut Problems,
) -> Option<PipelineFiles> {
    let at = raw.p4info.as_ref()?;
    let mut wanted = |file: &Option<Located<String>>, key: &str, example: &str| -> Option<PathBuf> {
        if file.is_none() {
            problems.push(
                Problem::error("topology::missing_key", format!("`pipeline` lacks `{key}`"))
                    .at(at.span, "of this program")
                    .hint(format!("add `{key}: {example}`")),
            );
        }
        Some(folder.join(&file.as_ref()?.value))
    };
    let (device, foreign) = match server {
        None => {
            let json = wanted(&raw.json, "json", "crn.json");
            (json.map(DeviceFiles::Json), [&raw.binary, &raw.context, &raw.bfrt].into_iter().flatten().next())
        }
        Some(server) => {
            let binary = wanted(&raw.binary, "binary", "tofino.bin");
            let context = wanted(&raw.context, "context", "context.json");
            let bfrt = if server == P4RuntimeServer::Stratum || raw.bfrt.is_some() {
                wanted(&raw.bfrt, "bfrt", "bfrt.json")
            } else {
                None
            };
            let files = binary.zip(context);
            (files.map(|(binary, context)| DeviceFiles::Tofino { binary, context, bfrt }), raw.json.as_ref())
        }
    };
    if let Some(file) = foreign {
        let what = if server.is_some() { "`json`" } else { "`binary`, `context` and `bfrt`" };
        problems.push(
            Problem::error("topology::pipeline", format!("this target doesn't run `{}`", file.value))
                .at(file.span, "")
                .hint(format!("leave {what} out")),
        );
    }
    Some(PipelineFiles { p4info: folder.join(&at.value), device: device? })
}
