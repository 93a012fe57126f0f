//! `crn agent scone` and `crn agent scone-gateway`: rate advice on real sockets.

mod args;
mod metrics;
mod print;

use std::error::Error;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use agent::driver::Machine;
use agent::scone::{Advised, Event, GatewayAgent, Observer, Shaper, Shared, run as run_agent};
use clap::Subcommand;
use miette::{IntoDiagnostic as _, Result, miette};
use wire::units::Nanos;

use crate::agent_command::lines::Output;
use crate::agent_command::{interrupted, noting};
use crate::http;
use crate::output::complain;
use args::{Advice, Common, Gateway};

/// The agents.
#[derive(Subcommand)]
pub enum Agent {
    /// Take rate advice for this host's addresses: print and export the caps, and limit an interface by them
    Scone(Box<Advice>),
    /// Stand between data centers: advise the senders here, exchange backpressure with other gateways
    SconeGateway(Box<Gateway>),
}

/// Runs an agent until it is interrupted.
pub fn run(agent: &Agent) -> Result<()> {
    match agent {
        Agent::Scone(advice) => advised(advice),
        Agent::SconeGateway(gateway) => gateway_agent(gateway),
    }
}

fn advised(advice: &Advice) -> Result<()> {
    let config = advice.config()?;
    let shaper = advice.limit.as_deref().map(Shaper::start).transpose().into_diagnostic()?;
    let make = move |observe, shared| Advised::new(config, shaper, observe, shared);
    drive(&advice.common, "host", make, Advised::restore)
}

fn gateway_agent(gateway: &Gateway) -> Result<()> {
    let config = gateway.config()?;
    let dscp = gateway.dscp;
    let make = move |observe, shared| GatewayAgent::new(config, dscp, observe, shared);
    drive(&gateway.common, "gateway", make, |_| None)
}

/// Binds, serves metrics, and drives the machine until a signal comes. However it ends, `restore` puts back what the machine
/// changed on this host, and gives what it couldn't.
fn drive<M: Machine, E: Error + Send + Sync + 'static>(
    common: &Common,
    what: &'static str,
    make: impl FnOnce(Observer, Shared) -> Result<M, E>,
    restore: impl FnOnce(&mut M) -> Option<String>,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().into_diagnostic()?;
    let shared = Shared::default();
    let output = Output::start(common.json)?;
    let lines = output.lines();
    let observe: Observer = Box::new(move |now, event| print::event(&lines, now, event));
    let mut machine = make(observe, Shared::clone(&shared)).into_diagnostic()?;
    let asked = AtomicBool::new(false);
    let (lines, lost) = (output.lines(), output.lines().lost());
    let ran = runtime.block_on(async {
        if let Some(address) = common.listen {
            let listener = http::listen(address).await?;
            let answer = move |request: &_| metrics::answer(request, what, &shared, lost.total());
            tokio::spawn(http::serve(listener, answer));
        }
        let stop = noting(interrupted()?, &asked);
        let bound = SocketAddr::new(common.address, common.port);
        let started = move |local: SocketAddr| {
            let (address, port) = (local.ip(), local.port());
            print::event(&lines, Nanos(0), &Event::Started { address, port });
        };
        run_agent(bound, &mut machine, started, stop).await.into_diagnostic().map(|_| ())
    });
    let left = restore(&mut machine);
    drop(machine);
    runtime.block_on(output.finish(String::new(), asked.into_inner()));
    match (ran, left) {
        (ran, None) => ran,
        (Ok(()), Some(left)) => Err(miette!("{left}")),
        (Err(error), Some(left)) => {
            complain!("{left}");
            Err(error)
        }
    }
}
