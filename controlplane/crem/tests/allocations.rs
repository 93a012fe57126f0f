//! Nothing is allocated for a packet once a flow has been going for a while.
#![allow(
    clippy::manual_is_multiple_of,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "tests"
)]

mod world;

use core::net::SocketAddr;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use crem::crf::{Crf, Order, Verdict};
use crem::csf::{Csf, CsfConfig};
use crem::{Deliver, Packet, Transmit};
use wire::frame::Ecn;
use wire::roce::Psn;
use wire::units::Nanos;
use world::{crf_address, crf_config, csf_address, csf_config, write};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

#[allow(unsafe_code, reason = "an allocator that counts")]
// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Hands datagrams over in buffers of its own.
#[derive(Default)]
struct Queue {
    octets: Vec<u8>,
    ends: Vec<usize>,
    delivered: u32,
}

impl Transmit for Queue {
    fn transmit(&mut self, _: &crem::FlowKey, _: SocketAddr, octets: &[u8]) {
        self.octets.extend_from_slice(octets);
        self.ends.push(self.octets.len());
    }
}

impl Deliver for Queue {
    fn deliver(&mut self, _: &Packet<'_>) {
        self.delivered += 1;
    }
}

impl Queue {
    fn drain(&mut self, mut to: impl FnMut(&[u8])) {
        let mut start = 0;
        for &end in &self.ends {
            to(&self.octets[start..end]);
            start = end;
        }
        self.octets.clear();
        self.ends.clear();
    }
}

#[test]
fn packets_cost_no_allocation() {
    let config =
        CsfConfig { k: 8, prior_loss: 2e-3, loss_memory: 1 << 30, repair_permille: 1000, ..csf_config() };
    let (mut csf, mut crf) = (Csf::new(config, [0; 32]), Crf::new(crf_config(Order::Hold), [1; 32]));
    let (mut forth, mut back) = (Queue::default(), Queue::default());
    let first = Psn::new(77);
    // Messages cross every 200 packets.
    let cross = |now: Nanos, csf: &mut Csf, crf: &mut Crf, forth: &mut Queue, back: &mut Queue| {
        for _ in 0..2 {
            forth.drain(|octets| crf.datagram(csf_address(), octets, Ecn::Ect0, now, back));
            back.drain(|octets| csf.datagram(crf_address(), octets, now, forth));
        }
    };
    let packets: Vec<_> = (0..30_000).map(|n| write(first.plus(n))).collect();
    let mut passed = 0u32;
    let mut run = |range: core::ops::Range<usize>, lose: usize, csf: &mut Csf, crf: &mut Crf| {
        for n in range {
            let now = Nanos(n as u64 * 1000);
            csf.source(&packets[n].packet(), now, &mut forth);
            if (lose == 0 || n % lose != 0)
                && crf.source(&packets[n].packet(), now, &mut back) == Verdict::Pass
            {
                passed += 1;
            }
            if n % 200 == 0 {
                cross(now, csf, crf, &mut forth, &mut back);
            }
            csf.timeout(now, &mut forth);
            crf.timeout(now, &mut back);
        }
        passed + forth.delivered + back.delivered
    };
    run(0..20_000, 0, &mut csf, &mut crf);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let arrived = run(20_000..25_000, 0, &mut csf, &mut crf);
    assert_eq!(
        ALLOCATIONS.load(Ordering::Relaxed) - before,
        0,
        "5,000 packets, {} repair symbols",
        csf.stats().ordinary
    );
    assert!(csf.stats().ordinary > 4000);
    assert_eq!(arrived, 25_000);

    // Where packets are lost, their gaps are remembered: a few allocations a loss, none for the packets that came.
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let arrived = run(25_000..30_000, 50, &mut csf, &mut crf);
    let lost = 100;
    let count = ALLOCATIONS.load(Ordering::Relaxed) - before;
    assert!(count <= 8 * lost, "{count} allocations for {lost} losses");
    assert!(crf.stats().restored >= lost - 4, "{:?}", crf.stats());
    assert!(arrived >= 30_000 - 200);
}
