//! The switch's process and its Thrift port.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::{NAME, on_path, wires};
use crate::program::CPU_PORT;
use crate::setup::Port;
use crate::target::TargetError;

/// BMv2's command line for what P4Runtime can't do: queue rates and depths.
pub(super) const CLI: &str = "simple_switch_CLI";
/// On the loopback of the case's own namespace, so fixed numbers collide with nobody.
pub(super) const GRPC_ADDRESS: &str = "127.0.0.1:9559";
const THRIFT_PORT: &str = "9090";

/// A running switch; ends with this value.
pub(super) struct Process {
    child: Child,
    folder: TempDir,
}

impl Process {
    pub(super) fn start(ports: &[u16]) -> Result<Process, TargetError> {
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
        arguments.extend(["--no-p4", "--device-id", "1", "--thrift-port", THRIFT_PORT].map(str::to_owned));
        arguments.extend(["--log-console", "-L", "warn"].map(str::to_owned));
        for &port in ports {
            arguments.extend(["-i".to_owned(), format!("{port}@{}", wires::switch_end(port))]);
        }
        arguments
            .extend(["--", "--grpc-server-addr", GRPC_ADDRESS, "--priority-queues", "8"].map(str::to_owned));
        arguments.extend(["--cpu-port".to_owned(), CPU_PORT.to_string()]);
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

    /// The end of what the switch wrote.
    pub(super) fn last_words(&self) -> String {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines.get(lines.len().saturating_sub(10)..).unwrap_or_default().join("\n")
    }
}

/// Sets rates and depths, the same for all queues of a port.
pub(super) fn set_queues(ports: &[Port]) -> Result<(), TargetError> {
    let mut commands = String::new();
    for port in ports {
        let _ = writeln!(commands, "set_queue_depth {} {}", port.depth_packets, port.port);
        if let Some(rate) = port.rate_pps {
            let _ = writeln!(commands, "set_queue_rate {rate} {}", port.port);
        }
    }
    let cli = |error: &dyn std::fmt::Display| TargetError::switch(CLI, error);
    let mut child = Command::new(CLI)
        .args(["--thrift-port", THRIFT_PORT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| cli(&error))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(commands.as_bytes()).map_err(|error| cli(&error))?;
    }
    let output = child.wait_with_output().map_err(|error| cli(&error))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && !said.contains("Error") && !said.contains("Invalid") {
        return Ok(());
    }
    Err(TargetError::Switch(format!("{CLI}: {said}{}", String::from_utf8_lossy(&output.stderr))))
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
