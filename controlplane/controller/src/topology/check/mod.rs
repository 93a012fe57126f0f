//! From the file's shape to a [`Topology`]: references, uniqueness, ranges, and the defaults.

mod budget;
mod domain;
mod gateways;
mod generate;
mod links;
mod marking;
mod nodes;
mod policies;
mod ports;
mod rdcc;
mod subnets;
mod switches;
mod tofino;
mod unique;
mod workloads;

use std::path::Path;

use super::Span;
use super::decode::{Located, Problems};
use super::fabric::Fabric;
use super::raw;
use super::values;
use super::{Origin, Places, Problem, Profile, Topology};

/// Checks a file that stands in `folder` and builds the topology from it; `None` only if there are errors among the
/// problems.
pub(super) fn topology(
    file: &raw::File,
    folder: &Path,
    start: Span,
    problems: &mut Problems,
) -> Option<Topology> {
    let expanded = generate::expand(file, problems);
    let file = expanded.as_ref().unwrap_or(file);
    missing_nodes(file, start, problems);
    if let Some(name) = file.name.as_ref().filter(|name| !nodes::is_plain(&name.value)) {
        // It names folders and stands in pages.
        let message = format!("`{}` can't be a topology's name", name.value.escape_debug());
        problems.push(Problem::error("topology::name", message).at(name.span, "").hint(nodes::NAME_RULE));
    }
    let domain = file.domain.as_ref().and_then(|domain| domain::check(domain, problems));
    let profiles = profiles(file, problems);
    let nodes = nodes::check(file, folder, problems);
    let policies = policies::check(file, problems);
    if has_errors(problems) {
        // What follows computes with rates, delays and paths, and would only report consequences. References
        // to nodes can still be checked.
        workloads::check_references(file, problems);
        return None;
    }
    let mut domain = domain?;
    domain.crn_addresses_v6 = nodes.switches.values().filter_map(|switch| switch.ipv6).collect();
    domain.crn_addresses = nodes.switches.values().map(|switch| switch.address).collect();
    let (profiles, data_profile, control_profile) = profiles?;
    ports::check(file, &domain, &nodes, &profiles, &data_profile, problems);
    let fabric = Fabric::from_parts(&nodes.switches, &nodes.links);
    let marking = marking::check(file, &nodes, &fabric, problems);
    let workloads = workloads::check(file, &domain, &nodes, &fabric, problems);
    let limits = rdcc::Limits::of(&nodes, &fabric, &workloads, profiles.get(&data_profile));
    let raw_rdcc = file.rdcc.clone().unwrap_or_default();
    let rdcc = rdcc::check(&raw_rdcc, &limits, problems)?;
    workloads::check_against(file, &rdcc, problems);
    Some(Topology {
        name: file.name.as_ref()?.value.clone(),
        domain,
        switches: nodes.switches,
        hosts: nodes.hosts,
        links: nodes.links,
        profiles,
        data_profile,
        control_profile,
        rdcc,
        scone: gateways::scone(file.scone.as_ref(), problems),
        workloads,
        policies,
        marking,
        warnings: Vec::new(),
        places: places(file, nodes.link_spans),
    })
}

/// Where everything stands that entries can follow from.
fn places(file: &raw::File, links: Vec<Span>) -> Places {
    let mut places = Places::default();
    for (index, span) in links.into_iter().enumerate() {
        places.note(Origin::Link(index), span);
    }
    for (name, _) in file.switches.iter().flat_map(|all| &all.0) {
        places.note(Origin::Switch(name.value.clone()), name.span);
    }
    for (name, _) in file.hosts.iter().flat_map(|all| &all.0) {
        places.note(Origin::Host(name.value.clone()), name.span);
    }
    for (name, _) in file.profiles.iter().flat_map(|all| &all.0) {
        places.note(Origin::Profile(name.value.clone()), name.span);
    }
    if let Some(list) = file.domain.as_ref().and_then(|domain| domain.dscp.as_ref()) {
        for located in list.value.iter().filter_map(|entry| entry.dscp.as_ref()) {
            places.note(Origin::Dscp(u8::try_from(located.value.0).unwrap_or(u8::MAX)), located.span);
        }
    }
    policies::places(file, &mut places);
    marking::places(file, &mut places);
    places
}

