//! The command line of `crn agent`.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use agent::rdcc::settings::Carrier;
use agent::rdcc::{Given, MessageShape, Workload};
use clap::ValueEnum;
use controller::topology::{self, Mode, Quantity, Topology};
use miette::{Result, miette};
use wire::rdcc::ServiceHint;
use wire::units::{MbitPerSec, Micros, Nanos, Octets};

/// What every agent of RDCC takes.
#[derive(clap::Args)]
#[command(next_line_help = false)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub struct Common {
    /// The topology that the host is of; values given below go before it
    #[arg(value_name = "TOPOLOGY", requires = "host")]
    pub topology: Option<PathBuf>,
    /// The host's name in the topology
    #[arg(long, requires = "topology")]
    pub host: Option<String>,
    /// The host's own IPv4 address
    #[arg(long, value_name = "ADDRESS")]
    address: Option<Ipv4Addr>,
    /// The domain's RDCC port, 49152 to 65535; there is no default
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    rdcc_port: Option<u16>,
    /// Let --rdcc-port and --data-port be outside 49152 to 65535
    #[arg(long)]
    allow_any_port: bool,
    /// File that keeps the receiver's Epoch from one run to the next: the next run has another, and doesn't grant while
    /// grants of the last one may still be used
    #[arg(long, value_name = "FILE")]
    epoch_file: Option<PathBuf>,
    /// Rate of the host's link, as in 1Gbps
    #[arg(long, value_name = "RATE")]
    link_rate: Option<Rate>,
    /// Base round-trip time of the domain, with what the machines need to react, as in 2ms
    #[arg(long, value_name = "TIME")]
    base_rtt: Option<Time>,
    /// Credit Unit: a message is sent in pieces of this size [default: 4096B]
    #[arg(long, value_name = "SIZE")]
    credit_unit: Option<Size>,
    /// G: octets granted or announced and not yet received, at most [default: 2 BDP]
    #[arg(long, value_name = "SIZE", help_heading = "RDCC's parameters")]
    budget: Option<Size>,
    /// `G_u`: the part of G for unscheduled data [default: G / 4]
    #[arg(long, value_name = "SIZE", help_heading = "RDCC's parameters")]
    unscheduled_budget: Option<Size>,
    /// U: what a message may have to go unscheduled [default: `G_u` / 8]
    #[arg(long, value_name = "SIZE", help_heading = "RDCC's parameters")]
    unscheduled_limit: Option<Size>,
    /// J: the longest start delay of unscheduled data [default: the base RTT]
    #[arg(long, value_name = "TIME", help_heading = "RDCC's parameters")]
    start_jitter: Option<Time>,
    /// `N_cu`: unused credit above which senders tell of their backlog [default: 2 BDP]
    #[arg(long, value_name = "SIZE", help_heading = "RDCC's parameters")]
    backlog_threshold: Option<Size>,
    /// Unused credit of all receivers together above which this sender tells of its backlog, if less than the smallest `N_cu` that
    /// they advertise [default: that]
    #[arg(long, value_name = "SIZE", help_heading = "RDCC's parameters")]
    sender_backlog_threshold: Option<Size>,
    /// Grant Lifetime [default: 4 base RTT, at least 100us]
    #[arg(long, value_name = "TIME", help_heading = "RDCC's parameters")]
    grant_lifetime: Option<Time>,
    /// `D_max`: the longest one-way delay of the domain [default: the Grant Lifetime]
    #[arg(long, value_name = "TIME", help_heading = "RDCC's parameters")]
    max_delay: Option<Time>,
    /// Round-trip time above which the path counts as congested [default: 2 base RTT]
    #[arg(long, value_name = "TIME", help_heading = "RDCC's parameters")]
    delay_target: Option<Time>,
    /// The report interval of the domain's switches [default: 50us]
    #[arg(long, value_name = "TIME", help_heading = "RDCC's parameters")]
    report_interval: Option<Time>,
    /// Give pool grants to senders that take them
    #[arg(long, help_heading = "RDCC's parameters")]
    pool_grants: bool,
    /// Address that reports are believed from, beside the topology's; may be repeated
    #[arg(long = "crn", value_name = "ADDRESS")]
    crn_addresses: Vec<Ipv4Addr>,
    /// DSCP of scheduled, unscheduled and control datagrams, as in 26,28,48 [default: the topology's, else 0,0,0, which
    /// gives control no priority before data]
    #[arg(long, value_name = "S,U,C")]
    dscp: Option<DscpList>,
    /// Answer marked data with CNPs, and pace what is sent by those that come (DCQCN)
    #[arg(long)]
    dcqcn: bool,
    /// Where admission hears `PATH_REPORT`s [default: the topology's CREM port]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    crem_port: Option<u16>,
    /// Where admission hears Rate Advice [default: the topology's SCONE port]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    scone_port: Option<u16>,
    /// How data travels
    #[arg(long, value_enum, default_value = "rocev2")]
    binding: BindingName,
    /// UDP port of data with --binding opaque
    #[arg(long, value_name = "PORT", default_value_t = 52_200, value_parser = clap::value_parser!(u16).range(1..))]
    data_port: u16,
    /// Print one JSON object a line: what happens, and the figures at the end
    #[arg(long)]
    pub json: bool,
    /// Print every grant as well
    #[arg(long)]
    pub grants: bool,
    /// Serve /metrics (Prometheus) here, as in 127.0.0.1:9465
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = crate::http::address)]
    pub listen: Option<SocketAddr>,
}

