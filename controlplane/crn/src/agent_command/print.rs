//! What `crn agent` prints: a line for everything that happens, for people or as JSON, and the figures at the end.

use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};

use agent::rdcc::admission::DomainView;
use agent::rdcc::summary::Counters;
use agent::rdcc::{Event, Summary};
use serde::Serialize;
use serde_json::{Value, json};
use wire::units::Nanos;

/// Prints events and figures to standard output.
pub struct Printer {
    json: bool,
    grants: bool,
}

/// Prints with a printer that several hold.
pub fn with(printer: &Mutex<Printer>, print: impl FnOnce(&Printer) -> io::Result<()>) {
    // Whoever read the output has gone: the agent goes on, its figures are in the exit code.
    let _ = print(&printer.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Prints what happened at `now`: as a JSON object with the time in microseconds, or for people in the words of `told`.
pub fn line<E: Serialize>(
    json: bool,
    now: Nanos,
    event: &E,
    told: impl FnOnce(&E) -> String,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        let mut value = serde_json::to_value(event)?;
        if let Value::Object(fields) = &mut value {
            fields.insert("at".to_owned(), json!(now.0 as f64 / 1000.0));
        }
        writeln!(out, "{value}")?;
    } else {
        writeln!(out, "{:>12.6} s  {}", now.0 as f64 / 1e9, told(event))?;
    }
    out.flush()
}

impl Printer {
    /// `grants`: whether every grant is printed too.
    pub fn new(json: bool, grants: bool) -> Self {
        Self { json, grants }
    }

    /// Something happened.
    pub fn event(&self, now: Nanos, event: &Event) -> io::Result<()> {
        if matches!(event, Event::Grant { .. }) && !self.grants {
            return Ok(());
        }
        line(self.json, now, event, told)
    }

    /// The figures at the end.
    pub fn summary(&self, summary: &Summary) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if self.json {
            let mut value = serde_json::to_value(summary)?;
            if let Value::Object(fields) = &mut value {
                fields.insert("event".to_owned(), json!("summary"));
            }
            writeln!(out, "{value}")?;
            return out.flush();
        }
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
        out.flush()
    }
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
