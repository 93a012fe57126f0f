//! The data path takes no lock: it goes on while every lock of the controller is held.

use wire::units::{Nanos, Octets};

use super::{Capacity, Controller, DeviceSpec, PeerId, RouteSpec, lock};
use crate::config::{Config, Mode};

#[test]
fn the_data_path_runs_while_every_lock_is_held() {
    for mode in [Mode::Off, Mode::Observe, Mode::Enforce] {
        let config = Config { mode, ..Config::default() };
        let controller = Controller::new(config, Capacity { devices: 1, routes: 1 }).unwrap();
        let device = controller.open_device(DeviceSpec::default(), Nanos(0)).unwrap();
        let spec = RouteSpec { device, port: 1, peer: PeerId(1) };
        let (route, generation) = controller.open_route(spec, Nanos(0)).unwrap();
        let held = (
            lock(&controller.devices.get(0).unwrap().inner),
            lock(&controller.routes.get(0).unwrap().inner),
            lock(&controller.notices),
            controller.devices.hold(),
            controller.routes.hold(),
        );
        // Any lock here would wait for ever.
        let mut permit = controller.try_acquire(route, generation, Octets(100)).permit().unwrap();
        let _ = controller.try_acquire(route, generation, Octets(1 << 30));
        assert!(permit.is_current());
        permit.post_partially(Octets(50)).unwrap();
        let ticket = permit.detach();
        controller.attach(ticket).succeed();
        controller.try_acquire(route, generation, Octets(100)).permit().unwrap().cancel();
        controller.polled(device);
        drop(held);
    }
}
