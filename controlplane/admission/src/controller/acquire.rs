//! The data path: a permit reserves a whole slice in both domains, and is given back exactly once.

use core::mem::ManuallyDrop;

use wire::units::Octets;

use super::{Controller, Device, Gate, Generation, MAX_SLICE, Mode, Ordering, Route, RouteId};

/// Why a slice has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DeferReason {
    /// The route's window has no room.
    RouteWindow = 1,
    /// The device's window has no room; what was reserved of the route's is given back.
    DeviceWindow = 2,
    /// The generation isn't the route's current one: resolve endpoint and path again.
    GenerationChanged = 3,
}

/// Why a path isn't to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AvoidReason {
    /// The route is quarantined, or waits for a new generation to probe.
    RouteQuarantined = 4,
    /// The same of its device.
    DeviceQuarantined = 5,
    /// There is no such route, or its device is closed.
    NoSuchRoute = 6,
    /// The slice is larger than [`MAX_SLICE`].
    SliceTooLarge = 7,
}

/// What the transport does with a slice.
#[derive(Debug)]
#[must_use = "an admitted slice holds its reservation"]
pub enum Verdict<'c> {
    /// Post it.
    Admit(Permit<'c>),
    /// Leave it in its queue.
    Defer(DeferReason),
    /// Take another rail or transport.
    Avoid(AvoidReason),
}

impl<'c> Verdict<'c> {
    /// The permit, if the slice is admitted.
    #[inline]
    pub fn permit(self) -> Option<Permit<'c>> {
        match self {
            Self::Admit(permit) => Some(permit),
            Self::Defer(_) | Self::Avoid(_) => None,
        }
    }
}

/// A permit as a plain value, for a transport that keeps it beside its work request. It can't be copied; dropping it
/// without [`Controller::attach`] loses its reservation.
#[derive(Debug)]
#[must_use = "its reservation is given back by Controller::attach only"]
pub struct Ticket(Reservation);

impl Ticket {
    pub(crate) fn to_words(&self) -> [u64; 3] {
        let held = self.0;
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        [held.octets, pair(held.route, held.device), pair(held.generation.0, held.device_generation.0)]
    }

    #[expect(clippy::cast_possible_truncation, reason = "the halves of a word")]
    pub(crate) fn from_words([octets, place, generations]: [u64; 3]) -> Self {
        Self(Reservation {
            octets,
            route: (place >> 32) as u32,
            device: place as u32,
            generation: Generation((generations >> 32) as u32),
            device_generation: Generation(generations as u32),
        })
    }
}

/// What a permit holds. Only permits and tickets, which can't be copied, have one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reservation {
    pub(super) octets: u64,
    pub(super) route: u32,
    pub(super) device: u32,
    pub(super) generation: Generation,
    pub(super) device_generation: Generation,
}

/// No slot: what was admitted without a reservation.
const NOWHERE: u32 = u32::MAX;

impl Reservation {
    const NONE: Self = Self {
        octets: 0,
        route: NOWHERE,
        device: NOWHERE,
        generation: Generation(0),
        device_generation: Generation(0),
    };
}

//= ADMISSION, Relationship to Existing Work: 181ddafb
/// Leave to post one slice. Dropping it gives its reservation back, once.
#[derive(Debug)]
#[must_use = "dropping a permit gives its reservation back"]
pub struct Permit<'c> {
    pub(super) controller: Option<&'c Controller>,
    pub(super) held: Reservation,
}

/// A partial post that can't be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{posted} are posted of a permit for {permitted}; a post is at most its permit")]
pub struct PostError {
    /// What was said to be posted.
    pub posted: Octets,
    /// What the permit covers.
    pub permitted: Octets,
}

