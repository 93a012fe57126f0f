//! What is left of the controller in a build without the feature `enabled`: the names of the data path, without fields and
//! without code. Everything is admitted.

use core::convert::Infallible;
use core::marker::PhantomData;

use wire::units::{Nanos, Octets};

/// Nothing to configure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config;

/// Nothing to hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity;

/// A device, of which nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId;

/// A route, of which nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteId;

/// No generation is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Generation;

/// What a device domain would stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceSpec;

/// A peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u64);

/// What a route domain would stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteSpec {
    /// The local device.
    pub device: DeviceId,
    /// The device's port.
    pub port: u8,
    /// The peer.
    pub peer: PeerId,
}

/// Admits everything.
//= ADMISSION, Configuration, Compatibility, and Rollback: 9fefb64c f62f9633
#[derive(Debug, Default)]
pub struct Controller;

/// Leave to post; reserves nothing.
#[derive(Debug)]
pub struct Permit<'c>(PhantomData<&'c ()>);

/// The one verdict.
#[derive(Debug)]
pub enum Verdict<'c> {
    /// Post it.
    Admit(Permit<'c>),
    /// Never given.
    Defer(Infallible),
    /// Never given.
    Avoid(Infallible),
}

impl Controller {
    /// A controller that does nothing.
    ///
    /// # Errors
    /// Never.
    pub const fn new(_: Config, _: Capacity) -> Result<Self, Infallible> {
        Ok(Self)
    }

    /// A device.
    ///
    /// # Errors
    /// Never.
    pub const fn open_device(&self, _: DeviceSpec, _: Nanos) -> Result<DeviceId, Infallible> {
        Ok(DeviceId)
    }

    /// A route.
    ///
    /// # Errors
    /// Never.
    pub const fn open_route(&self, _: RouteSpec, _: Nanos) -> Result<(RouteId, Generation), Infallible> {
        Ok((RouteId, Generation))
    }

    /// Admits.
    #[inline]
    pub const fn try_acquire(&self, _: RouteId, _: Generation, _: Octets) -> Verdict<'_> {
        Verdict::Admit(Permit(PhantomData))
    }

    /// Nothing happens.
    pub const fn tick(&self, _: Nanos) {}
}

impl Permit<'_> {
    /// Nothing to give back.
    #[inline]
    pub const fn succeed(self) {}

    /// Nothing to give back.
    #[inline]
    pub const fn cancel(self) {}

    /// Always.
    #[inline]
    pub const fn is_current(&self) -> bool {
        true
    }
}
