//! A switch that isn't driven by a case: one frame after the other, or files.

use std::time::{Duration, Instant};

use p4runtime::p4::v1::Update;
use tokio::runtime::{Builder, Runtime};

use super::control::Controller;
use super::process::{self, Process};
use super::wires::Wires;
use super::{Frames, TargetError};
use crate::differential::live::refused;
use crate::program::Program;
use crate::setup::{Port, Setup};

/// The first words of the switch's command line: no program, gRPC and Thrift on fixed ports. Interfaces follow.
#[must_use]
pub fn arguments() -> Vec<String> {
    process::switch_arguments(None)
}

/// The last words of the switch's command line.
#[must_use]
pub fn target_arguments() -> Vec<String> {
    process::target_arguments(true)
}

/// A controller's connection to a switch; ends with this value.
pub struct Control {
    runtime: Runtime,
    controller: Controller,
}

/// Gives a switch in this thread's namespace program, entries, rates and depths.
///
/// # Errors
/// It doesn't serve, or refuses something.
pub fn set_up(program: &Program, setup: &Setup) -> Result<Control, TargetError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| TargetError::switch("runtime", &error))?;
    let controller = runtime.block_on(Controller::configure(program, &setup.entries))?;
    if !setup.ports.is_empty() {
        process::set_queues(&setup.ports)?;
    }
    Ok(Control { runtime, controller })
}

/// A switch with a program, and wires to its ports, in this thread's network namespace.
pub struct Bench {
    wires: Wires,
    control: Control,
    process: Process,
    began: Instant,
}

impl Bench {
    /// Starts it. The caller has left for a namespace of its own.
    ///
    /// # Errors
    /// Interfaces, process or program couldn't be set up.
    pub fn start(program: &Program, ports: &[u16]) -> Result<Bench, TargetError> {
        let wires = Wires::new(ports)?;
        let process = Process::start(ports, None)?;
        let control = set_up(program, &Setup::default())
            .map_err(|error| TargetError::switch(&process.last_words(), &error))?;
        Ok(Bench { wires, control, process, began: Instant::now() })
    }

    /// Writes updates and says which were refused, and why.
    ///
    /// # Errors
    /// The Write failed as a whole.
    pub fn write(&mut self, updates: Vec<Update>) -> Result<Vec<Option<String>>, TargetError> {
        let of = updates.len();
        let Control { runtime, controller } = &mut self.control;
        refused(of, runtime.block_on(controller.apply(updates)))
    }

    /// Sets rates and depths.
    ///
    /// # Errors
    /// BMv2's command line failed.
    pub fn set_queues(&self, ports: &[Port]) -> Result<(), TargetError> {
        process::set_queues(ports)
    }

    /// One frame into the switch.
    ///
    /// # Errors
    /// The interface didn't take it.
    pub fn send(&self, port: u16, frame: &[u8]) -> Result<(), TargetError> {
        self.wires.send(port, frame)
    }

    /// Takes everything that has come out.
    ///
    /// # Errors
    /// An interface failed.
    pub fn collect(&self, frames: &mut Frames) -> Result<(), TargetError> {
        let at_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.wires.collect(frames, at_us)
    }

    /// Whether the switch has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.process.has_ended()
    }

    /// Waits until something comes out of any port.
    ///
    /// # Errors
    /// An interface failed.
    pub fn wait(&self, at_most: Duration) -> Result<(), TargetError> {
        self.wires.wait(at_most)
    }
}
