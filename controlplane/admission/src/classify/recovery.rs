//! The steps of recovery, from the failed operation to the control plane, and who takes each.

use super::Scope;

/// Who takes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// This library.
    Controller,
    /// The transport that posts.
    Transport,
    /// Whoever decides about nodes.
    ControlPlane,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Settle the operation and its permit by the class of its completion.
    Settle,
    /// Retire the queue pair; the route is SUSPECT.
    Suspect,
    /// Refresh metadata and keys, make a new endpoint: a new generation.
    Renew,
    /// Send a bounded probe.
    Probe,
    /// The probe came back: HEALTHY or CONGESTED, from the smallest window.
    Recover,
    /// The probe failed: QUARANTINED; take another rail.
    Quarantine,
    /// No usable route is left on the port or device: isolate it.
    IsolateDevice,
    /// Every route to the peer failed: tell the endpoint's owner and the control plane.
    NotifyPeer,
}

/// A step with its owner and what leads on from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Escalation {
    /// The step.
    pub step: Step,
    /// Who takes it.
    pub owner: Owner,
    /// What it may isolate at most.
    pub scope: Scope,
    /// The steps that may follow.
    pub then: &'static [Step],
}

const fn row(step: Step, owner: Owner, scope: Scope, then: &'static [Step]) -> Escalation {
    Escalation { step, owner, scope, then }
}

/// The ladder of ADMISSION, Recovery Escalation. The two last steps are taken on a [`crate::Notice`] by their owners, not by
/// the controller: the document's tables forbid a scope to grow by itself.
//= ADMISSION, Recovery Escalation: 9c4a1a69 9ab6379b c00a07dc 8a1f5af6 e256ce8c c994b486 7335f415 d7d01a32 de6c33a3
//= ADMISSION, Recovery Escalation: cbbb7284 d65f12ed
pub const ESCALATION: [Escalation; 8] = [
    row(Step::Settle, Owner::Controller, Scope::Operation, &[Step::Suspect]),
    row(Step::Suspect, Owner::Controller, Scope::Qp, &[Step::Renew]),
    row(Step::Renew, Owner::Transport, Scope::Qp, &[Step::Probe]),
    row(Step::Probe, Owner::Transport, Scope::Route, &[Step::Recover, Step::Quarantine]),
    row(Step::Recover, Owner::Controller, Scope::Route, &[]),
    row(Step::Quarantine, Owner::Controller, Scope::Route, &[Step::Renew, Step::IsolateDevice]),
    row(Step::IsolateDevice, Owner::Transport, Scope::Device, &[Step::NotifyPeer]),
    row(Step::NotifyPeer, Owner::ControlPlane, Scope::None, &[]),
];
