//! The command line of SCONE's agents.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use controller::topology::{self, PortFault, port_fault};
use miette::{IntoDiagnostic as _, Result, miette};
use scone::bound::Approach;
use scone::gateway::{GatewayConfig, Remote, Site};
use scone::sender::SenderConfig;
use wire::units::{BitPerSec, MbitPerSec};

use crate::agent_command::args::{Time, quantity};

/// What both agents take.
#[derive(clap::Args)]
pub struct Common {
    /// This host's own address, where advice comes to; IPv4 or IPv6
    #[arg(long, value_name = "ADDRESS")]
    pub address: IpAddr,
    /// The domain's SCONE port, 49152 to 65535; there is no default
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// Take a port outside 49152 to 65535
    #[arg(long)]
    allow_any_port: bool,
    /// Advice below this is taken for forged
    #[arg(long, value_name = "RATE", default_value = "10Mbps")]
    floor: Rate,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
    /// Serve /metrics (Prometheus) here, as in 127.0.0.1:9466
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = crate::http::address)]
    pub listen: Option<SocketAddr>,
}

/// Arguments of `crn agent scone`.
#[derive(clap::Args)]
pub struct Advice {
    #[command(flatten)]
    pub common: Common,
    /// A network element or gateway whose advice is taken; may be repeated
    #[arg(long = "element", value_name = "ADDRESS", required = true)]
    elements: Vec<IpAddr>,
    /// Another address of this host that advice may be for; may be repeated
    #[arg(long = "source", value_name = "ADDRESS")]
    sources: Vec<IpAddr>,
    /// Rate of the host's link, as in 25Gbps
    #[arg(long, value_name = "RATE")]
    link_rate: Rate,
    /// Limit what leaves this interface from advised addresses, by tc; the interface is restored at the end
    #[arg(long, value_name = "INTERFACE")]
    pub limit: Option<String>,
    /// Between two steps of a cap
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    step: Time,
    /// How much of the gap to the advised rate a step closes
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = clap::value_parser!(u8).range(1..=100))]
    step_percent: u8,
    /// How long advice holds
    #[arg(long, value_name = "TIME", default_value = "1s")]
    expiry: Time,
    /// By how much of itself an expired cap rises a step, until it is gone at the link's rate; 0: it is gone at once
    #[arg(long, value_name = "PERCENT", default_value_t = 10)]
    release_percent: u8,
}

/// Arguments of `crn agent scone-gateway`.
#[derive(clap::Args)]
pub struct Gateway {
    #[command(flatten)]
    pub common: Common,
    /// A network element of this data center whose advice is taken; may be repeated
    #[arg(long = "element", value_name = "ADDRESS")]
    elements: Vec<IpAddr>,
    /// A prefix served here and its senders, as in 10.1.0.0/16=10.1.0.1,10.1.0.2; may be repeated
    #[arg(long, value_name = "PREFIX=SENDERS")]
    serve: Vec<SiteArgument>,
    /// A prefix behind another gateway, its senders and the gateway, as in 10.2.0.0/16=10.2.0.1@10.2.255.254; may be repeated
    #[arg(long, value_name = "PREFIX=SENDERS@GATEWAY")]
    remote: Vec<RemoteArgument>,
    /// DSCP of what the gateway sends
    #[arg(long, default_value_t = 48, value_parser = clap::value_parser!(u8).range(0..64))]
    pub dscp: u8,
    /// How long advice and backpressure hold
    #[arg(long, value_name = "TIME", default_value = "1s")]
    expiry: Time,
    /// Between two datagrams to one addressee passes at least so much
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    interval: Time,
    /// While it holds, advice is repeated after so much
    #[arg(long, value_name = "TIME", default_value = "400ms")]
    repeat: Time,
}

impl Common {
    //= SCONE, UDP Encapsulation: 8be0094c
    /// Whether the port can be the domain's, as in a topology file.
    fn check(&self) -> Result<()> {
        let port = self.port;
        match port_fault(port, self.allow_any_port) {
            None => Ok(()),
            Some(PortFault::Data(whose)) => {
                Err(miette!("--port {port} is {whose}'s; rate advice has a port of its own"))
            }
            Some(PortFault::OutsideRange) => Err(miette!(
                "--port {port} is outside the dynamic range; it should be 49152 to 65535, or stand beside --allow-any-port"
            )),
        }
    }
}

