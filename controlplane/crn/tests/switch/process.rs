//! The process under test.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use p4runtime::client::{Client, Options};

pub const DEVICE: u64 = 3;
pub const CPU_PORT: u16 = controller::pipeline::generated::constants::CPU_PORT;

pub fn bmv2(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4/bmv2").join(name)
}

/// `crn switch` with these words, to its end.
pub fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = command(arguments).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crn"));
    command.arg("switch").args(arguments).env("NO_COLOR", "1");
    command
}

/// A running switch; killed with this value.
pub struct Process {
    child: Option<Child>,
    pub address: String,
}

impl Process {
    /// Starts one on a free port of the loopback and waits until it serves.
    pub fn start(folder: &Path, arguments: &[&str]) -> Process {
        let device = DEVICE.to_string();
        let always = ["--device-id", &device, "--grpc-server-addr", "127.0.0.1:0"];
        let mut child = command(&[arguments, &always].concat())
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        let mut reader = BufReader::new(stdout);
        reader.read_line(&mut line).unwrap();
        let address = line.strip_prefix("P4Runtime on ").and_then(|rest| rest.split([' ', ',']).next());
        let Some(address) = address.map(str::to_owned) else {
            let mut error = String::new();
            child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
            panic!("it doesn't serve: {line}{error}");
        };
        // The few lines that follow fit into the pipe; nothing was read beyond the buffer's content.
        let child_out = reader.into_inner();
        child.stdout = Some(child_out);
        Process { child: Some(child), address }
    }

    pub async fn client(&self, election_id: u128) -> Client {
        Client::connect(&self.address, options(election_id)).await.unwrap()
    }

    /// Ends it with a signal; gives what it left.
    pub fn end(mut self, signal: Signal) -> Output {
        let child = self.child.take().unwrap();
        kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
        child.wait_with_output().unwrap()
    }

    /// Waits until it ends by itself.
    pub fn wait(mut self) -> Output {
        self.child.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn options(election_id: u128) -> Options {
    Options { device_id: DEVICE, election_id, timeout: Duration::from_secs(30), ..Options::default() }
}

pub fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}
