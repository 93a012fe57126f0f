//! The switch under test, and the account of the truth beside it.

use std::collections::{BTreeMap, VecDeque};

use bmv2_tests::cases::Bed;
use bmv2_tests::entries;
use bmv2_tests::frames::host_address;
use bmv2_tests::program::{CPU_PORT, Program, REPORT_CLONE_PORT};
use bmv2_tests::setup::{Call, Entry, updates};
use p4runtime::p4::v1::Update;
use serde_json::Value;
use softswitch::control::{RegisterId, Replica};
use softswitch::runtime::Runtime;
use softswitch::{Packet, PortConfig, SwitchConfig, Taken};

use crate::arrivals::{Arrival, DENIED, Kind, frame};
use crate::changes::{Mutant, with_multicast};
use crate::truth::{Item, Left, Truth};

/// Ports with hosts.
pub const DATA_PORTS: [u16; 3] = [1, 2, 3];
/// All ports that take packets: those of the hosts, and the clones'.
pub const PORTS: [u16; 4] = [1, 2, 3, REPORT_CLONE_PORT];
/// Queues that packets go to.
const QUEUES: [u8; 2] = [0, 7];
/// `Q_max` of every queue, octets.
const Q_MAX: u32 = 3000;
/// `B_th` of the data queues, octets.
const B_TH: u32 = 400;
/// A port that no switch has: a route to it means the multicast group.
const MULTICAST_PORT: u16 = 257;
const GROUP: u16 = 1;
/// Time between steps: longer than a report interval.
const STEP_NS: u64 = 10_000;

/// What a step did that it shouldn't have done.
#[derive(Debug)]
pub struct Fault(pub String);

/// How often what happened: a property over nothing would prove nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub charged: u32,
    pub refused: u32,
    pub uncharged: u32,
    pub copies: u32,
    pub clones: u32,
    pub reports: u32,
    pub silent: u32,
    /// Packets that left others behind.
    pub waited: u32,
    /// Steps with a surplus.
    pub surplus: u32,
    /// Steps with a blind spot.
    pub blind: u32,
}

type QueueId = (u16, u8);

/// A switch that is driven step by step.
pub struct Bench {
    runtime: Runtime,
    entries: Vec<Update>,
    enqueued: RegisterId,
    dequeued: RegisterId,
    now_ns: u64,
    truths: BTreeMap<QueueId, Truth>,
    /// What ingress sent to a port and isn't queued yet, oldest first, with the queue that was charged for it.
    held: VecDeque<(Option<QueueId>, Item)>,
    taken: BTreeMap<u16, (Taken, Option<Left>)>,
    pub seen: Seen,
}

impl Bench {
    pub fn new(queue_packets: u32, mutant: Option<&Mutant>) -> Bench {
        let mut program = Program::load().unwrap();
        let mut json: Value = serde_json::from_slice(&program.json).unwrap();
        with_multicast(&mut json);
        if let Some(mutant) = mutant {
            assert!(mutant.apply(&mut json) > 0, "{} {} {}", mutant.left, mutant.op, mutant.value);
        }
        program.json = serde_json::to_vec(&json).unwrap();
        let config = SwitchConfig {
            priority_queues: 8,
            cpu_port: Some(CPU_PORT),
            default_port: PortConfig { queue_packets, ..PortConfig::default() },
            ..SwitchConfig::default()
        };
        let mut more = vec![
            entries::path_report(0),
            entries::deny(1, vec![entries::whole("dst_port", DENIED.into(), 16)]),
            entries::member(9, MULTICAST_PORT, 0x0200_0000_0009),
            entries::route(host_address(9), Call::Member(9)),
        ];
        let others: Vec<Entry> = DATA_PORTS
            .iter()
            .filter(|port| **port != 2)
            .map(|&port| entries::profile(port, 0, [3, B_TH.into(), Q_MAX.into(), 0, 5]))
            .collect();
        more.extend(others);
        let bed = Bed {
            b_th: B_TH,
            q_max: Q_MAX,
            report_interval: 5,
            control_q_max: Q_MAX,
            more,
            ..Bed::default()
        };
        let entries = updates(&bed.setup().entries, &program).unwrap();
        let runtime = Runtime::with_pipeline(1, config, program.pipeline()).unwrap();
        let program = runtime.switch().unwrap().program();
        let (enqueued, dequeued) =
            (program.register("queue_enqueued").unwrap(), program.register("queue_dequeued").unwrap());
        Bench {
            runtime,
            entries,
            enqueued,
            dequeued,
            now_ns: 0,
            truths: BTreeMap::new(),
            held: VecDeque::new(),
            taken: BTreeMap::new(),
            seen: Seen::default(),
        }
    }

