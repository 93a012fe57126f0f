//! The command line of `crn agent crem`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use agent::crem::ShimConfig;
use clap::ValueEnum;
use controller::topology::Topology;
use crem::crf::{CrfConfig, Fallback, Order};
use crem::csf::{CsfConfig, FallbackAnswer};
use ipnet::IpNet;
use miette::{Result, miette};
use wire::crem::Scheme;

use crate::agent_command::args::{Size, Time};

/// Arguments of `crn agent crem`.
#[derive(clap::Args)]
pub struct Crem {
    /// The domain's topology: its CREM port, and the addresses that path reports are believed from
    #[arg(value_name = "TOPOLOGY")]
    pub topology: Option<PathBuf>,
    /// The interface where the protected hosts are
    #[arg(long, value_name = "INTERFACE")]
    pub inside: String,
    /// The interface of the path that loses packets
    #[arg(long, value_name = "INTERFACE")]
    pub outside: String,
    /// The domain's CREM port; there is no default
    #[arg(long = "crem-port", value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// RDMA MTU of the connections: octets of payload of a full packet
    #[arg(long, value_name = "OCTETS", default_value_t = 4096, value_parser = clap::value_parser!(u16).range(256..=9000))]
    mtu: u16,
    /// Hosts inside that are protected; may be repeated [default: all]
    #[arg(long = "serve", value_name = "PREFIX")]
    serves: Vec<IpNet>,
    /// What the hosts inside make of a gap
    #[arg(long, value_enum, default_value = "hold")]
    order: OrderName,
    /// An address of the gateway's own: CREM messages to it are for it; may be repeated
    #[arg(long = "address", value_name = "ADDRESS")]
    addresses: Vec<IpAddr>,
    /// Address that path reports are believed from, beside the topology's; may be repeated
    #[arg(long = "reporter", value_name = "ADDRESS")]
    reporters: Vec<IpAddr>,
    /// A receiver function that isn't at its hosts, as in 10.2.0.0/16=10.2.255.254; may be repeated
    #[arg(long = "receiver", value_name = "PREFIX=ADDRESS")]
    receivers: Vec<Receiver>,
    /// FEC scheme; the other side may leave only cauchy
    #[arg(long, value_enum, default_value = "cauchy", help_heading = "CREM's parameters")]
    scheme: SchemeName,
    /// Packets of a block
    #[arg(long, value_name = "COUNT", default_value_t = 32, value_parser = clap::value_parser!(u8).range(1..), help_heading = "CREM's parameters")]
    k: u8,
    /// The most repair symbols of a block
    #[arg(long, value_name = "COUNT", default_value_t = 8, help_heading = "CREM's parameters")]
    max_m: u8,
    /// Loss rate to assume before there are reports, as in 0.001
    #[arg(long, value_name = "PART", default_value_t = 0.0, value_parser = part, help_heading = "CREM's parameters")]
    prior_loss: f64,
    /// Round-trip time to assume before the first measurement
    #[arg(long, value_name = "TIME", default_value = "1ms", help_heading = "CREM's parameters")]
    initial_rtt: Time,
    /// A burst has ended when nothing came for so long: its block is closed
    #[arg(long, value_name = "TIME", default_value = "200us", help_heading = "CREM's parameters")]
    burst_gap: Time,
    /// How long packets may overtake each other on the path
    #[arg(long, value_name = "TIME", default_value = "200us", help_heading = "CREM's parameters")]
    reorder: Time,
    /// Blocks that two coded retransmissions left incomplete: the packets themselves, or the RDMA transport's retransmission
    #[arg(long, value_enum, default_value = "copy", help_heading = "CREM's parameters")]
    fallback: FallbackName,
    /// The most flows in each direction
    #[arg(long, value_name = "COUNT", default_value_t = 1024, help_heading = "CREM's parameters")]
    max_flows: u16,
    /// Memory for the symbols of all flows from outside
    #[arg(long, value_name = "SIZE", default_value = "1GiB", help_heading = "CREM's parameters")]
    memory: Size,
    /// DSCP of CREM messages
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..64))]
    dscp: u8,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
    /// Serve /metrics (Prometheus) here, as in 127.0.0.1:9467
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = crate::http::address)]
    pub listen: Option<SocketAddr>,
}

