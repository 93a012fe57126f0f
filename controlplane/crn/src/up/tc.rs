//! Delay, loss and rate of links, by `tc` where the kernel has what it takes.
//!
//! Toward hosts and other switches, a link's rate is the switch's own: that is where queues stand. Toward switches it is a
//! host's interface that must not send faster. Delay is both directions'; loss is that of each direction, and the workload's in
//! the one in which its bottleneck's queue sends. Where the kernel has no `netem`, a `crn switch` delays and loses in its place.

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use controller::topology::{End, Link, Topology};
use miette::Result;

use super::fabric::Target;
use super::network::{HOST_INTERFACE, Network, execute};
use super::process::{self, within};

/// Packets that may be under way on a link.
const UNDER_WAY: u32 = 100_000;
/// What a host may send at once at more than its link's rate: two frames.
const BURST_OCTETS: u32 = 20_000;
/// What may wait in a host for its link.
const WAITING_OCTETS: u32 = 4_000_000;

/// What a kernel can do about links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// Delay, loss and rate.
    Netem,
    /// Rate only.
    Tbf,
    /// Nothing.
    Nothing,
}

/// Whether the switches' processes delay and lose packets in the kernel's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emulated(pub bool);

/// Whether any link is to lose anything.
fn is_lossy(topology: &Topology) -> bool {
    topology.links.iter().flat_map(|link| &link.ends).any(|end| topology.loss_ppm(end) > 0)
}

impl Means {
    /// Tries it out in a namespace, on an interface that nobody uses yet.
    pub fn of(namespace: &str) -> Result<Self> {
        let takes = |discipline: &[&str]| {
            within(namespace, || {
                let program = process::find("tc").unwrap_or_else(|| "tc".into());
                let tc = |words: &[&str]| {
                    let mut command = Command::new(&program);
                    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                    command.status().is_ok_and(|status| status.success())
                };
                let added = tc(&[&["qdisc", "add", "dev", "lo", "root"], discipline].concat());
                if added {
                    tc(&["qdisc", "delete", "dev", "lo", "root"]);
                }
                Ok(added)
            })
        };
        if takes(&["netem", "delay", "1ms"])? {
            return Ok(Self::Netem);
        }
        let rate = takes(&["tbf", "rate", "1mbit", "burst", "20000", "limit", "20000"])?;
        Ok(if rate { Self::Tbf } else { Self::Nothing })
    }

    /// Whether the switches are the links as well.
    pub fn emulated(self, target: Target) -> Emulated {
        Emulated(self != Self::Netem && target == Target::Soft)
    }

    /// Whether links have the delay and the loss that the file gives them.
    pub fn delays(self, target: Target) -> bool {
        self == Self::Netem || self.emulated(target).0
    }

    /// How links are that the kernel does nothing about, in words.
    pub fn links(emulated: bool, topology: &Topology) -> &'static str {
        match (emulated, is_lossy(topology)) {
            (true, _) => "crn switch delays, and loses, what its links carry",
            (false, false) => "links have no delay of their own, what there is comes from switches and hosts",
            (false, true) => {
                "links have no delay of their own, what there is comes from switches and hosts, and they lose nothing, although \
                 `loss` in the file asks for it"
            }
        }
    }

    /// What isn't as in the file, or isn't done by the kernel, in words.
    pub fn said(self, target: Target, topology: &Topology) -> Option<String> {
        let links = Self::links(self.emulated(target).0, topology);
        match self {
            Self::Netem => None,
            Self::Tbf => Some(format!("this kernel has no netem: {links}")),
            Self::Nothing => Some(format!(
                "this kernel has neither netem nor tbf: {links}; and hosts send as fast as they can"
            )),
        }
    }

    /// Gives links what the file says, as far as that goes.
    pub fn apply(self, network: &Network, topology: &Topology) -> Result<()> {
        let mut switches = String::new();
        for link in &topology.links {
            for end in &link.ends {
                match end {
                    End::Port(port) => {
                        if let Some(discipline) = self.of_port(link, topology.loss_ppm(end)) {
                            let interface = network.interface(port);
                            let _ = writeln!(switches, "qdisc add dev {interface} root {discipline}");
                        }
                    }
                    End::Host(name) => {
                        if let Some(discipline) = self.of_host(link, topology.loss_ppm(end)) {
                            let line = format!("qdisc add dev {HOST_INTERFACE} root {discipline}\n");
                            batch(&network.host(name), network.run(), &line)?;
                        }
                    }
                }
            }
        }
        if switches.is_empty() { Ok(()) } else { batch(&network.switches(), network.run(), &switches) }
    }

    /// What leaves a switch: its queues have had their rate already.
    fn of_port(self, link: &Link, loss_ppm: u32) -> Option<String> {
        if self != Self::Netem || (link.delay_ns < 1000 && loss_ppm == 0) {
            return None;
        }
        let mut discipline = format!("netem limit {UNDER_WAY}");
        if link.delay_ns >= 1000 {
            let _ = write!(discipline, " delay {}us", link.delay_ns / 1000);
        }
        discipline.push_str(&loses(loss_ppm));
        Some(discipline)
    }

    /// What leaves a host.
    pub fn of_host(self, link: &Link, loss_ppm: u32) -> Option<String> {
        let (micros, rate) = (link.delay_ns / 1000, link.rate_bps);
        match self {
            Self::Netem => {
                let loses = loses(loss_ppm);
                Some(format!("netem delay {micros}us rate {rate}bit limit {UNDER_WAY}{loses}"))
            }
            Self::Tbf => Some(format!("tbf rate {rate}bit burst {BURST_OCTETS} limit {WAITING_OCTETS}")),
            Self::Nothing => None,
        }
    }
}

