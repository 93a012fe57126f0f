//! The real `simple_switch_grpc`, one process per case, in a network namespace that ends with the case.
//!
//! A case runs on a thread of its own, which leaves for a new, unnamed network namespace: the veth pairs, the
//! switch's gRPC and Thrift ports on that namespace's loopback, and all sockets live there, so that nothing can
//! collide with anything on the machine and nothing is left behind, however the case ends.

pub mod bench;
mod cli;
mod control;
mod process;
mod stf;
mod wires;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, thread};

use nix::sched::{CloneFlags, unshare};

use crate::case::{Await, Case, PERIOD_US, Step};
use crate::program::{CPU_PORT, Program};
use crate::target::{Observed, Presence, Target, TargetError};
use control::Controller;
use process::Process;
use tokio::runtime::Runtime;
use wires::Wires;

/// The name of this target.
pub const NAME: &str = "simple_switch_grpc";

/// How long anything may take that isn't bounded by the case itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// Between two attempts to reach a switch that is starting.
const RETRY: Duration = Duration::from_millis(20);

/// How long the controller's stream is listened to at a time, where something is waited for there.
const CONTROLLER_WAIT: Duration = Duration::from_millis(20);

/// A burst must be inside the switch long before its second packet may leave.
const BURST_LIMIT_US: u64 = PERIOD_US / 2;

/// How often a case is begun again because the machine was too busy for its burst.
const ATTEMPTS: usize = 5;

/// Two switches at once on a small machine would disturb each other's timing.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The real `simple_switch_grpc`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bmv2;

impl Target for Bmv2 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn presence(&self) -> Presence {
        for tool in [NAME, cli::NAME, "ip"] {
            if !on_path(tool) {
                return Presence::Absent { reason: format!("{tool} is not on PATH") };
            }
        }
        if !nix::unistd::geteuid().is_root() {
            return Presence::Absent { reason: "network namespaces need root".to_owned() };
        }
        match Command::new(NAME).arg("--version").output() {
            Ok(output) => {
                Presence::Present { version: String::from_utf8_lossy(&output.stdout).trim().to_owned() }
            }
            Err(error) => Presence::Absent { reason: format!("{NAME} --version: {error}") },
        }
    }

    fn run(&self, case: &Case) -> Result<Observed, TargetError> {
        let program = Program::load()?;
        let attempt = || alone(|| run_in_namespace(case, &program));
        let mut result = attempt();
        for _ in 1..ATTEMPTS {
            if !matches!(result, Err(TargetError::Disturbed { .. })) {
                break;
            }
            result = attempt();
        }
        result
    }
}

/// Does something on a thread of its own that is alone with a switch in a new network namespace.
fn alone<T: Send>(run: impl FnOnce() -> Result<T, TargetError> + Send) -> Result<T, TargetError> {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    thread::scope(|scope| {
        let run = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|error| TargetError::switch("network namespace", &error))?;
            run()
        });
        run.join().unwrap_or_else(|_| Err(TargetError::Switch("the case's thread panicked".to_owned())))
    })
}

fn on_path(tool: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(tool).is_file()))
}

fn run_in_namespace(case: &Case, program: &Program) -> Result<Observed, TargetError> {
    let ports: Vec<u16> = case.setup.ports.iter().map(|port| port.port).collect();
    let wires = Wires::new(&ports)?;
    let process = Process::start(&ports, None)?;
    // Its worker reads and writes the stream while this thread waits for frames; it is of this thread's namespace.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| TargetError::switch("runtime", &error))?;
    let client = runtime
        .block_on(Controller::configure(program, &case.setup.entries))
        .map_err(|error| TargetError::switch(&process.last_words(), &error))?;
    process::set_queues(&case.setup.ports)?;
    let mut play =
        Play { wires, runtime, client, program, began: Instant::now(), observed: Observed::default() };
    play.script(&case.script, &process)?;
    play.observed.counters = play.runtime.block_on(play.client.counters(program))?;
    Ok(play.observed)
}

/// A script that is being played.
struct Play<'a> {
    wires: Wires,
    runtime: Runtime,
    client: Controller,
    program: &'a Program,
    began: Instant,
    observed: Observed,
}

impl Play<'_> {
    fn script(&mut self, script: &[Step], process: &Process) -> Result<(), TargetError> {
        let mut calm_since = self.now_us();
        for step in script {
            match step {
                Step::Send { port, frames } => {
                    for frame in frames {
                        if *port == CPU_PORT {
                            self.runtime.block_on(self.client.packet_out(self.program, frame))?;
                        } else {
                            self.wires.send(*port, frame)?;
                        }
                        let now = self.now_us();
                        self.observed.sent_us.push(now);
                    }
                    let took_us = self.now_us() - calm_since;
                    if frames.len() > 1 && took_us > BURST_LIMIT_US {
                        return Err(TargetError::Disturbed { took_us, limit_us: BURST_LIMIT_US });
                    }
                }
                Step::Await(wanted) => {
                    self.wait_for(*wanted, process)?;
                    calm_since = self.now_us();
                }
                Step::Write(entries) => {
                    self.runtime.block_on(self.client.write(self.program, entries))?;
                    calm_since = self.now_us();
                }
            }
        }
        Ok(())
    }

    fn wait_for(&mut self, wanted: Await, process: &Process) -> Result<(), TargetError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let at_us = self.now_us();
            self.wires.collect(&mut self.observed.frames, at_us)?;
            // What the controller gets comes through no wire.
            let wait = if wanted.port == CPU_PORT { CONTROLLER_WAIT } else { Duration::ZERO };
            self.runtime.block_on(self.client.collect(&mut self.observed.frames, at_us, wait))?;
            let got = self.observed.frames.get(&wanted.port).map_or(0, Vec::len);
            if got >= wanted.frames {
                return Ok(());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(TargetError::Missing {
                    port: wanted.port,
                    wanted: wanted.frames,
                    got,
                    observed: Box::new(std::mem::take(&mut self.observed)),
                    log: process.last_words(),
                });
            }
            if wanted.port != CPU_PORT {
                self.wires.wait(left)?;
            }
        }
    }

    fn now_us(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// Frames by port.
pub type Frames = BTreeMap<u16, Vec<crate::target::Seen>>;
