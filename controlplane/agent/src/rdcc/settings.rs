//! What a host is told at its start.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use controller::topology::{self, PortFault, Topology, port_fault};
use rdcc::receiver::ReceiverConfig;
use rdcc::sender::SenderConfig;
use roce::dcqcn;
use wire::units::{MbitPerSec, Nanos, Octets};

use super::admission::{AdmissionSettings, ReportPorts};

/// Which machines a host has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Only the sender.
    Sender,
    /// Only the receiver.
    Receiver,
    /// Both, on the one RDCC port.
    Both,
}

impl Role {
    /// Whether it sends.
    pub const fn sends(self) -> bool {
        !matches!(self, Self::Receiver)
    }

    /// Whether it receives.
    pub const fn receives(self) -> bool {
        !matches!(self, Self::Sender)
    }
}

/// How data travels (RDCC, Transport Bindings).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Binding Kind 1: software `RoCEv2`, to UDP port 4791.
    RoceV2,
    /// Binding Kind 2: messages over UDP, each datagram acknowledged.
    Opaque {
        /// The UDP port that data goes to; the same at all hosts of the domain.
        port: u16,
    },
}

impl Carrier {
    /// The UDP port that data goes to.
    pub const fn port(self) -> u16 {
        match self {
            Self::RoceV2 => wire::roce::UDP_PORT,
            Self::Opaque { port } => port,
        }
    }
}

/// The codepoints of the domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dscp {
    /// Of scheduled data, by Traffic Class.
    pub scheduled: [u8; 8],
    /// Of unscheduled data.
    pub unscheduled: u8,
    /// Of control datagrams (RDCC, Operational Considerations: at least the priority of the data that they control).
    pub control: u8,
}

/// Values given one by one; each goes before the topology's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The host's own address.
    pub address: Option<Ipv4Addr>,
    /// The domain's RDCC port.
    pub rdcc_port: Option<u16>,
    /// Rate of the host's link.
    pub link_rate: Option<MbitPerSec>,
    /// Base round-trip time of the domain.
    pub base_rtt: Option<Nanos>,
    /// The Credit Unit.
    pub credit_unit: Option<Octets>,
    /// G.
    pub budget: Option<Octets>,
    /// `G_u`.
    pub unscheduled_budget: Option<Octets>,
    /// U.
    pub unscheduled_limit: Option<Octets>,
    /// J.
    pub start_jitter: Option<Nanos>,
    /// `N_cu`.
    pub backlog_threshold: Option<Octets>,
    /// The host's own Backlog Threshold as a sender, if it is smaller than what receivers advertise.
    pub sender_backlog_threshold: Option<Octets>,
    /// Grant Lifetime.
    pub grant_lifetime: Option<Nanos>,
    /// `D_max`.
    pub max_delay: Option<Nanos>,
    /// Round-trip time above which the path counts as congested.
    pub delay_target: Option<Nanos>,
    /// The report interval of the domain's CRNs.
    pub report_interval: Option<Nanos>,
    /// Whether pool grants are given to senders that take them.
    pub pool_grants: bool,
    /// Addresses that reports are believed from, beside the topology's.
    pub crn_addresses: Vec<Ipv4Addr>,
    /// DSCP of scheduled, unscheduled and control datagrams.
    pub dscp: Option<(u8, u8, u8)>,
    /// Whether marked data is answered with CNPs, and what is sent is paced by those that come (DCQCN).
    pub dcqcn: bool,
    /// The CREM port, where admission hears `PATH_REPORT`s.
    pub crem_port: Option<u16>,
    /// The SCONE port, where admission hears Rate Advice.
    pub scone_port: Option<u16>,
    /// Byte-window admission in front of posts; off is none.
    pub admission: Option<admission::Config>,
    /// Where a receiver keeps its Epoch from one run to the next.
    pub epoch_file: Option<PathBuf>,
    /// Whether ports outside the Dynamic Ports range will do.
    pub any_port: bool,
}

