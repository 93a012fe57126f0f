//! `crn agent scone` and `crn agent scone-gateway`: rate advice on real sockets.

mod args;
mod metrics;
mod print;

use std::error::Error;
use std::net::SocketAddr;

use agent::driver::Machine;
use agent::scone::{Advised, Event, GatewayAgent, Observer, Shaper, Shared, run as run_agent};
use clap::Subcommand;
use miette::{IntoDiagnostic as _, Result};
use wire::units::Nanos;

use crate::agent_command::interrupted;
use crate::http;
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
    let config = advice.config();
    config.check().into_diagnostic()?;
    let shaper = advice.limit.as_deref().map(Shaper::start).transpose().into_diagnostic()?;
    drive(&advice.common, "host", move |observe, shared| Advised::new(config, shaper, observe, shared))
}

fn gateway_agent(gateway: &Gateway) -> Result<()> {
    let config = gateway.config();
    config.check().into_diagnostic()?;
    let dscp = gateway.dscp;
    drive(&gateway.common, "gateway", move |observe, shared| GatewayAgent::new(config, dscp, observe, shared))
}

/// Binds, serves metrics, and drives the machine until a signal comes. The machine is dropped before this returns: what it
/// limited is as it was.
fn drive<M: Machine, E: Error + Send + Sync + 'static>(
    common: &Common,
    what: &'static str,
    make: impl FnOnce(Observer, Shared) -> Result<M, E>,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().into_diagnostic()?;
    let shared = Shared::default();
    let json = common.json;
    let observe: Observer = Box::new(move |now, event| print::event(json, now, event));
    let mut machine = make(observe, Shared::clone(&shared)).into_diagnostic()?;
    runtime.block_on(async {
        if let Some(address) = common.listen {
            let listener = http::listen(address).await?;
            tokio::spawn(http::serve(listener, move |request| metrics::answer(request, what, &shared)));
        }
        let stop = interrupted()?;
        let bound = SocketAddr::new(common.address, common.port);
        let started = |local: SocketAddr| {
            let (address, port) = (local.ip(), local.port());
            print::event(json, Nanos(0), &Event::Started { address, port });
        };
        run_agent(bound, &mut machine, started, stop).await.into_diagnostic().map(|_| ())
    })
}
