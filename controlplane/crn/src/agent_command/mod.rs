//! `crn agent`: an endpoint of one host, on real sockets.

pub mod args;
pub mod lines;
pub mod metrics;
pub mod print;

use std::fs;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use agent::rdcc::settings::Carrier;
use agent::rdcc::{Observer, Role, Settings, Workload, run as run_host};
use clap::Subcommand;
use controller::topology::Topology;
use miette::{IntoDiagnostic as _, Result, miette};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::crem_agent::{self, Crem};
use crate::{http, output, scone_agent};
use args::{Common, Load};
use lines::Output;
use print::Printer;

/// Arguments of `crn agent`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    agent: Agent,
}

#[derive(Subcommand)]
enum Agent {
    /// Receive messages under RDCC: grant credit, hear congestion reports; ends on an interrupt
    RdccReceiver(Common),
    /// Send messages under RDCC, in batches; ends when all have ended
    RdccSender {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        load: Load,
    },
    /// Send and receive, on the one RDCC port; ends on an interrupt
    Rdcc {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        load: Load,
    },
    #[command(flatten)]
    Scone(scone_agent::Agent),
    /// Stand between two interfaces: protect the RoCEv2 packets that leave, restore those that arrive; ends on an interrupt
    Crem(Box<Crem>),
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    match &args.agent {
        Agent::RdccReceiver(common) => host(common, Role::Receiver, &Load::default()),
        Agent::RdccSender { common, load } => host(common, Role::Sender, load),
        Agent::Rdcc { common, load } => host(common, Role::Both, load),
        Agent::Scone(agent) => scone_agent::run(agent),
        Agent::Crem(gateway) => crem_agent::run(gateway),
    }
}

fn host(common: &Common, role: Role, load: &Load) -> Result<()> {
    let topology = common.topology.as_deref().map(output::load).transpose()?;
    let place = topology.as_ref().zip(common.host.as_deref());
    let mut given = common.given();
    if role.sends() {
        given.admission = Some(admission::from_environment(std::env::vars_os()).into_diagnostic()?);
    }
    let mut settings = Settings::new(place, &given, common.carrier()).into_diagnostic()?;
    let workload = if role.sends() { workload(load, place)? } else { Workload::default() };
    if role == Role::Sender {
        check_workload(&workload)?;
    }
    check_lengths(&workload, &settings)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().into_diagnostic()?;
    let output = Output::start(common.json)?;
    let printer = Printer::new(output.lines(), common.grants);
    let asked = AtomicBool::new(false);
    let ran = runtime.block_on(async {
        let shared = agent::rdcc::Shared::default();
        if let Some(address) = common.listen {
            let listener = http::listen(address).await?;
            let shared = Arc::clone(&shared);
            tokio::spawn(http::serve(listener, move |request| metrics::answer(request, &shared)));
        }
        if load.in_step {
            settings.released = Some(counting(SignalKind::user_defined1())?);
        }
        let stop = noting(interrupted()?, &asked);
        let observe: Observer = Box::new(move |now, event| printer.event(now, event));
        run_host(settings, role, workload, observe, shared, stop).await.into_diagnostic()
    });
    let figures = ran.as_ref().map_or_else(|_| String::new(), |summary| print::summary(common.json, summary));
    runtime.block_on(output.finish(figures, asked.into_inner()));
    let summary = ran?;
    match summary.messages.filter(|messages| messages.aborted > 0) {
        Some(messages) => {
            Err(miette!("{} of {} messages weren't delivered", messages.aborted, messages.submitted))
        }
        None => Ok(()),
    }
}

/// What to send: what the command line says, and where it says nothing, the topology's workload for this host.
fn workload(load: &Load, place: Option<(&Topology, &str)>) -> Result<Workload> {
    let mut workload =
        place.map_or_else(Workload::default, |(topology, host)| args::workload_of(topology, host));
    if !load.to.is_empty() {
        let address = |name: &String| args::address(name, place.map(|(topology, _)| topology));
        workload.to = load.to.iter().map(address).collect::<Result<_>>()?;
    }
    if !load.messages.is_empty() {
        workload.messages = load.messages.iter().map(|message| message.0).collect();
    }
    workload.batches = load.batches.unwrap_or(workload.batches.max(1));
    workload.gap = load.gap.map_or(workload.gap, |gap| gap.0);
    Ok(workload)
}

/// A sender without anything to send would end at once, as if all were well.
fn check_workload(workload: &Workload) -> Result<()> {
    let (help, missing) = if workload.to.is_empty() {
        ("give --to, or a topology with a workload in which the host sends", "there is nobody to send to")
    } else if workload.messages.is_empty() {
        ("give --message SIZE, once for each message of a batch", "there is nothing to send")
    } else if workload.batches == 0 {
        ("give --batches 1 or more", "there is nothing to send in 0 batches")
    } else {
        return Ok(());
    };
    Err(miette!(help = help, "{missing}"))
}

/// RDCC, Message Bindings: a message over `RoCEv2` is at most 65,535 RDMA messages, each a Credit Unit here.
fn check_lengths(workload: &Workload, settings: &Settings) -> Result<()> {
    let unit = settings.receiver.credit_unit;
    let most = unit.0.saturating_mul(u64::from(u16::MAX));
    let longest = workload.messages.iter().map(|message| message.octets).max().unwrap_or_default();
    if settings.carrier == Carrier::RoceV2 && longest > most {
        return Err(miette!(
            help = "send it as several messages, or give both sides a larger --credit-unit",
            "a message of {longest} octets is too long: over RoCEv2 one has at most {most}, 65,535 Credit Units of {unit}"
        ));
    }
    Ok(())
}

/// Waits until something asks the process to end: Ctrl-C, a request to terminate, the terminal's end, Ctrl-\\. Listens for
/// them from now on. The last two mean nothing where whoever started the process had it ignore them, as `nohup` does.
pub fn interrupted() -> Result<impl Future<Output = ()>> {
    let listen = |kind| signal(kind).into_diagnostic();
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let ignored = ignored_signals();
    let unless_ignored = |kind: SignalKind| {
        let bit = kind.as_raw_value() - 1;
        if ignored >> bit & 1 == 1 { Ok(None) } else { listen(kind).map(Some) }
    };
    let mut hangup = unless_ignored(SignalKind::hangup())?;
    let mut quit = unless_ignored(SignalKind::quit())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = comes(&mut hangup) => {}
            () = comes(&mut quit) => {}
        }
    })
}

async fn comes(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => pending().await,
    }
}

/// The signals that this process ignores, a bit each: the kernel tells. Where it doesn't, none counts as ignored.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

/// How often a signal has come from now on. Within a runtime.
fn counting(kind: SignalKind) -> Result<Arc<AtomicU32>> {
    let mut signal = signal(kind).into_diagnostic()?;
    let count = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while signal.recv().await.is_some() {
            counted.fetch_add(1, Ordering::Release);
        }
    });
    Ok(count)
}

/// Waits for `stop`, and notes that it came.
pub async fn noting(stop: impl Future<Output = ()>, asked: &AtomicBool) {
    stop.await;
    asked.store(true, Ordering::Relaxed);
}
