//! The SCONE gateway of a data center, as a host beside the data center's border switch.
//!
//! What the switch would send over the WAN of its own network's Rate Advice comes here instead (`Fabric` diverts it), becomes
//! backpressure to the gateway at the other end, which advises the senders there.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use controller::topology::{Prefix, Topology};
use scone::gateway::{Gateway, GatewayConfig, Remote, Site};
use wire::units::Nanos;

use super::nic::Nic;
use crate::parameters;
use crate::run::RunError;

/// The machine on a host.
#[derive(Debug)]
pub struct Gate {
    gateway: Gateway,
    port: u16,
}

impl Gate {
    /// The gateway of `served`; all gateways of the topology know each other.
    pub fn new(
        topology: &Topology,
        (name, address): (&str, IpAddr),
        served: Prefix,
    ) -> Result<Self, RunError> {
        let refused = |reason: String| RunError::Parameters { host: name.to_owned(), reason };
        let mut config = GatewayConfig::new(address, topology.domain.ports.scone);
        config.elements = parameters::crn_addresses(topology).into_iter().collect();
        if let Some((_, floor)) = topology.domain.reports.rate_advice {
            config.floor = parameters::floor(floor);
        }
        if let Some(expiry) = topology.scone.expiry_ns {
            config.expiry = Nanos(expiry);
            // Several times within it, as with the defaults.
            config.repeat = Nanos(expiry * 2 / 5).max(config.interval);
        }
        for host in topology.hosts.values() {
            let Some(prefix) = host.gateway_for else { continue };
            let site = site(topology, prefix).map_err(refused)?;
            if prefix == served {
                config.served.push(site);
            } else {
                config.remote.push(Remote { site, gateway: host.address.into() });
            }
        }
        let hosts: Vec<_> = config
            .served
            .iter()
            .chain(config.remote.iter().map(|remote| &remote.site))
            .flat_map(|site| site.senders.iter().copied())
            .collect();
        let senders = senders(topology);
        let mut gateway = Gateway::new(config).map_err(|error| refused(error.to_string()))?;
        for host in hosts {
            gateway.set_active(host, senders.contains(&host));
        }
        Ok(Self { gateway, port: topology.domain.ports.scone })
    }

    /// The UDP port that advice comes to, whomever it is for.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A datagram to the SCONE port.
    pub fn take_datagram(&mut self, from: SocketAddr, octets: &[u8], now: Nanos) {
        // What is discarded is counted by the machine; there is nobody else to tell.
        let _ = self.gateway.handle_datagram(from.ip(), octets, now);
    }

    /// Queues what is due.
    pub fn work(&mut self, nic: &mut Nic, now: Nanos) {
        while let Some(datagram) = self.gateway.poll_transmit(now) {
            nic.queue_control(self.port, datagram.to, &datagram.octets);
        }
    }

    /// When the machine wants to be called.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.gateway.poll_timeout()
    }
}

/// Who sends in the workload.
fn senders(topology: &Topology) -> BTreeSet<IpAddr> {
    let pairs = topology.workloads.iter().flat_map(|workload| &workload.pairs);
    pairs.filter_map(|(sender, _)| topology.hosts.get(sender)).map(|host| host.address.into()).collect()
}

/// The hosts with an address of the prefix, but for gateways.
fn site(topology: &Topology, prefix: Prefix) -> Result<Site, String> {
    let hosts = topology.hosts.values().filter(|host| host.gateway_for.is_none());
    let addresses = hosts.map(|host| IpAddr::from(host.address));
    let senders = addresses.filter(|&address| prefix.holds(address)).collect();
    let (address, length) = prefix.parts();
    let prefix = ipnet::IpNet::new(address, length).map_err(|error| error.to_string())?;
    Ok(Site { prefix, senders })
}
