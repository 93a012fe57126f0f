//! Recovery of a route, failure of several NICs, pressure of a receiver: over the software transport of this project, in
//! virtual time.

#![allow(clippy::unwrap_used, reason = "tests")]

mod rails;

use admission::evidence::TaskState;
use admission::state::State;
use admission::{Mode, Subject, Target, What};
use rails::{MS, World};
use wire::units::Nanos;

const SLICES: usize = 1200;

fn world(rails: usize) -> World {
    World::new(rails, SLICES as u64)
}

impl World {
    fn state(&self, rail: usize) -> State {
        self.controller.route_snapshot(self.rails[rail].route).unwrap().state
    }

    fn changes(&self, rail: usize) -> Vec<State> {
        let subject = Subject::Route(self.rails[rail].route);
        std::iter::from_fn(|| self.controller.poll_notice())
            .filter_map(|notice| match notice.what {
                What::Changed { subject: changed, to, .. } if changed == subject => Some(to),
                _ => None,
            })
            .collect()
    }

    fn nothing_is_lost(&self) {
        assert_eq!(self.done.len(), SLICES, "every slice arrived");
        for rail in &self.rails {
            assert_eq!(self.controller.route_snapshot(rail.route).unwrap().in_flight.0, 0);
            assert_eq!(self.controller.device_snapshot(rail.device).unwrap().in_flight.0, 0);
        }
        assert_eq!(self.controller.mode(), Mode::Enforce);
    }
}

#[test]
fn healthy_rails_share_the_work_and_nothing_is_declared() {
    let mut world = world(2);
    world.run(500 * MS, SLICES);
    world.nothing_is_lost();
    assert!(world.done_by_rail.iter().all(|done| *done > SLICES / 4), "{:?}", world.done_by_rail);
    assert_eq!((world.state(0), world.state(1)), (State::Healthy, State::Healthy));
    assert_eq!(world.task.state(), TaskState::Normal);
}

#[test]
fn a_route_whose_cable_was_out_is_probed_and_comes_back() {
    //~ ADMISSION, Performance Acceptance: 36f3cdf8
    let mut world = world(2);
    world.run(3 * MS, SLICES);
    world.down.insert(0);
    world.run(12 * MS, SLICES);
    assert!(matches!(world.state(0), State::Quarantined | State::Probing), "{}", world.state(0));
    assert_eq!(world.state(1), State::Healthy, "the other rail carries on");
    let (before, elsewhere) = (world.done_by_rail[0], world.done_by_rail[1]);
    world.run(16 * MS, SLICES);
    assert_eq!(world.done_by_rail[0], before);
    assert!(world.done_by_rail[1] > elsewhere);
    world.down.remove(&0);
    world.run(500 * MS, SLICES);
    world.nothing_is_lost();
    assert!(world.done_by_rail[0] > before, "the route is used again");
    let changes = world.changes(0);
    let position = |state| changes.iter().position(|change| *change == state);
    assert!(position(State::Suspect) < position(State::Quarantined), "{changes:?}");
    assert!(changes.windows(2).any(|pair| pair == [State::Quarantined, State::Probing]), "{changes:?}");
    assert_eq!(changes.last(), Some(&State::Healthy), "{changes:?}");
}

#[test]
fn when_every_nic_fails_the_task_says_so_and_goes_on_when_one_is_back() {
    //~ ADMISSION, Performance Acceptance: 36f3cdf8
    let mut world = world(2);
    world.run(3 * MS, SLICES);
    // The first NIC dies with an event, the second silently.
    world.down.extend([0, 1]);
    let device = Target::Device(world.rails[0].device);
    world.controller.async_event(8, device, Nanos(world.now)).unwrap();
    world.run(8 * MS, SLICES);
    assert_eq!(world.task.state(), TaskState::LongUnavailable);
    let told: Vec<_> = std::iter::from_fn(|| world.controller.poll_notice()).map(|n| n.what).collect();
    let lost =
        |what: &What| matches!(what, What::NoUsableRoute { device, .. } if *device == world.rails[1].device);
    assert!(told.iter().any(lost), "{told:?}");
    let done = world.done.len();
    world.run(30 * MS, SLICES);
    assert_eq!(world.done.len(), done, "nothing goes");
    world.down.remove(&1);
    world.run(500 * MS, SLICES);
    world.nothing_is_lost();
    assert_eq!(world.state(1), State::Healthy);
    let first = world.controller.device_snapshot(world.rails[0].device).unwrap();
    assert_eq!(first.state, State::Quarantined, "until it is opened anew");
}

#[test]
fn a_receiver_without_buffers_is_pressed_less_and_is_no_failed_rail() {
    let mut world = world(1);
    world.receive_every = Some(200_000);
    world.run(2_000 * MS, SLICES);
    world.nothing_is_lost();
    let changes = world.changes(0);
    assert!(changes.contains(&State::Congested), "{changes:?}");
    assert!(!changes.iter().any(|state| matches!(state, State::Suspect | State::Quarantined)), "{changes:?}");
    let device = world.controller.device_snapshot(world.rails[0].device).unwrap();
    assert_eq!(device.errors, 0);
}
