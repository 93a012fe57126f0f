//! The sender of data.

use wire::units::{BitPerSec, Nanos, Octets};

use super::Config;

/// Alpha is a fraction of this.
const ONE: u64 = 1 << 32;

/// What the next rise of the rate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// At the line rate; nothing rises.
    Unlimited,
    /// Toward the rate before the cut (equation 3).
    FastRecovery,
    /// The target rises by `R_AI` (equation 4).
    Additive,
    /// The target rises by a multiple of `R_HI`.
    Hyper,
}

/// The reaction point of a queue pair (section 3.1, "RP Algorithm"). Calls come in the order of their times.
#[derive(Clone, Copy, Debug)]
pub struct ReactionPoint {
    /// Congestion estimate; a fraction of [`ONE`].
    alpha: u64,
    /// `R_C`.
    current: u64,
    /// `R_T`.
    target: u64,
    /// Below the line rate: the counters run.
    limited: bool,
    /// When alpha last changed; `None` until the first CNP, for without one there is nothing to decay from.
    alpha_since: Option<Nanos>,
    /// When the timer last fired or was reset.
    timer_since: Nanos,
    /// Octets sent since the octet counter last expired or was reset.
    octets: u64,
    /// Expirations of the timer since the cut, `T`.
    time_steps: u32,
    /// Expirations of the octet counter since the cut, `BC`.
    octet_steps: u32,
}

impl ReactionPoint {
    /// A sender at the line rate, with alpha 1.
    pub const fn new(config: &Config) -> Self {
        Self {
            alpha: ONE,
            current: config.line_rate.0,
            target: config.line_rate.0,
            limited: false,
            alpha_since: None,
            timer_since: Nanos(0),
            octets: 0,
            time_steps: 0,
            octet_steps: 0,
        }
    }

    /// `R_C` at `now`: the rate that DCQCN allows.
    pub fn rate(&mut self, config: &Config, now: Nanos) -> BitPerSec {
        self.advance(config, now);
        BitPerSec(self.current)
    }

    /// `R_T` as of the last call: the rate that recovery goes for.
    pub const fn target(&self) -> BitPerSec {
        BitPerSec(self.target)
    }

    /// Alpha as of the last call, 0 to 1.
    pub fn alpha(&self) -> f64 {
        self.alpha as f64 / ONE as f64
    }

    /// What the next rise will do, as of the last call.
    pub fn phase(&self, config: &Config) -> Phase {
        let steps = config.fast_recovery_steps;
        if !self.limited {
            Phase::Unlimited
        } else if self.time_steps.max(self.octet_steps) < steps {
            Phase::FastRecovery
        } else if self.time_steps.min(self.octet_steps) > steps {
            Phase::Hyper
        } else {
            Phase::Additive
        }
    }

    /// A CNP came (equation 1): the rate is cut by alpha / 2, alpha rises, and all counters start anew.
    pub fn notified(&mut self, config: &Config, now: Nanos) {
        self.advance(config, now);
        self.target = self.current;
        let cut = u128::from(self.current) * u128::from(self.alpha) / u128::from(2 * ONE);
        let left = self.current - u64::try_from(cut).unwrap_or(self.current);
        self.current = left.max(config.minimum_rate.0);
        let gain = u64::from(config.inverse_gain);
        self.alpha = (self.alpha - self.alpha / gain + ONE / gain).min(ONE);
        self.alpha_since = Some(now);
        self.timer_since = now;
        self.octets = 0;
        self.time_steps = 0;
        self.octet_steps = 0;
        self.limited = self.current < config.line_rate.0;
    }

    /// Octets were sent: the octet counter may expire.
    pub fn sent(&mut self, config: &Config, octets: Octets, now: Nanos) {
        self.advance(config, now);
        if !self.limited {
            return;
        }
        self.octets += octets.0;
        while self.limited && self.octets >= config.increase_octets.0 {
            self.octets -= config.increase_octets.0;
            self.rise(config);
            self.octet_steps += 1;
        }
    }

    /// Settles what both timers did until `now`. Alpha doesn't enter a rise, so their order among each other is nothing to
    /// keep.
    fn advance(&mut self, config: &Config, now: Nanos) {
        while self.limited && self.timer_since + config.increase_interval <= now {
            self.timer_since += config.increase_interval;
            self.rise(config);
            self.time_steps += 1;
        }
        let Some(since) = self.alpha_since else { return };
        let elapsed = now.saturating_sub(since).0 / config.alpha_interval.0;
        let gain = u64::from(config.inverse_gain);
        for _ in 0..elapsed {
            // Rounded away from alpha: below 1/g of the last bit it ends at zero, or the loop would not.
            let decay = self.alpha.div_ceil(gain);
            if decay == 0 {
                break;
            }
            self.alpha -= decay;
        }
        self.alpha_since = Some(since + Nanos(elapsed * config.alpha_interval.0));
    }

    /// A counter expired.
    fn rise(&mut self, config: &Config) {
        let line = config.line_rate.0;
        let added = match self.phase(config) {
            Phase::Unlimited | Phase::FastRecovery => 0,
            Phase::Additive => config.additive_increase.0,
            Phase::Hyper => {
                let beyond = self.time_steps.min(self.octet_steps) - config.fast_recovery_steps;
                config.hyper_increase.0.saturating_mul(beyond.into())
            }
        };
        self.target = self.target.saturating_add(added).min(line);
        // Rounded up, or the last bit per second would never be reached.
        self.current = self.target.midpoint(self.current) + (self.target ^ self.current) % 2;
        self.limited = self.current < line;
    }
}
