//! The test bed, and the builder of scripts and expectations.

use std::collections::BTreeMap;

use crate::case::{Await, Case, Expected, RATE_PPS, Step};
use crate::entries;
use crate::frames::{
    CONTROL, CREM_PORT, Data, NO_ROLE, RDCC_PORT, REPORTER_ADDRESS, REPORTER_ADDRESS_6, REPORTER_ID,
    SCHEDULED, SCONE_PORT, UNSCHEDULED, host_address, host_address_6,
};
use crate::program::{CPU_PORT, REPORT_CLONE_PORT, REPORT_CLONE_SESSION};
use crate::setup::{Call, Entry, Port, Setup};

/// The port whose queues are slow.
pub const SLOW: u16 = 2;
/// The profile of its data queue.
pub(super) const PROFILE: u128 = 3;
/// The profile of control queues, never congested.
const CONTROL_PROFILE: u128 = 9;
/// What `fair_share` divides, Mbit/s.
const SERVICE_RATE: u128 = 1000;
/// Number of hosts.
const HOSTS: u16 = 4;

/// What differs between cases in the switch's setup.
#[derive(Clone, Debug)]
pub struct Bed {
    /// `B_th` of the slow data queue, octets.
    pub b_th: u32,
    /// `Q_max` of the slow data queue, octets.
    pub q_max: u32,
    /// ECN threshold, octets; 0: none.
    pub ecn_threshold: u32,
    /// Report interval, microseconds: far below or far above [`crate::case::PERIOD_US`].
    pub report_interval: u32,
    /// Degrees that have an entry, by the document's formula.
    pub degrees: Vec<u8>,
    /// Flows that `fair_share` has entries for.
    pub most_flows: u128,
    /// Whether `reporter` is set.
    pub reporter: bool,
    /// Its IPv4 address; all 0: nothing is reported about IPv4.
    pub reporter_ipv4: [u8; 4],
    /// Its IPv6 address; 0: nothing is reported about IPv6.
    pub reporter_ipv6: u128,
    /// Whether the clone session is set.
    pub clone_session: bool,
    /// Ports inside the domain.
    pub trusted: Vec<u16>,
    /// Capacity of the slow port's queues, packets.
    pub depth_packets: u32,
    /// Rates of further ports, packets a second.
    pub rates: Vec<(u16, u64)>,
    /// `B_th` of port's control queues; the default is never reached.
    pub control_b_th: u32,
    /// `Q_max` of control queues.
    pub control_q_max: u32,
    /// Nothing but routes.
    pub plain: bool,
    /// Entries on top.
    pub more: Vec<Entry>,
}

impl Default for Bed {
    /// 5,100 octets between the thresholds: 20 octets a degree.
    fn default() -> Bed {
        Bed {
            b_th: 500,
            q_max: 5600,
            ecn_threshold: 0,
            report_interval: 1000,
            degrees: Vec::new(),
            most_flows: 8,
            reporter: true,
            reporter_ipv4: REPORTER_ADDRESS,
            reporter_ipv6: REPORTER_ADDRESS_6,
            clone_session: true,
            trusted: (1..=HOSTS).collect(),
            depth_packets: 1000,
            rates: Vec::new(),
            control_b_th: 900_000,
            control_q_max: 1_000_000,
            plain: false,
            more: Vec::new(),
        }
    }
}

impl Bed {
    /// Entries as the controller would write them.
    #[must_use]
    pub fn setup(&self) -> Setup {
        let rate_of = |port| {
            let other = self.rates.iter().find(|(rated, _)| *rated == port).map(|&(_, rate)| rate);
            if port == SLOW { Some(RATE_PPS) } else { other }
        };
        let ports = (1..=HOSTS).map(|port| Port {
            port,
            rate_pps: rate_of(port),
            depth_packets: if port == SLOW { self.depth_packets } else { 1000 },
        });
        let mut entries: Vec<Entry> = (1..=HOSTS).flat_map(routes).collect();
        if !self.plain {
            entries.extend(self.features());
        }
        entries.extend(self.more.iter().cloned());
        Setup { ports: ports.collect(), entries }
    }

    /// The default bed with entries for these degrees, and entries on top.
    #[must_use]
    pub fn with(degrees: &[u8], more: Vec<Entry>) -> Bed {
        Bed { degrees: degrees.to_vec(), more, ..Bed::default() }
    }

    /// All but routes.
    fn features(&self) -> Vec<Entry> {
        let mut entries = self.classes();
        let control = (self.control_b_th.into(), self.control_q_max.into());
        entries.extend(
            (1..=HOSTS).map(|host| entries::profile(host, 7, [CONTROL_PROFILE, control.0, control.1, 0, 50])),
        );
        let [b_th, q_max, ecn_threshold, interval] =
            [self.b_th, self.q_max, self.ecn_threshold, self.report_interval].map(u128::from);
        entries.push(entries::profile(SLOW, 0, [PROFILE, b_th, q_max, ecn_threshold, interval]));
        let span = self.q_max - self.b_th;
        entries.extend(self.degrees.iter().map(|&degree| entries::degree(PROFILE, degree, span)));
        let share = |flows| entries::share(PROFILE, flows, SERVICE_RATE / flows);
        entries.extend((1..=self.most_flows).map(share));
        if self.clone_session {
            entries.push(Entry::CloneSession { id: REPORT_CLONE_SESSION, port: REPORT_CLONE_PORT });
        }
        if self.reporter {
            entries.push(self.reporter_with(RDCC_PORT));
        }
        entries
    }

