//! The switch's process and its Thrift port.

use std::fs::{self, File};

use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::cli::Cli;
use super::{NAME, on_path, wires};
use crate::program::CPU_PORT;
use crate::setup::Port;
use crate::target::TargetError;

/// On the loopback of the case's own namespace, so fixed numbers collide with nobody.
pub(super) const GRPC_ADDRESS: &str = "127.0.0.1:9559";
pub(super) const THRIFT_PORT: &str = "9090";

/// BMv2's own options, with a program or none yet; ports and [`target_arguments`] follow.
pub(super) fn switch_arguments(program: Option<&Path>) -> Vec<String> {
    let program = program.map_or("--no-p4".to_owned(), |json| json.display().to_string());
    let all = ["--device-id", "1", "--thrift-port", THRIFT_PORT, &program, "--log-console", "-L", "warn"];
    all.map(str::to_owned).into()
}

/// What `simple_switch_grpc` wants last; with or without the controller's port.
pub(super) fn target_arguments(cpu_port: bool) -> Vec<String> {
    let mut all: Vec<String> =
        ["--", "--grpc-server-addr", GRPC_ADDRESS, "--priority-queues", "8"].map(str::to_owned).into();
    if cpu_port {
        all.extend(["--cpu-port".to_owned(), CPU_PORT.to_string()]);
    }
    all
}

/// A running switch; ends with this value.
pub(super) struct Process {
    child: Child,
    folder: TempDir,
}

impl Process {
    /// Starts the switch with interfaces at these ports, without a program or with this JSON. A controller's port is a port
    /// like any other where no controller is to come.
    pub(super) fn start(ports: &[u16], program: Option<&Path>) -> Result<Process, TargetError> {
        let folder = tempfile::tempdir().map_err(|error| TargetError::switch("temporary folder", &error))?;
        let log = File::create(folder.path().join("log"))
            .and_then(|log| Ok((log.try_clone()?, log)))
            .map_err(|error| TargetError::switch("log", &error))?;
        let mut arguments: Vec<String> = Vec::new();
        // The kernel ends the switch when this thread ends without having done so (a killed test run).
        let starter = if on_path("setpriv") {
            arguments.extend(["--pdeathsig", "KILL", NAME].map(str::to_owned));
            "setpriv"
        } else {
            NAME
        };
        arguments.extend(switch_arguments(program));
        for &port in ports {
            arguments.extend(["-i".to_owned(), format!("{port}@{}", wires::switch_end(port))]);
        }
        arguments.extend(target_arguments(program.is_none()));
        let child = Command::new(starter)
            .args(&arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(log.0)
            .stderr(log.1)
            .spawn()
            .map_err(|error| TargetError::switch(NAME, &error))?;
        Ok(Process { child, folder })
    }

    /// Whether it has ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// The end of what the switch wrote.
    pub(super) fn last_words(&self) -> String {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines.get(lines.len().saturating_sub(10)..).unwrap_or_default().join("\n")
    }
}

/// Sets rates and depths, the same for all queues of a port.
pub(super) fn set_queues(ports: &[Port]) -> Result<(), TargetError> {
    let mut cli = Cli::start()?;
    for port in ports {
        cli.run(&format!("set_queue_depth {} {}", port.depth_packets, port.port))?;
        if let Some(rate) = port.rate_pps {
            cli.run(&format!("set_queue_rate {rate} {}", port.port))?;
        }
    }
    Ok(())
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
