//! The policy of one domain: what moves its window and its state, computed once an epoch or on an error, under a lock
//! that the data path doesn't take.

use wire::units::Nanos;

use crate::config::Config;
use crate::domain::{Domain, Gate, Generation, NO_RATE, Totals};
use crate::state::{self, Event, State};

/// What must have recovered before a quarantine can end, beside the cooldown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    Nothing,
    /// `IBV_EVENT_PORT_ACTIVE` on the port.
    Port,
    /// The device opened anew.
    Renewal,
}

/// How hard an epoch was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pressure {
    High,
    Low,
    /// Nothing completed and no report came: nothing is known.
    Unknown,
}

#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) state: State,
    pub(crate) incarnation: u32,
    pub(crate) generation: Generation,
    /// The generation that was quarantined: a probe needs a later one.
    fence: Generation,
    window: u64,
    /// Timeouts and hard errors since the path was last healthy.
    pub(crate) errors: u32,
    /// An error came in this epoch.
    erred: bool,
    /// Software deadlines of this epoch, judged at its end.
    deadlines: u32,
    /// Deadlines that a stalled poller excused.
    pub(crate) suppressed: u32,
    high: u32,
    low: u32,
    pub(crate) awaited: Awaited,
    /// End of the cooldown, while quarantined.
    pub(crate) cooldown_until: Nanos,
    /// Start of the time over which completions are counted.
    since: Nanos,
    totals: Totals,
    last_tick: Nanos,
    /// A report of congestion came in the last epoch.
    marked: bool,
    /// The quarantine is because of a failed probe.
    pub(crate) probe_failed: bool,
}

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) from: State,
    pub(crate) on: Event,
    pub(crate) to: State,
}

impl Policy {
    pub(crate) fn closed() -> Self {
        Self {
            state: State::Healthy,
            incarnation: 0,
            generation: Generation(0),
            fence: Generation(0),
            window: 0,
            errors: 0,
            erred: false,
            deadlines: 0,
            suppressed: 0,
            high: 0,
            low: 0,
            awaited: Awaited::Nothing,
            cooldown_until: Nanos(0),
            since: Nanos(0),
            totals: Totals::default(),
            last_tick: Nanos(0),
            marked: false,
            probe_failed: false,
        }
    }

    /// The domain gets a new owner. Generations go on counting, so that what the last owner left can't be mistaken.
    pub(crate) fn open(&mut self, hot: &Domain, config: &Config, now: Nanos) {
        let generation = self.generation.next();
        *self = Self {
            incarnation: self.incarnation,
            generation,
            fence: generation,
            window: config.max_window.0,
            since: now,
            last_tick: now,
            totals: hot.totals(),
            ..Self::closed()
        };
        hot.take_marks();
        self.publish(hot);
    }

    pub(crate) fn close(&mut self, hot: &Domain) {
        hot.set_gate(hot.gate().shut());
        self.incarnation = (self.incarnation + 1) & crate::domain::INCARNATION_MASK;
    }

    /// Makes the data path see what was decided.
    fn publish(&self, hot: &Domain) {
        hot.set_window(self.window);
        hot.set_gate(Gate::new(self.state, self.is_renewed(), self.incarnation, self.generation));
    }

    fn is_renewed(&self) -> bool {
        self.generation.is_after(self.fence)
    }

    /// A new endpoint, or the device opened anew.
    pub(crate) fn renew(&mut self, hot: &Domain) -> Generation {
        self.generation = self.generation.next();
        if self.awaited == Awaited::Renewal {
            self.awaited = Awaited::Nothing;
        }
        self.publish(hot);
        self.generation
    }

    /// Applies an event: looks up the transition, and does what entering the state asks for.
    //= ADMISSION, Path State Machine: 4b46dca2 dd3c3cc2 6d24a07b 81465143
    pub(crate) fn apply(&mut self, on: Event, hot: &Domain, config: &Config, now: Nanos) -> Option<Change> {
        let from = self.state;
        let to = state::next(from, on)?;
        self.state = to;
        match to {
            State::Quarantined => {
                self.cooldown_until = now + config.cooldown;
                self.fence = self.generation;
                self.probe_failed = on == Event::ProbeFailed;
                self.forget();
            }
            State::Probing => {
                self.window = config.probe_window().0;
                self.forget();
            }
            // A healthy route keeps its window when it is handed over: nothing speaks against the new path.
            State::Healthy | State::Congested
                if from == State::Probing || (on == Event::HandOver && from != State::Healthy) =>
            {
                //= ADMISSION, Recovery Escalation: c994b486
                self.window = config.min_window.0;
                self.forget();
            }
            State::Healthy | State::Congested => {
                if from == State::Suspect {
                    self.errors = 0;
                }
            }
            State::Suspect => {}
        }
        self.publish(hot);
        Some(Change { from, on, to })
    }

    /// Streaks and errors belong to what was before.
    fn forget(&mut self) {
        (self.high, self.low, self.errors, self.deadlines, self.erred) = (0, 0, 0, 0, false);
    }

    /// A route timeout or hard error of the current generation.
    //= ADMISSION, Completion/WC Handling Matrix: 24b811df c6013908
    pub(crate) fn path_error(&mut self, hot: &Domain, config: &Config, now: Nanos) -> Option<Change> {
        self.erred = true;
        self.low = 0;
        match self.state {
            State::Probing => self.apply(Event::ProbeFailed, hot, config, now),
            State::Quarantined => None,
            State::Healthy | State::Congested | State::Suspect => {
                self.errors = self.errors.saturating_add(1);
                let reached = self.errors >= config.hard_error_threshold;
                let event = if reached { Event::ThresholdReached } else { Event::PathError };
                self.apply(event, hot, config, now)
            }
        }
    }