/// Everything that a host is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its own address.
    pub address: Ipv4Addr,
    /// The domain's RDCC port.
    pub rdcc_port: u16,
    /// Codepoints.
    pub dscp: Dscp,
    /// How data travels.
    pub carrier: Carrier,
    /// The sender's part.
    pub sender: SenderConfig,
    /// The receiver's part.
    pub receiver: ReceiverConfig,
    /// DCQCN of every queue pair.
    pub dcqcn: Option<dcqcn::Config>,
    /// Byte-window admission in front of the sender's posts.
    pub admission: Option<AdmissionSettings>,
    /// Where a receiver keeps its Epoch from one run to the next.
    pub epoch_file: Option<PathBuf>,
    /// How many batches may have started: somebody else counts them up. None: all may.
    pub released: Option<Arc<AtomicU32>>,
}

/// Settings that can't be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Neither the topology nor a value says it.
    #[error("no {what}; give {flag}, or a topology and a host of it")]
    Missing {
        /// What is missing.
        what: &'static str,
        /// The value that would say it.
        flag: &'static str,
    },
    /// The topology has no such host.
    #[error("the topology has no host {name}; it has {hosts}")]
    UnknownHost {
        /// The name given.
        name: String,
        /// Those there are.
        hosts: String,
    },
    /// A codepoint of more than six bits.
    #[error("DSCP {0}; it should be at most 63")]
    Dscp(u8),
    /// A port that isn't for RDCC, or that two would share.
    #[error("port {port} for {what}: {why}")]
    Port {
        /// The port.
        port: u16,
        /// What it was to be for.
        what: &'static str,
        /// Why it can't be.
        why: &'static str,
    },
    /// A quantity of nothing.
    #[error("{0} is 0; it should be more")]
    Zero(&'static str),
    /// Something that only queue pairs have.
    #[error("{0} needs queue pairs; the binding should be rocev2")]
    NoQueuePairs(&'static str),
}

impl Settings {
    /// Settings of a host: those of the topology where there is one, and of `given` where it says something.
    ///
    /// The parameters follow the document's guidance (RDCC, Operational Considerations) for link rate, round-trip time
    /// and Credit Unit. With a topology they are the file's, unless one of these three is given: what the file says is
    /// for its own, so everything that isn't given then follows the guidance for the new ones.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn new(
        host: Option<(&Topology, &str)>,
        given: &Given,
        carrier: Carrier,
    ) -> Result<Self, SettingsError> {
        let found = host.map(|(topology, name)| found(topology, name)).transpose()?;
        let missing = |what, flag| SettingsError::Missing { what, flag };
        let address = given.address.or(found.map(|(_, host)| host.address));
        let address = address.ok_or(missing("address", "--address"))?;
        let rdcc_port = given.rdcc_port.or(found.map(|(topology, _)| topology.domain.ports.rdcc));
        let rdcc_port = rdcc_port.ok_or(missing("RDCC port, which has no default", "--rdcc-port"))?;
        check_ports(rdcc_port, carrier, found.is_some() || given.any_port)?;
        let link_rate = given.link_rate.or(found.and_then(|(topology, host)| rate(topology, host)));
        let link_rate = link_rate.ok_or(missing("link rate", "--link-rate"))?;
        let base_rtt = given.base_rtt.or(found.map(|(topology, _)| Nanos(topology.rdcc.base_rtt_ns)));
        let base_rtt = base_rtt.ok_or(missing("base round-trip time", "--base-rtt"))?;
        if link_rate.0 == 0 {
            return Err(SettingsError::Zero("the link rate"));
        }
        if base_rtt.0 == 0 {
            return Err(SettingsError::Zero("the base round-trip time"));
        }
        let unit = given.credit_unit.or(found.map(|(topology, _)| Octets(topology.rdcc.credit_unit)));
        let unit = unit.unwrap_or(Octets(DEFAULT_CREDIT_UNIT));

        let mut crn_addresses: Vec<IpAddr> = given.crn_addresses.iter().map(|&a| a.into()).collect();
        let mut dscp = Dscp::default();
        let mut receiver = ReceiverConfig::new(link_rate, base_rtt, unit);
        if let Some((topology, _)) = found {
            dscp = Dscp::of(topology);
            crn_addresses.extend(topology.domain.crn_addresses.iter().map(|&a| IpAddr::from(a)));
            if let Some(profile) = topology.profiles.get(&topology.data_profile) {
                receiver.report_interval = Nanos(profile.report_interval_ns);
            }
            if given.link_rate.is_none() && given.base_rtt.is_none() && given.credit_unit.is_none() {
                as_the_file_says(&mut receiver, topology);
            }
            for_any_network(&mut receiver, topology);
        }
        if let Some((scheduled, unscheduled, control)) = given.dscp {
            dscp = Dscp { scheduled: [scheduled; 8], unscheduled, control };
        }
        if let Some(wrong) =
            dscp.scheduled.into_iter().chain([dscp.unscheduled, dscp.control]).find(|&d| d > 63)
        {
            return Err(SettingsError::Dscp(wrong));
        }
        as_given(&mut receiver, given);
        receiver.crn_addresses.clone_from(&crn_addresses);
        receiver.addresses = vec![address.into()];
        receiver.data_port = carrier.port();
        receiver.opaque_bindings = matches!(carrier, Carrier::Opaque { .. });
        let mut sender = SenderConfig::new(link_rate, rdcc_port);
        sender.crn_addresses = crn_addresses;
        if let Some((topology, _)) = found {
            let options = topology.rdcc.options;
            sender.hear_reports = options.hear.reports.unwrap_or(true);
            set(&mut sender.unit_overhead, options.unit_overhead.map(Octets));
            set(&mut sender.max_pending_messages, options.max_pending_messages);
            sender.backlog_threshold = options.sender_backlog_threshold.map(Octets);
        }
        sender.backlog_threshold = given.sender_backlog_threshold.or(sender.backlog_threshold);
        let dcqcn = given.dcqcn.then(|| dcqcn::Config::new(link_rate.into()));
        let config = given.admission.filter(|config| config.mode != admission::Mode::Off);
        if let Carrier::Opaque { .. } = carrier {
            let wanted = [("DCQCN", dcqcn.is_some()), ("admission", config.is_some())];
            if let Some((what, _)) = wanted.into_iter().find(|(_, wanted)| *wanted) {
                return Err(SettingsError::NoQueuePairs(what));
            }
        }
        let ports = found.map(|(topology, _)| topology.domain.ports);
        let admission = config.map(|config| AdmissionSettings {
            config,
            ports: ReportPorts {
                crem: given.crem_port.or(ports.map(|ports| ports.crem)),
                scone: given.scone_port.or(ports.map(|ports| ports.scone)),
            },
            trusted: sender.crn_addresses.clone(),
        });
        let epoch_file = given.epoch_file.clone();
        let released = None;
        Ok(Self {
            address,
            rdcc_port,
            dscp,
            carrier,
            sender,
            receiver,
            dcqcn,
            admission,
            epoch_file,
            released,
        })
    }
}

