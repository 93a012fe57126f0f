//! A transport with rails: local NICs that each lead to one remote NIC, over `roce` endpoints and links in virtual time. It
//! posts what is admitted, does with objects what the matrices say, and takes another rail when one is to be avoided.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::net::IpAddr;

use admission::classify::Object;
use admission::evidence::{Reason, TaskEvidence};
use admission::{
    Capacity, Config, Controller, DeviceId, DeviceSpec, Generation, Mode, PeerId, RouteId, RouteSpec, Ticket,
    Verdict,
};
use roce::{Completion, Endpoint, Operation, QpConfig, ReceiveRequest, TxPacket, WcStatus, WorkRequest};
use wire::units::{Micros, Nanos, Octets};

pub const SLICE: u32 = 64 << 10;
pub const MS: u64 = 1_000_000;
/// 10 Gbit/s: 0.8 ns an octet.
const NANOS_PER_1000_OCTETS: u64 = 800;
const DELAY: u64 = 2_000;

pub struct Rail {
    pub device: DeviceId,
    pub route: RouteId,
    pub generation: Generation,
    qp: u32,
}

type Posted = VecDeque<(Ticket, u64, Generation, usize)>;

pub struct World {
    pub controller: Controller,
    pub rails: Vec<Rail>,
    /// Local NICs, then the remote one.
    ends: Vec<Endpoint>,
    free_at: Vec<u64>,
    /// NICs whose cable is out.
    pub down: BTreeSet<usize>,
    flying: BinaryHeap<Reverse<(u64, u64)>>,
    packets: BTreeMap<u64, (usize, usize, TxPacket)>,
    number: u64,
    next_qp: u32,
    pub now: u64,
    pub pending: VecDeque<u64>,
    posted: BTreeMap<(usize, u32), Posted>,
    pub done: BTreeSet<u64>,
    pub task: TaskEvidence,
    pub done_by_rail: Vec<usize>,
    /// SENDs into receives that the receiver posts at this pace, instead of WRITEs.
    pub receive_every: Option<u64>,
    next_receive: u64,
    next_tick: u64,
}

fn address(end: usize) -> IpAddr {
    IpAddr::from([10, 0, 0, u8::try_from(end + 1).unwrap()])
}

impl World {
    pub fn new(rails: usize, slices: u64) -> Self {
        let config = Config {
            mode: Mode::Enforce,
            min_window: Octets(u64::from(SLICE)),
            max_window: Octets(8 * u64::from(SLICE)),
            target_drain: Micros(2_000),
            cooldown: Nanos(5 * MS),
            ..Config::default()
        };
        let controller = Controller::new(config, Capacity::default()).unwrap();
        let mut world = Self {
            controller,
            rails: Vec::new(),
            ends: (0..=rails).map(|_| Endpoint::new()).collect(),
            free_at: vec![0; rails + 1],
            down: BTreeSet::new(),
            flying: BinaryHeap::new(),
            packets: BTreeMap::new(),
            number: 0,
            next_qp: 1,
            now: 0,
            pending: (0..slices).collect(),
            posted: BTreeMap::new(),
            done: BTreeSet::new(),
            task: TaskEvidence::new(true),
            done_by_rail: vec![0; rails],
            receive_every: None,
            next_receive: 0,
            next_tick: MS,
        };
        for rail in 0..rails {
            let device = world.controller.open_device(DeviceSpec::default(), Nanos(0)).unwrap();
            let spec = RouteSpec { device, port: 1, peer: PeerId(1) };
            let (route, generation) = world.controller.open_route(spec, Nanos(0)).unwrap();
            let qp = world.connect(rail);
            world.rails.push(Rail { device, route, generation, qp });
        }
        world
    }

    fn connect(&mut self, rail: usize) -> u32 {
        let (qp, remote) = (self.next_qp, self.ends.len() - 1);
        self.next_qp += 1;
        let config = |peer| QpConfig {
            retransmit_timeout: Nanos(200_000),
            retry_limit: Some(2),
            rnr_retry_limit: Some(0),
            ..QpConfig::new(qp, qp, address(peer))
        };
        self.ends[rail].create_qp(config(remote)).unwrap();
        self.ends[remote].create_qp(config(rail)).unwrap();
        qp
    }

    /// A new queue pair, and with it a new generation.
    pub fn rebuild(&mut self, rail: usize) {
        self.rails[rail].qp = self.connect(rail);
        self.rails[rail].generation = self.controller.renew_route(self.rails[rail].route).unwrap();
    }

    /// Runs until `until` or until every slice is done.
    pub fn run(&mut self, until: u64, slices: usize) {
        while self.now < until && self.done.len() < slices {
            self.step();
        }
    }