#[derive(Clone, Copy, ValueEnum)]
enum BindingName {
    /// RDCC's Binding Kind 1: software RoCEv2
    Rocev2,
    /// RDCC's Binding Kind 2: messages over UDP
    Opaque,
}

/// What a sender sends.
#[derive(clap::Args, Default)]
pub struct Load {
    /// A receiver: its address, or its name in the topology; may be repeated
    #[arg(long, value_name = "HOST", help_heading = "Workload")]
    pub to: Vec<String>,
    /// A message of each batch to each receiver, as in 1MiB, 2KiB:unscheduled or 1MiB:class=2:weight=4:hint=1:deadline=5ms;
    /// may be repeated
    #[arg(long = "message", value_name = "SIZE[:...]", help_heading = "Workload")]
    pub messages: Vec<Message>,
    /// How many batches [default: the workload's, else 1]
    #[arg(long, value_name = "COUNT", help_heading = "Workload")]
    pub batches: Option<u32>,
    /// Pause between two batches
    #[arg(long, value_name = "TIME", help_heading = "Workload")]
    pub gap: Option<Time>,
    /// Start a batch only when SIGUSR1 has come for it: so somebody can have several hosts begin theirs together
    #[arg(long, help_heading = "Workload")]
    pub in_step: bool,
}

impl Common {
    /// What the command line says of the parameters.
    pub fn given(&self) -> Given {
        let size = |size: Option<Size>| size.map(|size| size.0);
        let time = |time: Option<Time>| time.map(|time| time.0);
        Given {
            address: self.address,
            rdcc_port: self.rdcc_port,
            link_rate: self.link_rate.map(|rate| rate.0),
            base_rtt: time(self.base_rtt),
            credit_unit: size(self.credit_unit),
            budget: size(self.budget),
            unscheduled_budget: size(self.unscheduled_budget),
            unscheduled_limit: size(self.unscheduled_limit),
            start_jitter: time(self.start_jitter),
            backlog_threshold: size(self.backlog_threshold),
            sender_backlog_threshold: size(self.sender_backlog_threshold),
            grant_lifetime: time(self.grant_lifetime),
            max_delay: time(self.max_delay),
            delay_target: time(self.delay_target),
            report_interval: time(self.report_interval),
            pool_grants: self.pool_grants,
            crn_addresses: self.crn_addresses.clone(),
            dscp: self.dscp.map(|dscp| dscp.0),
            dcqcn: self.dcqcn,
            crem_port: self.crem_port,
            scone_port: self.scone_port,
            admission: None,
            epoch_file: self.epoch_file.clone(),
            any_port: self.allow_any_port,
        }
    }

    /// How data travels.
    pub fn carrier(&self) -> Carrier {
        match self.binding {
            BindingName::Rocev2 => Carrier::RoceV2,
            BindingName::Opaque => Carrier::Opaque { port: self.data_port },
        }
    }
}

