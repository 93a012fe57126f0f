//! DCQCN on a host, and the rate advice of switches as a bound besides.
//!
//! DCQCN itself runs in the RoCEv2 endpoint. Here is what sits beside it: the machine that takes Rate Advice (SCONE,
//! Solution 1) and what receivers return of Rate Signals (Solution 2), and bounds queue pairs by them; and the one that
//! returns the signals.

use std::net::{IpAddr, SocketAddr};

use controller::topology::{Scheme, Topology};
use roce::{Endpoint, Received, TxPacket};
use scone::bound::Approach;
use scone::receiver::{Carrier, FeedbackForm, Receiver, ReceiverConfig, ReceiverQp};
use scone::sender::{Sender, SenderConfig, SenderQp};
use wire::scone::RateSignal;
use wire::units::{BitPerSec, MbitPerSec, Nanos};

use super::nic::Nic;
use crate::parameters;
use crate::run::RunError;

/// The machines of a host.
#[derive(Debug)]
pub struct Advised {
    sender: Sender,
    /// Where data carries signals.
    signals: Option<Receiver>,
    address: IpAddr,
    port: u16,
    qps: Vec<u32>,
}

/// The Rate Signal that data starts with under a scheme: no advice yet.
pub fn rate_signal(topology: &Topology, scheme: Scheme) -> Option<RateSignal> {
    let (extension_type, _) = topology.domain.reports.rate_signal.filter(|_| scheme.takes_signals())?;
    Some(RateSignal { extension_type, rate: MbitPerSec(0) })
}

/// How bounds follow advice, where the topology says.
fn approach(topology: &Topology, approach: &mut Approach) {
    let given = &topology.scone;
    approach.step_interval = given.step_interval_ns.map_or(approach.step_interval, Nanos);
    approach.step_percent = given.step_percent.unwrap_or(approach.step_percent);
    approach.expiry = given.expiry_ns.map_or(approach.expiry, Nanos);
    approach.release_percent = given.release_percent.or(approach.release_percent);
}

impl Advised {
    /// Machines that trust the topology's switches and take what the scheme takes.
    pub fn new(topology: &Topology, name: &str, nic: &Nic, scheme: Scheme) -> Result<Self, RunError> {
        let (uplink, ..) = nic.uplink();
        let address = IpAddr::V4(nic.address);
        let mut config = SenderConfig::new(BitPerSec(uplink.rate_bps));
        config.addresses = [address].into();
        let reports = &topology.domain.reports;
        let floor = if scheme.takes_advice() {
            // Whoever doesn't take advice trusts no element.
            let gateways = topology.hosts.values().filter(|host| host.gateway_for.is_some());
            config.elements = parameters::crn_addresses(topology).into_iter().collect();
            config.elements.extend(gateways.map(|host| IpAddr::from(host.address)));
            reports.rate_advice.map(|(_, floor)| floor)
        } else {
            reports.rate_signal.map(|(_, floor)| floor)
        };
        if let Some(floor) = floor {
            config.floor = parameters::floor(floor);
        }
        approach(topology, &mut config.approach);
        let refused = |error: scone::sender::ConfigError| RunError::Parameters {
            host: name.to_owned(),
            reason: error.to_string(),
        };
        let port = topology.domain.ports.scone;
        let signals = rate_signal(topology, scheme)
            .map(|RateSignal { extension_type, .. }| {
                config.extension_type = Some(extension_type);
                let form = FeedbackForm::Dedicated;
                let config =
                    ReceiverConfig { floor: config.floor, ..ReceiverConfig::new(extension_type, port, form) };
                Receiver::new(config)
            })
            .transpose()
            .map_err(refused)?;
        let sender = Sender::new(config).map_err(refused)?;
        Ok(Self { sender, signals, address, port, qps: Vec::new() })
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

    /// A queue pair that this host will receive on.
    pub fn add_receiving_qp(&mut self, qp: u32, peer: IpAddr) {
        if let Some(signals) = &mut self.signals {
            signals.add_qp(ReceiverQp { qp, peer, peer_qp: qp });
        }
    }

    /// A RoCEv2 packet that may carry feedback.
    pub fn take_packet(&mut self, from: IpAddr, head: &[u8], now: Nanos) {
        // As with datagrams below.
        let _ = self.sender.handle_packet(from, head, now);
    }

    /// Data that the endpoint accepted.
    pub fn take_data(&mut self, received: &Received, now: Nanos) {
        let Some(signals) = &mut self.signals else { return };
        // What isn't recorded is counted by the machine.
        match received.rate_signal {
            Some(Ok(signal)) => {
                let carrier = Carrier::Request;
                let _ = signals.record(received.qp, received.from, signal, carrier, now);
            }
            Some(Err(unreadable)) => drop(signals.record_unreadable(unreadable)),
            None => {}
        }
    }

    /// Lets a packet that leaves take feedback along.
    pub fn attach(&mut self, packet: &mut TxPacket, now: Nanos) {
        if let Some(signals) = &mut self.signals {
            signals.attach(packet.qp, &mut packet.head, now);
        }
    }

    /// A datagram to the SCONE port.
    pub fn take_datagram(&mut self, from: SocketAddr, octets: &[u8], now: Nanos) {
        // What is discarded is counted by the machine; there is nobody else to tell.
        let _ = self.sender.handle_datagram(from.ip(), octets, now);
    }

    /// Tells the machine what the queue pairs want, and the endpoint what they may; queues what is returned.
    pub fn work(&mut self, nic: &mut Nic, roce: &mut Endpoint, now: Nanos) {
        if let Some(signals) = &mut self.signals {
            while let Some(datagram) = signals.poll_transmit(now) {
                nic.queue_control(self.port, datagram.to, &datagram.octets);
            }
        }
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

    /// Whether any advice was taken so far.
    pub fn was_advised(&self) -> bool {
        let stats = self.sender.stats();
        stats.advice + stats.dedicated + stats.acks + stats.cnps > 0
    }

    /// When the machine wants to be called.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        let signals = self.signals.as_ref().and_then(Receiver::poll_timeout);
        [self.sender.poll_timeout(), signals].into_iter().flatten().min()
    }
}