/// A loss as `netem` takes it.
fn loses(loss_ppm: u32) -> String {
    match loss_ppm {
        0 => String::new(),
        _ => format!(" loss {}.{:04}%", loss_ppm / 10_000, loss_ppm % 10_000),
    }
}

fn batch(namespace: &str, run: &str, lines: &str) -> Result<()> {
    let program = process::find("tc").unwrap_or_else(|| "tc".into());
    let mut command = Command::new(program);
    command.args(["-n", namespace, "-batch", "-"]).env(process::MARK, run);
    execute(&mut command, lines)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn each_direction_of_a_link_gets_what_it_takes() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies/incast-8to1.yaml");
        let topology = controller::topology::load(&path).unwrap();
        let bottleneck = topology.workloads[0].bottleneck.clone();
        let link = topology.link_at(&bottleneck).unwrap();
        let netem = |loss| Means::Netem.of_port(link, loss).unwrap();
        assert_eq!(netem(1500), "netem limit 100000 delay 2us loss 0.1500%");
        assert_eq!(netem(0), "netem limit 100000 delay 2us");
        let host = |loss| Means::Netem.of_host(link, loss).unwrap();
        assert_eq!(host(0), "netem delay 2us rate 100000000000bit limit 100000");
        assert_eq!(host(20_001), "netem delay 2us rate 100000000000bit limit 100000 loss 2.0001%");
        assert_eq!((Means::Tbf.of_port(link, 1500), Means::Nothing.of_host(link, 0)), (None, None));
        let tbf = Means::Tbf.of_host(link, 0).unwrap();
        assert_eq!(tbf, "tbf rate 100000000000bit burst 20000 limit 4000000");
    }

    #[test]
    fn what_the_kernel_lacks_is_said_and_who_does_it_instead() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies/incast-8to1.yaml");
        let mut topology = controller::topology::load(&path).unwrap();
        assert_eq!(Means::Netem.said(Target::Bmv2, &topology), None);
        assert!(Means::Tbf.said(Target::Soft, &topology).unwrap().contains("crn switch delays"));
        let bmv2 = Means::Tbf.said(Target::Bmv2, &topology).unwrap();
        assert!(bmv2.contains("no delay of their own") && !bmv2.contains("lose nothing"), "{bmv2}");
        // Any direction of any link.
        topology.links[0].loss_ppm = [0, 1];
        let bmv2 = Means::Nothing.said(Target::Bmv2, &topology).unwrap();
        assert!(bmv2.contains("lose nothing") && bmv2.contains("as fast as they can"), "{bmv2}");
        assert_eq!(Means::Netem.emulated(Target::Soft), Emulated(false));
        assert_eq!(Means::Tbf.emulated(Target::Soft), Emulated(true));
        assert_eq!(Means::Tbf.emulated(Target::Bmv2), Emulated(false));
    }
}