    fn step(&mut self) {
        while let Some(&Reverse((at, number))) = self.flying.peek()
            && at <= self.now
        {
            self.flying.pop();
            let (from, to, packet) = self.packets.remove(&number).unwrap();
            if !self.down.contains(&from) && !self.down.contains(&to) {
                let octets = packet.udp_payload_octets();
                let _ =
                    self.ends[to].handle_packet(address(from), &packet.head, octets, false, Nanos(self.now));
            }
        }
        if self.now >= self.next_tick {
            self.controller.tick(Nanos(self.now));
            self.next_tick += MS;
        }
        self.receive();
        for end in 0..self.ends.len() {
            self.ends[end].handle_timeout(Nanos(self.now));
            while let Some(completion) = self.ends[end].poll_completion() {
                self.completed(end, completion);
            }
            while self.ends[end].poll_receive().is_some() {}
            while self.ends[end].poll_receive_completion().is_some() {}
        }
        self.post();
        self.transmit();
        self.advance();
    }

    /// The receiver posts a receive on each rail's queue pair.
    fn receive(&mut self) {
        let Some(every) = self.receive_every else { return };
        while self.now >= self.next_receive {
            self.next_receive += every;
            let remote = self.ends.len() - 1;
            for rail in &self.rails {
                let receive = ReceiveRequest { wr_id: 0, octets: SLICE };
                self.ends[remote].post_receive(rail.qp, receive).unwrap();
            }
        }
    }

    fn post(&mut self) {
        while let Some(&slice) = self.pending.front() {
            let mut posted = false;
            for index in 0..self.rails.len() {
                let rail = &self.rails[index];
                let octets = Octets(u64::from(SLICE));
                let reason = match self.controller.try_acquire(rail.route, rail.generation, octets) {
                    Verdict::Admit(permit) => {
                        let operation = match self.receive_every {
                            Some(_) => Operation::Send { immediate: None },
                            None => Operation::Write { to: roce::RemoteMemory::default(), immediate: None },
                        };
                        let work = WorkRequest { wr_id: slice, operation, octets: SLICE, dscp: 0 };
                        self.ends[index].submit(rail.qp, work, Nanos(self.now)).unwrap();
                        let held = (permit.detach(), slice, rail.generation, index);
                        self.posted.entry((index, rail.qp)).or_default().push_back(held);
                        posted = true;
                        break;
                    }
                    Verdict::Defer(_) => Reason::ByteWindow,
                    Verdict::Avoid(_) => Reason::PathQuarantined,
                };
                let scope = admission::classify::Scope::Route;
                if let Some(seen) = self.controller.observe(rail.route, reason, scope, Nanos(self.now)) {
                    self.task.record(seen);
                }
            }
            if !posted {
                return;
            }
            self.pending.pop_front();
        }
    }

    fn completed(&mut self, end: usize, completion: Completion) {
        let Some(posted) = self.posted.get_mut(&(end, completion.qp)) else { return };
        let (ticket, slice, generation, rail) = posted.pop_front().unwrap();
        assert_eq!(slice, completion.wr_id);
        let permit = self.controller.attach(ticket);
        let settled = permit.complete(completion.status.number(), 0, Nanos(self.now));
        if completion.status == WcStatus::Success {
            assert!(self.done.insert(slice), "a slice is done once");
            self.done_by_rail[rail] += 1;
            self.task.success(self.rails[rail].route, generation, 0);
            return;
        }
        if let Some(seen) = settled.observation {
            self.task.record(seen);
        }
        self.pending.push_back(slice);
        if settled.row.object == Object::RebuildQp && self.rails[rail].qp == completion.qp {
            self.rebuild(rail);
        }
    }

    fn transmit(&mut self) {
        for end in 0..self.ends.len() {
            while self.free_at[end] <= self.now
                && let Some(packet) = self.ends[end].poll_transmit(Nanos(self.now))
            {
                let octets = (packet.udp_payload_octets() + 66) as u64;
                let sent = self.now + octets * NANOS_PER_1000_OCTETS / 1000;
                self.free_at[end] = sent;
                let to = (0..self.ends.len()).find(|to| address(*to) == packet.destination).unwrap();
                self.flying.push(Reverse((sent + DELAY, self.number)));
                self.packets.insert(self.number, (end, to, packet));
                self.number += 1;
            }
        }
    }

    fn advance(&mut self) {
        let mut next = self.next_tick;
        if let Some(Reverse((at, _))) = self.flying.peek() {
            next = next.min(*at);
        }
        for end in 0..self.ends.len() {
            if let Some(at) = self.ends[end].poll_timeout() {
                next = next.min(at.0);
            }
            if self.free_at[end] > self.now {
                next = next.min(self.free_at[end]);
            }
        }
        if self.receive_every.is_some() {
            next = next.min(self.next_receive);
        }
        self.now = next.max(self.now + 1);
    }
}