    /// The reporter's entry, with this RDCC port.
    pub(super) fn reporter_with(&self, rdcc_port: u16) -> Entry {
        let address = u32::from_be_bytes(self.reporter_ipv4);
        let ports = [rdcc_port, CREM_PORT, SCONE_PORT].map(u128::from);
        let identity = [REPORTER_ID.into(), address.into(), self.reporter_ipv6];
        entries::default("reporter", "set_reporter", &[identity, ports].concat())
    }

    /// DSCP roles and trusted ports.
    fn classes(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> =
            [(SCHEDULED, [0, 1, 0]), (UNSCHEDULED, [0, 2, 0]), (CONTROL, [7, 3, 7])]
                .map(|(dscp, arguments)| entries::class(dscp, arguments))
                .into();
        entries.extend(self.trusted.iter().map(|&port| entries::trust(port, true, true)));
        entries
    }
}

/// A next hop and the routes to the host behind it.
fn routes(host: u16) -> [Entry; 3] {
    let id = u32::from(host);
    let low = u8::try_from(host).unwrap_or_default();
    [
        entries::member(id, host, 0x0200_0000_0000 | u128::from(host)),
        entries::route(host_address(low), Call::Member(id)),
        entries::route_6(host_address_6(low), Call::Member(id)),
    ]
}

/// What makes the slow queue wait.
pub(super) const PRIMER: Data = Data { dscp: NO_ROLE, ..Data::scheduled(64) };

/// What [`Story`] sends to know how far the switch is.
const MARKER: Data = Data { ports: (9, 9), dscp: NO_ROLE, mark: 0xee, ..Data::scheduled(64) };

/// A frame from or to the controller: the port in nine bits, seven bits of padding.
fn packet_io(port: u16, frame: &[u8]) -> Vec<u8> {
    [&(port << 7).to_be_bytes(), frame].concat()
}

/// Builds a case's script and expectations side by side.
#[derive(Clone, Debug, Default)]
pub struct Story {
    script: Vec<Step>,
    frames: BTreeMap<u16, Vec<Vec<u8>>>,
    counters: BTreeMap<(String, u64), u64>,
}

impl Story {
    /// An empty story.
    #[must_use]
    pub fn new() -> Story {
        Story::default()
    }

    /// As [`Story::new`], after one small packet without a role has left the slow queue: what is sent now waits
    /// there, since the queue has just been served. The packet is of the flow of [`Data::scheduled`].
    #[must_use]
    pub fn primed() -> Story {
        Story::new().send(1, &[PRIMER]).expect(SLOW, PRIMER.forwarded()).settle()
    }

    /// Data frames enter.
    #[must_use]
    pub fn send(self, port: u16, data: &[Data]) -> Story {
        self.send_octets(port, data.iter().map(Data::sent).collect())
    }

    /// Frames enter.
    #[must_use]
    pub fn send_octets(mut self, port: u16, frames: Vec<Vec<u8>>) -> Story {
        self.script.push(Step::Send { port, frames });
        self
    }

    /// A frame must leave, after those that were named for this port before.
    #[must_use]
    pub fn expect(mut self, port: u16, frame: Vec<u8>) -> Story {
        self.frames.entry(port).or_default().push(frame);
        self
    }

    /// Data frames must leave unchanged but for what a router changes.
    #[must_use]
    pub fn expect_forwarded(self, port: u16, data: &[Data]) -> Story {
        data.iter().fold(self, |story, data| story.expect(port, data.forwarded()))
    }

    /// Frames must leave, in this order.
    #[must_use]
    pub fn expect_all(self, port: u16, frames: Vec<Vec<u8>>) -> Story {
        frames.into_iter().fold(self, |story, frame| story.expect(port, frame))
    }

    /// The controller writes entries, after everything that was named so far has come and all that has entered through
    /// port 1 has been through ingress.
    #[must_use]
    pub fn write(mut self, entries: Vec<Entry>) -> Story {
        self = self.settle();
        let marker = Data { dst: 4, ..MARKER };
        self = self.send(1, &[marker]).expect(4, marker.forwarded()).settle();
        self.script.push(Step::Write(entries));
        self
    }

    /// The controller sends a frame out of a port.
    #[must_use]
    pub fn packet_out(self, port: u16, frame: &[u8]) -> Story {
        self.send_octets(CPU_PORT, vec![packet_io(port, frame)]).expect(port, frame.to_vec())
    }

    /// The controller must get a frame that entered through a port.
    #[must_use]
    pub fn expect_packet_in(self, port: u16, frame: &[u8]) -> Story {
        self.expect(CPU_PORT, packet_io(port, frame))
    }

    /// So many packets must have been counted. As many reports as were sent were triggered, unless that is said too.
    #[must_use]
    pub fn count(mut self, counter: &str, index: u64, packets: u64) -> Story {
        if counter == "reports_sent" {
            self.counters.entry(("reports_triggered".to_owned(), index)).or_insert(packets);
        }
        self.counters.insert((counter.to_owned(), index), packets);
        self
    }

    /// Waits for all frames that were named so far.
    #[must_use]
    pub fn settle(mut self) -> Story {
        for (&port, frames) in &self.frames {
            self.script.push(Step::Await(Await { port, frames: frames.len() }));
        }
        self
    }

    /// Waits for everything, then sends one packet through each host's port and waits for it: what comes before it
    /// and wasn't named is a fault, and nobody has to wait for silence.
    #[must_use]
    pub fn end(mut self, name: &str, rule: &str, bed: &Bed) -> Case {
        self = self.settle();
        for host in [2, 1, 3, 4] {
            let marker = Data { dst: host, ..MARKER };
            self = self.send(1, &[marker]).expect(host.into(), marker.forwarded()).settle();
        }
        Case {
            name: name.to_owned(),
            rule: rule.to_owned(),
            setup: bed.setup(),
            script: self.script,
            expected: Expected { frames: Some(self.frames), counters: self.counters },
        }
    }
}
