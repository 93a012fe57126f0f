//! A network interface's frames: an `AF_PACKET` socket that takes and gives many at once.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, MultiHeaders, SetSockOpt as _, SockFlag,
    SockProtocol, SockType, bind, recv, recvmmsg, sendmmsg, setsockopt, socket, sockopt,
};
use nix::{setsockopt_impl, sockopt_impl};

/// Frames per system call.
pub const BATCH: usize = 64;

/// Longest frame taken: with segmentation offload, a veth gives up to 64 KiB of IP.
const FRAME_OCTETS: usize = 65_536 + 64;

/// Room for frames that wait in the socket: bursts that come while the switch is busy.
const RECEIVE_OCTETS: usize = 8 << 20;

/// How long a frame waits for room in the interface's queue, ms; then it is lost.
const SEND_PATIENCE_MS: u16 = 10;

/// More can't come between a socket's making and its binding.
const STRAYS: usize = 10_000;

/// Octets of a frame before its VLAN tag.
const ADDRESS_OCTETS: usize = 12;

/// `linux/if_packet.h`: the frame had a VLAN tag, and its type is known.
const TAG_VALID: u32 = 1 << 4;
const TAG_TYPE_VALID: u32 = 1 << 6;

sockopt_impl!(
    /// Says with each frame which VLAN tag the kernel has taken off it.
    AuxiliaryData,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_AUXDATA,
    bool
);
sockopt_impl!(
    /// The interface takes all frames, not only those for it.
    Membership,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_ADD_MEMBERSHIP,
    libc::packet_mreq
);

/// An interface whose frames can't be had.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The process may not.
    #[error(
        "no permission to open a packet socket on {0}; run it as root, or give the binary the capability CAP_NET_RAW"
    )]
    NoPermission(String),
    /// There is no such interface.
    #[error("there is no interface {0} here; `ip link` lists them, `ip link add ... type veth` makes one")]
    NoInterface(String),
    /// The system refuses.
    #[error("interface {interface}: {}", reason.desc())]
    System {
        /// The interface.
        interface: String,
        /// Why.
        reason: Errno,
    },
}

/// An interface.
#[derive(Debug)]
pub struct Link {
    name: String,
    fd: OwnedFd,
}

/// Memory for one batch; shared by all interfaces of a thread.
pub struct Buffers {
    frames: Vec<Vec<u8>>,
    headers: MultiHeaders<LinkAddr>,
    send: MultiHeaders<()>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self::new()
    }
}

impl Buffers {
    /// A thread's own.
    pub fn new() -> Buffers {
        Buffers {
            frames: vec![vec![0; FRAME_OCTETS]; BATCH],
            headers: MultiHeaders::preallocate(BATCH, Some(nix::cmsg_space!(libc::tpacket_auxdata))),
            send: MultiHeaders::preallocate(BATCH, None),
        }
    }
}

/// What became of the frames given to an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Taken by the kernel.
    pub frames: u64,
    /// Their octets.
    pub octets: u64,
    /// Refused: the interface is down, the frame is longer than its MTU, its queue stayed full.
    pub failed: u64,
}

/// A frame's place in its buffer, and the tag to be put back.
struct Got {
    buffer: usize,
    octets: usize,
    tag: Option<[u8; 4]>,
}

impl Link {
    /// Takes an interface's frames from now on.
    ///
    /// # Errors
    /// [`LinkError`].
    pub fn open(name: &str) -> Result<Link, LinkError> {
        let refused = |errno: Errno| match errno {
            Errno::EPERM | Errno::EACCES => LinkError::NoPermission(name.to_owned()),
            Errno::ENODEV | Errno::ENXIO => LinkError::NoInterface(name.to_owned()),
            reason => LinkError::System { interface: name.to_owned(), reason },
        };
        let address = address_of(name).map_err(refused)?;
        // Without protocol nothing comes until the socket is bound: nothing of other interfaces.
        let fd = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            SockProtocol::EthAll,
        )
        .map_err(refused)?;
        let _ = setsockopt(&fd, sockopt::RcvBufForce, &RECEIVE_OCTETS)
            .or_else(|_| setsockopt(&fd, sockopt::RcvBuf, &RECEIVE_OCTETS));
        AuxiliaryData.set(&fd, &true).map_err(refused)?;
        let everything = libc::packet_mreq {
            mr_ifindex: i32::try_from(address.ifindex()).map_err(|_| refused(Errno::ENODEV))?,
            mr_type: u16::try_from(libc::PACKET_MR_PROMISC).unwrap_or(1),
            mr_alen: 0,
            mr_address: [0; 8],
        };
        Membership.set(&fd, &everything).map_err(refused)?;
        bind(fd.as_raw_fd(), &address).map_err(refused)?;
        let link = Link { name: name.to_owned(), fd };
        link.forget_strays();
        Ok(link)
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Drops what came from all interfaces before the socket was bound to one. Bounded, since more may be coming.
    fn forget_strays(&self) {
        let mut octet = [0];
        for _ in 0..STRAYS {
            if recv(self.fd.as_raw_fd(), &mut octet, MsgFlags::MSG_DONTWAIT).is_err() {
                return;
            }
        }
    }

