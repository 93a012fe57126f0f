//! The test bed's side of the switch's ports: a veth pair each, in this thread's namespace. Frames enter through a packet
//! socket on our end. What leaves is seen on the switch's own end, as the switch sends it: on the way to the other end the
//! kernel would take VLAN tags out of it.

use std::fs;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::process::Command;
use std::time::Duration;

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrLike as _, bind, recvfrom,
    send, socket,
};

use super::Frames;
use crate::target::{Seen, TargetError};

/// `sll_pkttype` of a frame that this machine sends.
const PACKET_OUTGOING: u8 = 4;
/// Larger than any frame of a case.
const MTU: &str = "9216";
const BUFFER_OCTETS: usize = 16384;

/// The switch's end of port N's pair; ours is `hN`.
pub(super) fn switch_end(port: u16) -> String {
    format!("s{port}")
}

/// All ports.
pub(super) struct Wires {
    ports: Vec<Wire>,
}

/// One port's sockets.
struct Wire {
    port: u16,
    into: OwnedFd,
    out_of: OwnedFd,
}

impl Wires {
    pub(super) fn new(ports: &[u16]) -> Result<Wires, TargetError> {
        // Nobody but the case sends anything here: no neighbour discovery. Kernels without IPv6 need no telling.
        for scope in ["all", "default"] {
            let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1");
        }
        ip(&["link", "set", "lo", "up"])?;
        let mut wires = Vec::with_capacity(ports.len());
        for &port in ports {
            let (ours, theirs) = (format!("h{port}"), switch_end(port));
            ip(&["link", "add", &ours, "mtu", MTU, "type", "veth", "peer", "name", &theirs, "mtu", MTU])?;
            ip(&["link", "set", &ours, "up"])?;
            ip(&["link", "set", &theirs, "up"])?;
            let socket = |name: &str| open(name).map_err(|error| TargetError::switch(name, &error));
            wires.push(Wire { port, into: socket(&ours)?, out_of: socket(&theirs)? });
        }
        Ok(Wires { ports: wires })
    }

    /// One frame into the switch.
    pub(super) fn send(&self, port: u16, frame: &[u8]) -> Result<(), TargetError> {
        let wire = self
            .ports
            .iter()
            .find(|wire| wire.port == port)
            .ok_or_else(|| TargetError::Setup(format!("nothing is attached to port {port}")))?;
        send(wire.into.as_raw_fd(), frame, MsgFlags::empty())
            .map_err(|error| TargetError::switch("send", &error))?;
        Ok(())
    }

    /// Takes everything that has come out.
    pub(super) fn collect(&self, frames: &mut Frames, at_us: u64) -> Result<(), TargetError> {
        let mut buffer = vec![0; BUFFER_OCTETS];
        for wire in &self.ports {
            loop {
                match recvfrom::<LinkAddr>(wire.out_of.as_raw_fd(), &mut buffer) {
                    Ok((length, from)) => {
                        if from.is_some_and(|from| from.pkttype() == PACKET_OUTGOING) {
                            let octets = buffer.get(..length).unwrap_or_default().to_vec();
                            frames.entry(wire.port).or_default().push(Seen { octets, at_us });
                        }
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
            self.ports.iter().map(|wire| PollFd::new(wire.out_of.as_fd(), PollFlags::POLLIN)).collect();
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
