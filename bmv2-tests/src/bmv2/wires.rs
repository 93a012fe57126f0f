//! The test bed's side of the switch's ports: a veth pair and a packet socket each, in this thread's namespace.

use std::fs;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::process::Command;
use std::time::Duration;

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrLike as _, bind, recv, send, socket,
};

use super::Frames;
use crate::target::{Seen, TargetError};

/// Larger than any frame of a case.
const MTU: &str = "9216";
const BUFFER_OCTETS: usize = 16384;

/// The switch's end of port N's pair; ours is `hN`.
pub(super) fn switch_end(port: u16) -> String {
    format!("s{port}")
}

/// All ports.
pub(super) struct Wires {
    sockets: Vec<(u16, OwnedFd)>,
}

impl Wires {
    pub(super) fn new(ports: &[u16]) -> Result<Wires, TargetError> {
        // Nobody but the case sends anything here: no neighbour discovery. Kernels without IPv6 need no telling.
        for scope in ["all", "default"] {
            let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1");
        }
        ip(&["link", "set", "lo", "up"])?;
        let mut sockets = Vec::with_capacity(ports.len());
        for &port in ports {
            let (ours, theirs) = (format!("h{port}"), switch_end(port));
            ip(&["link", "add", &ours, "mtu", MTU, "type", "veth", "peer", "name", &theirs, "mtu", MTU])?;
            ip(&["link", "set", &ours, "up"])?;
            ip(&["link", "set", &theirs, "up"])?;
            sockets.push((port, open(&ours).map_err(|error| TargetError::switch(&ours, &error))?));
        }
        Ok(Wires { sockets })
    }

    /// One frame into the switch.
    pub(super) fn send(&self, port: u16, frame: &[u8]) -> Result<(), TargetError> {
        let (_, wire) = self
            .sockets
            .iter()
            .find(|(number, _)| *number == port)
            .ok_or_else(|| TargetError::Setup(format!("nothing is attached to port {port}")))?;
        send(wire.as_raw_fd(), frame, MsgFlags::empty())
            .map_err(|error| TargetError::switch("send", &error))?;
        Ok(())
    }

    /// Takes everything that has come out.
    pub(super) fn collect(&self, frames: &mut Frames, at_us: u64) -> Result<(), TargetError> {
        let mut buffer = vec![0; BUFFER_OCTETS];
        for (port, wire) in &self.sockets {
            loop {
                match recv(wire.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
                    Ok(length) => {
                        let octets = buffer.get(..length).unwrap_or_default().to_vec();
                        frames.entry(*port).or_default().push(Seen { octets, at_us });
                    }
                    Err(Errno::EAGAIN) => break,
                    Err(Errno::EINTR) => {}
                    Err(error) => return Err(TargetError::switch("receive", &error)),
                }
            }
        }
        Ok(())
    }

    /// Waits until something comes out of any port.
    pub(super) fn wait(&self, at_most: Duration) -> Result<(), TargetError> {
        let mut ports: Vec<PollFd<'_>> =
            self.sockets.iter().map(|(_, wire)| PollFd::new(wire.as_fd(), PollFlags::POLLIN)).collect();
        let timeout = PollTimeout::try_from(at_most).unwrap_or(PollTimeout::MAX);
        match poll(&mut ports, timeout) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(TargetError::switch("poll", &error)),
        }
    }
}

fn open(interface: &str) -> Result<OwnedFd, Errno> {
    let wire = socket(
        AddressFamily::Packet,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
        SockProtocol::EthAll,
    )?;
    let address = getifaddrs()?
        .filter(|found| found.interface_name == interface)
        .find_map(|found| found.address.as_ref().and_then(|address| address.as_link_addr().copied()))
        .ok_or(Errno::ENODEV)?;
    debug_assert_eq!(address.family(), Some(AddressFamily::Packet));
    // The address has protocol 0: binding keeps the socket's own, all protocols.
    bind(wire.as_raw_fd(), &address)?;
    Ok(wire)
}

fn ip(arguments: &[&str]) -> Result<(), TargetError> {
    let what = format!("ip {}", arguments.join(" "));
    let output =
        Command::new("ip").args(arguments).output().map_err(|error| TargetError::switch(&what, &error))?;
    if output.status.success() {
        return Ok(());
    }
    Err(TargetError::Switch(format!("{what}: {}", String::from_utf8_lossy(&output.stderr).trim())))
}
