//! Handles of devices and routes: plain values, so that an old or forged one is told apart.

/// A device domain of a [`crate::Controller`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId {
    pub(crate) index: u32,
    pub(crate) incarnation: u32,
}

/// A route domain of a [`crate::Controller`]: the way from one local NIC to one remote NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteId {
    pub(crate) index: u32,
    pub(crate) incarnation: u32,
}

macro_rules! raw {
    ($id:ty) => {
        impl $id {
            /// The handle as a number, for interfaces of other languages.
            pub const fn to_raw(self) -> u64 {
                (self.incarnation as u64) << 32 | self.index as u64
            }

            /// The handle of a number. Any number is a handle; the controller refuses one it didn't give out.
            #[expect(clippy::cast_possible_truncation, reason = "the halves of a word")]
            pub const fn from_raw(raw: u64) -> Self {
                Self { index: raw as u32, incarnation: (raw >> 32) as u32 }
            }
        }
    };
}

raw!(DeviceId);
raw!(RouteId);