impl Controller {
    /// Asks to post `octets`, a whole slice, on `route`, which was resolved at `generation`.
    ///
    /// Takes no lock, allocates nothing, reads no clock.
    //= ADMISSION, Proposal: bfef1cb1
    //= ADMISSION, Configuration, Compatibility, and Rollback: e375b1d0
    #[inline]
    pub fn try_acquire(&self, route: RouteId, generation: Generation, octets: Octets) -> Verdict<'_> {
        if self.mode == Mode::Off {
            return Verdict::Admit(Permit { controller: None, held: Reservation::NONE });
        }
        // What is decided comes back in registers: a permit returned through memory costs more than the rest.
        match self.decide(route, generation, octets.0) {
            Ok(Granted { device, device_generation }) => Verdict::Admit(Permit {
                controller: Some(self),
                held: Reservation {
                    octets: octets.0,
                    route: route.index,
                    device,
                    generation,
                    device_generation,
                },
            }),
            Err(Refusal::Defer(reason)) => Verdict::Defer(reason),
            Err(Refusal::Avoid(reason)) => Verdict::Avoid(reason),
        }
    }

    #[inline(never)]
    fn decide(&self, id: RouteId, generation: Generation, octets: u64) -> Result<Granted, Refusal> {
        if self.mode == Mode::Observe {
            return Ok(self.observe_only(id, generation, octets));
        }
        let way = self.way(id).ok_or(Refusal::Avoid(AvoidReason::NoSuchRoute))?;
        Self::enforce(&way, generation, octets)
    }

    /// The reservation is the permit's: the octets count in both domains until it is given back.
    //= ADMISSION, Controller and Transport Responsibilities: 6e9f3994 45116f8d
    //= ADMISSION, Configuration, Compatibility, and Rollback: 62b76c67
    #[inline]
    fn enforce(way: &Way<'_>, generation: Generation, octets: u64) -> Result<Granted, Refusal> {
        if let Some(refusal) = way.refusal(generation, octets) {
            way.count_refusal(refusal);
            return Err(refusal);
        }
        if !way.route.domain.try_reserve(octets) {
            way.route.domain.count_deferred();
            return Err(Refusal::Defer(DeferReason::RouteWindow));
        }
        if !way.device.domain.try_reserve(octets) {
            way.route.domain.give_back(octets);
            way.device.domain.count_deferred();
            return Err(Refusal::Defer(DeferReason::DeviceWindow));
        }
        // What changed since the gates were read is seen here; what changes later, by `Permit::is_current`.
        //= ADMISSION, Non-WC and Control-Plane Handling Matrix: eaab2820
        if !way.still_holds() {
            way.route.domain.give_back(octets);
            way.device.domain.give_back(octets);
            return Err(Refusal::Defer(DeferReason::GenerationChanged));
        }
        Ok(way.granted())
    }

    /// What enforcing would have said is counted, and every slice is admitted.
    //= ADMISSION, Configuration, Compatibility, and Rollback: d594ff87
    #[inline]
    fn observe_only(&self, id: RouteId, generation: Generation, octets: u64) -> Granted {
        let Some(way) = self.way(id).filter(|_| octets <= MAX_SLICE.0) else {
            return Granted { device: NOWHERE, device_generation: Generation(0) };
        };
        if let Some(refusal) = way.refusal(generation, octets) {
            way.count_refusal(refusal);
        }
        let route_has_room = way.route.domain.reserve_anyway(octets);
        let device_has_room = way.device.domain.reserve_anyway(octets);
        if !route_has_room {
            way.route.domain.count_deferred();
        } else if !device_has_room {
            way.device.domain.count_deferred();
        }
        way.granted()
    }

    /// Route and device behind a handle.
    #[inline]
    fn way(&self, id: RouteId) -> Option<Way<'_>> {
        let route = self.routes.get(id.index)?;
        let route_gate = route.domain.gate();
        let index = route.device.load(Ordering::Acquire);
        let device = self.devices.get(index)?;
        let device_gate = device.domain.gate();
        let open = route_gate.is_open_for(id.incarnation) && device_gate.is_open();
        open.then_some(Way { route, route_gate, device, device_gate, index })
    }

    /// Makes a permit of a ticket again. The ticket must be one of this controller.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket is used once")]
    #[inline]
    pub fn attach(&self, ticket: Ticket) -> Permit<'_> {
        let Ticket(held) = ticket;
        Permit { controller: Some(self), held }
    }

    /// Field by field: a reservation copied through memory costs more than the additions.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "measured")]
    fn settle(&self, held: &Reservation, success: bool) {
        let &Reservation { octets, route, device, generation, device_generation } = held;
        self.settle_fields(octets, route, device, generation, device_generation, success);
    }

    #[inline]
    fn settle_fields(
        &self,
        octets: u64,
        route: u32,
        device: u32,
        generation: Generation,
        device_generation: Generation,
        success: bool,
    ) {
        let (Some(way), Some(nic)) = (self.routes.get(route), self.devices.get(device)) else { return };
        let (route_gate, device_gate) = (way.domain.gate(), nic.domain.gate());
        // Old generations only settle their account.
        //= ADMISSION, Path State Machine: c0091571 10c024df
        let route_counts = success && route_gate.generation() == generation;
        let device_counts = success && device_gate.generation() == device_generation;
        if route_counts {
            way.domain.complete(octets);
        } else {
            way.domain.give_back(octets);
        }
        if device_counts {
            nic.domain.complete(octets);
        } else {
            nic.domain.give_back(octets);
        }
        if route_counts && route_gate.awaits_proof() {
            self.prove_route(route, generation);
        }
        if device_counts && device_gate.awaits_proof() {
            self.prove_device(device, device_generation);
        }
    }
}

/// A route, its device, and their gates at one moment.
#[derive(Clone, Copy)]
struct Way<'c> {
    route: &'c Route,
    route_gate: Gate,
    device: &'c Device,
    device_gate: Gate,
    index: u32,
}

/// The device that a reservation was made at.
#[derive(Clone, Copy)]
struct Granted {
    device: u32,
    device_generation: Generation,
}

