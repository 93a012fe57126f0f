//! Ports that differ from the rest, and what profiles mean on them: reachable depth, lossless classes.

use std::collections::BTreeMap;

use super::super::decode::Problems;
use super::super::{Domain, Problem, Profile, Role, Size, Span, raw, values};
use super::budget;
use super::nodes::Nodes;

/// Packets that a BMv2 queue holds unless its depth is set.
const BMV2_PACKETS: u64 = 64;
/// The largest RoCEv2 frame: 4,096 octets of payload and 58 of headers and ICRC, and the RETH.
const LARGEST_FRAME: u64 = 4096 + 58 + 16;

pub(super) fn check(
    file: &raw::File,
    domain: &Domain,
    nodes: &Nodes,
    profiles: &BTreeMap<String, Profile>,
    data_profile: &str,
    problems: &mut Problems,
) {
    for (name, raw) in file.switches.iter().flat_map(|all| &all.0) {
        let Some(ports) = raw.as_ref().and_then(|raw| raw.ports.as_ref()) else { continue };
        for (number, raw) in &ports.0 {
            if let Some(profile) = raw.as_ref().and_then(|raw| raw.profile.as_ref())
                && !profiles.contains_key(&profile.value)
            {
                let names = profiles.keys().map(String::as_str);
                values::unknown("topology::unknown_profile", "profile", profile, names, problems);
            }
            let linked = number.value.parse().is_ok_and(|port: u16| {
                nodes.switches.get(&name.value).is_some_and(|switch| switch.ports.contains_key(&port))
            });
            if !linked {
                problems.push(
                    Problem::error(
                        "topology::port",
                        format!("port {} of `{}` has no link", number.value, name.value),
                    )
                    .at(number.span, "nothing there")
                    .hint("give options to ports that a link names"),
                );
            }
        }
    }
    lag_members(file, nodes, problems);
    bmv2_queues(file, nodes, problems);
    budget::check(file, domain, nodes, profiles, data_profile, problems);
    for (name, raw) in file.profiles.iter().flat_map(|all| &all.0) {
        let (Some(raw), Some(profile)) = (raw.as_ref(), profiles.get(&name.value)) else { continue };
        let used = name.value == *data_profile
            || nodes.switches.values().any(|switch| {
                switch.port_options.values().any(|port| port.profile.as_ref() == Some(&name.value))
            });
        if used {
            depth(raw, profile, nodes, problems);
            lossless(raw, domain, problems);
        }
    }
}

/// Flows spread over the members of a group; one that is treated differently treats some flows differently.
fn lag_members(file: &raw::File, nodes: &Nodes, problems: &mut Problems) {
    for (name, switch) in &nodes.switches {
        let mut groups: BTreeMap<usize, Vec<u16>> = BTreeMap::new();
        for (port, peer) in &switch.ports {
            if let Some(lag) = nodes.links.get(peer.link).and_then(|link| link.lag) {
                groups.entry(lag).or_default().push(*port);
            }
        }
        for ports in groups.values() {
            let options = |port: &u16| switch.port_options.get(port).cloned().unwrap_or_default();
            let Some((first, rest)) = ports.split_first() else { continue };
            let Some(other) = rest.iter().find(|port| options(port) != options(first)) else { continue };
            let given = [other, first].into_iter().find_map(|port| option_span(file, name, *port));
            let mut problem = Problem::error(
                "topology::lag",
                format!("ports {first} and {other} of `{name}` are of one group and differ in their options"),
            );
            if let Some(span) = given {
                problem = problem.at(span, "given for this one only, or otherwise");
            }
            problems
                .push(problem.hint("give all members of a group the same profile, trust and report_limit"));
        }
    }
}

fn option_span(file: &raw::File, switch: &str, port: u16) -> Option<Span> {
    let (_, raw) = file.switches.iter().flat_map(|all| &all.0).find(|(name, _)| name.value == switch)?;
    let ports = raw.as_ref()?.ports.as_ref()?;
    ports.0.iter().find(|(number, _)| number.value.parse() == Ok(port)).map(|(number, _)| number.span)
}