#[derive(Clone, Copy, ValueEnum)]
enum OrderName {
    /// Go-back-N: packets behind a gap are held until it is filled
    Hold,
    /// Selective repeat: all pass at once
    Pass,
}

#[derive(Clone, Copy, ValueEnum)]
enum SchemeName {
    Cauchy,
    Xor,
}

#[derive(Clone, Copy, ValueEnum)]
enum FallbackName {
    Copy,
    Transport,
}

/// A prefix and the receiver function for it.
#[derive(Clone, Copy, Debug)]
struct Receiver(IpNet, IpAddr);

impl FromStr for Receiver {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (prefix, address) =
            text.split_once('=').ok_or("a prefix, `=` and an address, as in 10.2.0.0/16=10.2.255.254")?;
        let prefix = prefix.parse().map_err(|_| format!("`{prefix}` is no prefix, as 10.2.0.0/16 is"))?;
        let address = address.parse().map_err(|_| format!("`{address}` is no IP address"))?;
        Ok(Self(prefix, address))
    }
}

fn part(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is no part, as 0.001 is"))?;
    if (0.0..=0.5).contains(&value) { Ok(value) } else { Err(format!("{text}; it should be 0 to 0.5")) }
}

impl Crem {
    /// The gateway's setting; what isn't given comes from the topology.
    pub fn config(&self, topology: Option<&Topology>) -> Result<ShimConfig> {
        let port = self.port.or(topology.map(|topology| topology.domain.ports.crem)).ok_or_else(|| {
            miette!(
                help = "give --crem-port, or a topology; all gateways and path reporters of a domain have the same",
                "no CREM port, which has no default"
            )
        })?;
        let mut csf = CsfConfig::new(port, self.mtu);
        csf.scheme = match self.scheme {
            SchemeName::Cauchy => Scheme::CAUCHY,
            SchemeName::Xor => Scheme::XOR,
        };
        (csf.k, csf.max_m, csf.prior_loss) = (self.k, self.max_m, self.prior_loss);
        (csf.initial_rtt, csf.burst_gap) = (self.initial_rtt.0, self.burst_gap.0);
        csf.max_flows = self.max_flows.into();
        csf.serves.clone_from(&self.serves);
        csf.receivers = self.receivers.iter().map(|receiver| (receiver.0, receiver.1)).collect();
        csf.reporters.clone_from(&self.reporters);
        if let Some(topology) = topology {
            let domain = &topology.domain;
            csf.reporters.extend(domain.crn_addresses.iter().map(|&address| IpAddr::from(address)));
            csf.reporters.extend(domain.crn_addresses_v6.iter().map(|&address| IpAddr::from(address)));
            let collector = topology.marking.as_ref().and_then(|marking| marking.collector);
            csf.reporters.extend(collector.map(IpAddr::from));
        }
        let order = match self.order {
            OrderName::Hold => Order::Hold,
            OrderName::Pass => Order::Pass,
        };
        let mut crf = CrfConfig::new(port, order);
        (crf.max_k, crf.max_m) = (crf.max_k.max(self.k), crf.max_m.max(self.max_m));
        crf.max_t = crf.max_t.max(csf.symbol_octets);
        (crf.max_flows, crf.initial_rtt, crf.reorder) = (csf.max_flows, csf.initial_rtt, self.reorder.0);
        // Timers of processes are coarser than those of a card.
        (crf.repair_wait, crf.idle_wait) =
            (crf.repair_wait.max(self.reorder.0), crf.idle_wait.max(self.burst_gap.0));
        crf.memory = usize::try_from(self.memory.0.0).unwrap_or(usize::MAX);
        (csf.fallback, crf.fallback) = match self.fallback {
            FallbackName::Copy => (FallbackAnswer::SourceCopy, Fallback::Request),
            FallbackName::Transport => (FallbackAnswer::Transport, Fallback::Transport),
        };
        Ok(ShimConfig { csf, crf, addresses: self.addresses.clone(), dscp: self.dscp })
    }
}
