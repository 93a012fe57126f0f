//! What passes each switch port, both directions, in a pcapng file each.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{BufWriter, IoSliceMut, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use miette::{IntoDiagnostic as _, Result, WrapErr as _, miette};
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recvmsg,
    setsockopt, socket, sockopt,
};
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};

use super::network::Network;
use super::process::within;

/// Longest frame kept whole: a host's segmentation may give up to 64 KiB of IP.
const FRAME_OCTETS: usize = 65_536 + 64;
/// Frames that may wait for the capture, in octets.
const WAITING_OCTETS: usize = 16 << 20;
/// How long the end of a capture may go unnoticed, ms.
const LOOK_MS: u16 = 50;
/// Timestamps are in units of 10^-9 s.
const NANOSECONDS: u8 = 9;
/// `epb_flags`: into the switch, and out of it.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// A capture under way.
#[derive(Debug)]
pub struct Capture {
    stop: Arc<AtomicBool>,
    writing: JoinHandle<Result<u64>>,
}

/// A port and its file.
struct Port {
    fd: OwnedFd,
    file: PcapNgWriter<BufWriter<File>>,
}

impl Capture {
    /// Begins: `IFACE.pcapng` for each interface of the switches, in a folder that is made if there is none.
    pub fn begin(network: &Network, folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).into_diagnostic().wrap_err_with(|| folder.display().to_string())?;
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        let writing = within(&network.switches(), || {
            let ports =
                network.interfaces().map(|name| Port::open(name, folder)).collect::<Result<Vec<_>>>()?;
            let write = move || write(ports, &until);
            thread::Builder::new().name("capture".to_owned()).spawn(write).into_diagnostic()
        })?;
        Ok(Self { stop, writing })
    }

    /// Ends, with all that came until now written; gives how many frames that were.
    pub fn end(self) -> Result<u64> {
        self.stop.store(true, Ordering::Release);
        self.writing.join().map_err(|_| miette!("the capture's thread panicked"))?
    }
}

impl Port {
    fn open(name: &str, folder: &Path) -> Result<Self> {
        let path = folder.join(format!("{name}.pcapng"));
        let file = File::create(&path).into_diagnostic().wrap_err_with(|| path.display().to_string())?;
        let mut file = PcapNgWriter::new(BufWriter::new(file)).into_diagnostic()?;
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        file.write_pcapng_block(interface).into_diagnostic()?;
        let fd = listen(name).into_diagnostic().wrap_err_with(|| format!("no packet socket on {name}"))?;
        Ok(Self { fd, file })
    }

    /// Writes what has come; gives how many frames.
    fn drain(&mut self, buffer: &mut [u8]) -> Result<u64> {
        let mut frames = 0;
        let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
        loop {
            let mut slices = [IoSliceMut::new(buffer)];
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
            let message =
                match recvmsg::<LinkAddr>(self.fd.as_raw_fd(), &mut slices, Some(&mut control), flags) {
                    Ok(message) => message,
                    Err(Errno::EAGAIN | Errno::ENETDOWN) => return Ok(frames),
                    Err(Errno::EINTR) => continue,
                    Err(error) => return Err(error).into_diagnostic(),
                };
            let outgoing = message.address.is_some_and(|from| from.pkttype() == libc::PACKET_OUTGOING);
            let stamp = message.cmsgs().into_diagnostic()?.find_map(|cmsg| match cmsg {
                ControlMessageOwned::ScmTimestampns(time) => Some(Duration::from(time)),
                _ => None,
            });
            let octets = message.bytes;
            let packet = EnhancedPacketBlock {
                interface_id: 0,
                timestamp: stamp.unwrap_or_default(),
                original_len: u32::try_from(octets).unwrap_or(u32::MAX),
                data: Cow::Borrowed(&buffer[..octets.min(buffer.len())]),
                options: vec![EnhancedPacketOption::Flags(if outgoing { OUTBOUND } else { INBOUND })],
            };
            self.file
                .write_pcapng_block(packet)
                .into_diagnostic()
                .wrap_err("the capture can't be written")?;
            frames += 1;
        }
    }
}

/// A socket that gets every frame of an interface, with the time.
fn listen(name: &str) -> Result<OwnedFd, Errno> {
    let found = nix::ifaddrs::getifaddrs()?
        .filter(|found| found.interface_name == name)
        .find_map(|found| found.address.as_ref().and_then(|address| address.as_link_addr().copied()));
    let address = found.ok_or(Errno::ENODEV)?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    // The switches' namespace is quiet still: nothing of another interface comes before it is bound to this one.
    let fd = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll)?;
    let _ = setsockopt(&fd, sockopt::RcvBufForce, &WAITING_OCTETS);
    setsockopt(&fd, sockopt::ReceiveTimestampns, &true)?;
    bind(fd.as_raw_fd(), &address)?;
    Ok(fd)
}

fn write(mut ports: Vec<Port>, until: &AtomicBool) -> Result<u64> {
    let mut buffer = vec![0; FRAME_OCTETS];
    let mut frames = 0;
    loop {
        // Asked first: what came before the end is still written.
        let last = until.load(Ordering::Acquire);
        for port in &mut ports {
            frames += port.drain(&mut buffer)?;
        }
        if last {
            break;
        }
        let mut waiting: Vec<PollFd<'_>> =
            ports.iter().map(|port| PollFd::new(port.fd.as_fd(), PollFlags::POLLIN)).collect();
        match poll(&mut waiting, PollTimeout::from(LOOK_MS)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error).into_diagnostic(),
        }
    }
    for port in ports {
        port.file.into_inner().flush().into_diagnostic().wrap_err("the capture can't be written")?;
    }
    Ok(frames)
}