/// Nodes and links are written out or generated.
fn missing_nodes(file: &raw::File, start: Span, problems: &mut Problems) {
    let generated = file.generate.is_some() || file.refused.contains(&"generate");
    let given = [
        (
            file.switches.is_some(),
            "switches",
            "{ s1: { target: soft, device_id: 1, reporter_id: 1, address: 10.255.0.1 } }",
        ),
        (file.hosts.is_some(), "hosts", "{ h1: { address: 10.0.0.1 } }"),
        (file.links.is_some(), "links", "[{ endpoints: [\"s1:1\", h1] }]"),
    ];
    let missing: Vec<_> = given
        .iter()
        .filter(|(given, key, _)| !given && !generated && !file.refused.contains(key))
        .map(|(_, key, example)| (*key, *example))
        .collect();
    super::decode::missing_keys(&missing, "the topology", start, problems);
}

fn has_errors(problems: &Problems) -> bool {
    problems.0.iter().any(|problem| !problem.warning)
}

type Profiles = std::collections::BTreeMap<String, Profile>;

fn profiles(file: &raw::File, problems: &mut Problems) -> Option<(Profiles, String, String)> {
    let raw_profiles = file.profiles.as_ref()?;
    let profiles: Profiles = raw_profiles
        .0
        .iter()
        .filter_map(|(name, raw)| {
            let checked = raw.as_ref().and_then(|raw| profile(name, raw, problems))?;
            Some((name.value.clone(), checked))
        })
        .collect();
    let defaults = file.defaults.as_ref()?;
    let mut named = |reference: &Option<Located<String>>| {
        let reference = reference.as_ref()?;
        if !raw_profiles.0.iter().any(|(name, _)| name.value == reference.value) {
            let names = raw_profiles.0.iter().map(|(name, _)| name.value.as_str());
            values::unknown("topology::unknown_profile", "profile", reference, names, problems);
        }
        Some(reference.value.clone())
    };
    let (data, control) = (named(&defaults.profile), named(&defaults.control_profile));
    Some((profiles, data?, control?))
}

fn profile(name: &Located<String>, raw: &raw::Profile, problems: &mut Problems) -> Option<Profile> {
    let refused = raw.refused.contains(&"b_th") || raw.refused.contains(&"ecn_threshold");
    if raw.b_th.is_none() && raw.ecn_threshold.is_none() && !refused {
        problems.push(
            Problem::error(
                "topology::missing_key",
                format!("profile `{}` has neither `b_th` nor `ecn_threshold`", name.value),
            )
            .at(name.span, "no threshold here")
            .hint("add `ecn_threshold: 100kB`; b_th is the same unless you give it"),
        );
    }
    // The one that is given stands for the other.
    let b_th = raw.b_th.as_ref().or(raw.ecn_threshold.as_ref())?;
    let ecn = raw.ecn_threshold.as_ref().or(raw.b_th.as_ref())?;
    let q_max = raw.q_max.as_ref()?;
    let capacity = q_max.value.0;
    if b_th.value.get() >= capacity.get() {
        problems.push(
            Problem::error(
                "topology::b_th",
                format!("B_th ({}) must be below Q_max ({capacity})", b_th.value),
            )
            .at(b_th.span, "reports would start here")
            .at(q_max.span, "but the queue admits no more than this")
            .hint(format!("allowed: 1B to {}", super::Size::new(capacity.get() - 1))),
        );
    } else if b_th.value != ecn.value {
        problems.push(
            Problem::warning(
                "topology::b_th_beside_ecn",
                format!("B_th ({}) differs from the ECN threshold ({})", b_th.value, ecn.value),
            )
            .at(b_th.span, "reports start here")
            .at(ecn.span, "marking starts here")
            .hint("RDCC advises the same for both; leave `b_th` out to have that"),
        );
    }
    if b_th.value.get() < capacity.get() && ecn.value.get() >= capacity.get() {
        problems.push(
            Problem::warning(
                "topology::ecn_threshold",
                format!("the ECN threshold ({}) isn't below Q_max ({capacity})", ecn.value),
            )
            .at(ecn.span, "never reached, so nothing is marked")
            .hint(format!("at most {}", super::Size::new(capacity.get() - 1))),
        );
    }
    let interval = raw.report_interval.as_ref()?;
    if interval.value.get() == 0 || !interval.value.get().is_multiple_of(1000) {
        problems.push(
            Problem::error(
                "topology::report_interval",
                format!("{} isn't a report interval", interval.value),
            )
            .at(interval.span, "")
            .hint("allowed: 1us to 60s, in whole microseconds: switches count time in those"),
        );
    }
    Some(Profile {
        b_th: b_th.value.get(),
        q_max: capacity.get(),
        ecn_threshold: ecn.value.get(),
        report_interval_ns: interval.value.get(),
        report_limit: raw.report_limit.as_ref().map(|limit| limit.value.0).unwrap_or_default(),
    })
}
