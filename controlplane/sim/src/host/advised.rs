//! DCQCN on a host, and the rate advice of switches as a bound besides.
//!
//! DCQCN itself runs in the RoCEv2 endpoint. Here is what sits beside it: the machine that takes Rate Advice (SCONE,
//! Solution 1) and bounds queue pairs by it.

use std::net::{IpAddr, SocketAddr};

use controller::topology::Topology;
use roce::Endpoint;
use scone::sender::{Sender, SenderConfig, SenderQp};
use wire::units::{BitPerSec, MbitPerSec, Nanos};

use super::nic::Nic;
use crate::run::RunError;

/// The machines of a host that sends.
#[derive(Debug)]
pub struct Advised {
    sender: Sender,
    address: IpAddr,
    port: u16,
    qps: Vec<u32>,
}

impl Advised {
    /// A sender that trusts the topology's switches.
    pub fn new(topology: &Topology, name: &str, nic: &Nic) -> Result<Self, RunError> {
        let (uplink, ..) = nic.uplink();
        let address = IpAddr::V4(nic.address);
        let mut config = SenderConfig::new(BitPerSec(uplink.rate_bps));
        config.elements = topology.domain.crn_addresses.iter().map(|&address| address.into()).collect();
        config.addresses = [address].into();
        if let Some((_, floor)) = topology.domain.reports.rate_advice {
            config.floor = BitPerSec(floor).mbit_per_sec().max(MbitPerSec(1));
        }
        let sender = Sender::new(config)
            .map_err(|error| RunError::Parameters { host: name.to_owned(), reason: error.to_string() })?;
        Ok(Self { sender, address, port: topology.domain.ports.scone, qps: Vec::new() })
    }

    /// The UDP port that advice comes to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A queue pair that this host will send on.
    pub fn add_qp(&mut self, qp: u32, peer: IpAddr, now: Nanos) {
        self.sender.add_qp(SenderQp { qp, local: self.address, peer }, now);
        self.qps.push(qp);
    }

    /// A datagram to the SCONE port.
    pub fn take_datagram(&mut self, from: SocketAddr, octets: &[u8], now: Nanos) {
        // What is discarded is counted by the machine; there is nobody else to tell.
        let _ = self.sender.handle_datagram(from.ip(), octets, now);
    }

    /// Tells the machine what the queue pairs want, and the endpoint what they may.
    pub fn work(&mut self, roce: &mut Endpoint, now: Nanos) {
        for &qp in &self.qps {
            let wants = roce.pending_messages(qp).is_some_and(|messages| messages > 0);
            let demand = if wants { roce.dcqcn_rate(qp, now).ok().flatten() } else { None };
            self.sender.set_demand(qp, demand.unwrap_or_default(), now);
        }
        if self.sender.poll_timeout().is_some_and(|at| at <= now) {
            self.sender.handle_timeout(now);
        }
        while let Some(qp) = self.sender.poll_change() {
            let bound = self.sender.bound(qp, now);
            // The queue pair exists: this host made it.
            let _ = roce.set_bound(qp, bound);
        }
    }

    /// When the machine wants to be called.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.sender.poll_timeout()
    }
}