    /// Takes what has come, at most one batch; `spare` gives memory, `take` gets each frame.
    ///
    /// # Errors
    /// `EAGAIN`: nothing is there. `ENETDOWN`: the interface went down.
    pub fn receive(
        &self,
        buffers: &mut Buffers,
        mut spare: impl FnMut() -> Vec<u8>,
        mut take: impl FnMut(Vec<u8>),
    ) -> Result<usize, Errno> {
        let mut got = Vec::with_capacity(BATCH);
        let mut slices: Vec<[IoSliceMut<'_>; 1]> =
            buffers.frames.iter_mut().map(|frame| [IoSliceMut::new(frame)]).collect();
        let received = recvmmsg(
            self.fd.as_raw_fd(),
            &mut buffers.headers,
            slices.iter_mut(),
            MsgFlags::MSG_DONTWAIT,
            None,
        )?;
        let mut count = 0;
        for (buffer, message) in received.enumerate() {
            count += 1;
            // What leaves through the interface by others' hands isn't for us.
            let outgoing = message.address.is_some_and(|from| from.pkttype() == libc::PACKET_OUTGOING);
            if outgoing || message.flags.contains(MsgFlags::MSG_TRUNC) {
                continue;
            }
            let tag = message.cmsgs().ok().and_then(|mut cmsgs| cmsgs.find_map(|cmsg| tag(&cmsg)));
            got.push(Got { buffer, octets: message.bytes, tag });
        }
        for Got { buffer, octets, tag } in got {
            let Some(frame) = buffers.frames[buffer].get(..octets) else { continue };
            let mut octets = spare();
            match tag {
                Some(tag) if frame.len() >= ADDRESS_OCTETS => {
                    let (addresses, rest) = frame.split_at(ADDRESS_OCTETS);
                    octets.extend_from_slice(addresses);
                    octets.extend_from_slice(&tag);
                    octets.extend_from_slice(rest);
                }
                _ => octets.extend_from_slice(frame),
            }
            take(octets);
        }
        Ok(count)
    }

    /// Gives frames to the interface, in order.
    pub fn send(&self, buffers: &mut Buffers, frames: &[Vec<u8>]) -> Sent {
        let mut sent = Sent::default();
        let mut rest = frames;
        let mut waited = false;
        while let Some(first) = rest.first() {
            let slices: Vec<[IoSlice<'_>; 1]> =
                rest.iter().take(BATCH).map(|frame| [IoSlice::new(frame)]).collect();
            let nowhere = [None; BATCH];
            let flags = MsgFlags::MSG_DONTWAIT;
            let result = sendmmsg(
                self.fd.as_raw_fd(),
                &mut buffers.send,
                &slices,
                &nowhere[..slices.len()],
                [],
                flags,
            )
            .map(Iterator::count);
            match result {
                Ok(count) if count > 0 => {
                    let (done, after) = rest.split_at(count.min(rest.len()));
                    sent.frames += done.len() as u64;
                    sent.octets += done.iter().map(|frame| frame.len() as u64).sum::<u64>();
                    rest = after;
                    waited = false;
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN | Errno::ENOBUFS) if !waited => {
                    let mut this = [PollFd::new(self.fd.as_fd(), PollFlags::POLLOUT)];
                    let _ = poll(&mut this, PollTimeout::from(SEND_PATIENCE_MS));
                    waited = true;
                }
                // It concerns the first one: too short or too long, or there is no room, or nobody to send to.
                Ok(_) | Err(_) => {
                    drop(slices);
                    let _ = first;
                    sent.failed += 1;
                    rest = &rest[1..];
                }
            }
        }
        sent
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The interface's address as a packet socket is bound to it; its protocol is 0, which keeps the socket's own.
fn address_of(name: &str) -> Result<LinkAddr, Errno> {
    let found = nix::ifaddrs::getifaddrs()?
        .filter(|found| found.interface_name == name)
        .find_map(|found| found.address.as_ref().and_then(|address| address.as_link_addr().copied()));
    found.ok_or(Errno::ENODEV)
}

/// The tag that the kernel has taken off a frame: type, then priority and VLAN.
fn tag(message: &ControlMessageOwned) -> Option<[u8; 4]> {
    let ControlMessageOwned::Unknown(message) = message else { return None };
    let header = &message.cmsg_header;
    if header.cmsg_level != libc::SOL_PACKET || header.cmsg_type != libc::PACKET_AUXDATA {
        return None;
    }
    // tpacket_auxdata: status, length and captured length of 32 bits, then mac, net, tci and type of 16 each.
    let data = &message.data_bytes;
    let status = u32::from_ne_bytes(*data.first_chunk()?);
    if status & TAG_VALID == 0 {
        return None;
    }
    let tci = u16::from_ne_bytes(*data.get(16..)?.first_chunk()?);
    let known = if status & TAG_TYPE_VALID == 0 { None } else { data.get(18..)?.first_chunk() };
    let tag_type = known.map_or(0x8100, |octets| u16::from_ne_bytes(*octets));
    let ([t0, t1], [v0, v1]) = (tag_type.to_be_bytes(), tci.to_be_bytes());
    Some([t0, t1, v0, v1])
}
