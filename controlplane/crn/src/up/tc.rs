//! Delay and rate of links, by `tc` where the kernel has what it takes.
//!
//! Toward hosts and other switches, a link's rate is the switch's own: that is where queues stand. Toward switches it is a
//! host's interface that must not send faster. Delay is both directions'.

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use controller::topology::{End, Topology};
use miette::Result;

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
    /// Delay and rate.
    Delay,
    /// Rate only.
    Rate,
    /// Nothing.
    Nothing,
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
            return Ok(Self::Delay);
        }
        let rate = takes(&["tbf", "rate", "1mbit", "burst", "20000", "limit", "20000"])?;
        Ok(if rate { Self::Rate } else { Self::Nothing })
    }

    /// What isn't as in the file, in words.
    pub fn said(self) -> Option<&'static str> {
        match self {
            Self::Delay => None,
            Self::Rate => Some(
                "this kernel has no netem: links have no delay of their own, what there is comes from switches and hosts",
            ),
            Self::Nothing => Some(
                "this kernel has neither netem nor tbf: links have no delay of their own, and hosts send as fast as they can",
            ),
        }
    }

    /// Gives links what the file says, as far as that goes.
    pub fn apply(self, network: &Network, topology: &Topology) -> Result<()> {
        if self == Self::Nothing {
            return Ok(());
        }
        let mut switches = String::new();
        for link in &topology.links {
            let (micros, rate) = (link.delay_ns / 1000, link.rate_bps);
            for end in &link.ends {
                match (end, self) {
                    (End::Port(port), Self::Delay) if micros > 0 => {
                        let interface = network.interface(port);
                        let _ = writeln!(
                            switches,
                            "qdisc add dev {interface} root netem delay {micros}us limit {UNDER_WAY}"
                        );
                    }
                    (End::Port(_), _) => {}
                    (End::Host(name), means) => {
                        let discipline = if means == Self::Delay {
                            format!("netem delay {micros}us rate {rate}bit limit {UNDER_WAY}")
                        } else {
                            format!("tbf rate {rate}bit burst {BURST_OCTETS} limit {WAITING_OCTETS}")
                        };
                        let line = format!("qdisc add dev {HOST_INTERFACE} root {discipline}\n");
                        batch(&network.host(name), network.run(), &line)?;
                    }
                }
            }
        }
        if switches.is_empty() { Ok(()) } else { batch(&network.switches(), network.run(), &switches) }
    }
}

fn batch(namespace: &str, run: &str, lines: &str) -> Result<()> {
    let program = process::find("tc").unwrap_or_else(|| "tc".into());
    let mut command = Command::new(program);
    command.args(["-n", namespace, "-batch", "-"]).env(process::MARK, run);
    execute(&mut command, lines)
}
