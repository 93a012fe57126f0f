//! One switch: a program's state, its ports and queues.

mod checkpoint;
mod copies;
mod steps;

pub(crate) use checkpoint::Checkpoint;
pub use steps::Taken;

use crate::num::{low8, low16, size32};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::control::{CloneSession, Replica, TableId};
use crate::exec;
use crate::flight::{CLONE_REQUESTED, Flight};
use crate::layout::Intrinsic;
use crate::program::{Program, Standard};
use crate::state::State;
use crate::tm::TrafficManager;
use crate::{Engine, Packet, PortConfig, QueueStats, SwitchConfig, SwitchStats, Value};

/// `instance_type` as `simple_switch` numbers it.
mod instance {
    pub(super) const NORMAL: u64 = 0;
    pub(super) const INGRESS_CLONE: u64 = 1;
    pub(super) const EGRESS_CLONE: u64 = 2;
    pub(super) const RECIRCULATED: u64 = 4;
    pub(super) const REPLICATED: u64 = 5;
    pub(super) const RESUBMITTED: u64 = 6;
}

/// What [`Switch::dequeue`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The packet that leaves; `None` if the program dropped it in egress or sent it back to ingress.
    pub packet: Option<Packet>,
    /// The priority queue it waited in (7 is the highest of 8).
    pub queue: u8,
    /// When it was queued, ns of the caller's clock.
    pub enqueued_ns: u64,
    /// Whether it went back to ingress.
    pub recirculated: bool,
}

/// A digest's fields, as the program sent them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestSample {
    /// Number of the list in the JSON; see [`Program::digest`](crate::Program::digest).
    pub list: u32,
    /// Its fields.
    pub fields: Vec<Value>,
}

/// One switch. Times are ns of the caller's clock, which never runs backwards; the program sees microseconds of it.
#[derive(Debug)]
pub struct Switch {
    pub(crate) program: Arc<Program>,
    pub(crate) config: SwitchConfig,
    pub(crate) state: State,
    pub(crate) tm: TrafficManager,
    /// Shared so that a clone in flight needs no copy.
    pub(crate) sessions: BTreeMap<u16, Arc<CloneSession>>,
    pub(crate) groups: BTreeMap<u16, Vec<Replica>>,
    /// Packets that wait for (another) pass through ingress.
    #[allow(clippy::vec_box, reason = "flights are pooled: moving the box moves nothing else")]
    waiting: VecDeque<Box<Flight>>,
    /// Packets that ingress sent to a port, kept back by [`Switch::hold`].
    held: Option<VecDeque<(u64, Box<Flight>)>>,
    /// Flights and heads nobody uses.
    #[allow(clippy::vec_box, reason = "flights are pooled: moving the box moves nothing else")]
    pool: Vec<Box<Flight>>,
    heads: Vec<Vec<u8>>,
    saved: Vec<u64>,
    /// The latest time the caller gave.
    pub(crate) now_ns: u64,
    /// Packets until the program's native code is wanted; `None`: never, or it is there.
    until_native: Option<u32>,
}

/// Packets that go through the interpreter before a program is compiled: those of short runs.
const INTERPRETED: u32 = 10_000;

/// Flights and heads kept for reuse.
const POOL: usize = 256;

fn set(frame: &mut [u64], field: Intrinsic, value: u64) {
    frame[field.slot as usize] = value & field.mask;
}

fn set_if(frame: &mut [u64], field: Option<Intrinsic>, value: u64) {
    if let Some(field) = field {
        set(frame, field, value);
    }
}

impl Switch {
    /// A switch that runs `program`, with no entries but the program's own.
    pub fn new(program: Arc<Program>, config: SwitchConfig) -> Switch {
        let mut switch = Switch {
            state: State::new(&program, config.seed, u64::from(config.drop_port)),
            tm: TrafficManager::new(&config),
            sessions: BTreeMap::new(),
            groups: BTreeMap::new(),
            waiting: VecDeque::new(),
            held: None,
            pool: Vec::new(),
            heads: Vec::new(),
            saved: Vec::new(),
            now_ns: 0,
            until_native: (config.engine == Engine::Automatic).then_some(INTERPRETED),
            config,
            program,
        };
        if switch.config.engine == Engine::Native {
            switch.state.native = switch.program.make_native();
        }
        switch.install_const_entries();
        switch
    }