/// A rate with its unit.
#[derive(Clone, Copy, Debug)]
pub struct Rate(MbitPerSec);
/// A size with its unit.
#[derive(Clone, Copy, Debug)]
pub struct Size(pub Octets);
/// A duration with its unit.
#[derive(Clone, Copy, Debug)]
pub struct Time(pub Nanos);

/// Reads a quantity with its unit; the error says what would be right.
pub fn quantity<U: topology::Unit>(text: &str) -> Result<u64, String> {
    let read = Quantity::<U>::parse(text).map(Quantity::get);
    read.map_err(|error| format!("{}; {}", error.message, error.hint))
}

impl FromStr for Rate {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let mbit = quantity::<topology::Bits>(text)? / 1_000_000;
        Ok(Self(MbitPerSec(u32::try_from(mbit).map_err(|error| error.to_string())?)))
    }
}

impl FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        quantity::<topology::Octets>(text).map(|octets| Self(Octets(octets)))
    }
}

impl FromStr for Time {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        quantity::<topology::Nanos>(text).map(|nanos| Self(Nanos(nanos)))
    }
}

/// Three codepoints.
#[derive(Clone, Copy, Debug)]
struct DscpList((u8, u8, u8));

impl FromStr for DscpList {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Vec<u8> = text
            .split(',')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(|error: std::num::ParseIntError| error.to_string())?;
        match numbers[..] {
            [scheduled, unscheduled, control] => Ok(Self((scheduled, unscheduled, control))),
            _ => Err("three numbers, as in 26,28,48".to_owned()),
        }
    }
}

/// A message with its wishes.
#[derive(Clone, Copy, Debug)]
pub struct Message(pub MessageShape);

impl FromStr for Message {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let mut shape = MessageShape::new(quantity::<topology::Octets>(parts.next().unwrap_or_default())?);
        for part in parts {
            let number = |value: &str| value.parse::<u8>().map_err(|error| format!("{part}: {error}"));
            match part.split_once('=') {
                None if part == "unscheduled" => shape.unscheduled = true,
                Some(("class", value)) if number(value)? < 8 => shape.class = number(value)?,
                Some(("weight", value)) if number(value)? > 0 => shape.weight = number(value)?,
                Some(("hint", value)) => shape.hint = ServiceHint(number(value)?),
                Some(("deadline", value)) => shape.deadline = deadline(value)?,
                _ => {
                    return Err(format!(
                        "`{part}`; it should be unscheduled, class=0..7, weight=1..255, hint=0..2 or deadline=TIME"
                    ));
                }
            }
        }
        Ok(Self(shape))
    }
}

fn deadline(text: &str) -> Result<Micros, String> {
    Ok(Nanos(quantity::<topology::Nanos>(text)?).micros())
}

/// What a topology lets a host send: the first workload in which it sends.
pub fn workload_of(topology: &Topology, host: &str) -> Workload {
    let Some(found) = topology.workloads.iter().find(|w| w.pairs.iter().any(|(from, _)| from == host)) else {
        return Workload::default();
    };
    let receivers: BTreeSet<&str> =
        found.pairs.iter().filter(|(from, _)| from == host).map(|(_, to)| to.as_str()).collect();
    let message = |shape: &topology::MessageShape| MessageShape {
        unscheduled: shape.mode == Mode::Unscheduled,
        ..MessageShape::new(shape.size)
    };
    Workload {
        to: receivers.iter().filter_map(|to| topology.hosts.get(*to)).map(|host| host.address).collect(),
        messages: found.messages.iter().map(message).collect(),
        batches: found.batches,
        gap: Nanos(found.gap_ns),
    }
}

/// The address of a receiver that is named one way or the other.
pub fn address(name: &str, topology: Option<&Topology>) -> Result<Ipv4Addr> {
    if let Ok(address) = name.parse() {
        return Ok(address);
    }
    topology.and_then(|topology| topology.hosts.get(name)).map(|host| host.address).ok_or_else(|| {
        miette!(help = "give an IPv4 address, or a topology that has the host", "`{name}` isn't a host")
    })
}
