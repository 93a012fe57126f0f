//! SCONE: gateways serve addresses of their own, and senders follow advice in steps.

use super::super::decode::{Located, Named, Problems};
use super::super::{Prefix, Problem, SconeParams, Span, Time, raw};
use super::nodes::Nodes;

pub(super) fn check(hosts: &Named<raw::Host>, nodes: &Nodes, problems: &mut Problems) {
    let mut seen: Vec<(Prefix, Span)> = Vec::new();
    for (name, raw) in &hosts.0 {
        let Some(given) = raw.as_ref().and_then(|raw| raw.gateway_for.as_ref()) else { continue };
        let prefix = given.value.0;
        if let Some((other, span)) = seen.iter().find(|(other, _)| other.overlaps(prefix)) {
            problems.push(
                Problem::error("topology::gateway_for", format!("{prefix} and {other} overlap"))
                    .at(given.span, "served here")
                    .at(*span, "and here")
                    .hint("an address has one gateway; give each a prefix of its own"),
            );
        }
        let serves = |(other, host): (&String, &super::super::Host)| {
            *other != name.value && prefix.holds(host.address.into())
        };
        if !nodes.hosts.iter().any(serves) {
            problems.push(
                Problem::error("topology::gateway_for", format!("no host has an address of {prefix}"))
                    .at(given.span, "")
                    .hint("name the addresses of the hosts that it advises"),
            );
        }
        seen.push((prefix, given.span));
    }
}

pub(super) fn scone(raw: Option<&raw::Scone>, problems: &mut Problems) -> SconeParams {
    let Some(raw) = raw else { return SconeParams::default() };
    let mut positive = |key: &str, time: Option<&Located<Time>>| {
        let given = time?;
        if given.value.get() == 0 {
            problems.push(
                Problem::error("topology::scone", format!("{key} of 0 would never end"))
                    .at(given.span, "")
                    .hint("write a time above 0, as in 50us"),
            );
        }
        Some(given.value.get())
    };
    let step_interval_ns = positive("step interval", raw.step_interval.as_ref());
    let expiry_ns = positive("expiry", raw.expiry.as_ref());
    // Where one is left to its default, the sender holds them against each other.
    if let (Some(step), Some(expiry)) = (&raw.step_interval, &raw.expiry)
        && step.value.get() > expiry.value.get()
    {
        problems.push(
            Problem::error(
                "topology::scone",
                "a step interval above the expiry: advice would outlive its time",
            )
            .at(step.span, "")
            .at(expiry.span, "")
            .hint("write a step interval of at most the expiry"),
        );
    }
    let percent = |value: u64| u8::try_from(value).unwrap_or(100);
    SconeParams {
        step_interval_ns,
        step_percent: raw.step.map(|step| percent(step.0)),
        expiry_ns,
        release_percent: raw.release.map(|release| percent(release.0)),
    }
}
