//! The state machine of a path: its states and its transitions, as data.

use core::fmt::{self, Write as _};

/// The health of a device or of a route (ADMISSION, Path State Machine).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum State {
    /// Normal admission; successful epochs of low pressure let the window grow.
    #[default]
    Healthy = 0,
    /// Transfers succeed and pressure stays high: the window shrinks, nothing fails over.
    Congested = 1,
    /// Timeouts or hard errors below the threshold: the window stops growing, nothing is declared.
    Suspect = 2,
    /// Nothing new is posted until the cooldown is over.
    Quarantined = 3,
    /// After the cooldown: a bounded probe on a new generation.
    Probing = 4,
}

impl State {
    /// All states, in the document's order.
    pub const ALL: [Self; 5] =
        [Self::Healthy, Self::Congested, Self::Suspect, Self::Quarantined, Self::Probing];

    /// The document's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "HEALTHY",
            Self::Congested => "CONGESTED",
            Self::Suspect => "SUSPECT",
            Self::Quarantined => "QUARANTINED",
            Self::Probing => "PROBING",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What moves a path from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// High pressure for the configured number of epochs, while transfers succeed.
    SustainedPressure,
    /// Low pressure for the configured number of successful epochs.
    HealthyEpochs,
    /// A route timeout or a hard error, the count still below the threshold.
    PathError,
    /// The count of timeouts and hard errors reached the threshold.
    ThresholdReached,
    /// A CQ, port or device is gone.
    FatalEvent,
    /// An epoch with successes and without errors, pressure low.
    Success,
    /// The same with high pressure.
    SuccessUnderPressure,
    /// The cooldown is over, and what was to recover first has recovered.
    CooldownExpired,
    /// A slice admitted as a probe on a new generation completed.
    ProbeSucceeded,
    /// The same, while reports of congestion came in.
    ProbeSucceededUnderPressure,
    /// A timeout or hard error of a probe.
    ProbeFailed,
    /// The route now starts at another local NIC: another path, of which nothing is known yet.
    HandOver,
}

impl Event {
    /// All events.
    pub const ALL: [Self; 12] = [
        Self::SustainedPressure,
        Self::HealthyEpochs,
        Self::PathError,
        Self::ThresholdReached,
        Self::FatalEvent,
        Self::Success,
        Self::SuccessUnderPressure,
        Self::CooldownExpired,
        Self::ProbeSucceeded,
        Self::ProbeSucceededUnderPressure,
        Self::ProbeFailed,
        Self::HandOver,
    ];

    /// The words on the diagram's arrow.
    pub const fn label(self) -> &'static str {
        match self {
            Self::SustainedPressure => "sustained pressure with success",
            Self::HealthyEpochs => "healthy epochs",
            Self::PathError => "timeout or hard error",
            Self::ThresholdReached => "threshold reached",
            Self::FatalEvent => "CQ, port or device fatal",
            Self::Success => "success",
            Self::SuccessUnderPressure => "success under pressure",
            Self::CooldownExpired => "cooldown expired",
            Self::ProbeSucceeded => "probe succeeded",
            Self::ProbeSucceededUnderPressure => "probe succeeded under pressure",
            Self::ProbeFailed => "probe failed",
            Self::HandOver => "hand-over to another NIC",
        }
    }
}

/// One arrow of the diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Where it starts.
    pub from: State,
    /// What causes it.
    pub on: Event,
    /// Where it leads.
    pub to: State,
}

const fn arrow(from: State, on: Event, to: State) -> Transition {
    Transition { from, on, to }
}

/// Every transition there is; any other pair of state and event changes nothing.
///
/// The document's diagram draws the threshold from SUSPECT only; a threshold of one is reached at once, so HEALTHY and
/// CONGESTED have that arrow too. Fatal events reach QUARANTINED from everywhere; one during a quarantine starts the
/// cooldown anew. The arrows of the hand-over are ours: errors of the old NIC's path say nothing about the new one's, but
/// a path that was quarantined is used again only after a probe.
//= ADMISSION, Path State Machine: 41ebe573 cf579d6f 0cc1c174 b46c4d8c 5b39e866 f13bbe97
pub const TRANSITIONS: [Transition; 24] = {
    use Event::{
        CooldownExpired, FatalEvent, HandOver, HealthyEpochs, PathError, ProbeFailed, ProbeSucceeded,
        ProbeSucceededUnderPressure, Success, SuccessUnderPressure, SustainedPressure, ThresholdReached,
    };
    use State::{Congested, Healthy, Probing, Quarantined, Suspect};
    [
        arrow(Healthy, SustainedPressure, Congested),
        arrow(Congested, HealthyEpochs, Healthy),
        arrow(Healthy, PathError, Suspect),
        arrow(Congested, PathError, Suspect),
        arrow(Suspect, Success, Healthy),
        arrow(Suspect, SuccessUnderPressure, Congested),
        arrow(Healthy, ThresholdReached, Quarantined),
        arrow(Congested, ThresholdReached, Quarantined),
        arrow(Suspect, ThresholdReached, Quarantined),
        arrow(Healthy, FatalEvent, Quarantined),
        arrow(Congested, FatalEvent, Quarantined),
        arrow(Suspect, FatalEvent, Quarantined),
        arrow(Quarantined, FatalEvent, Quarantined),
        arrow(Probing, FatalEvent, Quarantined),
        arrow(Quarantined, CooldownExpired, Probing),
        arrow(Probing, ProbeSucceeded, Healthy),
        arrow(Probing, ProbeSucceededUnderPressure, Congested),
        arrow(Probing, ProbeFailed, Quarantined),
        arrow(Healthy, HandOver, Healthy),
        arrow(Congested, HandOver, Healthy),
        arrow(Suspect, HandOver, Healthy),
        arrow(Quarantined, HandOver, Probing),
        arrow(Probing, HandOver, Probing),
        arrow(Suspect, PathError, Suspect),
    ]
};

/// Where `event` leads from `state`, or `None` when it means nothing there.
pub fn next(state: State, event: Event) -> Option<State> {
    TRANSITIONS.iter().find(|row| row.from == state && row.on == event).map(|row| row.to)
}

/// The diagram of [`TRANSITIONS`] as Mermaid text, one arrow for each pair of states.
pub fn diagram() -> String {
    let mut text = String::from("stateDiagram-v2\n    [*] --> HEALTHY\n");
    for from in State::ALL {
        for to in State::ALL {
            let labels: Vec<_> = TRANSITIONS
                .iter()
                .filter(|row| row.from == from && row.to == to)
                .map(|row| row.on.label())
                .collect();
            if !labels.is_empty() {
                // Writing to a String never fails.
                let _ = writeln!(text, "    {from} --> {to}: {}", labels.join(" / "));
            }
        }
    }
    text
}
