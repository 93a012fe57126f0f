//! Switches: addresses, TLS, programs, queues, and ports that differ from the rest; [`super::tofino`] has what only a
//! Tofino has.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::decode::{Located, Named, Problems};
use super::super::{
    DEFAULT_CLONE_PORT, PortOptions, Problem, Queues, Switch, Target, Tls, Tofino, Trust, is_host_port, raw,
};
use super::tofino;

/// Packets that a queue needs beyond those that `q_max` admits: reports and control datagrams aren't admitted by octets.
const QUEUE_ROOM: u64 = 64;
/// What the smallest packet counts in a queue, in octets.
const SMALLEST_PACKET: u64 = 64;

/// What switches that don't say have.
pub(super) struct Defaults<'a> {
    folder: &'a Path,
    tls: Option<Tls>,
    queues: Option<&'a raw::Queues>,
    /// What the largest `q_max` needs, in packets.
    depth: u32,
}

impl<'a> Defaults<'a> {
    pub fn of(file: &'a raw::File, folder: &'a Path, problems: &mut Problems) -> Self {
        let profiles = file.profiles.iter().flat_map(|all| &all.0).filter_map(|(_, raw)| raw.as_ref());
        let largest = profiles.filter_map(|raw| Some(raw.q_max.as_ref()?.value.0.get())).max().unwrap_or(0);
        let depth = u32::try_from(largest.div_ceil(SMALLEST_PACKET) + QUEUE_ROOM).unwrap_or(u32::MAX);
        let defaults = file.defaults.as_ref();
        let tls = defaults.and_then(|defaults| tls(defaults.tls.as_ref()?, folder, problems));
        Self { folder, tls, queues: defaults.and_then(|defaults| defaults.queues.as_ref()), depth }
    }
}

pub(super) fn switch(raw: &raw::Switch, defaults: &Defaults<'_>, problems: &mut Problems) -> Option<Switch> {
    listens("topology::p4runtime", "P4Runtime", "9559", raw.p4runtime.as_ref(), problems);
    listens("topology::thrift", "Thrift", "9090", raw.thrift.as_ref(), problems);
    let target = raw.target?.0;
    if target != Target::Bmv2
        && let Some(span) = raw.thrift.as_ref().map(|thrift| thrift.span)
    {
        problems.push(
            Problem::error("topology::thrift", "only BMv2 has a Thrift server")
                .at(span, "")
                .hint("leave it out: this target takes its queues' rates from the links"),
        );
    }
    let tls = match &raw.tls {
        Some(raw) => tls(raw, defaults.folder, problems),
        None => defaults.tls.clone(),
    };
    let tofino = tofino::check(target, raw.tofino.as_ref(), problems);
    let program = raw.pipeline.as_ref();
    let pipeline = program.and_then(|files| {
        tofino::program(files, defaults.folder, tofino.as_ref().map(|tofino| tofino.server), problems)
    });
    Some(Switch {
        target,
        device_id: raw.device_id.as_ref()?.value.0,
        reporter_id: u32::try_from(raw.reporter_id.as_ref()?.value.0).ok()?,
        address: raw.address.as_ref()?.value,
        p4runtime: raw.p4runtime.as_ref().map(|address| address.value.clone()),
        clone_port: match &raw.clone_port {
            Some(port) => u16::try_from(port.value.0).ok()?,
            None => {
                tofino.as_ref().map_or(DEFAULT_CLONE_PORT, |tofino: &Tofino| tofino.chip.recirculation_port())
            }
        },
        ipv6: raw.ipv6.as_ref().map(|ipv6| ipv6.value),
        subnets: raw.subnets.iter().flatten().map(|subnet| subnet.value.0).collect(),
        tls,
        pipeline,
        thrift: raw.thrift.as_ref().map(|address| address.value.clone()),
        tofino,
        queues: (target == Target::Bmv2).then(|| queues(raw.queues.as_ref(), defaults)),
        port_options: raw.ports.as_ref().map(|ports| port_options(ports, problems)).unwrap_or_default(),
        ports: BTreeMap::new(),
    })
}

/// Whether an address is `host:port`.
fn listens(
    code: &'static str,
    server: &str,
    example: &str,
    address: Option<&Located<String>>,
    problems: &mut Problems,
) {
    let Some(address) = address else { return };
    if !is_host_port(&address.value) {
        problems.push(
            Problem::error(code, format!("`{}` isn't host:port", address.value))
                .at(address.span, "")
                .hint(format!("write where the {server} server listens, as in 127.0.0.1:{example}")),
        );
    }
}

fn tls(raw: &raw::Tls, folder: &Path, problems: &mut Problems) -> Option<Tls> {
    let beside = |file: &Located<String>| folder.join(&file.value);
    let identity = match (&raw.certificate, &raw.key) {
        (Some(certificate), Some(key)) => Some((beside(certificate), beside(key))),
        (None, None) => None,
        (Some(alone), None) | (None, Some(alone)) => {
            problems.push(
                Problem::error("topology::tls", "`certificate` and `key` belong together")
                    .at(alone.span, "only this one is given")
                    .hint("give both, or neither where the switch asks for no certificate"),
            );
            None
        }
    };
    Some(Tls {
        ca: beside(raw.ca.as_ref()?),
        identity,
        name: raw.name.as_ref().map(|name| name.value.clone()),
    })
}

/// Rate and depth, each the switch's own or the default's.
fn queues(own: Option<&raw::Queues>, defaults: &Defaults<'_>) -> Queues {
    let given = || own.into_iter().chain(defaults.queues);
    let depth = given().find_map(|queues| queues.depth.as_ref());
    let rate = given().find_map(|queues| queues.rate.as_ref());
    Queues {
        depth: depth.map_or(defaults.depth, |depth| u32::try_from(depth.value.0).unwrap_or(u32::MAX)),
        rate_pps: rate.map(|rate| rate.value.get()),
    }
}

fn port_options(raw: &Named<raw::Port>, problems: &mut Problems) -> BTreeMap<u16, PortOptions> {
    let mut options = BTreeMap::new();
    for (number, raw) in &raw.0 {
        let Some(port) = number.value.parse::<u16>().ok().filter(|port| *port <= super::super::MAX_PORT)
        else {
            problems.push(
                Problem::error("topology::port", format!("`{}` isn't a port number", number.value))
                    .at(number.span, "")
                    .hint(format!("ports are 0 to {}", super::super::MAX_PORT)),
            );
            continue;
        };
        let Some(raw) = raw else { continue };
        let profile = raw.profile.as_ref().map(|profile| profile.value.clone());
        let trust = raw.trust.map_or(Trust::Trusted, |trust| trust.0);
        let report_limit = raw.report_limit.as_ref().map(|limit| limit.value.0);
        options.insert(port, PortOptions { profile, trust, report_limit });
    }
    options
}
