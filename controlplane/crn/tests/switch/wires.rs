//! Two network namespaces of this thread: the hosts' and the switch's, joined by veth pairs.

use std::fs::File;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, bind, recv, send, socket};

/// How long a packet may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(30);

/// The thread that makes this is in the switch's namespace from then on; both go with it.
pub struct Wires {
    hosts: Vec<OwnedFd>,
    _hosts_namespace: File,
}

/// What is missing for namespaces of a test's own.
pub fn without_namespaces() -> Option<&'static str> {
    let able = nix::unistd::geteuid().is_root() && Command::new("ip").arg("-V").output().is_ok();
    (!able).then_some("root or iproute2")
}

impl Wires {
    /// Host `hN` in one namespace, the switch's `sN` in the other, for N from 1.
    pub fn new(count: u16) -> Wires {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        quiet();
        let hosts_namespace = File::open("/proc/thread-self/ns/net").unwrap();
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        quiet();
        let own = File::open("/proc/thread-self/ns/net").unwrap();
        let theirs = format!("/proc/{}/fd/{}", std::process::id(), hosts_namespace.as_raw_fd());
        for n in 1..=count {
            ip(&format!("link add s{n} type veth peer name h{n}"));
            ip(&format!("link set h{n} netns {theirs}"));
            ip(&format!("link set s{n} up"));
        }
        setns(&hosts_namespace, CloneFlags::CLONE_NEWNET).unwrap();
        let hosts = (1..=count)
            .map(|n| {
                ip(&format!("link set h{n} up"));
                open(&format!("h{n}"))
            })
            .collect();
        setns(&own, CloneFlags::CLONE_NEWNET).unwrap();
        Wires { hosts, _hosts_namespace: hosts_namespace }
    }

    /// Host N sends.
    pub fn send(&self, n: usize, octets: &[u8]) {
        send(self.hosts[n - 1].as_raw_fd(), octets, MsgFlags::empty()).unwrap();
    }

    /// Waits for a packet at host N.
    pub fn receive(&self, n: usize) -> Vec<u8> {
        let deadline = Instant::now() + PATIENCE;
        let wire = &self.hosts[n - 1];
        let mut octets = vec![0; 4096];
        loop {
            if let Ok(length) = recv(wire.as_raw_fd(), &mut octets, MsgFlags::MSG_DONTWAIT) {
                octets.truncate(length);
                return octets;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "nothing comes out at host {n}");
            let mut this = [PollFd::new(wire.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut this, PollTimeout::try_from(left).unwrap());
        }
    }

    /// Takes what waits at host N now.
    pub fn waiting(&self, n: usize) -> usize {
        let mut octets = [0; 4096];
        let wire = self.hosts[n - 1].as_raw_fd();
        std::iter::from_fn(|| recv(wire, &mut octets, MsgFlags::MSG_DONTWAIT).ok()).count()
    }
}

/// Nobody but the test sends anything: no neighbour discovery.
fn quiet() {
    for scope in ["all", "default"] {
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1");
    }
    ip("link set lo up");
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

pub fn set_link(name: &str, state: &str) {
    ip(&format!("link set {name} {state}"));
}

fn open(interface: &str) -> OwnedFd {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let wire = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll).unwrap();
    let address = getifaddrs()
        .unwrap()
        .filter(|found| found.interface_name == interface)
        .find_map(|found| found.address.as_ref().and_then(|address| address.as_link_addr().copied()))
        .unwrap();
    bind(wire.as_raw_fd(), &address).unwrap();
    wire
}
