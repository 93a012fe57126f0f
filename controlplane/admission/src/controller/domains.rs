//! Opening, closing, renewing and handing over devices and routes.

use core::net::IpAddr;
use std::collections::BTreeSet;

use wire::units::Nanos;

use super::{
    Controller, Device, DeviceId, DeviceInner, Generation, Mode, Ordering, Route, RouteId, RouteInner,
    Subject, lock,
};
use crate::policy::Awaited;
use crate::state::Event;

/// What a device domain stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSpec {
    /// Its addresses: Rate Advice names a device by one of them.
    pub addresses: Vec<IpAddr>,
}

/// A peer, by a number that the transport chooses: routes to one peer are counted together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u64);

/// What a route domain stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteSpec {
    /// The local device.
    pub device: DeviceId,
    /// The device's port, from 1 to 63.
    pub port: u8,
    /// The peer whose NIC it leads to.
    pub peer: PeerId,
}

/// A domain that can't be opened or found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// All devices of the controller's capacity are in use.
    #[error("all {0} devices are in use; close one, or make the controller with more")]
    DevicesFull(u32),
    /// All routes of the controller's capacity are in use.
    #[error("all {0} routes are in use; close one, or make the controller with more")]
    RoutesFull(u32),
    /// No such device.
    #[error("there is no such device; it must be one that this controller opened and didn't close")]
    NoSuchDevice,
    /// No such route.
    #[error("there is no such route; it must be one that this controller opened and didn't close")]
    NoSuchRoute,
    /// A port outside 1 to 63.
    #[error("port {0}: a port must be from 1 to 63")]
    Port(u8),
}

fn port_bit(port: u8) -> Result<u64, OpenError> {
    if (1..64).contains(&port) { Ok(1 << port) } else { Err(OpenError::Port(port)) }
}

impl Controller {
    /// Opens the domain of a local device, healthy and with the largest window.
    ///
    /// # Errors
    /// When the controller's capacity is used up.
    //= ADMISSION, Controller and Transport Responsibilities: c48c244e
    pub fn open_device(&self, spec: DeviceSpec, now: Nanos) -> Result<DeviceId, OpenError> {
        let (index, device) = self.devices.take().ok_or(OpenError::DevicesFull(self.devices.capacity()))?;
        let mut inner = lock(&device.inner);
        inner.addresses = spec.addresses;
        inner.ports_down = 0;
        (inner.stalled, inner.closing) = (false, false);
        inner.polled = device.polls.load(Ordering::Relaxed);
        inner.policy.open(&device.domain, &self.config, now);
        inner.released = device.domain.totals().released;
        Ok(DeviceId { index, incarnation: inner.policy.incarnation })
    }

    /// Opens the domain of a route, healthy and with the largest window; quarantined if its port is down.
    ///
    /// # Errors
    /// When the device is unknown, the port isn't one, or the capacity is used up.
    //= ADMISSION, Controller and Transport Responsibilities: c48c244e
    pub fn open_route(&self, spec: RouteSpec, now: Nanos) -> Result<(RouteId, Generation), OpenError> {
        let bit = port_bit(spec.port)?;
        let device = self.device(spec.device).ok_or(OpenError::NoSuchDevice)?;
        let (index, route) = self.routes.take().ok_or(OpenError::RoutesFull(self.routes.capacity()))?;
        let mut inner = lock(&route.inner);
        (inner.device, inner.port, inner.peer, inner.closing) = (spec.device, spec.port, spec.peer, false);
        route.device.store(spec.device.index, Ordering::Release);
        route.avoided.store(0, Ordering::Relaxed);
        inner.policy.open(&route.domain, &self.config, now);
        let id = RouteId { index, incarnation: inner.policy.incarnation };
        // Read last: a port that goes down from now on finds this route among the open ones.
        if lock(&device.inner).ports_down & bit != 0 {
            self.block_port(id, route, &mut inner, now);
        }
        Ok((id, inner.policy.generation))
    }

