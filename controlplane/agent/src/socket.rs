//! UDP sockets that take and give many datagrams a system call, each with its DSCP and ECN field.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;
use std::task::{Context, Poll};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, SetSockOpt as _, SockFlag,
    SockType, SockaddrStorage, bind, recvmmsg, sendmmsg, setsockopt, socket, sockopt,
};
use nix::{setsockopt_impl, sockopt_impl};
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Datagrams per system call.
pub const BATCH: usize = 64;

/// The longest datagram taken: a jumbo frame's.
const DATAGRAM_OCTETS: usize = 9216;

/// Room for datagrams that wait in the kernel while the agent is busy.
const RECEIVE_OCTETS: usize = 8 << 20;

/// `linux/in.h`, for `IP_MTU_DISCOVER`: never fragment, whatever the path is thought to carry.
const NEVER_FRAGMENT: i32 = libc::IP_PMTUDISC_PROBE;

sockopt_impl!(
    /// How the kernel treats datagrams longer than the path's MTU. With "don't fragment" set, those of an unconnected
    /// socket carry the IPv4 identification 0.
    MtuDiscover,
    SetOnly,
    libc::IPPROTO_IP,
    libc::IP_MTU_DISCOVER,
    i32
);

sockopt_impl!(
    /// The same for IPv6, which has no identification: nothing is fragmented.
    MtuDiscoverV6,
    SetOnly,
    libc::IPPROTO_IPV6,
    libc::IPV6_MTU_DISCOVER,
    i32
);

/// `linux/in6.h`, for `IPV6_MTU_DISCOVER`.
const NEVER_FRAGMENT_V6: i32 = libc::IPV6_PMTUDISC_PROBE;

/// A socket that can't be had.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Its address is taken, or isn't this host's.
    #[error("UDP {address}: {reason}; {hint}")]
    Address {
        /// The address wanted.
        address: SocketAddr,
        /// The system's reason.
        reason: &'static str,
        /// What would be right.
        hint: &'static str,
    },
    /// The system gives none.
    #[error("can't make a UDP socket: {0}")]
    System(#[from] io::Error),
}

/// A datagram that came.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a> {
    /// Number of the socket that it came to, as the driver was given them.
    pub socket: usize,
    /// Where it comes from.
    pub from: SocketAddr,
    /// DSCP and ECN: type of service of the IPv4 header, traffic class of the IPv6 header.
    pub tos: u8,
    /// The UDP payload.
    pub octets: &'a [u8],
}

impl Arrived<'_> {
    /// Whether a router marked it: ECN's Congestion Experienced.
    pub const fn ce(&self) -> bool {
        self.tos & CE == CE
    }
}

/// A datagram to send.
#[derive(Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Number of the socket that it leaves by.
    pub socket: usize,
    /// Where it goes.
    pub to: SocketAddr,
    /// DSCP and ECN: type of service of the IPv4 header, traffic class of the IPv6 header.
    pub tos: u8,
    /// The UDP payload.
    pub octets: Vec<u8>,
}

/// ECN-capable transport, code point 0, in [`Outgoing::tos`].
pub const ECT0: u8 = 0b10;
/// Congestion Experienced.
const CE: u8 = 0b11;

/// The octet of the IP header for a DSCP, with the ECN field zero.
pub const fn tos(dscp: u8) -> u8 {
    dscp << 2
}

/// A UDP socket. Unconnected: its datagrams carry "don't fragment" and the identification 0, which `RoCEv2`'s ICRC covers.
#[derive(Debug)]
pub struct Socket {
    udp: UdpSocket,
    local: SocketAddr,
}