    /// Puts the program's own entries into their tables.
    pub(crate) fn install_const_entries(&mut self) {
        let program = Arc::clone(&self.program);
        for (t, shape) in program.control.tables.iter().enumerate() {
            for entry in &shape.const_entries {
                // The loader has checked them: only duplicates fail, and there the first wins.
                let _ = self.insert_entry(TableId(t), entry.clone(), true);
            }
        }
    }

    /// The fields that the switch itself reads and writes; by reference, because all of them are some hundred octets.
    fn standard(&self) -> &Standard {
        &self.program.standard
    }

    /// Counts a packet; after some of them the program is compiled.
    fn count_to_native(&mut self) {
        match &mut self.until_native {
            None => {}
            Some(0) => {
                self.until_native = None;
                self.state.native = true;
                self.program.begin_native();
            }
            Some(n) => *n -= 1,
        }
    }

    /// Whether packets go through native code now.
    pub fn is_native(&self) -> bool {
        self.state.native && self.program.native.get().is_some_and(Option::is_some)
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// What the switch was set up with.
    pub fn config(&self) -> &SwitchConfig {
        &self.config
    }

    /// Configures a port. Packets already queued stay.
    pub fn set_port(&mut self, port: u16, config: PortConfig) {
        self.tm.set_port(port, config);
    }

    /// How a port is configured.
    pub fn port_config(&self, port: u16) -> PortConfig {
        self.tm.port_config(port)
    }

    /// A packet enters on `port`: parser, ingress, what follows ingress, and into the queues.
    pub fn ingress(&mut self, port: u16, packet: Packet, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        self.state.stats.received += 1;
        self.count_to_native();
        let octets = packet.len();
        let mut f = self.take_flight();
        self.put_head(std::mem::replace(&mut f.packet, packet).into_head());
        f.ingress_port = port;
        f.ingress_octets = octets;
        f.length = size32(octets);
        set(&mut f.frame, self.standard().ingress_port, u64::from(port));
        set(&mut f.frame, self.standard().packet_length, octets as u64);
        set(&mut f.frame, self.standard().instance_type, instance::NORMAL);
        set_if(&mut f.frame, self.standard().ingress_timestamp, now_ns / 1000);
        self.waiting.push_back(f);
        self.run_waiting(now_ns);
    }

    /// The earliest time at which [`Switch::dequeue`] does something on this port; `None` when nothing is queued.
    pub fn next_departure(&self, port: u16) -> Option<u64> {
        self.tm.next_departure(port)
    }

    /// Ports with something queued, ascending.
    pub fn active_ports(&self) -> impl Iterator<Item = u16> {
        self.tm.active()
    }

    /// The next packet for the controller: what leaves through [`SwitchConfig::cpu_port`].
    pub fn poll_packet_in(&mut self, now_ns: u64) -> Option<Packet> {
        let port = self.config.cpu_port?;
        loop {
            if let Some(packet) = self.dequeue(port, now_ns)?.packet {
                return Some(packet);
            }
        }
    }

    /// The next digest sample.
    pub fn poll_digest(&mut self) -> Option<DigestSample> {
        self.state.digests.pop_front()
    }

    /// A queue's state and counters.
    pub fn queue(&self, port: u16, queue: u8) -> QueueStats {
        self.tm.stats(port, queue)
    }

    /// What happened so far.
    pub fn stats(&self) -> &SwitchStats {
        &self.state.stats
    }

    /// Hands a departed packet's memory back for reuse; optional.
    pub fn recycle(&mut self, packet: Packet) {
        self.put_head(packet.into_head());
    }

    fn take_flight(&mut self) -> Box<Flight> {
        match self.pool.pop() {
            Some(mut f) => {
                f.reset_fields(&self.program);
                f.reset_requests();
                f
            }
            None => Box::new(Flight::new(&self.program)),
        }
    }

    fn put_head(&mut self, mut head: Vec<u8>) {
        if head.capacity() > 0 && self.heads.len() < POOL {
            head.clear();
            self.heads.push(head);
        }
    }

    fn put_flight(&mut self, mut f: Box<Flight>) {
        let packet = std::mem::take(&mut f.packet);
        self.put_head(packet.into_head());
        if self.pool.len() < POOL {
            self.pool.push(f);
        }
    }

    fn run_waiting(&mut self, now_ns: u64) {
        let mut passes = 0;
        while let Some(f) = self.waiting.pop_front() {
            passes += 1;
            if passes > self.config.passes_per_call.max(1) {
                self.state.stats.loop_drops += 1;
                self.put_flight(f);
                continue;
            }
            self.run_ingress(f, now_ns);
        }
    }

    /// Queues a packet for another pass, or drops it when too many wait.
    fn wait(&mut self, f: Box<Flight>) -> bool {
        if self.waiting.len() >= self.config.recirculation_packets {
            self.state.stats.loop_drops += 1;
            self.put_flight(f);
            return false;
        }
        self.waiting.push_back(f);
        true
    }

    fn parse(&mut self, f: &mut Flight, now_ns: u64) {
        exec::parse(&self.program, &mut self.state, f, now_ns);
    }

    /// One pass through parser and ingress, and what follows: clone, digest, resubmit, multicast, drop, unicast.
    fn run_ingress(&mut self, mut f: Box<Flight>, now_ns: u64) {
        let length = f.length;
        self.parse(&mut f, now_ns);
        set_if(&mut f.frame, self.standard().parser_error, u64::from(f.parser_error));
        set_if(&mut f.frame, self.standard().checksum_error, u64::from(f.checksum_error));
        if !f.dead {
            let code = self.program.control.ingress;
            exec::apply(&self.program, &mut self.state, &mut f, code, now_ns);
        }
        if f.dead {
            return self.put_flight(f);
        }
        if f.clone_session & CLONE_REQUESTED != 0 {
            self.clone_ingress(&f, length, now_ns);
            f.clone_session = 0;
        }
        if f.digest > 0 {
            self.digest(&f);
            f.digest = 0;
        }
        if f.resubmit != 0 {
            self.state.stats.resubmitted += 1;
            let list = f.resubmit;
            self.restart(&mut f, list, instance::RESUBMITTED);
            f.length = length;
            set(&mut f.frame, self.standard().packet_length, u64::from(length));
            self.wait(f);
            return;
        }
        let group = self.standard().mcast_grp.map_or(0, |g| f.frame[g.slot as usize]);
        if group != 0 {
            set(&mut f.frame, self.standard().instance_type, instance::REPLICATED);
            self.multicast(&f, low16(group), now_ns);
            return self.put_flight(f);
        }
        let port = f.frame[self.standard().egress_spec.slot as usize];
        if port == u64::from(self.config.drop_port) {
            self.state.stats.ingress_drops += 1;
            return self.put_flight(f);
        }
        set(&mut f.frame, self.standard().instance_type, instance::NORMAL);
        f.reset_requests_but_truncate();
        self.enqueue(port, f, now_ns);
    }

    fn enqueue(&mut self, port: u64, f: Box<Flight>, now_ns: u64) {
        match &mut self.held {
            Some(held) => held.push_back((port, f)),
            None => self.push(port, f, now_ns),
        }
    }

    fn push(&mut self, port: u64, mut f: Box<Flight>, now_ns: u64) {
        let Ok(port) = u16::try_from(port) else {
            self.state.stats.port_drops += 1;
            return self.put_flight(f);
        };
        let priority = self.standard().priority.map_or(0, |p| f.frame[p.slot as usize]);
        if !self.tm.has_queue(priority) {
            self.state.stats.priority_drops += 1;
            return self.put_flight(f);
        }
        let queue = low8(priority);
        set_if(&mut f.frame, self.standard().enq_timestamp, now_ns / 1000);
        set_if(&mut f.frame, self.standard().enq_qdepth, self.tm.depth(port, queue));
        let octets = exec::header_octets(&self.program, &f) + f.payload_octets();
        f.queued_octets = octets.min(f.truncate) as u64;
        if let Err(f) = self.tm.push(port, queue, f, now_ns) {
            self.state.stats.tail_drops += 1;
            self.put_flight(f);
        }
    }

    /// Takes one packet from the port's queues through egress and the deparser. `None` when nothing may leave yet.
    pub fn dequeue(&mut self, port: u16, now_ns: u64) -> Option<Departure> {
        let taken = self.take(port, now_ns)?;
        Some(self.egress(taken, now_ns))
    }

    /// Empties the queues and forgets what waits.
    pub(crate) fn clear_queues(&mut self) {
        self.tm.clear();
        self.waiting.clear();
        if let Some(held) = &mut self.held {
            held.clear();
        }
    }
}