    /// Closes a route: nothing more is admitted; permits in flight settle as ever.
    ///
    /// # Errors
    /// When there is no such route.
    pub fn close_route(&self, id: RouteId) -> Result<(), OpenError> {
        let route = self.route(id).ok_or(OpenError::NoSuchRoute)?;
        let mut inner = lock(&route.inner);
        if !route.domain.gate().is_open_for(id.incarnation) {
            return Err(OpenError::NoSuchRoute);
        }
        inner.policy.close(&route.domain);
        inner.closing = true;
        self.closing.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Closes a device. Its routes admit nothing more; close them, or hand them over.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn close_device(&self, id: DeviceId) -> Result<(), OpenError> {
        let device = self.device(id).ok_or(OpenError::NoSuchDevice)?;
        let mut inner = lock(&device.inner);
        if !device.domain.gate().is_open_for(id.incarnation) {
            return Err(OpenError::NoSuchDevice);
        }
        inner.policy.close(&device.domain);
        inner.closing = true;
        self.closing.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Frees what was closed and has nothing in flight any more.
    pub(super) fn reclaim(&self) {
        if self.closing.load(Ordering::Relaxed) == 0 {
            return;
        }
        for (index, route) in self.routes.iter() {
            let mut inner = lock(&route.inner);
            if inner.closing && route.domain.in_flight() == 0 {
                inner.closing = false;
                self.closing.fetch_sub(1, Ordering::Relaxed);
                self.routes.free(index);
            }
        }
        let named: BTreeSet<u32> =
            self.open_routes().map(|(_, route)| route.device.load(Ordering::Relaxed)).collect();
        for (index, device) in self.devices.iter() {
            let mut inner = lock(&device.inner);
            // A route that still names this slot must not start at its next owner.
            if inner.closing && device.domain.in_flight() == 0 && !named.contains(&index) {
                inner.closing = false;
                self.closing.fetch_sub(1, Ordering::Relaxed);
                self.devices.free(index);
            }
        }
    }

    /// The route's endpoint was made anew. Feedback and completions of older generations settle their accounts only; a
    /// path in PROBING may be probed now.
    ///
    /// # Errors
    /// When there is no such route.
    pub fn renew_route(&self, id: RouteId) -> Result<Generation, OpenError> {
        let (route, mut inner) = self.route_inner(id)?;
        Ok(inner.policy.renew(&route.domain))
    }

    /// The device was opened anew.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn renew_device(&self, id: DeviceId) -> Result<Generation, OpenError> {
        let (device, mut inner) = self.device_inner(id)?;
        Ok(inner.policy.renew(&device.domain))
    }

    /// The route starts at another local device from now on: a new generation on a path of which nothing is known. Permits
    /// in flight settle with the device that they were given for.
    ///
    /// # Errors
    /// When route or device is unknown, or the port isn't one.
    //= ADMISSION, Controller and Transport Responsibilities: 7477e88f
    pub fn hand_over(
        &self,
        id: RouteId,
        to: DeviceId,
        port: u8,
        now: Nanos,
    ) -> Result<Generation, OpenError> {
        let bit = port_bit(port)?;
        let device = self.device(to).ok_or(OpenError::NoSuchDevice)?;
        let (route, mut inner) = self.route_inner(id)?;
        (inner.device, inner.port) = (to, port);
        inner.policy.awaited = Awaited::Nothing;
        let change = inner.policy.apply(Event::HandOver, &route.domain, &self.config, now);
        // One generation for the change itself, which nobody is told: a post that began on the old one and sees the new
        // device sees a generation that isn't its own.
        inner.policy.renew(&route.domain);
        route.device.store(to.index, Ordering::Release);
        let generation = inner.policy.renew(&route.domain);
        self.tell(Subject::Route(id), now, change);
        if lock(&device.inner).ports_down & bit != 0 {
            self.block_port(id, route, &mut inner, now);
        }
        Ok(generation)
    }

    /// The route's port is down.
    pub(super) fn block_port(&self, id: RouteId, route: &Route, inner: &mut RouteInner, now: Nanos) {
        if self.mode == Mode::Off {
            return;
        }
        let change = inner.policy.apply(Event::FatalEvent, &route.domain, &self.config, now);
        inner.policy.awaited = Awaited::Port;
        self.tell(Subject::Route(id), now, change);
    }

    pub(super) fn route_inner(
        &self,
        id: RouteId,
    ) -> Result<(&Route, crate::sync::MutexGuard<'_, RouteInner>), OpenError> {
        let route = self.route(id).ok_or(OpenError::NoSuchRoute)?;
        let inner = lock(&route.inner);
        // It may have been closed meanwhile.
        let open = route.domain.gate().is_open_for(id.incarnation);
        if open { Ok((route, inner)) } else { Err(OpenError::NoSuchRoute) }
    }

    pub(super) fn device_inner(
        &self,
        id: DeviceId,
    ) -> Result<(&Device, crate::sync::MutexGuard<'_, DeviceInner>), OpenError> {
        let device = self.device(id).ok_or(OpenError::NoSuchDevice)?;
        let inner = lock(&device.inner);
        let open = device.domain.gate().is_open_for(id.incarnation);
        if open { Ok((device, inner)) } else { Err(OpenError::NoSuchDevice) }
    }

    /// The device that has `address`.
    pub fn device_of(&self, address: IpAddr) -> Option<DeviceId> {
        self.devices.iter().find_map(|(index, device)| {
            let inner = lock(&device.inner);
            let open = device.domain.gate().is_open() && inner.addresses.contains(&address);
            open.then_some(DeviceId { index, incarnation: inner.policy.incarnation })
        })
    }

    /// Every open route, as slots and handles.
    pub(super) fn open_routes(&self) -> impl Iterator<Item = (RouteId, &Route)> {
        self.routes.iter().filter_map(|(index, route)| {
            let gate = route.domain.gate();
            gate.is_open().then(|| (RouteId { index, incarnation: gate.incarnation() }, route))
        })
    }
}
