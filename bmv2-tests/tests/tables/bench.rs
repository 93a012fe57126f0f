//! The compiled program in softswitch, packet by packet, at times of the test's own.

use std::collections::BTreeMap;

use bmv2_tests::cases::Bed;
use bmv2_tests::frames::Data;
use bmv2_tests::program::{CPU_PORT, Program};
use bmv2_tests::setup::{Entry, updates};
use softswitch::runtime::Runtime;
use softswitch::{Packet, Switch, SwitchConfig};

pub const PORT: u16 = 2;
/// The index of its data queue.
pub const QUEUE: u64 = (PORT as u64) << 3;

pub struct Bench {
    pub runtime: Runtime,
    pub program: Program,
    pub now_ns: u64,
}

impl Bench {
    pub fn new(bed: &Bed) -> Bench {
        let program = Program::load().unwrap();
        let config = SwitchConfig { priority_queues: 8, cpu_port: Some(CPU_PORT), ..SwitchConfig::default() };
        let runtime = Runtime::with_pipeline(1, config, program.pipeline()).unwrap();
        let mut bench = Bench { runtime, program, now_ns: 1_000_000_000 };
        bench.write(&bed.setup().entries);
        bench
    }

    pub fn write(&mut self, entries: &[Entry]) {
        let updates = updates(entries, &self.program).unwrap();
        let outcomes = self.runtime.apply(&updates).unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.canonical_code == 0), "{outcomes:?}");
    }

    pub fn switch(&mut self) -> &mut Switch {
        self.runtime.switch_mut().unwrap()
    }

    pub fn enters(&mut self, data: &Data) {
        self.now_ns += 10_000;
        let now_ns = self.now_ns;
        self.switch().ingress(1, Packet::new(data.sent()), now_ns);
    }

    /// The next packet of a port, so many microseconds later.
    pub fn leaves(&mut self, port: u16, after_us: u64) -> Option<Vec<u8>> {
        self.now_ns += after_us * 1000;
        let now_ns = self.now_ns;
        self.switch().dequeue(port, now_ns)?.packet.map(|packet| packet.to_octets())
    }

    /// All that leaves, clones on their way included.
    pub fn drain(&mut self) -> BTreeMap<u16, Vec<Vec<u8>>> {
        let mut left = BTreeMap::<u16, Vec<Vec<u8>>>::new();
        loop {
            let next = self.switch().active_ports().next();
            let Some(port) = next else { return left };
            left.entry(port).or_default().extend(self.leaves(port, 0));
        }
    }

    pub fn register(&mut self, name: &str) -> u64 {
        let register = self.switch().program().register(name).unwrap();
        self.switch().register(register, QUEUE).unwrap().to_u64().unwrap()
    }

    pub fn set_register(&mut self, name: &str, value: u64) {
        let register = self.switch().program().register(name).unwrap();
        self.switch().set_register(register, QUEUE, &value.into()).unwrap();
    }
}

/// The upper half of the counts is this epoch's.
pub fn current(counts: u64) -> u64 {
    counts >> 16 & 0xffff
}