    /// As new, but for what was seen.
    pub fn reset(&mut self) {
        let switch = self.runtime.switch_mut().unwrap();
        switch.reset();
        switch.hold();
        let copies = DATA_PORTS.map(|port| Replica { port, instance: 1 });
        switch.set_multicast_group(GROUP, copies.to_vec()).unwrap();
        let outcomes = self.runtime.apply(&self.entries).unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.canonical_code == 0), "{outcomes:?}");
        self.now_ns = 1_000_000_000;
        self.truths = DATA_PORTS
            .iter()
            .flat_map(|&port| QUEUES.map(|queue| ((port, queue), Truth::default())))
            .collect();
        self.held.clear();
        self.taken.clear();
    }

    fn register(&self, register: RegisterId, (port, queue): QueueId) -> u32 {
        let index = u64::from(port) << 3 | u64::from(queue);
        let value = self.runtime.switch().unwrap().register(register, index).unwrap();
        u32::try_from(value.to_u64().unwrap()).unwrap()
    }

    fn enqueued(&self) -> BTreeMap<QueueId, u32> {
        self.truths.keys().map(|&queue| (queue, self.register(self.enqueued, queue))).collect()
    }

    /// A: the program's account of a queue.
    fn account(&self, queue: QueueId) -> u32 {
        self.register(self.enqueued, queue).wrapping_sub(self.register(self.dequeued, queue))
    }

    /// Enters what a pass through ingress has put on its way; the packet itself comes last, behind its clone.
    fn note_pass(&mut self, before: &BTreeMap<QueueId, u32>, held_before: usize) -> Option<(QueueId, u32)> {
        let after = self.enqueued();
        let mut charged = None;
        for (&queue, &count) in &after {
            let charge = count.wrapping_sub(before[&queue]);
            if charge != 0 {
                assert_eq!(charged, None, "one packet, two queues charged");
                charged = Some((queue, charge));
            }
        }
        let new = self.runtime.switch().unwrap().held() - held_before;
        for place in 1..=new {
            let item = charged.filter(|_| place == new).map(|(queue, charge)| {
                self.seen.charged += 1;
                (Some(queue), self.truths.get_mut(&queue).unwrap().charge(charge))
            });
            self.held.push_back(item.unwrap_or_default());
        }
        charged
    }

    pub fn arrive(&mut self, arrival: Arrival) -> Result<(), Fault> {
        if self.runtime.switch().unwrap().held() > 0 {
            return Ok(());
        }
        let (port, frame) = frame(arrival);
        let queue = (arrival.port, if matches!(arrival.kind, Kind::Control | Kind::NotIp) { 7 } else { 0 });
        let (account, before) = (self.account(queue), self.enqueued());
        self.now_ns += STEP_NS;
        let charge = u32::try_from(frame.len().max(64)).unwrap();
        let switch = self.runtime.switch_mut().unwrap();
        switch.ingress(port, Packet::new(frame), self.now_ns);
        let charged = self.note_pass(&before, 0);
        let wanted = match arrival.kind {
            Kind::Denied => None,
            Kind::Multicast => {
                self.seen.copies += 1;
                None
            }
            Kind::NotIp => {
                self.seen.uncharged += 1;
                None
            }
            _ if account + charge > Q_MAX => {
                self.seen.refused += 1;
                None
            }
            _ => Some((queue, charge)),
        };
        if charged != wanted {
            return Err(Fault(format!(
                "{arrival:?}, account {account}: charged {charged:?}, not {wanted:?}"
            )));
        }
        let truth = &self.truths[&queue];
        if wanted.is_some() && truth.octets() > Q_MAX + truth.blind() {
            return Err(Fault(format!("{} octets in a queue of {Q_MAX}: {truth:?}", truth.octets())));
        }
        self.check()
    }

    pub fn release(&mut self) -> Result<(), Fault> {
        let Some((charged, item)) = self.held.pop_front() else { return Ok(()) };
        self.now_ns += STEP_NS;
        let stats = |bench: &Bench| {
            let switch = bench.runtime.switch().unwrap();
            let queues = PORTS.iter().flat_map(|&port| QUEUES.map(|queue| (port, queue)));
            queues.map(|(port, queue)| ((port, queue), switch.queue(port, queue))).collect::<Vec<_>>()
        };
        let before = stats(self);
        assert!(self.runtime.switch_mut().unwrap().release(self.now_ns));
        let after = stats(self);
        let ((queue, old), (_, new)) = before.iter().zip(&after).find(|(old, new)| old.1 != new.1).unwrap();
        if charged.is_some_and(|charged| charged != *queue) {
            return Err(Fault(format!("charged in {charged:?}, queued in {queue:?}")));
        }
        if let Some(truth) = self.truths.get_mut(queue) {
            if new.enqueued > old.enqueued {
                truth.queued(item);
            } else {
                self.seen.silent += 1;
                truth.dropped(item);
            }
        } else {
            self.seen.clones += 1;
        }
        self.check()
    }

    pub fn take(&mut self, port: u16) {
        if self.taken.contains_key(&port) {
            return;
        }
        self.now_ns += STEP_NS;
        let Some(taken) = self.runtime.switch_mut().unwrap().take(port, self.now_ns) else { return };
        let left = self.truths.get_mut(&(port, taken.queue())).and_then(Truth::leaves);
        self.taken.insert(port, (taken, left));
    }

    pub fn egress(&mut self, port: u16) -> Result<(), Fault> {
        // A report comes back to ingress, which is one thread: what is on its way is queued before.
        while port == REPORT_CLONE_PORT && !self.held.is_empty() {
            self.release()?;
        }
        let Some((taken, left)) = self.taken.remove(&port) else { return Ok(()) };
        self.now_ns += STEP_NS;
        let queue = (port, taken.queue());
        let (before, held) = (self.enqueued(), self.runtime.switch().unwrap().held());
        let departure = self.runtime.switch_mut().unwrap().egress(taken, self.now_ns);
        self.seen.reports += u32::from(departure.recirculated);
        if let (Some(left), Some(truth)) = (left, self.truths.get_mut(&queue)) {
            let bound = truth.settled(left);
            if truth.blind() > bound {
                return Err(Fault(format!("{} octets unseen, at most {bound}: {truth:?}", truth.blind())));
            }
            self.seen.waited += u32::from(!truth.is_empty());
        }
        self.note_pass(&before, held);
        self.check()
    }

    /// A = T + D - W, for all queues.
    fn check(&mut self) -> Result<(), Fault> {
        for (&queue, truth) in &self.truths {
            let account = self.account(queue);
            if account + truth.blind() != truth.octets() + truth.surplus() {
                return Err(Fault(format!("{queue:?}: the account says {account}: {truth:?}")));
            }
            self.seen.surplus += u32::from(truth.surplus() > 0);
            self.seen.blind += u32::from(truth.blind() > 0);
        }
        Ok(())
    }

    /// Everything leaves, then one packet more from each queue: an empty queue is 0, whatever happened before.
    pub fn finish(&mut self) -> Result<(), Fault> {
        self.drain()?;
        for port in DATA_PORTS {
            for kind in [Kind::Unclassified, Kind::Control] {
                self.arrive(Arrival { kind, port, ipv6: false, octets: 64 })?;
                self.drain()?;
            }
        }
        for &queue in self.truths.keys() {
            let account = self.account(queue);
            if account != 0 {
                return Err(Fault(format!("{queue:?} is empty, its account says {account}")));
            }
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), Fault> {
        loop {
            while !self.held.is_empty() {
                self.release()?;
            }
            for port in PORTS {
                self.take(port);
                self.egress(port)?;
            }
            if self.held.is_empty() && self.runtime.switch().unwrap().active_ports().next().is_none() {
                return Ok(());
            }
        }
    }
}
