//! How far a failure reaches, and where it must not go by itself.

/// The least scope that a failure is handled in. The controller never widens it by itself: a wider one needs evidence of
/// its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Scope {
    /// Nothing failed.
    None = 0,
    /// One operation.
    Operation = 1,
    /// One queue pair and what depends on it.
    Qp = 2,
    /// One completion queue and its queue pairs.
    Cq = 3,
    /// The way from one local NIC to one remote NIC.
    Route = 4,
    /// One port of a device.
    Port = 5,
    /// One local device.
    Device = 6,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeRow {
    /// Where the evidence comes from.
    pub scope: Scope,
    /// What is handled.
    pub handles: &'static str,
    /// What stays out of it.
    pub spares: &'static str,
    /// The domain of this controller that may be quarantined on a single piece of evidence of this scope.
    pub quarantines: Option<Scope>,
}

const fn row(
    scope: Scope,
    handles: &'static str,
    spares: &'static str,
    quarantines: Option<Scope>,
) -> ScopeRow {
    ScopeRow { scope, handles, spares, quarantines }
}

/// The table of ADMISSION, Failure Scope.
//= ADMISSION, Failure Scope: b025be33 87edce8b ece450dc 70c4bce6 710f5207 79b59e56 160cf95e 3ea9e90c
pub const SCOPES: [ScopeRow; 6] = [
    row(Scope::Operation, "the operation, its queue pair if need be", "rail, device, peer", None),
    row(Scope::Qp, "the queue pair, dependents of its generation", "other queue pairs of the port", None),
    row(
        Scope::Cq,
        "the completion queue, its queue pairs",
        "queue pairs of other completion queues",
        Some(Scope::Route),
    ),
    row(Scope::Route, "the way between two NICs", "other routes of the device", Some(Scope::Route)),
    row(Scope::Port, "the port's queue pairs, GIDs, routes", "other ports and devices", Some(Scope::Port)),
    row(Scope::Device, "the local device", "remote peers, other local devices", Some(Scope::Device)),
];
