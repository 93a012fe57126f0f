//! `crn agent crem`: the gateway between two interfaces.

mod args;

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError};

use agent::crem::{Shared, Stop, Summary, run as run_gateway};
use hyper::Request;
use hyper::body::Incoming;
use miette::{IntoDiagnostic as _, Result, miette};
use prometheus_client::registry::Registry;
use serde::Serialize;
use wire::units::Nanos;

use crate::agent_command::lines::Output;
use crate::agent_command::{interrupted, metrics, noting, print};
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
    let output = Output::start(json)?;
    let lines = output.lines();
    let asked = AtomicBool::new(false);
    let ran = runtime.block_on(async {
        if let Some(address) = args.listen {
            let listener = http::listen(address).await?;
            let shared = Arc::clone(&shared);
            tokio::spawn(http::serve(listener, move |request| answer(request, &shared)));
        }
        let interrupt = noting(interrupted()?, &asked);
        let figures = Arc::clone(&shared);
        let mut gateway = tokio::task::spawn_blocking(move || {
            let started = || lines.line(Nanos(0), &event, told);
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
    });
    let figures = match &ran {
        Ok(summary) if json => print::summary_object(summary).into_diagnostic()?,
        Ok(summary) => listed(summary),
        Err(_) => String::new(),
    };
    runtime.block_on(output.finish(figures, asked.into_inner()));
    ran.map(|_| ())
}

fn told(event: &Event) -> String {
    let Event::Started { inside, outside, crem_port, mtu } = event;
    format!("between {inside} and {outside}: CREM port {crem_port}, RDMA MTU {mtu}")
}

fn listed(summary: &Summary) -> String {
    let mut lines = String::new();
    for (name, counters) in parts(summary) {
        // A string takes everything.
        let _ = writeln!(lines, "{name}: {}", print::listed(counters));
    }
    lines
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
