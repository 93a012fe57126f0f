//! What is agreed on before a queue pair works.

use core::net::IpAddr;

use wire::roce::{MASK_24, Psn};
use wire::scone::RateSignal;
use wire::units::Nanos;

use crate::dcqcn;

/// Parameters of one end of a queue pair. The other end has the two queue pair numbers and the two first packet
/// numbers exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QpConfig {
    /// This end's number, 24 bits, unique within the endpoint.
    pub local_qp: u32,
    /// The number at the other end, 24 bits.
    pub remote_qp: u32,
    /// The host of the other end. Packets from elsewhere are refused.
    pub remote: IpAddr,
    /// Payload octets of a packet: 256, 512, 1024, 2048 or 4096.
    pub mtu: u16,
    /// UDP source port of every packet, the entropy by which the network spreads flows.
    pub source_port: u16,
    /// Number of the first packet that this end sends.
    pub first_psn: Psn,
    /// Number of the first packet that the other end sends.
    pub first_remote_psn: Psn,
    /// How long to wait for an acknowledgement that was asked for.
    pub retransmit_timeout: Nanos,
    /// How often in a row, without progress, to go back before giving up; `None` for no limit, which ibverbs doesn't have: a queue
    /// pair whose other end failed then goes back for ever.
    pub retry_limit: Option<u32>,
    /// How often in a row to wait for a receiver that isn't ready; `None` for no limit.
    pub rnr_retry_limit: Option<u32>,
    /// The code of the time that this end asks for when it isn't ready ([`wire::roce::Syndrome::rnr_wait`]).
    pub rnr_timer: u8,
    /// Packets sent and not acknowledged, at most; `None` for what packet numbers allow, 2^23 - 1.
    pub window_packets: Option<u32>,
    /// What both halves do about a gap.
    pub recovery: Recovery,
    /// RDMA READs outstanding at most, from this end and from the other.
    pub read_depth: u8,
    /// When the requester asks for an acknowledgement.
    pub ack_requests: AckRequests,
    /// DSCP of acknowledgements and CNPs.
    pub ack_dscp: u8,
    /// DSCP of RDMA READ requests' answers.
    pub read_response_dscp: u8,
    /// Whether RDMA WRITE and READ may touch only memory registered with the endpoint.
    pub check_memory: bool,
    /// DCQCN: this end answers marked packets with CNPs and paces its own by the CNPs that it gets. `None`: neither.
    pub dcqcn: Option<dcqcn::Config>,
    /// The SCONE extension of data packets: its type, and the rate that they start with, 0 or a probe. What extensions arrive is
    /// told ([`crate::Received`]). `None`: data carries none, and none is told of.
    pub rate_signal: Option<RateSignal>,
}

/// What a queue pair does when a packet is missing. Both ends should have the same, but any mixture works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// The responder drops what follows a gap; the requester sends again from the gap on.
    #[default]
    GoBackN,
    /// The responder keeps what follows a gap, as far as `reorder_packets` from it; the requester sends the missing packet
    /// again. InfiniBand's refusal names one packet, so when the next one is missing as well, the requester sends two, then
    /// four, and so on: a burst of n lost packets takes log n round trips.
    SelectiveRepeat {
        /// Packets kept at most.
        reorder_packets: u32,
    },
}

/// When a requester sets `AckReq`, besides always on the last packet that it has at hand and on the one that fills the
/// window, without which it would wait for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRequests {
    /// On the last packet of every message.
    pub every_message: bool,
    /// After this many packets without one; zero counts as one.
    pub packets: u32,
}

impl Default for AckRequests {
    /// Every message, and every 64 packets within long ones.
    fn default() -> Self {
        Self { every_message: true, packets: 64 }
    }
}