    /// A slice missed its deadline in software; whether that counts is known at the end of the epoch.
    pub(crate) fn deadline(&mut self) {
        self.deadlines = self.deadlines.saturating_add(1);
    }

    /// A slice admitted as a probe on a new generation completed.
    //= ADMISSION, Non-WC and Control-Plane Handling Matrix: 73115475
    pub(crate) fn proof(&mut self, hot: &Domain, config: &Config, now: Nanos) -> Option<Change> {
        if self.state != State::Probing || !self.is_renewed() {
            return None;
        }
        let marked = self.marked || hot.is_marked();
        let event = if marked { Event::ProbeSucceededUnderPressure } else { Event::ProbeSucceeded };
        self.apply(event, hot, config, now)
    }

    /// The end of a control epoch. `stalled`: the completion poller made no progress in it.
    pub(crate) fn tick(
        &mut self,
        hot: &Domain,
        config: &Config,
        now: Nanos,
        stalled: bool,
        changes: &mut Vec<Change>,
    ) {
        // A clock that stands still or runs backwards ends no epoch.
        if now <= self.last_tick {
            return;
        }
        self.last_tick = now;
        self.judge_deadlines(hot, config, now, stalled, changes);
        let (marks, advised) = hot.take_marks();
        self.marked = marks > 0;
        let (pressure, succeeded) = self.pressure(hot, config, now);
        match self.state {
            State::Quarantined => {
                if now >= self.cooldown_until && self.awaited == Awaited::Nothing {
                    changes.extend(self.apply(Event::CooldownExpired, hot, config, now));
                }
            }
            State::Probing => {}
            State::Suspect => {
                if succeeded && !self.erred {
                    let high = pressure == Pressure::High;
                    let event = if high { Event::SuccessUnderPressure } else { Event::Success };
                    changes.extend(self.apply(event, hot, config, now));
                }
            }
            State::Healthy | State::Congested => {
                changes.extend(self.count_epoch(pressure, advised, hot, config, now));
            }
        }
        self.erred = false;
    }

    //= ADMISSION, Path State Machine: cebb04b5
    fn judge_deadlines(
        &mut self,
        hot: &Domain,
        config: &Config,
        now: Nanos,
        stalled: bool,
        changes: &mut Vec<Change>,
    ) {
        let deadlines = core::mem::take(&mut self.deadlines);
        if stalled {
            self.suppressed = self.suppressed.saturating_add(deadlines);
            return;
        }
        // More than the threshold change nothing more.
        for _ in 0..deadlines.min(config.hard_error_threshold) {
            changes.extend(self.path_error(hot, config, now));
        }
    }

    /// The pressure of the time since something last completed, and whether something completed in it.
    ///
    /// What is in flight drains in `in flight / delivery rate`; where nothing completed, the time counts on.
    //= ADMISSION, Completion/WC Handling Matrix: addb35b9
    fn pressure(&mut self, hot: &Domain, config: &Config, now: Nanos) -> (Pressure, bool) {
        let totals = hot.totals();
        let released = totals.released.wrapping_sub(self.totals.released);
        let returned = totals.returned.wrapping_sub(self.totals.returned);
        let completed = released.saturating_sub(returned);
        let elapsed = now.saturating_sub(self.since);
        let in_flight = hot.in_flight();
        if completed > 0 || in_flight == 0 {
            // Idle time is nobody's delay.
            (self.since, self.totals) = (now, totals);
        }
        let measured = if completed == 0 {
            Pressure::Unknown
        } else {
            let drain = u128::from(in_flight) * u128::from(elapsed.0) / u128::from(completed);
            let target = u128::from(config.target_drain.nanos().0);
            if drain > target { Pressure::High } else { Pressure::Low }
        };
        (if self.marked { Pressure::High } else { measured }, completed > 0)
    }

    /// Hysteresis and AIMD.
    //= ADMISSION, Path State Machine: 59c6c0e6 4b46dca2
    fn count_epoch(
        &mut self,
        pressure: Pressure,
        advised: u64,
        hot: &Domain,
        config: &Config,
        now: Nanos,
    ) -> Option<Change> {
        match pressure {
            Pressure::Unknown => None,
            Pressure::High => {
                (self.high, self.low) = (self.high.saturating_add(1), 0);
                if self.high < config.high_pressure_epochs {
                    return None;
                }
                self.high = 0;
                self.shrink(advised, config);
                let change = self.apply(Event::SustainedPressure, hot, config, now);
                self.publish(hot);
                change
            }
            Pressure::Low => {
                (self.low, self.high) = (self.low.saturating_add(1), 0);
                if self.low < config.low_pressure_epochs {
                    return None;
                }
                if self.state == State::Congested {
                    return self.apply(Event::HealthyEpochs, hot, config, now);
                }
                self.window = self.window.saturating_add(config.min_window.0).min(config.max_window.0);
                self.publish(hot);
                None
            }
        }
    }

    /// Multiplicative decrease by half; to what drains in time at the rate that a report gave, where one did. The document
    /// gives no factor and no step (the minimum window): both are ours.
    fn shrink(&mut self, advised: u64, config: &Config) {
        let wanted = if advised == NO_RATE {
            self.window / 2
        } else {
            let octets = u128::from(advised) * u128::from(config.target_drain.0) / 1_000_000;
            u64::try_from(octets).unwrap_or(u64::MAX).min(self.window)
        };
        self.window = wanted.max(config.min_window.0);
    }
}
