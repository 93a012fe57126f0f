//! A real switch.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub const NAME: &str = "simple_switch_grpc";

/// A running switch; ends with this value.
pub struct Bmv2 {
    child: Child,
    _folder: tempfile::TempDir,
    pub address: String,
    pub thrift: String,
}

impl Drop for Bmv2 {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Bmv2 {
    /// Whether it is installed.
    pub fn is_installed() -> bool {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(NAME).is_file())
    }

    /// One without interfaces, device 1.
    pub fn start() -> Bmv2 {
        Bmv2::at(free_port(), free_port(), 1, &[])
    }

    /// One that serves at these ports of the loopback address.
    pub fn at(port: u16, thrift: u16, device: u64, more: &[&str]) -> Bmv2 {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("127.0.0.1:{port}");
        let child = Command::new(NAME)
            .args(["--no-p4", "--device-id", &device.to_string(), "--log-console", "-L", "warn"])
            .args(more)
            .args(["--thrift-port", &thrift.to_string(), "--"])
            .args(["--grpc-server-addr", &address, "--priority-queues", "8", "--cpu-port", "509"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let thrift = format!("127.0.0.1:{thrift}");
        let switch = Bmv2 { child, _folder: folder, address, thrift };
        let start = Instant::now();
        while [&switch.address, &switch.thrift].iter().any(|address| TcpStream::connect(address).is_err()) {
            assert!(start.elapsed() < Duration::from_secs(30), "{NAME} doesn't listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        switch
    }

    /// Whether its process is still there.
    pub fn lives(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub fn args(&self, command: &str, path: &std::path::Path) -> Vec<String> {
        let at = format!("s1={}", self.address);
        [command, path.to_str().unwrap(), "--at", &at].map(str::to_owned).to_vec()
    }
}