/// RDCC, Port Configuration: from the Dynamic Ports unless somebody says that others will do (a topology does so itself),
/// and no other service's.
fn check_ports(rdcc: u16, carrier: Carrier, any: bool) -> Result<(), SettingsError> {
    let data = match carrier {
        Carrier::RoceV2 => None,
        Carrier::Opaque { port } => Some((port, "--data-port")),
    };
    for (port, what) in [(rdcc, "--rdcc-port")].into_iter().chain(data) {
        let wrong = |why| Err(SettingsError::Port { port, what, why });
        match port_fault(port, any) {
            None => {}
            Some(PortFault::Data(_)) => {
                return wrong(
                    "it is that of RoCEv2 (4791), VXLAN (4789) or Geneve (6081); choose one from 49152 to 65535",
                );
            }
            Some(PortFault::OutsideRange) => {
                return wrong("choose one from 49152 to 65535, or give --allow-any-port");
            }
        }
    }
    match data {
        Some((port, what)) if port == rdcc => {
            Err(SettingsError::Port { port, what, why: "it is the RDCC port; choose another" })
        }
        _ => Ok(()),
    }
}

/// The Credit Unit where nothing says one: the largest payload of an RDMA packet.
const DEFAULT_CREDIT_UNIT: u64 = 4096;

fn found<'a>(
    topology: &'a Topology,
    name: &str,
) -> Result<(&'a Topology, &'a topology::Host), SettingsError> {
    let unknown = || SettingsError::UnknownHost {
        name: name.to_owned(),
        hosts: topology.hosts.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
    };
    topology.hosts.get(name).map(|host| (topology, host)).ok_or_else(unknown)
}

