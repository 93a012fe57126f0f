//! `crn agent crem`: the gateway between two interfaces.

mod args;

use std::io::{self, Write as _};
use std::sync::{Arc, PoisonError};

use agent::crem::{Shared, Stop, Summary, run as run_gateway};
use hyper::Request;
use hyper::body::Incoming;
use miette::{IntoDiagnostic as _, Result, miette};
use prometheus_client::registry::Registry;
use serde::Serialize;
use serde_json::{Value, json};
use wire::units::Nanos;

use crate::agent_command::{interrupted, metrics, print};
use crate::http::{self, Page, open_metrics};
use crate::output;
pub use args::Crem;

/// What is told at the start.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event {
    /// Frames are taken from now on.
    Started { inside: String, outside: String, crem_port: u16, mtu: u16 },
}

/// Runs the gateway until it is interrupted.
pub fn run(args: &Crem) -> Result<()> {
    let topology = args.topology.as_deref().map(output::load).transpose()?;
    let config = args.config(topology.as_ref())?;
    let (mut stop, stopped) = Stop::pair().into_diagnostic()?;
    let shared = Shared::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().into_diagnostic()?;
    let (inside, outside) = (args.inside.clone(), args.outside.clone());
    let event = Event::Started {
        inside: inside.clone(),
        outside: outside.clone(),
        crem_port: config.csf.port,
        mtu: config.csf.mtu,
    };
    let json = args.json;
    let summary = runtime.block_on(async {
        if let Some(address) = args.listen {
            let listener = http::listen(address).await?;
            let shared = Arc::clone(&shared);
            tokio::spawn(http::serve(listener, move |request| answer(request, &shared)));
        }
        let interrupt = interrupted()?;
        let figures = Arc::clone(&shared);
        let mut gateway = tokio::task::spawn_blocking(move || {
            // Whoever reads the output may have gone: the gateway goes on.
            let started = || drop(print::line(json, Nanos(0), &event, told));
            run_gateway(config, [&inside, &outside], started, &figures, stopped)
        });
        let ended = tokio::select! {
            ended = &mut gateway => ended,
            () = interrupt => {
                stop.stop();
                gateway.await
            }
        };
        ended.map_err(|error| miette!("the gateway died: {error}"))?.into_diagnostic()
    })?;
    // As above.
    let _ = show(json, &summary);
    Ok(())
}

fn told(event: &Event) -> String {
    let Event::Started { inside, outside, crem_port, mtu } = event;
    format!("between {inside} and {outside}: CREM port {crem_port}, RDMA MTU {mtu}")
}

fn show(as_json: bool, summary: &Summary) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if as_json {
        let mut value = serde_json::to_value(summary)?;
        if let Value::Object(fields) = &mut value {
            fields.insert("event".to_owned(), json!("summary"));
        }
        writeln!(out, "{value}")?;
    } else {
        for (name, counters) in parts(summary) {
            writeln!(out, "{name}: {}", print::listed(counters))?;
        }
    }
    out.flush()
}

fn parts(summary: &Summary) -> [(&'static str, &agent::rdcc::summary::Counters); 3] {
    [("sender", &summary.sender), ("receiver", &summary.receiver), ("gateway", &summary.gateway)]
}

fn answer(request: &Request<Incoming>, shared: &Shared) -> Page {
    match request.uri().path() {
        "/metrics" => {
            let summary = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Page::metrics(summary.as_ref().map_or_else(String::new, exported))
        }
        _ => Page::missing("/metrics"),
    }
}

fn exported(summary: &Summary) -> String {
    let mut registry = Registry::with_prefix("crn_crem");
    for (name, counters) in parts(summary) {
        metrics::register(registry.sub_registry_with_prefix(name), Some(counters));
    }
    open_metrics(&registry)
}