impl Socket {
    /// Binds a socket; port 0 takes one that is free. To be called within a tokio runtime.
    ///
    /// # Errors
    /// [`SocketError`].
    pub fn bind(address: impl Into<SocketAddr>) -> Result<Self, SocketError> {
        let address = address.into();
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        let fd = socket(family, SockType::Datagram, flags, None).map_err(io::Error::from)?;
        let _ = setsockopt(&fd, sockopt::RcvBufForce, &RECEIVE_OCTETS)
            .or_else(|_| setsockopt(&fd, sockopt::RcvBuf, &RECEIVE_OCTETS));
        if address.is_ipv4() {
            setsockopt(&fd, sockopt::IpRecvTos, &true).map_err(io::Error::from)?;
            MtuDiscover.set(&fd, &NEVER_FRAGMENT).map_err(io::Error::from)?;
        } else {
            setsockopt(&fd, sockopt::Ipv6V6Only, &true).map_err(io::Error::from)?;
            setsockopt(&fd, sockopt::Ipv6RecvTClass, &true).map_err(io::Error::from)?;
            MtuDiscoverV6.set(&fd, &NEVER_FRAGMENT_V6).map_err(io::Error::from)?;
        }
        bind(fd.as_raw_fd(), &SockaddrStorage::from(address)).map_err(|errno| SocketError::Address {
            address,
            reason: errno.desc(),
            hint: match errno {
                Errno::EADDRINUSE => "end what has it (`ss -ulpn` lists it)",
                Errno::EADDRNOTAVAIL => "give an address of this host (`ip address` lists them)",
                _ => "give another address or port",
            },
        })?;
        let udp = UdpSocket::from_std(fd.into())?;
        let local = udp.local_addr()?;
        Ok(Self { udp, local })
    }

    /// Its own address.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Ready when something may be read.
    pub fn poll_readable(&self, context: &mut Context<'_>) -> Poll<()> {
        self.udp.poll_recv_ready(context).map(|_| ())
    }

    /// Waits until something may be written.
    ///
    /// # Errors
    /// The runtime's, when it ends.
    pub async fn writable(&self) -> io::Result<()> {
        self.udp.writable().await
    }
}

/// Memory for one batch in either direction; one for all sockets of a thread.
pub struct Buffers {
    datagrams: Vec<Vec<u8>>,
    receive: MultiHeaders<SockaddrStorage>,
    send: MultiHeaders<SockaddrStorage>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self {
            datagrams: vec![vec![0; DATAGRAM_OCTETS]; BATCH],
            // IPv6's traffic class is the larger of the two control messages.
            receive: MultiHeaders::preallocate(BATCH, Some(nix::cmsg_space!(i32))),
            send: MultiHeaders::preallocate(BATCH, Some(nix::cmsg_space!(i32))),
        }
    }
}