fn rate(topology: &Topology, host: &topology::Host) -> Option<MbitPerSec> {
    let link = topology.links.get(host.link)?;
    Some(MbitPerSec(u32::try_from(link.rate_bps / 1_000_000).unwrap_or(u32::MAX)))
}

fn as_the_file_says(receiver: &mut ReceiverConfig, topology: &Topology) {
    let file = &topology.rdcc;
    let micros = |nanos| Nanos(nanos).micros();
    receiver.budget = Octets(file.budget);
    receiver.unscheduled_budget = Octets(file.unscheduled_budget);
    receiver.unscheduled_limit = Octets(file.unscheduled_limit);
    receiver.start_jitter = micros(file.start_jitter_ns);
    receiver.backlog_threshold = Octets(file.backlog_threshold);
    receiver.grant_lifetime = micros(file.grant_lifetime_ns);
    receiver.d_max = Nanos(file.max_delay_ns);
    receiver.association_credit = file.options.association_credit.map(Octets);
    set(&mut receiver.update_interval, file.options.update_interval_ns.map(Nanos));
    set(&mut receiver.delay_target, file.options.delay_target_ns.map(Nanos));
    let alpha =
        file.options.alpha_bps.map(|bps| MbitPerSec(u32::try_from(bps / 1_000_000).unwrap_or(u32::MAX)));
    set(&mut receiver.alpha, alpha);
}

/// What the file says of other than sizes and times of its own network.
fn for_any_network(receiver: &mut ReceiverConfig, topology: &Topology) {
    let options = topology.rdcc.options;
    set(&mut receiver.unit_overhead, options.unit_overhead.map(Octets));
    set(&mut receiver.beta_permille, options.beta_permille);
    set(&mut receiver.max_associations, options.max_associations);
    set(&mut receiver.max_pending_messages, options.max_pending_messages);
    set(&mut receiver.idle_timeout, options.idle_timeout_ns.map(Nanos));
    set(&mut receiver.loss_threshold_ppm, options.loss_threshold_ppm);
    set(&mut receiver.loss_interval, options.loss_interval_ns.map(Nanos));
    set(&mut receiver.pool_grants, options.pool_grants);
    set(&mut receiver.hear.reports, options.hear.reports);
    set(&mut receiver.hear.ecn, options.hear.ecn);
    set(&mut receiver.hear.delay, options.hear.delay);
}

/// What is given; what isn't stays as it is.
fn set<T: Copy>(place: &mut T, value: Option<T>) {
    *place = value.unwrap_or(*place);
}

fn as_given(receiver: &mut ReceiverConfig, given: &Given) {
    if let (Some(budget), None) = (given.budget, given.unscheduled_budget) {
        // The guidance's parts of another G.
        receiver.unscheduled_budget = receiver.unscheduled_budget.min(Octets(budget.0 / 4));
        receiver.unscheduled_limit = receiver.unscheduled_limit.min(Octets(budget.0 / 32));
    }
    set(&mut receiver.budget, given.budget);
    set(&mut receiver.unscheduled_budget, given.unscheduled_budget);
    set(&mut receiver.unscheduled_limit, given.unscheduled_limit);
    set(&mut receiver.start_jitter, given.start_jitter.map(Nanos::micros));
    set(&mut receiver.backlog_threshold, given.backlog_threshold);
    set(&mut receiver.grant_lifetime, given.grant_lifetime.map(Nanos::micros));
    set(&mut receiver.d_max, given.max_delay);
    set(&mut receiver.delay_target, given.delay_target);
    set(&mut receiver.report_interval, given.report_interval);
    receiver.pool_grants |= given.pool_grants;
}

impl Dscp {
    /// The codepoints of a topology: for a Traffic Class without one of its own, that of the first.
    fn of(topology: &Topology) -> Self {
        let role = |role| topology.dscp_of(role).unwrap_or_default();
        let mut scheduled = [role(topology::Role::Scheduled); 8];
        for entry in topology.domain.dscp.iter().rev().filter(|e| e.role == topology::Role::Scheduled) {
            if let Some(place) = scheduled.get_mut(usize::from(entry.class)) {
                *place = entry.dscp;
            }
        }
        Self {
            scheduled,
            unscheduled: role(topology::Role::Unscheduled),
            control: role(topology::Role::Control),
        }
    }
}