/// A parameter that can't be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QpConfigError {
    /// A queue pair number of more than 24 bits.
    #[error("queue pair number {0:#x}; it should be at most 0xffffff")]
    Number(u32),
    /// The number is in use.
    #[error("queue pair number {0:#x} is in use at this endpoint; it should be another")]
    InUse(u32),
    /// An MTU that RDMA doesn't have.
    #[error("MTU {0}; it should be 256, 512, 1024, 2048 or 4096")]
    Mtu(u16),
    /// A window of no packet, or of more than packet numbers can tell apart.
    #[error("window of {0} packets; it should be 1 to 8388607")]
    Window(u32),
    /// A reorder buffer of more than packet numbers can tell apart.
    #[error("reorder buffer of {0} packets; it should be at most 8388607")]
    Reorder(u32),
    /// A DSCP of more than six bits.
    #[error("DSCP {0}; it should be at most 63")]
    Dscp(u8),
    /// An RNR timer of more than five bits.
    #[error("RNR timer {0}; it should be at most 31")]
    RnrTimer(u8),
    /// A timeout of zero would go back for ever at one instant.
    #[error("retransmit timeout of 0 ns; it should be above the round-trip time")]
    Timeout,
    /// An extension type of zero reads as none in a CNP.
    #[error("Rate Signal extension type 0; it should be 1 to 255, the same in the whole domain")]
    ExtensionType,
    /// A parameter of DCQCN.
    #[error(transparent)]
    Dcqcn(#[from] dcqcn::ConfigError),
}

/// The largest window: half the packet numbers, so that a duplicate is never taken for a new packet.
pub(crate) const WINDOW_LIMIT: u32 = (1 << 23) - 1;

impl QpConfig {
    /// A queue pair between `local_qp` here and `remote_qp` at `remote`: MTU 4096, packet numbers from 0, a timeout of
    /// 1 ms, 7 retries and no limit to waiting for a receiver that isn't ready (as with ibverbs' 7 and 7), go-back-N, no
    /// congestion control.
    pub fn new(local_qp: u32, remote_qp: u32, remote: IpAddr) -> Self {
        Self {
            local_qp,
            remote_qp,
            remote,
            mtu: 4096,
            source_port: 49152,
            first_psn: Psn::new(0),
            first_remote_psn: Psn::new(0),
            retransmit_timeout: Nanos(1_000_000),
            retry_limit: Some(7),
            rnr_retry_limit: None,
            rnr_timer: 12,
            window_packets: None,
            recovery: Recovery::default(),
            read_depth: 16,
            ack_requests: AckRequests::default(),
            ack_dscp: 0,
            read_response_dscp: 0,
            check_memory: false,
            dcqcn: None,
            rate_signal: None,
        }
    }

    pub(crate) fn check(&self) -> Result<(), QpConfigError> {
        for number in [self.local_qp, self.remote_qp] {
            if number > MASK_24 {
                return Err(QpConfigError::Number(number));
            }
        }
        if !matches!(self.mtu, 256 | 512 | 1024 | 2048 | 4096) {
            return Err(QpConfigError::Mtu(self.mtu));
        }
        if let Some(window) = self.window_packets
            && !(1..=WINDOW_LIMIT).contains(&window)
        {
            return Err(QpConfigError::Window(window));
        }
        if self.reorder_packets() > WINDOW_LIMIT {
            return Err(QpConfigError::Reorder(self.reorder_packets()));
        }
        if let Some(dscp) = [self.ack_dscp, self.read_response_dscp].into_iter().find(|dscp| *dscp > 63) {
            return Err(QpConfigError::Dscp(dscp));
        }
        if self.rnr_timer > 31 {
            return Err(QpConfigError::RnrTimer(self.rnr_timer));
        }
        if self.retransmit_timeout == Nanos(0) {
            return Err(QpConfigError::Timeout);
        }
        if self.rate_signal.is_some_and(|signal| signal.extension_type == 0) {
            return Err(QpConfigError::ExtensionType);
        }
        if let Some(dcqcn) = &self.dcqcn {
            dcqcn.check()?;
        }
        Ok(())
    }

    pub(crate) fn window(&self) -> u64 {
        self.window_packets.unwrap_or(WINDOW_LIMIT).into()
    }

    /// Packets kept behind a gap at most.
    pub(crate) const fn reorder_packets(&self) -> u32 {
        match self.recovery {
            Recovery::GoBackN => 0,
            Recovery::SelectiveRepeat { reorder_packets } => reorder_packets,
        }
    }

    /// Packets of a message.
    pub(crate) fn packets(&self, octets: u32) -> u32 {
        // An empty message is one empty packet.
        octets.div_ceil(self.mtu.into()).max(1)
    }
}
