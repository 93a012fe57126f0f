//! The values of `crn switch`'s options: each reads itself and says what would be right.

use std::str::FromStr;

use controller::topology;
use softswitch::QueueRate;

use crate::agent_command::args::quantity;

/// Ports of v1model have 9 bits.
pub(super) const HIGHEST_PORT: u16 = 511;

/// A frame occupies a link for so many octets more: preamble, FCS, gap.
const LINK_OCTETS_PER_FRAME: u32 = 24;

/// A port and the interface behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The port's number.
    pub port: u16,
    /// The interface's name.
    pub name: String,
}

impl FromStr for Interface {
    type Err = String;

    fn from_str(text: &str) -> Result<Interface, String> {
        let wanted = "a port and an interface are wanted, as in `1@veth1`";
        let (port, name) = text.split_once('@').ok_or(wanted)?;
        let port = port.parse::<u16>().map_err(|_| wanted.to_owned())?;
        if port > HIGHEST_PORT {
            return Err(format!("port {port} has more than 9 bits: ports are 0 to {HIGHEST_PORT}"));
        }
        if name.is_empty() {
            return Err(wanted.to_owned());
        }
        Ok(Interface { port, name: name.to_owned() })
    }
}

/// Something for one port or for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfPort<T> {
    /// `None`: all.
    pub port: Option<u16>,
    /// What is said for it.
    pub value: T,
}

impl<T: FromStr<Err = String>> FromStr for OfPort<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<OfPort<T>, String> {
        let Some((port, value)) = text.split_once('=') else {
            return Ok(OfPort { port: None, value: text.parse()? });
        };
        let port = port.parse().ok().filter(|&port| port <= HIGHEST_PORT);
        let port = port.ok_or_else(|| format!("a port of 0 to {HIGHEST_PORT} is wanted before `=`"))?;
        Ok(OfPort { port: Some(port), value: value.parse()? })
    }
}

/// A service rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub QueueRate);

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        let wanted = || format!("`{text}` is no rate: packets/s as in `1000`, or bit/s as in `10Mbps`");
        let (number, unit) = split(text);
        let number: u64 = number.parse().map_err(|_| wanted())?;
        let scale = match unit {
            "" | "pps" => return Ok(Rate(QueueRate::PacketsPerSecond(number))),
            "bps" => 1,
            "kbps" => 1_000,
            "Mbps" => 1_000_000,
            "Gbps" => 1_000_000_000,
            _ => return Err(wanted()),
        };
        let rate = number.checked_mul(scale).ok_or_else(wanted)?;
        let overhead_octets_per_packet = LINK_OCTETS_PER_FRAME;
        Ok(Rate(QueueRate::BitsPerSecond { rate, overhead_octets_per_packet }))
    }
}

/// A queue's capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// In packets.
    Packets(u32),
    /// In octets, whatever the number of packets.
    Octets(u64),
}

impl FromStr for Depth {
    type Err = String;

    fn from_str(text: &str) -> Result<Depth, String> {
        let wanted = || format!("`{text}` is no depth: packets as in `1000`, or octets as in `100kB`");
        let (number, unit) = split(text);
        let number: u64 = number.parse().map_err(|_| wanted())?;
        let scale = match unit {
            "" => return u32::try_from(number).map(Depth::Packets).map_err(|_| wanted()),
            "B" => 1,
            "kB" => 1_000,
            "MB" => 1_000_000,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            _ => return Err(wanted()),
        };
        number.checked_mul(scale).map(Depth::Octets).ok_or_else(wanted)
    }
}

/// A delay in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Later(pub u64);

impl FromStr for Later {
    type Err = String;

    fn from_str(text: &str) -> Result<Later, String> {
        quantity::<topology::Nanos>(text).map(Later)
    }
}

/// A part of all frames, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost(pub u32);

impl FromStr for Lost {
    type Err = String;

    fn from_str(text: &str) -> Result<Lost, String> {
        quantity::<topology::Parts>(text).map(|part| Lost(u32::try_from(part).unwrap_or(u32::MAX)))
    }
}

/// The digits, and what follows them.
fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len()))
}

/// What is said last for a port, or else for all.
pub(super) fn said<T: Copy>(all: &[OfPort<T>], port: u16) -> Option<T> {
    let of = |wanted| all.iter().rev().find(move |of| of.port == wanted).map(|of| of.value);
    of(Some(port)).or_else(|| of(None))
}
