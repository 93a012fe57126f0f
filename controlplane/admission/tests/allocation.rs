//! The data path allocates nothing.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use admission::{Mode, Verdict};
use common::World;
use wire::units::Octets;

#[test]
fn acquiring_and_releasing_allocates_nothing() {
    //~ ADMISSION, Controller and Transport Responsibilities: ea2c3cba
    for mode in [Mode::Off, Mode::Observe, Mode::Enforce] {
        let world = World::new(mode);
        let counted = allocation_counter::measure(|| {
            let held = world.acquire(common::MAX).permit();
            for octets in [1, 100, 1 << 50] {
                match world.controller.try_acquire(world.route, world.generation.get(), Octets(octets)) {
                    Verdict::Admit(permit) => permit.succeed(),
                    Verdict::Defer(_) | Verdict::Avoid(_) => {}
                }
            }
            drop(held);
            let mut permit = world.acquire(200).permit().unwrap();
            permit.post_partially(Octets(100)).unwrap();
            assert!(permit.is_current());
            let ticket = permit.detach();
            world.controller.attach(ticket).succeed();
            world.controller.polled(world.device);
        });
        assert_eq!(counted.count_total, 0, "{mode:?}");
    }
}
