//! The configuration from the environment, and what it refuses.

#![allow(clippy::unwrap_used, reason = "tests")]

use admission::config::DEFAULT_PROBE_WINDOW;
use admission::environment::{EnvironmentError, PREFIXES, VARIABLES, from_environment};
use admission::{Capacity, Config, ConfigError, Controller, Mode};
use proptest::prelude::*;
use wire::units::{Micros, Nanos, Octets};

fn read(variables: &[(&str, &str)]) -> Result<Config, EnvironmentError> {
    from_environment(variables.iter().copied())
}

fn cc(name: &str) -> String {
    format!("MC_ADAPTIVE_CC_{name}")
}

#[test]
fn nothing_set_is_off() {
    //~ ADMISSION, Configuration, Compatibility, and Rollback: 727700cd
    let config = read(&[("PATH", "/bin"), ("MC_ADAPTIVE", "x"), ("", "")]).unwrap();
    assert_eq!((config, config.mode), (Config::default(), Mode::Off));
    assert_eq!(config.probe_window(), DEFAULT_PROBE_WINDOW);
}

#[test]
fn both_sets_of_names_are_read() {
    //~ ADMISSION, Configuration, Compatibility, and Rollback: 727700cd f9e7307d bc7d62dd 7c950b58 0e19ff03 c516879a
    //~ ADMISSION, Configuration, Compatibility, and Rollback: 31acc209 0dae307b
    let values = [
        ("MODE", "enforce"),
        ("MIN_WINDOW_BYTES", "1000"),
        ("MAX_WINDOW_BYTES", "2000"),
        ("TARGET_DRAIN_US", "3"),
        ("HIGH_PRESSURE_EPOCHS", "4"),
        ("LOW_PRESSURE_EPOCHS", "5"),
        ("HARD_ERROR_THRESHOLD", "6"),
        ("COOLDOWN_MS", "7"),
        ("PROBE_WINDOW_BYTES", "1000"),
    ];
    let wanted = Config {
        mode: Mode::Enforce,
        min_window: Octets(1000),
        max_window: Octets(2000),
        target_drain: Micros(3),
        high_pressure_epochs: 4,
        low_pressure_epochs: 5,
        hard_error_threshold: 6,
        cooldown: Nanos(7_000_000),
        probe_window: Some(Octets(1000)),
    };
    for prefix in PREFIXES {
        let given = values.map(|(name, value)| (format!("{prefix}{name}"), value));
        assert_eq!(from_environment(given), Ok(wanted));
    }
    let both =
        PREFIXES.iter().flat_map(|prefix| values.map(|(name, value)| (format!("{prefix}{name}"), value)));
    assert_eq!(from_environment(both), Ok(wanted), "twice alike");
    assert_eq!(VARIABLES.len() + 1, values.len());
    for mode in [Mode::Off, Mode::Observe, Mode::Enforce] {
        assert_eq!(read(&[(&cc("MODE"), mode.name())]).unwrap().mode, mode);
    }
}

