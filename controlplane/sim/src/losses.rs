//! What links lose, as the topology asks for: each packet by itself, the same ones in every run of a seed.

use std::collections::BTreeMap;

use controller::topology::{End, PortRef, Topology};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What a loss is given in.
const PARTS: u64 = 1_000_000;

/// The links of a fabric that lose something, by the end that a packet leaves, and which packets those are.
#[derive(Debug)]
pub struct Losses {
    /// By the indices of switch and port.
    of_ports: BTreeMap<(usize, u16), u32>,
    /// By the index of the host.
    of_hosts: BTreeMap<usize, u32>,
    random: ChaCha8Rng,
    lost: u64,
}

impl Losses {
    /// Those of a topology.
    pub fn new(topology: &Topology, seed: [u8; 32]) -> Self {
        let lossy = |end: &End| Some(topology.loss_ppm(end)).filter(|&loss| loss > 0);
        let mut of_ports = BTreeMap::new();
        for ((name, switch), index) in topology.switches.iter().zip(0..) {
            for &port in switch.ports.keys() {
                let loss = lossy(&End::Port(PortRef { switch: name.clone(), port }));
                of_ports.extend(loss.map(|loss| ((index, port), loss)));
            }
        }
        let hosts = topology.hosts.keys().zip(0..);
        let of_hosts =
            hosts.filter_map(|(name, index)| Some((index, lossy(&End::Host(name.clone()))?))).collect();
        Self { of_ports, of_hosts, random: ChaCha8Rng::from_seed(seed), lost: 0 }
    }

    /// Whether the packet that leaves a port of a switch now is lost.
    pub fn of_port(&mut self, switch: usize, port: u16) -> bool {
        self.is_lost(self.of_ports.get(&(switch, port)).copied())
    }

    /// Whether the packet that leaves a host now is lost.
    pub fn of_host(&mut self, host: usize) -> bool {
        self.is_lost(self.of_hosts.get(&host).copied())
    }

    /// Packets that were lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn is_lost(&mut self, loss: Option<u32>) -> bool {
        // A link that loses nothing draws nothing: what the others lose doesn't depend on how many there are.
        let lost = loss.is_some_and(|loss| self.random.next_u64() % PARTS < loss.into());
        self.lost += u64::from(lost);
        lost
    }
}
