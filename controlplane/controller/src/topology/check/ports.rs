//! Ports that differ from the rest, and what profiles mean on them: reachable depth, report budget, lossless classes.

use std::collections::BTreeMap;

use super::super::decode::Problems;
use super::super::{Domain, Problem, Profile, Role, Size, Target, Time, raw, values};
use super::nodes::Nodes;

/// Packets that a BMv2 queue holds unless its depth is set.
const BMV2_PACKETS: u64 = 64;
/// The largest RoCEv2 frame: 4,096 octets of payload and 58 of headers and ICRC, and the RETH.
const LARGEST_FRAME: u64 = 4096 + 58 + 16;
/// A report on the link, gap and preamble included, in octets.
const REPORT_OCTETS: u64 = 114;
/// Ours, as of the protocols' "small fraction": reports about one flow may take 1/200 of a link.
const BUDGET_SHARE: u64 = 200;

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
    let slowest = nodes.slowest().max(1);
    for (name, raw) in file.profiles.iter().flat_map(|all| &all.0) {
        let (Some(raw), Some(profile)) = (raw.as_ref(), profiles.get(&name.value)) else { continue };
        let used = name.value == *data_profile
            || nodes.switches.values().any(|switch| {
                switch.port_options.values().any(|port| port.profile.as_ref() == Some(&name.value))
            });
        if used {
            depth(raw, profile, nodes, problems);
            budget(raw, profile, slowest, problems);
            lossless(raw, domain, problems);
        }
    }
}

/// A threshold that a queue never reaches reports nothing, silently.
fn depth(raw: &raw::Profile, profile: &Profile, nodes: &Nodes, problems: &mut Problems) {
    let most = BMV2_PACKETS * LARGEST_FRAME;
    if profile.b_th < most || nodes.switches.values().all(|switch| switch.target != Target::Bmv2) {
        return;
    }
    let Some(given) = raw.b_th.as_ref().or(raw.ecn_threshold.as_ref()) else { return };
    problems.push(
        Problem::warning(
            "topology::bmv2_depth",
            format!("{} is more than a BMv2 queue holds unless its depth is set", given.value),
        )
        .at(given.span, "never reached, so nothing is reported")
        .hint(format!(
            "64 packets hold at most {}; raise the depth with `set_queue_depth` of simple_switch_CLI, or lower b_th",
            Size::new(most)
        )),
    );
}

fn budget(raw: &raw::Profile, profile: &Profile, slowest: u64, problems: &mut Problems) {
    let Some(interval) = &raw.report_interval else { return };
    let bits_per_second =
        u128::from(REPORT_OCTETS) * 8 * 1_000_000_000 / u128::from(profile.report_interval_ns.max(1));
    if bits_per_second * u128::from(BUDGET_SHARE) <= u128::from(slowest) {
        return;
    }
    let enough = REPORT_OCTETS * 8 * 1_000_000_000 * BUDGET_SHARE;
    let micros = enough.div_ceil(slowest).div_ceil(1000);
    problems.push(
        Problem::warning(
            "topology::report_budget",
            format!(
                "reports about one flow can take {} Mbit/s, more than 0.5 % of the slowest link",
                bits_per_second / 1_000_000
            ),
        )
        .at(interval.span, "one report in this time")
        .hint(format!(
            "at least {} for a link of {}",
            Time::new(micros * 1000),
            super::super::Rate::new(slowest)
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
