//! The configuration from environment variables, read once at the start.

use std::ffi::OsStr;

use wire::units::{Micros, Nanos, Octets};

use crate::config::{Config, ConfigError, Mode};

/// Both sets of names in use: the document's, and those that came later.
pub const PREFIXES: [&str; 2] = ["MC_ADAPTIVE_CC_", "MC_ADAPTIVE_CONGESTION_CONTROL_"];

/// A variable that a user may set.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// The name behind either of [`PREFIXES`].
    pub name: &'static str,
    /// What it sets.
    pub meaning: &'static str,
    /// The largest value it takes; 0 for [`Mode`]'s names.
    max: u64,
    set: fn(&mut Config, u64),
}

const fn variable(
    name: &'static str,
    max: u64,
    meaning: &'static str,
    set: fn(&mut Config, u64),
) -> Variable {
    Variable { name, meaning, max, set }
}

const MODE: &str = "MODE";
const U32: u64 = u32::MAX as u64;
const WINDOW: u64 = crate::config::MAX_WINDOW.0;
const NANOS_PER_MS: u64 = 1_000_000;

fn count(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Every numeric variable.
//= ADMISSION, Configuration, Compatibility, and Rollback: f9e7307d bc7d62dd 7c950b58 0e19ff03 c516879a 31acc209 0dae307b
pub const VARIABLES: [Variable; 8] = [
    variable("MIN_WINDOW_BYTES", WINDOW, "smallest window", |c, v| c.min_window = Octets(v)),
    variable("MAX_WINDOW_BYTES", WINDOW, "largest window", |c, v| c.max_window = Octets(v)),
    variable("TARGET_DRAIN_US", U32, "time in which octets in flight should drain", |c, v| {
        c.target_drain = Micros(count(v));
    }),
    variable("HIGH_PRESSURE_EPOCHS", U32, "epochs of high pressure until CONGESTED", |c, v| {
        c.high_pressure_epochs = count(v);
    }),
    variable("LOW_PRESSURE_EPOCHS", U32, "epochs of low pressure until windows grow again", |c, v| {
        c.low_pressure_epochs = count(v);
    }),
    variable("HARD_ERROR_THRESHOLD", U32, "timeouts and hard errors until QUARANTINED", |c, v| {
        c.hard_error_threshold = count(v);
    }),
    variable("COOLDOWN_MS", u64::MAX / NANOS_PER_MS, "time in QUARANTINED", |c, v| {
        c.cooldown = Nanos(v.saturating_mul(NANOS_PER_MS));
    }),
    variable("PROBE_WINDOW_BYTES", WINDOW, "window while PROBING", |c, v| c.probe_window = Some(Octets(v))),
];

/// An environment that gives no usable configuration. The controller stays off.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// Not one of the three modes.
    #[error("{name} is `{value}`; it must be off, observe or enforce")]
    Mode {
        /// The variable.
        name: String,
        /// Its value.
        value: String,
    },
    /// Not a decimal number in the variable's range.
    #[error("{name} is `{value}`; it must be a decimal number from 1 to {max}")]
    Number {
        /// The variable.
        name: String,
        /// Its value.
        value: String,
        /// The largest value it takes.
        max: u64,
    },
    /// The two prefixes give one variable different values.
    #[error("{first} is `{first_value}` and {second} is `{second_value}`; give one of them, or both alike")]
    Contradiction {
        /// The variable with the document's prefix.
        first: String,
        /// Its value.
        first_value: String,
        /// The variable with the later prefix.
        second: String,
        /// Its value.
        second_value: String,
    },
    /// A variable with one of the prefixes that there is not.
    #[error("there is no {name}; what stands behind the prefix is one of MODE, {}", names())]
    Unknown {
        /// The variable.
        name: String,
    },
    /// The values don't fit each other.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

fn names() -> String {
    VARIABLES.map(|variable| variable.name).join(", ")
}

/// The configuration that these variables give; what they leave out has [`Config::default`]'s value.
///
/// The caller passes `std::env::vars_os()`: this function is pure. A value is a decimal number without sign or spaces. A
/// variable with one of the prefixes and an unknown name is an error, so that a misspelt one doesn't count as unset.
///
/// # Errors
/// [`EnvironmentError`] on the first variable that can't be used: nothing is half taken over.
//= ADMISSION, Configuration, Compatibility, and Rollback: 4cf7a4df 727700cd
pub fn from_environment<K, V>(variables: impl IntoIterator<Item = (K, V)>) -> Result<Config, EnvironmentError>
where
    K: AsRef<OsStr>,
    V: AsRef<OsStr>,
{
    let mut given = Given::default();
    for (name, value) in variables {
        // A name that isn't Unicode is none of ours.
        if let Some(name) = name.as_ref().to_str() {
            given.take(name, &value.as_ref().to_string_lossy())?;
        }
    }
    let mut config = Config::default();
    if let Some((name, value)) = given.value(0)? {
        config.mode = mode(&name, value)?;
    }
    for (index, variable) in VARIABLES.iter().enumerate() {
        if let Some((name, value)) = given.value(index + 1)? {
            (variable.set)(&mut config, number(&name, value, variable.max)?);
        }
    }
    config.validate()?;
    Ok(config)
}

/// The values found, by variable (the mode first) and prefix.
#[derive(Default)]
struct Given([[Option<String>; 2]; 9]);

impl Given {
    fn take(&mut self, name: &str, value: &str) -> Result<(), EnvironmentError> {
        for (prefix, rest) in
            PREFIXES.iter().enumerate().filter_map(|(i, prefix)| Some((i, name.strip_prefix(prefix)?)))
        {
            let index = if rest == MODE {
                Some(0)
            } else {
                VARIABLES.iter().position(|variable| variable.name == rest).map(|index| index + 1)
            };
            let slot = index.and_then(|index| self.0.get_mut(index)?.get_mut(prefix));
            *slot.ok_or_else(|| EnvironmentError::Unknown { name: name.to_owned() })? =
                Some(value.to_owned());
        }
        Ok(())
    }

    /// The name and value of a variable that is set.
    fn value(&self, index: usize) -> Result<Option<(String, &str)>, EnvironmentError> {
        let name = |prefix: &str| {
            let rest = index.checked_sub(1).and_then(|index| VARIABLES.get(index));
            format!("{prefix}{}", rest.map_or(MODE, |variable| variable.name))
        };
        let [first, later] = PREFIXES;
        match self.0.get(index) {
            Some([Some(a), Some(b)]) if a != b => Err(EnvironmentError::Contradiction {
                first: name(first),
                first_value: shown(a),
                second: name(later),
                second_value: shown(b),
            }),
            Some([Some(value), _]) => Ok(Some((name(first), value))),
            Some([None, Some(value)]) => Ok(Some((name(later), value))),
            _ => Ok(None),
        }
    }
}

fn mode(name: &str, value: &str) -> Result<Mode, EnvironmentError> {
    [Mode::Off, Mode::Observe, Mode::Enforce]
        .into_iter()
        .find(|mode| mode.name() == value)
        .ok_or_else(|| EnvironmentError::Mode { name: name.to_owned(), value: shown(value) })
}

fn number(name: &str, value: &str, max: u64) -> Result<u64, EnvironmentError> {
    let digits = !value.is_empty() && value.bytes().all(|octet| octet.is_ascii_digit());
    let number = digits.then(|| value.parse::<u64>().ok()).flatten().filter(|n| (1..=max).contains(n));
    number.ok_or_else(|| EnvironmentError::Number { name: name.to_owned(), value: shown(value), max })
}

/// A value for an error message: a hostile one doesn't flood the terminal.
fn shown(value: &str) -> String {
    const SHOWN: usize = 64;
    let short: String = value.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if value.chars().count() > SHOWN { format!("{short}...") } else { short }
}