/// Without a queue rate BMv2 sends as fast as it can and its queues never stand, so that nothing is ever reported; and
/// P4Runtime has no means to set one.
fn bmv2_queues(file: &raw::File, nodes: &Nodes, problems: &mut Problems) {
    let mut no_rate = Vec::new();
    let mut no_thrift = Vec::new();
    for (name, switch) in &nodes.switches {
        match switch.queues {
            Some(queues) if queues.rate_pps.is_none() => no_rate.push(name),
            Some(_) if switch.thrift.is_none() => no_thrift.push(name),
            _ => {}
        }
    }
    let mut warn = |names: &[&String], what: &str, label: &str, hint: &str| {
        let Some(first) = names.first() else { return };
        let who = match names.len() {
            1 => format!("switch `{first}`"),
            2 => format!("`{first}` and one more switch"),
            count => format!("`{first}` and {} more switches", count - 1),
        };
        let mut problem = Problem::warning("topology::bmv2_queues", format!("{who}: {what}"));
        let raw = file.switches.iter().flat_map(|all| &all.0).find(|(name, _)| name.value == **first);
        if let Some((name, _)) = raw {
            problem = problem.at(name.span, label);
        }
        problems.push(problem.hint(hint));
    };
    warn(
        &no_rate,
        "BMv2's queues have no rate",
        "they never stand, so nothing is reported",
        "add `queues: { rate: 5000pps }` to it or to `defaults`: packets a second of each queue",
    );
    warn(
        &no_thrift,
        "rate and depth of BMv2's queues can't be set over P4Runtime",
        "they stay as they are",
        "add `thrift: 127.0.0.1:9090`, or set them with simple_switch_CLI",
    );
}

/// A threshold that a queue never reaches reports nothing, silently.
fn depth(raw: &raw::Profile, profile: &Profile, nodes: &Nodes, problems: &mut Problems) {
    let queues = nodes.switches.values().filter_map(|switch| {
        let queues = switch.queues?;
        let set = switch.thrift.is_some();
        Some((if set { u64::from(queues.depth) } else { BMV2_PACKETS }, set))
    });
    let Some((packets, set)) = queues.min() else { return };
    let most = packets * LARGEST_FRAME;
    if profile.b_th < most {
        return;
    }
    let Some(given) = raw.b_th.as_ref().or(raw.ecn_threshold.as_ref()) else { return };
    problems.push(
        Problem::warning(
            "topology::bmv2_depth",
            format!("{} is more than a BMv2 queue of {packets} packets holds", given.value),
        )
        .at(given.span, "never reached, so nothing is reported")
        .hint(format!(
            "{packets} packets hold at most {}; {}, or lower b_th",
            Size::new(most),
            if set {
                format!("raise `queues.depth` to {} at least", profile.b_th / LARGEST_FRAME + 1)
            } else {
                "give the switch `thrift`, so that the depth is set".to_owned()
            }
        )),
    );
}

/// PFC promises that nothing of a lossless class is lost; a queue that refuses octets breaks that promise.
fn lossless(raw: &raw::Profile, domain: &Domain, problems: &mut Problems) {
    let Some(q_max) = &raw.q_max else { return };
    let entry = domain
        .dscp
        .iter()
        .find(|entry| entry.role != Role::Control && domain.lossless_classes.contains(&entry.class));
    if let Some(entry) = entry
        && raw.drop_lossless != Some(true)
    {
        problems.push(
            Problem::error(
                "topology::lossless",
                format!("class {} is lossless, and this profile drops what exceeds q_max", entry.class),
            )
            .at(q_max.span, "packets are refused here")
            .hint(format!(
                "add `drop_lossless: true` to the profile if that is meant, or take class {} out of lossless_classes",
                entry.class
            )),
        );
    }
}