#[derive(Clone, Copy)]
enum Refusal {
    Defer(DeferReason),
    Avoid(AvoidReason),
}

impl Way<'_> {
    #[inline]
    fn refusal(&self, generation: Generation, octets: u64) -> Option<Refusal> {
        if octets > MAX_SLICE.0 {
            Some(Refusal::Avoid(AvoidReason::SliceTooLarge))
        } else if self.route_gate.blocks() {
            Some(Refusal::Avoid(AvoidReason::RouteQuarantined))
        } else if self.device_gate.blocks() {
            Some(Refusal::Avoid(AvoidReason::DeviceQuarantined))
        } else if self.route_gate.generation() != generation {
            Some(Refusal::Defer(DeferReason::GenerationChanged))
        } else {
            None
        }
    }

    /// Counts a refusal. It is no new failure of the path.
    //= ADMISSION, Non-WC and Control-Plane Handling Matrix: f560e7cd
    #[cold]
    fn count_refusal(&self, refusal: Refusal) {
        if let Refusal::Avoid(_) = refusal {
            self.route.avoided.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the gates still say what they said: same owner, same generation, not blocked.
    #[inline]
    fn still_holds(&self) -> bool {
        let same = |now: Gate, then: Gate| {
            now == then
                || (now.is_open_for(then.incarnation())
                    && now.generation() == then.generation()
                    && !now.blocks())
        };
        same(self.route.domain.gate(), self.route_gate)
            && same(self.device.domain.gate(), self.device_gate)
            && self.route.device.load(Ordering::Relaxed) == self.index
    }

    #[inline]
    fn granted(&self) -> Granted {
        Granted { device: self.index, device_generation: self.device_gate.generation() }
    }
}

impl Permit<'_> {
    /// The octets it still reserves; zero of a controller that is off.
    #[inline]
    pub const fn octets(&self) -> Octets {
        Octets(self.held.octets)
    }

    /// Whether settling it does anything: not of a controller that is off.
    #[inline]
    pub const fn is_held(&self) -> bool {
        self.controller.is_some()
    }

    /// The generation it was given for.
    pub const fn generation(&self) -> Generation {
        self.held.generation
    }

    /// Whether the path is still the one that was resolved, and open: to ask right before the post. If not, drop the
    /// permit, which rolls both reservations back, and resolve again.
    //= ADMISSION, Non-WC and Control-Plane Handling Matrix: eaab2820
    #[inline]
    pub fn is_current(&self) -> bool {
        let Some(controller) = self.controller else { return true };
        let (Some(route), Some(device)) =
            (controller.routes.get(self.held.route), controller.devices.get(self.held.device))
        else {
            return true;
        };
        let (route_gate, device_gate) = (route.domain.gate(), device.domain.gate());
        let open = route_gate.is_open() && device_gate.is_open();
        let blocked = route_gate.blocks() || device_gate.blocks();
        let enforced = controller.mode == Mode::Enforce;
        open && !(enforced && blocked)
            && route_gate.generation() == self.held.generation
            && device_gate.generation() == self.held.device_generation
    }

    /// Only `posted` of the slice reached the hardware: the rest of the reservation is given back now, that part with its
    /// completion.
    ///
    /// # Errors
    /// [`PostError`] when that is more than the permit covers; nothing changes then.
    //= ADMISSION, Controller and Transport Responsibilities: 0a5287b0
    pub fn post_partially(&mut self, posted: Octets) -> Result<(), PostError> {
        let Some(controller) = self.controller else { return Ok(()) };
        let Some(rest) = self.held.octets.checked_sub(posted.0) else {
            return Err(PostError { posted, permitted: self.octets() });
        };
        controller.settle(&Reservation { octets: rest, ..self.held }, false);
        self.held.octets = posted.0;
        Ok(())
    }

    /// The slice completed with success.
    #[inline]
    pub fn succeed(self) {
        let settled = ManuallyDrop::new(self);
        if let Some(controller) = settled.controller {
            controller.settle(&settled.held, true);
        }
    }

    /// The slice wasn't posted, or is given up: the reservation goes back. The same as dropping the permit.
    //= ADMISSION, Non-WC and Control-Plane Handling Matrix: a6193e92 340a97e8
    #[inline]
    pub fn cancel(self) {
        drop(self);
    }

    /// The permit as a plain value.
    #[inline]
    pub fn detach(self) -> Ticket {
        Ticket(ManuallyDrop::new(self).held)
    }

    /// Gives the reservation back without success and returns what it was.
    pub(super) fn fail(self) -> Reservation {
        let settled = ManuallyDrop::new(self);
        if let Some(controller) = settled.controller {
            controller.settle(&settled.held, false);
        }
        settled.held
    }
}

impl Drop for Permit<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(controller) = self.controller {
            controller.settle(&self.held, false);
        }
    }
}
