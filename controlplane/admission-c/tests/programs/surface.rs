//! The data path of a transport, built without the controller: the same calls, nothing behind them.

use admission::{BUILT, Capacity, Config, Controller, DeviceSpec, PeerId, Permit, RouteSpec, Verdict};
use wire::units::{Nanos, Octets};

fn main() {
    assert!(!BUILT);
    assert_eq!((size_of::<Controller>(), size_of::<Permit<'_>>(), size_of::<Verdict<'_>>()), (0, 0, 0));
    let Ok(controller) = Controller::new(Config::default(), Capacity::default());
    let Ok(device) = controller.open_device(DeviceSpec::default(), Nanos(0));
    let spec = RouteSpec { device, port: 1, peer: PeerId(1) };
    let Ok((route, generation)) = controller.open_route(spec, Nanos(0));
    controller.tick(Nanos(1));
    let Verdict::Admit(permit) = controller.try_acquire(route, generation, Octets(u64::MAX));
    assert!(permit.is_current());
    permit.succeed();
    let Verdict::Admit(permit) = controller.try_acquire(route, generation, Octets(0));
    permit.cancel();
}
