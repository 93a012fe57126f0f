//! What `crn agent` prints: a line for everything that happens, for people or as JSON, and the figures at the end.

use std::fmt::Write as _;

use agent::rdcc::admission::DomainView;
use agent::rdcc::summary::Counters;
use agent::rdcc::{Event, Summary};
use serde_json::{Value, json};
use wire::units::Nanos;

use super::lines::Lines;

/// Prints events.
pub struct Printer {
    lines: Lines,
    grants: bool,
}

impl Printer {
    /// `grants`: whether every grant is printed too.
    pub fn new(lines: Lines, grants: bool) -> Self {
        Self { lines, grants }
    }

    /// Something happened.
    pub fn event(&self, now: Nanos, event: &Event) {
        if !matches!(event, Event::Grant { .. }) || self.grants {
            self.lines.line(now, event, told);
        }
    }
}

/// The figures at the end: a JSON object, or lines for people.
pub fn summary(json: bool, summary: &Summary) -> String {
    if json {
        summary_object(summary).unwrap_or_default()
    } else {
        summary_lines(summary).unwrap_or_default()
    }
}

/// The figures as one line.
pub fn summary_object(summary: &impl serde::Serialize) -> serde_json::Result<String> {
    let mut value = serde_json::to_value(summary)?;
    if let Value::Object(fields) = &mut value {
        fields.insert("event".to_owned(), json!("summary"));
    }
    Ok(format!("{value}\n"))
}

fn summary_lines(summary: &Summary) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    if let Some(messages) = &summary.messages {
        writeln!(
            out,
            "{} of {} messages done in {} batches, {} octets, {:.1} Mbit/s while sending",
            messages.done, messages.submitted, messages.batches, messages.octets, messages.goodput
        )?;
        let completion = messages.completion;
        if messages.done > 0 {
            writeln!(
                out,
                "completion: median {:.0} us, 99th percentile {:.0} us, longest {:.0} us",
                completion.p50, completion.p99, completion.max
            )?;
        }
    }
    if let Some(admission) = &summary.admission {
        writeln!(out, "admission, {}: {}", admission.mode, listed(&admission.counters))?;
        for domain in admission.device.iter().chain(&admission.routes) {
            writeln!(out, "{}", told_domain(domain))?;
        }
    }
    let parts = [
        ("sender", summary.sender.as_ref()),
        ("receiver", summary.receiver.as_ref()),
        ("transport", Some(&summary.transport)),
        ("datagrams", Some(&summary.datagrams)),
    ];
    for (name, counters) in parts {
        if let Some(counters) = counters {
            writeln!(out, "{name}: {}", listed(counters))?;
        }
    }
    Ok(out)
}

/// The counters that aren't zero.
pub fn listed(counters: &Counters) -> String {
    let counters = counters.0.iter().filter(|counter| counter.value > 0);
    let listed: Vec<String> = counters.map(|counter| format!("{} {}", counter.name, counter.value)).collect();
    if listed.is_empty() { "nothing".to_owned() } else { listed.join(", ") }
}

fn told_domain(domain: &DomainView) -> String {
    let DomainView { peer, state, window, completed, deferred, avoided, .. } = domain;
    let subject = peer.map_or_else(|| "device".to_owned(), |peer| format!("route to {peer}"));
    format!(
        "  {subject}: {state}, window {window}, completed {completed}, deferred {deferred}, avoided {avoided}"
    )
}

fn told(event: &Event) -> String {
    match event {
        Event::Started { address, rdcc_port, data_port, source_ports: [scheduled, unscheduled] } => format!(
            "{address}: RDCC on port {rdcc_port}, data to port {data_port}, from {scheduled} and {unscheduled}"
        ),
        Event::AssociationUp { peer, unscheduled_limit: Some(limit), credit_unit: Some(unit) } => {
            format!("association with {peer}: U {limit}, Credit Unit {unit}")
        }
        Event::AssociationUp { peer, .. } => format!("association with {peer}"),
        Event::AssociationLost { peer } => {
            format!(
                "{peer} doesn't know the association any more (it was idle, or {peer} started again); associating again"
            )
        }
        Event::AssociationFailed { peer, refused: true } => format!("{peer} refused the association"),
        Event::AssociationFailed { peer, .. } => format!("{peer} doesn't answer"),
        Event::Grant { peer, limit, rate, pool: true, .. } => {
            format!("grant {peer} pool: up to {limit} at {rate} Mbit/s")
        }
        Event::Grant { peer, message, limit, rate, .. } => {
            format!("grant {peer} message {message}: up to {limit} at {rate} Mbit/s")
        }
        Event::Report {
            from, source, destination, depth, threshold, degree, suggested_rate, heard, ..
        } => {
            let heard = if *heard { "" } else { ", ignored" };
            format!(
                "report of {} about {source} to {destination}: queue {depth} of {threshold}, degree {degree}, \
                 suggests {suggested_rate} Mbit/s{heard}",
                from.ip()
            )
        }
        Event::SenderStatus { peer, unused, level, suggested_rate } => {
            format!("status {peer}: {unused} octets unused, level {level}, suggests {suggested_rate} Mbit/s")
        }
        Event::MessageDone { peer, message, octets, took } => {
            let octets = octets.map_or_else(String::new, |octets| format!(", {octets} octets"));
            let took = took.map_or_else(String::new, |took| format!(" in {took:.0} us"));
            format!("done {peer} message {message}{octets}{took}")
        }
        Event::MessageAborted { peer, message, reason } => {
            format!("aborted {peer} message {message}: {reason}")
        }
        Event::BeyondCredit { peer, message, octets } => {
            format!("{peer} sent {octets} octets beyond its credit in message {message}")
        }
        Event::BatchDone { batch, took } => format!("batch {batch} done in {took:.0} us"),
        Event::PathState { peer, from, to, because } => {
            let subject = peer.map_or_else(|| "the device".to_owned(), |peer| format!("the route to {peer}"));
            format!("admission: {subject} was {from} and is {to}: {because}")
        }
        Event::TaskState(task) => {
            let reason = task.reason.unwrap_or("nothing");
            let over = if task.resolved { ", which is over" } else { "" };
            format!("{} message {} ended {}; it saw {reason}{over}", task.peer, task.message, task.state)
        }
        Event::Stopping => "stopping".to_owned(),
    }
}