impl Advice {
    /// The machine's parameters, checked.
    pub fn config(&self) -> Result<SenderConfig> {
        self.common.check()?;
        let own = self.common.address;
        if own.is_unspecified() && self.sources.is_empty() {
            return Err(miette!(
                "--address {own} is nobody's; name the addresses that advice may be for, by --source"
            ));
        }
        if let Some(element) = self.elements.iter().find(|element| element.is_ipv4() != own.is_ipv4()) {
            return Err(miette!(
                "nothing of --element {element} comes to --address {own}; both should be of one IP version"
            ));
        }
        let config = SenderConfig {
            elements: self.elements.iter().copied().collect(),
            addresses: self
                .sources
                .iter()
                .copied()
                .chain([own])
                .filter(|own| !own.is_unspecified())
                .collect(),
            extension_type: None,
            floor: self.common.floor.mbit(),
            line_rate: BitPerSec(self.link_rate.0),
            approach: Approach {
                step_interval: self.step.0,
                step_percent: self.step_percent,
                expiry: self.expiry.0,
                release_percent: Some(self.release_percent).filter(|&percent| percent > 0),
            },
        };
        config.check().into_diagnostic()?;
        Ok(config)
    }
}

impl Gateway {
    /// The machine's parameters, checked.
    pub fn config(&self) -> Result<GatewayConfig> {
        self.common.check()?;
        let own = self.common.address;
        if own.is_unspecified() {
            return Err(miette!(
                "--address {own}; it should be the one address by which senders and gateways know this one"
            ));
        }
        match (self.elements.is_empty(), self.serve.is_empty(), self.remote.is_empty()) {
            (_, true, true) => {
                return Err(miette!("a gateway for nobody; give --serve, --remote or both"));
            }
            (true, false, true) => {
                return Err(miette!(
                    "nobody tells this gateway anything; give --element, or the gateways that press back, by --remote"
                ));
            }
            (true, true, false) => {
                return Err(miette!("nobody tells this gateway what to press back; give --element"));
            }
            _ => {}
        }
        let config = GatewayConfig {
            elements: self.elements.iter().copied().collect(),
            served: self.serve.iter().map(|site| site.0.clone()).collect(),
            remote: self.remote.iter().map(|remote| remote.0.clone()).collect(),
            floor: self.common.floor.mbit(),
            expiry: self.expiry.0,
            interval: self.interval.0,
            repeat: self.repeat.0,
            ..GatewayConfig::new(own, self.common.port)
        };
        config.check().into_diagnostic()?;
        Ok(config)
    }
}

/// A rate with its unit, in bit/s.
#[derive(Clone, Copy, Debug)]
struct Rate(u64);

impl Rate {
    fn mbit(self) -> MbitPerSec {
        BitPerSec(self.0).mbit_per_sec()
    }
}

impl FromStr for Rate {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        quantity::<topology::Bits>(text).map(Self)
    }
}

/// A prefix and its senders.
#[derive(Clone, Debug)]
struct SiteArgument(Site);
/// A prefix, its senders, and its gateway.
#[derive(Clone, Debug)]
struct RemoteArgument(Remote);

fn address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| format!("`{text}` is no IP address"))
}

impl FromStr for SiteArgument {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (prefix, senders) = text
            .split_once('=')
            .ok_or("a prefix, `=` and its senders, as in 10.1.0.0/16=10.1.0.1,10.1.0.2")?;
        let prefix = prefix.parse().map_err(|_| format!("`{prefix}` is no prefix, as 10.1.0.0/16 is"))?;
        let senders: BTreeSet<IpAddr> = senders.split(',').map(address).collect::<Result<_, _>>()?;
        Ok(Self(Site { prefix, senders }))
    }
}

impl FromStr for RemoteArgument {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (site, gateway) = text
            .rsplit_once('@')
            .ok_or("a site, `@` and its gateway, as in 10.2.0.0/16=10.2.0.1@10.2.255.254")?;
        let SiteArgument(site) = site.parse()?;
        Ok(Self(Remote { site, gateway: address(gateway)? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_read_and_refused_with_what_would_be_right() {
        let RemoteArgument(remote) = "10.2.0.0/16=10.2.0.1,10.2.0.2@10.2.255.254".parse().unwrap();
        assert_eq!(remote.site.senders.len(), 2);
        assert_eq!(remote.gateway, IpAddr::from([10, 2, 255, 254]));
        let refused = |text: &str| text.parse::<SiteArgument>().unwrap_err();
        assert!(refused("10.1.0.0/16").contains("as in 10.1.0.0/16=10.1.0.1"));
        assert!(refused("10.1/16=10.1.0.1").contains("`10.1/16` is no prefix"));
        assert!(refused("10.1.0.0/16=here").contains("`here` is no IP address"));
        assert!("10.2.0.0/16=10.2.0.1".parse::<RemoteArgument>().unwrap_err().contains('@'));
    }
}
