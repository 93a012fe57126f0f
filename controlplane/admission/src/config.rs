//! The configuration of a controller: mode, windows, hysteresis, recovery.

use wire::units::{Micros, Nanos, Octets};

/// What the controller does with its verdicts (ADMISSION, Configuration, Compatibility, and Rollback).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Mode {
    /// Policy and admission state are bypassed; every slice is admitted.
    #[default]
    Off = 0,
    /// Signals are recorded and the policy is computed; every slice is admitted.
    Observe = 1,
    /// Windows and quarantine are applied.
    Enforce = 2,
}

impl Mode {
    /// The name in the environment.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Observe => "observe",
            Self::Enforce => "enforce",
        }
    }
}

/// Parameters of the state machine. [`Config::default`] is a controller that is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Off, observe or enforce.
    pub mode: Mode,
    /// No window shrinks below this; recovery starts here.
    pub min_window: Octets,
    /// No window grows above this; a new path starts here, so that a healthy one is not slowed.
    pub max_window: Octets,
    /// Octets in flight should drain within this time; longer is high pressure.
    pub target_drain: Micros,
    /// Consecutive epochs of high pressure until a path counts as congested.
    pub high_pressure_epochs: u32,
    /// Consecutive epochs of low pressure until windows grow again.
    pub low_pressure_epochs: u32,
    /// Timeouts and hard errors until a route is quarantined.
    pub hard_error_threshold: u32,
    /// How long a quarantine lasts before a probe.
    pub cooldown: Nanos,
    /// The window while probing; `None`: the smaller of [`DEFAULT_PROBE_WINDOW`] and the minimum window.
    pub probe_window: Option<Octets>,
}

/// The probe's window where none is configured, as the document's example has it.
pub const DEFAULT_PROBE_WINDOW: Octets = Octets(64 << 10);

impl Default for Config {
    /// The document gives no figures; these are ours.
    fn default() -> Self {
        Self {
            mode: Mode::Off,
            min_window: Octets(256 << 10),
            max_window: Octets(64 << 20),
            target_drain: Micros(2_000),
            high_pressure_epochs: 2,
            low_pressure_epochs: 3,
            hard_error_threshold: 3,
            cooldown: Nanos(30_000_000_000),
            probe_window: None,
        }
    }
}

/// A configuration that can't be used. The controller stays off (ADMISSION, Configuration, Compatibility, and Rollback).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A value of zero.
    #[error("{0} is 0; it must be at least 1")]
    Zero(&'static str),
    /// The minimum window exceeds the maximum.
    #[error(
        "the minimum window ({min}) exceeds the maximum window ({max}); lower the one or raise the other"
    )]
    Windows {
        /// The minimum window.
        min: Octets,
        /// The maximum window.
        max: Octets,
    },
    /// The configured probe window exceeds the minimum window.
    #[error("the probe window ({probe}) exceeds the minimum window ({min}); make it at most that")]
    Probe {
        /// The probe window.
        probe: Octets,
        /// The minimum window.
        min: Octets,
    },
    /// A window above [`MAX_WINDOW`].
    #[error("the maximum window ({0}) exceeds {MAX_WINDOW}; make it at most that")]
    TooLarge(Octets),
}

/// No window may be larger, and no slice: with more, sums of the counts might overflow. Ours.
pub const MAX_WINDOW: Octets = Octets(1 << 40);

impl Config {
    /// Whether every value can be used.
    ///
    /// # Errors
    /// [`ConfigError`] names the first value that can't, and what would be right.
    //= ADMISSION, Configuration, Compatibility, and Rollback: 70ac85f5 3540bd16
    pub fn validate(&self) -> Result<(), ConfigError> {
        let values = [
            ("MIN_WINDOW_BYTES", self.min_window.0),
            ("MAX_WINDOW_BYTES", self.max_window.0),
            ("TARGET_DRAIN_US", u64::from(self.target_drain.0)),
            ("HIGH_PRESSURE_EPOCHS", u64::from(self.high_pressure_epochs)),
            ("LOW_PRESSURE_EPOCHS", u64::from(self.low_pressure_epochs)),
            ("HARD_ERROR_THRESHOLD", u64::from(self.hard_error_threshold)),
            ("COOLDOWN_MS", self.cooldown.0),
            ("PROBE_WINDOW_BYTES", self.probe_window.map_or(1, |window| window.0)),
        ];
        if let Some((name, _)) = values.iter().find(|(_, value)| *value == 0) {
            return Err(ConfigError::Zero(name));
        }
        if self.min_window > self.max_window {
            return Err(ConfigError::Windows { min: self.min_window, max: self.max_window });
        }
        if self.max_window > MAX_WINDOW {
            return Err(ConfigError::TooLarge(self.max_window));
        }
        match self.probe_window {
            Some(probe) if probe > self.min_window => Err(ConfigError::Probe { probe, min: self.min_window }),
            _ => Ok(()),
        }
    }

    /// The window while probing.
    pub fn probe_window(&self) -> Octets {
        self.probe_window.unwrap_or(DEFAULT_PROBE_WINDOW.min(self.min_window))
    }
}
