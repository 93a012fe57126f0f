//! The cost of the data path for one thread: acquire and release in each mode, and what others take for less.
//!
//! `governor` limits rates and a tokio semaphore counts permits: neither knows two domains, states or generations. They
//! stand here for scale.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark")]

use std::hint::black_box;
use std::num::NonZeroU32;

use admission::{Capacity, Config, Controller, DeviceSpec, Generation, Mode, PeerId, RouteId, RouteSpec};
use criterion::{Criterion, criterion_group, criterion_main};
use wire::units::{Nanos, Octets};

const SLICE: u32 = 64 << 10;

fn controller(mode: Mode) -> (Controller, RouteId, Generation) {
    let controller = Controller::new(Config { mode, ..Config::default() }, Capacity::default()).unwrap();
    let device = controller.open_device(DeviceSpec::default(), Nanos(0)).unwrap();
    let spec = RouteSpec { device, port: 1, peer: PeerId(1) };
    let (route, generation) = controller.open_route(spec, Nanos(0)).unwrap();
    (controller, route, generation)
}

fn modes(c: &mut Criterion) {
    for mode in [Mode::Off, Mode::Observe, Mode::Enforce] {
        let (controller, route, generation) = controller(mode);
        c.bench_function(&format!("acquire+release/{}", mode.name()), |b| {
            b.iter(|| {
                let octets = Octets(u64::from(black_box(SLICE)));
                if let Some(permit) = controller.try_acquire(black_box(route), generation, octets).permit() {
                    permit.succeed();
                }
            });
        });
    }
    let (controller, route, generation) = controller(Mode::Enforce);
    let held = controller.try_acquire(route, generation, controller.config().max_window).permit();
    c.bench_function("deferred/enforce", |b| {
        b.iter(|| controller.try_acquire(black_box(route), generation, Octets(1)).permit().is_some());
    });
    drop(held);
}

fn others(c: &mut Criterion) {
    let semaphore = tokio::sync::Semaphore::new(1 << 30);
    c.bench_function("acquire+release/tokio semaphore", |b| {
        b.iter(|| drop(black_box(semaphore.try_acquire_many(black_box(SLICE)))));
    });
    let quota = governor::Quota::per_second(NonZeroU32::MAX);
    let limiter = governor::RateLimiter::direct(quota);
    c.bench_function("check/governor", |b| {
        b.iter(|| black_box(limiter.check_n(NonZeroU32::new(black_box(SLICE)).unwrap())).is_ok());
    });
    // What the least atomic bookkeeping of four counts costs on this machine.
    let counts = [const { std::sync::atomic::AtomicU64::new(0) }; 4];
    c.bench_function("floor/four atomic additions", |b| {
        b.iter(|| {
            for count in &counts {
                count.fetch_add(u64::from(black_box(SLICE)), std::sync::atomic::Ordering::AcqRel);
            }
        });
    });
}

criterion_group!(benches, modes, others);
criterion_main!(benches);
