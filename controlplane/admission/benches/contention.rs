//! As many threads as cores, on one route and on separate routes of one device and of separate devices: the time of one
//! acquire and release at the median, p99 and p999.
//!
//! Each sample is the mean of a batch of 16, because the clock costs as much as what it measures.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a benchmark")]
#![allow(clippy::disallowed_methods, reason = "a benchmark has threads and a clock")]

use std::sync::{Barrier, atomic::AtomicU64, atomic::Ordering};
use std::time::Instant;

use admission::{Capacity, Config, Controller, DeviceSpec, Generation, Mode, PeerId, RouteId, RouteSpec};
use wire::units::{Nanos, Octets};

const BATCH: u32 = 16;
const SAMPLES: usize = 2_000_000;

fn main() {
    // `cargo test --benches` runs this with other arguments: a short run shows that it works.
    let samples = if std::env::args().any(|argument| argument == "--bench") { SAMPLES } else { 100 };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    println!("{threads} threads, {samples} samples of {BATCH} acquire+release each; nanoseconds for one");
    println!("{:<34} {:>8} {:>8} {:>8} {:>10}", "case", "p50", "p99", "p999", "refused");
    for (name, devices, routes) in [
        ("one route", false, false),
        ("separate routes, one device", false, true),
        ("separate devices", true, true),
    ] {
        run(name, threads, samples, devices, routes);
    }
}

fn run(name: &str, threads: usize, samples: usize, separate_devices: bool, separate_routes: bool) {
    let config = Config { mode: Mode::Enforce, ..Config::default() };
    let controller = Controller::new(config, Capacity::default()).unwrap();
    let open =
        |device| controller.open_route(RouteSpec { device, port: 1, peer: PeerId(1) }, Nanos(0)).unwrap();
    let shared_device = controller.open_device(DeviceSpec::default(), Nanos(0)).unwrap();
    let shared_route = open(shared_device);
    let routes: Vec<(RouteId, Generation)> = (0..threads)
        .map(|_| match (separate_devices, separate_routes) {
            (true, _) => open(controller.open_device(DeviceSpec::default(), Nanos(0)).unwrap()),
            (false, true) => open(shared_device),
            (false, false) => shared_route,
        })
        .collect();
    let refused = AtomicU64::new(0);
    let barrier = Barrier::new(threads);
    let mut times: Vec<u64> = std::thread::scope(|scope| {
        let workers: Vec<_> = routes
            .iter()
            .map(|&(route, generation)| {
                let (controller, refused, barrier) = (&controller, &refused, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let mut times = Vec::with_capacity(samples);
                    for _ in 0..samples {
                        let start = Instant::now();
                        for _ in 0..BATCH {
                            match controller.try_acquire(route, generation, Octets(64 << 10)).permit() {
                                Some(permit) => permit.succeed(),
                                None => {
                                    refused.fetch_add(1, Ordering::Relaxed);
                                }
                            }
                        }
                        times.push(u64::try_from(start.elapsed().as_nanos()).unwrap() / u64::from(BATCH));
                    }
                    times
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    times.sort_unstable();
    let at = |permille: usize| times[(times.len() - 1) * permille / 1000];
    let refused = refused.load(Ordering::Relaxed);
    println!("{name:<34} {:>8} {:>8} {:>8} {refused:>10}", at(500), at(990), at(999));
}
