//! Processes that run beside a test, and network namespaces to run them in.

#![allow(dead_code, reason = "every test binary uses a part of it")]

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// More than a loaded machine takes for anything that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A namespace for the switch and one for each host, joined by veth pairs; gone with this value.
pub struct Network {
    names: Vec<String>,
}

pub fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Network {
    /// Names are of this process and call, so that tests can run side by side.
    pub fn new(hosts: u8) -> Network {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let names = (0..=hosts).map(|n| format!("crn{}-{serial}-{n}", std::process::id())).collect();
        let network = Network { names };
        for name in &network.names {
            ip(&format!("netns add {name}"));
            ip(&format!("-n {name} link set lo up"));
        }
        let switch = &network.names[0];
        for (n, host) in network.names.iter().enumerate().skip(1) {
            ip(&format!("-n {switch} link add s{n} type veth peer name h{n} netns {host}"));
            ip(&format!("-n {switch} link set s{n} mtu 9000 up"));
            ip(&format!("-n {host} link set h{n} address 02:00:0a:00:00:0{n} mtu 9000 up"));
            // The switch passes on what it gets: checksums must not be left to hardware that isn't there.
            let off = network.command(n, "ethtool", &["-K", &format!("h{n}"), "tx", "off"]).output().unwrap();
            assert!(off.status.success(), "{off:?}");
            ip(&format!("-n {host} addr add 10.0.0.{n}/32 dev h{n}"));
            // Everything goes to the switch, a router.
            ip(&format!("-n {host} route add 10.255.255.254 dev h{n}"));
            ip(&format!("-n {host} neigh add 10.255.255.254 lladdr 02:00:00:00:00:01 dev h{n}"));
            ip(&format!("-n {host} route add default via 10.255.255.254"));
        }
        network
    }

    /// A command in the namespace of a host; 0 is the switch's.
    pub fn command(&self, n: usize, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[n], program]).args(arguments).env("NO_COLOR", "1");
        command
    }

    /// The name of a namespace.
    pub fn name(&self, n: usize) -> &str {
        &self.names[n]
    }

    /// Does something in a namespace.
    pub fn within<T: Send + 'static>(&self, n: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
        let path = Path::new("/run/netns").join(&self.names[n]);
        // A namespace belongs to a thread.
        let there = move || {
            setns(File::open(path).unwrap(), CloneFlags::CLONE_NEWNET).unwrap();
            work()
        };
        thread::spawn(there).join().unwrap()
    }

    /// A socket of this process in a namespace.
    pub fn socket(&self, n: usize, address: SocketAddr) -> UdpSocket {
        self.within(n, move || UdpSocket::bind(address).unwrap())
    }

    pub fn crn(&self, n: usize, arguments: &[&str]) -> Running {
        Running::start(self.command(n, env!("CARGO_BIN_EXE_crn"), arguments))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

/// An error without the lines that it was broken into.
pub fn unbroken(error: &str) -> String {
    error.split_whitespace().filter(|&word| word != "│").collect::<Vec<_>>().join(" ")
}

/// What an HTTP server says; nothing while it isn't there.
pub fn page(at: SocketAddr, path: &str) -> String {
    let mut text = String::new();
    if let Ok(mut stream) = TcpStream::connect(at) {
        write!(stream, "GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").unwrap();
        stream.read_to_string(&mut text).unwrap();
    }
    text
}

/// A process; killed with this value. `ip netns exec` becomes the program, so that signals reach it.
pub struct Running {
    child: Child,
    /// Its lines as they come: one that nobody reads would block the process once the pipe is full.
    stdout: mpsc::Receiver<String>,
}

impl Running {
    /// `crn` in this namespace.
    pub fn crn(arguments: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crn"));
        command.args(arguments).env("NO_COLOR", "1");
        Running::start(command)
    }

    pub fn start(mut command: Command) -> Running {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let reader = BufReader::new(child.stdout.take().unwrap());
        let (told, stdout) = mpsc::channel();
        thread::spawn(move || {
            for line in reader.lines().map_while(Result::ok) {
                if told.send(line + "\n").is_err() {
                    return;
                }
            }
        });
        Running { child, stdout }
    }

    /// The first event of `kind` that `wanted` takes, of a process that prints JSON; the others are passed over.
    pub fn event(&self, kind: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut passed = String::new();
        loop {
            let Ok(line) = self.stdout.recv_timeout(PATIENCE) else {
                panic!("no `{kind}`; there was {passed}")
            };
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["event"] == kind && wanted(&event) {
                return event;
            }
            passed.push_str(&line);
        }
    }

    pub fn line(&self) -> String {
        self.stdout.recv().unwrap_or_default()
    }

    /// What it printed (from where reading stopped) until it ended, on standard output and on standard error.
    pub fn wait(mut self) -> (Option<i32>, String, String) {
        let said = self.stdout.iter().collect();
        let mut error = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        (self.child.wait().unwrap().code(), said, error)
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