#[test]
fn two_values_for_one_variable_are_an_error() {
    let error =
        read(&[(&cc("MODE"), "off"), ("MC_ADAPTIVE_CONGESTION_CONTROL_MODE", "enforce")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "MC_ADAPTIVE_CC_MODE is `off` and MC_ADAPTIVE_CONGESTION_CONTROL_MODE is `enforce`; give one of them, or both alike"
    );
    let error = read(&[(&cc("COOLDOWN_MS"), "1"), ("MC_ADAPTIVE_CONGESTION_CONTROL_COOLDOWN_MS", "01")]);
    assert!(matches!(error, Err(EnvironmentError::Contradiction { .. })));
}

#[test]
fn hostile_numbers_are_refused_with_the_range() {
    //~ ADMISSION, Configuration, Compatibility, and Rollback: 70ac85f5 4cf7a4df
    let hostile = [
        "",
        "0",
        "00",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1e3",
        "0x10",
        "1_000",
        "1.0",
        "NaN",
        "१",
        "18446744073709551616",
        "99999999999999999999999999",
        "\u{0}1",
        "1\n",
        "one",
    ];
    for variable in VARIABLES {
        for value in hostile {
            let name = cc(variable.name);
            let error = read(&[(&cc("MODE"), "enforce"), (&name, value)]).unwrap_err();
            assert!(matches!(error, EnvironmentError::Number { .. }), "{name}={value:?}: {error}");
            assert!(error.to_string().contains(&name), "{error}");
        }
    }
    let error = read(&[(&cc("HARD_ERROR_THRESHOLD"), "4294967296")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "MC_ADAPTIVE_CC_HARD_ERROR_THRESHOLD is `4294967296`; it must be a decimal number from 1 to 4294967295"
    );
    assert_eq!(read(&[(&cc("HARD_ERROR_THRESHOLD"), "4294967295")]).unwrap().hard_error_threshold, u32::MAX);
    // The largest cooldown fits nanoseconds, one more doesn't.
    assert!(read(&[(&cc("COOLDOWN_MS"), "18446744073709")]).is_ok());
    assert!(read(&[(&cc("COOLDOWN_MS"), "18446744073710")]).is_err());
    let mode = read(&[(&cc("MODE"), "ENFORCE")]).unwrap_err().to_string();
    assert_eq!(mode, "MC_ADAPTIVE_CC_MODE is `ENFORCE`; it must be off, observe or enforce");
}

#[test]
fn windows_must_fit_each_other_at_the_edge() {
    //~ ADMISSION, Configuration, Compatibility, and Rollback: 3540bd16
    let windows = |min: &str, max: &str, probe: &str| {
        read(&[
            (&cc("MIN_WINDOW_BYTES"), min),
            (&cc("MAX_WINDOW_BYTES"), max),
            (&cc("PROBE_WINDOW_BYTES"), probe),
        ])
    };
    assert!(windows("10", "10", "10").is_ok());
    assert!(matches!(windows("11", "10", "10"), Err(EnvironmentError::Config(ConfigError::Windows { .. }))));
    assert!(matches!(windows("10", "10", "11"), Err(EnvironmentError::Config(ConfigError::Probe { .. }))));
    let small = read(&[(&cc("MIN_WINDOW_BYTES"), "10")]).unwrap();
    assert_eq!(small.probe_window(), Octets(10), "a probe window that nobody set gives way");
    let large = Config { max_window: Octets((1 << 40) + 1), ..Config::default() };
    assert!(matches!(Controller::new(large, Capacity::default()), Err(ConfigError::TooLarge(_))));
    let zero = Config { cooldown: Nanos(0), mode: Mode::Enforce, ..Config::default() };
    let error = Controller::new(zero, Capacity::default()).unwrap_err().to_string();
    assert_eq!(error, "COOLDOWN_MS is 0; it must be at least 1");
}

#[test]
fn misspelt_names_are_an_error_and_long_values_are_cut() {
    let error = read(&[("MC_ADAPTIVE_CC_COOLDOWN_S", "1")]).unwrap_err().to_string();
    assert!(error.starts_with(
        "there is no MC_ADAPTIVE_CC_COOLDOWN_S; what stands behind the prefix is one of MODE, MIN_"
    ));
    let long = "\u{1b}[31m".repeat(100_000);
    let error = read(&[(&cc("MODE"), &long)]).unwrap_err().to_string();
    assert!(error.len() < 600 && !error.contains('\u{1b}'), "{error}");
}

#[cfg(unix)]
#[test]
fn values_that_are_no_unicode_are_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let bad = OsStr::from_bytes(&[0x31, 0xff]);
    let name = cc("COOLDOWN_MS");
    assert!(from_environment([(OsStr::new(&name), bad)]).is_err());
    assert_eq!(from_environment([(bad, bad)]), Ok(Config::default()), "somebody else's");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever is set, the result is a configuration that can be used, or an error: never something in between.
    #[test]
    fn any_environment_gives_a_usable_configuration_or_an_error(
        variables in proptest::collection::vec(
            (0..2_usize, 0..10_usize, prop_oneof!["[0-9]{1,21}", ".{0,9}", "off|observe|enforce"]),
            0..12,
        )
    ) {
        let names: Vec<_> = std::iter::once("MODE").chain(VARIABLES.map(|v| v.name)).chain(["X"]).collect();
        let given = variables.iter().map(|(prefix, name, value)| {
            (format!("{}{}", PREFIXES[*prefix], names[*name]), value.clone())
        });
        if let Ok(config) = from_environment(given) {
            prop_assert_eq!(config.validate(), Ok(()));
            let capacity = Capacity { devices: 1, routes: 1 };
            let made = Controller::new(config, capacity).is_ok();
            prop_assert!(made);
        }
    }
}
