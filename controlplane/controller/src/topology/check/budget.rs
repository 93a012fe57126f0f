//! What reports may take of the links: more than 0.5 % is warned of.
//!
//! All reports of a port, of whatever kind, go through one meter, so its limit is what they can take. Intervals decide
//! how much of that a single flow asks for.

use std::collections::BTreeMap;

use super::super::decode::{Located, Problems};
use super::super::{Domain, Problem, Profile, Rate, ReportLimit, Span, Switch, Time, raw, values};
use super::nodes::Nodes;
use crate::report_size::ReportKind;

/// One part of so many of a link.
const SHARE: u64 = 1_000_000 / ReportLimit::USUAL as u64;

pub(super) fn check(
    file: &raw::File,
    domain: &Domain,
    nodes: &Nodes,
    profiles: &BTreeMap<String, Profile>,
    data_profile: &str,
    problems: &mut Problems,
) {
    let rate = |switch: &Switch, port: u16| -> Option<u64> {
        Some(nodes.links.get(switch.ports.get(&port)?.link)?.rate_bps)
    };
    for (name, raw) in file.switches.iter().flat_map(|all| &all.0) {
        let Some(switch) = nodes.switches.get(&name.value) else { continue };
        for (number, port) in raw.iter().filter_map(|raw| raw.ports.as_ref()).flat_map(|ports| &ports.0) {
            let own = port.as_ref().and_then(|port| port.report_limit.as_ref());
            if let Some(rate) = number.value.parse().ok().and_then(|port| rate(switch, port)) {
                limit(own, rate, problems);
            }
        }
    }
    // The slowest link of each profile's ports: of all, and of those without a limit of their own.
    let mut slowest: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for switch in nodes.switches.values() {
        for port in switch.ports.keys() {
            let Some(rate) = rate(switch, *port) else { continue };
            let options = switch.port_options.get(port);
            let named = options.and_then(|options| options.profile.as_deref()).unwrap_or(data_profile);
            let (all, unlimited) = slowest.entry(named).or_insert((u64::MAX, u64::MAX));
            *all = (*all).min(rate);
            if options.is_none_or(|options| options.report_limit.is_none()) {
                *unlimited = (*unlimited).min(rate);
            }
        }
    }
    let ipv6 = nodes.switches.values().any(|switch| switch.ipv6.is_some());
    for (name, raw) in file.profiles.iter().flat_map(|all| &all.0) {
        let (Some(raw), Some(profile)) = (raw, profiles.get(&name.value)) else { continue };
        let Some(&(all, unlimited)) = slowest.get(name.value.as_str()) else { continue };
        if unlimited < u64::MAX {
            limit(raw.report_limit.as_ref(), unlimited, problems);
        }
        if let Some(given) = &raw.report_interval {
            let octets = ReportKind::Congestion.octets(ipv6);
            interval(
                given.span,
                profile.report_interval_ns,
                ("reports about one flow", octets),
                all,
                problems,
            );
        }
    }
    let slowest = nodes.slowest().max(1);
    let raw = file.domain.as_ref().and_then(|domain| domain.reports.as_ref());
    let path = raw.and_then(|raw| raw.path.as_ref()).and_then(|path| path.interval.as_ref());
    if let (Some(given), Some(every)) = (path, domain.reports.path_interval_ns) {
        let who = ("PATH_REPORTs about one flow", ReportKind::Path.octets(ipv6));
        interval(given.span, every, who, slowest, problems);
    }
    let advice = raw.and_then(|raw| raw.rate_advice.as_ref()).and_then(|advice| advice.interval.as_ref());
    if let (Some(given), Some((every, _))) = (advice, domain.reports.rate_advice) {
        let who = ("advice to one source", ReportKind::RateAdvice.octets(ipv6));
        interval(given.span, every, who, slowest, problems);
    }
}

/// What all reports of a port may take of its link.
fn limit(given: Option<&Located<values::ReportLimit>>, rate_bps: u64, problems: &mut Problems) {
    let Some(Located { value: values::ReportLimit(limit), span }) = given else { return };
    let usual = ReportLimit::default().of(rate_bps);
    if limit.of(rate_bps) <= usual {
        return;
    }
    problems.push(
        Problem::warning(
            "topology::report_budget",
            format!(
                "reports may take {} of a link of {}, more than 0.5 %",
                Rate::new(limit.of(rate_bps)),
                Rate::new(rate_bps)
            ),
        )
        .at(*span, "")
        .hint(format!("usual is 0.5%: {}", Rate::new(usual))),
    );
}

/// What a single flow asks for. An interval of 0 asks for everything, and says so.
fn interval(
    given: Span,
    interval_ns: u64,
    (who, octets): (&str, u64),
    rate_bps: u64,
    problems: &mut Problems,
) {
    const SECOND: u64 = 1_000_000_000;
    let bits = octets * 8;
    if interval_ns == 0
        || u128::from(bits * SECOND) * u128::from(SHARE) <= u128::from(rate_bps) * u128::from(interval_ns)
    {
        return;
    }
    let micros = (bits * SECOND * SHARE).div_ceil(rate_bps.max(1)).div_ceil(1000);
    problems.push(
        Problem::warning(
            "topology::report_budget",
            format!(
                "{who} can take {} Mbit/s, more than 0.5 % of the slowest link",
                bits * 1000 / interval_ns
            ),
        )
        .at(given, "one in this time")
        .hint(format!("at least {} for a link of {}", Time::new(micros * 1000), Rate::new(rate_bps))),
    );
}