impl Buffers {
    /// Takes what has come to a socket, at most one batch; gives how many datagrams that were. `take` gets each, and whether it is
    /// whole: of one that is longer than a jumbo frame's only the first octets are.
    ///
    /// # Errors
    /// The system's; nothing to read isn't one.
    pub fn receive(
        &mut self,
        number: usize,
        socket: &Socket,
        mut take: impl FnMut(&Arrived<'_>, bool),
    ) -> io::Result<usize> {
        let Self { datagrams, receive, .. } = self;
        let mut got: Vec<Got> = Vec::with_capacity(BATCH);
        let outcome = socket.udp.try_io(Interest::READABLE, || {
            let mut slices: Vec<[IoSliceMut<'_>; 1]> =
                datagrams.iter_mut().map(|datagram| [IoSliceMut::new(datagram)]).collect();
            let flags = MsgFlags::MSG_DONTWAIT;
            let received = recvmmsg(socket.udp.as_raw_fd(), receive, slices.iter_mut(), flags, None)?;
            for message in received {
                let marked = message.cmsgs().ok().and_then(|mut messages| messages.find_map(|m| tos_of(&m)));
                got.push(Got {
                    octets: message.bytes,
                    whole: !message.flags.contains(MsgFlags::MSG_TRUNC),
                    from: message.address.as_ref().and_then(source),
                    tos: marked.unwrap_or_default(),
                });
            }
            Ok(())
        });
        match outcome {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(0),
            Err(error) => return Err(error),
        }
        for (datagram, &Got { octets, whole, from, tos }) in self.datagrams.iter().zip(&got) {
            // The kernel names the source of every datagram.
            if let Some(octets) = datagram.get(..octets.min(datagram.len()))
                && let Some(from) = from
            {
                take(&Arrived { socket: number, from, tos, octets }, whole);
            }
        }
        Ok(got.len())
    }
}

/// What is known of a datagram beside its octets.
struct Got {
    octets: usize,
    whole: bool,
    from: Option<SocketAddr>,
    tos: u8,
}

fn source(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in().map(|address| SocketAddr::from(std::net::SocketAddrV4::from(*address)));
    v4.or_else(|| Some(std::net::SocketAddrV6::from(*address.as_sockaddr_in6()?).into()))
}

fn tos_of(message: &ControlMessageOwned) -> Option<u8> {
    match message {
        ControlMessageOwned::Ipv4Tos(tos) => Some(*tos),
        ControlMessageOwned::Ipv6TClass(class) => u8::try_from(*class).ok(),
        _ => None,
    }
}

/// Datagrams on their way to the sockets, at most [`BATCH`]. Its memory is kept from one batch to the next.
#[derive(Debug, Default)]
pub struct Outbox {
    spare: Vec<Vec<u8>>,
    waiting: std::collections::VecDeque<Outgoing>,
    sent: u64,
    refused: u64,
    last_refusal: Option<(SocketAddr, Errno)>,
}

impl Outbox {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Datagrams that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether a batch waits: nothing more should be added.
    pub fn is_full(&self) -> bool {
        self.waiting() >= BATCH
    }

    /// Adds a datagram whose payload `write` puts into an empty vector.
    pub fn push(
        &mut self,
        socket: usize,
        to: impl Into<SocketAddr>,
        tos: u8,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let mut octets = self.spare.pop().unwrap_or_default();
        octets.clear();
        write(&mut octets);
        self.waiting.push_back(Outgoing { socket, to: to.into(), tos, octets });
    }

    /// The next datagram, for who sends them by other means.
    pub fn pop(&mut self) -> Option<Outgoing> {
        self.waiting.pop_front()
    }

    /// Datagrams that the system took.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Datagrams that it refused: no route, too long for the interface, forbidden.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Where the last refused one should have gone, and why it couldn't.
    pub fn last_refusal(&self) -> Option<(SocketAddr, &'static str)> {
        self.last_refusal.map(|(to, errno)| (to, errno.desc()))
    }

    /// Gives the sockets what they take; the number of the socket that takes no more for now, if one does.
    ///
    /// # Errors
    /// None of a single datagram's: those are counted.
    pub fn flush(&mut self, sockets: &[Socket], buffers: &mut Buffers) -> Option<usize> {
        while let Some(first) = self.waiting.front() {
            let (number, tos) = (first.socket, first.tos);
            let Some(socket) = sockets.get(number) else {
                self.drop_first(Errno::ENOTSOCK);
                continue;
            };
            let alike =
                self.waiting.iter().take(BATCH).take_while(|out| (out.socket, out.tos) == (number, tos));
            let slices: Vec<[IoSlice<'_>; 1]> =
                alike.clone().map(|out| [IoSlice::new(&out.octets)]).collect();
            let addresses: Vec<Option<SockaddrStorage>> = alike.map(|out| Some(out.to.into())).collect();
            let headers = &mut buffers.send;
            let class = i32::from(tos);
            let marks = if socket.local.is_ipv4() {
                [ControlMessage::Ipv4Tos(&tos)]
            } else {
                [ControlMessage::Ipv6TClass(&class)]
            };
            let result = socket.udp.try_io(Interest::WRITABLE, || {
                let flags = MsgFlags::MSG_DONTWAIT;
                let sent = sendmmsg(socket.udp.as_raw_fd(), headers, &slices, &addresses, marks, flags)?;
                Ok(sent.count())
            });
            drop(slices);
            match result {
                Ok(0) => self.drop_first(Errno::EIO),
                Ok(count) => {
                    self.sent += count as u64;
                    for _ in 0..count {
                        self.recycle();
                    }
                }
                Err(error) => match error.raw_os_error().map(Errno::from_raw) {
                    _ if error.kind() == io::ErrorKind::WouldBlock => return Some(number),
                    Some(Errno::EINTR) => {}
                    // The interface's queue is full: as if the network had dropped it.
                    Some(errno) => self.drop_first(errno),
                    None => self.drop_first(Errno::EIO),
                },
            }
        }
        None
    }

    fn drop_first(&mut self, errno: Errno) {
        self.refused += 1;
        self.last_refusal = self.waiting.front().map(|first| (first.to, errno));
        self.recycle();
    }

    fn recycle(&mut self) {
        if let Some(out) = self.waiting.pop_front()
            && self.spare.len() < BATCH
        {
            self.spare.push(out.octets);
        }
    }
}
