//! What the data path costs when nothing interrupts it: of many short batches the fastest, the tenth and the middle one.
//! On a machine that others use, the criterion benchmarks measure them too; this doesn't.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a measurement")]

use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use admission::{Capacity, Config, Controller, DeviceSpec, Mode, PeerId, RouteId, RouteSpec};
use wire::units::{Nanos, Octets};

const BATCH: u32 = 1000;

fn least(name: &str, mut call: impl FnMut()) {
    let mut times: Vec<u128> = (0..20_000)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..BATCH {
                call();
            }
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    let at = |share: usize| times[times.len() / 100 * share] as f64 / f64::from(BATCH);
    println!("| {name} | {:.2} | {:.2} | {:.2} |", at(0), at(10), at(50));
}

fn main() {
    println!("| ns | least | tenth | median |\n|---|---|---|---|");
    least("an empty loop", || {
        black_box((RouteId::from_raw(1), 65_536_u64));
    });
    for mode in [Mode::Off, Mode::Observe, Mode::Enforce] {
        let controller = Controller::new(Config { mode, ..Config::default() }, Capacity::default()).unwrap();
        let device = controller.open_device(DeviceSpec::default(), Nanos(0)).unwrap();
        let spec = RouteSpec { device, port: 1, peer: PeerId(1) };
        let (route, generation) = controller.open_route(spec, Nanos(0)).unwrap();
        least(&format!("acquire + release, {}", mode.name()), || {
            let octets = Octets(black_box(65_536));
            if let Some(permit) = controller.try_acquire(black_box(route), generation, octets).permit() {
                permit.succeed();
            }
        });
    }
    let counts = [const { AtomicU64::new(0) }; 4];
    least("four atomic additions", || {
        for count in &counts {
            count.fetch_add(black_box(1), Ordering::AcqRel);
        }
    });
    let semaphore = tokio::sync::Semaphore::new(1 << 20);
    least("tokio semaphore, one count", || drop(black_box(semaphore.try_acquire_many(black_box(65_536)))));
    let limiter = governor::RateLimiter::direct(governor::Quota::per_second(NonZeroU32::MAX));
    least("governor, one rate", || {
        let _ = black_box(limiter.check_n(black_box(NonZeroU32::MIN)));
    });
}
