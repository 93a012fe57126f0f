//! The parameters of DCQCN.

use wire::units::{BitPerSec, Nanos, Octets};

/// Parameters of both ends. [`Config::new`] gives the published ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// `N`: between two CNPs of a queue pair pass at least so much.
    pub cnp_interval: Nanos,
    /// `K`: after so much without a CNP, alpha decays (equation 2).
    pub alpha_interval: Nanos,
    /// `1 / g`: the weight of news in alpha (equations 1 and 2).
    pub inverse_gain: u32,
    /// `T`: the rate rises once in so much time.
    pub increase_interval: Nanos,
    /// `B`: the rate rises once in so many octets sent.
    pub increase_octets: Octets,
    /// `F`: so many rises of each counter recover toward the rate before the cut (equation 3).
    pub fast_recovery_steps: u32,
    /// `R_AI`: how much a rise adds to the target after that (equation 4).
    pub additive_increase: BitPerSec,
    /// `R_HI`: how much a rise adds once both counters are beyond `F`, times the steps beyond it, as in QCN.
    pub hyper_increase: BitPerSec,
    /// No cut goes below this.
    pub minimum_rate: BitPerSec,
    /// Where every queue pair starts, and what no rise exceeds.
    pub line_rate: BitPerSec,
}

/// A parameter that can't be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// An interval of zero would never end.
    #[error("DCQCN {0} of 0; it should be at least 1")]
    Zero(&'static str),
    /// The minimum lies above the line rate.
    #[error("DCQCN minimum rate {minimum}; it should be 1 bit/s to the line rate, {line}")]
    Minimum {
        /// The minimum given.
        minimum: BitPerSec,
        /// The line rate given.
        line: BitPerSec,
    },
}

impl Config {
    /// The published defaults, section 5 of the paper: N 50 us, K 55 us, g 1/256, T 55 us, B 10 MB, F 5, `R_AI` 40 Mbit/s.
    /// Two it leaves out, as SCONE's document does, and they are those of the simulator that its authors released
    /// (github.com/bobzhuyb/ns3-rdma): `R_HI` 200 Mbit/s (`RATE_HAI` in its `mix/config.txt`) and a minimum of 100 Mbit/s
    /// (`MinRate` in its `qbb-net-device.cc`), or the line rate, if that is less.
    pub fn new(line_rate: BitPerSec) -> Self {
        Self {
            cnp_interval: Nanos(50_000),
            alpha_interval: Nanos(55_000),
            inverse_gain: 256,
            increase_interval: Nanos(55_000),
            increase_octets: Octets(10_000_000),
            fast_recovery_steps: 5,
            additive_increase: BitPerSec(40_000_000),
            hyper_increase: BitPerSec(200_000_000),
            minimum_rate: BitPerSec(100_000_000).min(line_rate),
            line_rate,
        }
    }

    /// Whether the parameters can be.
    ///
    /// # Errors
    /// [`ConfigError`] names the first that can't.
    pub fn check(&self) -> Result<(), ConfigError> {
        let zeros = [
            ("alpha interval (K)", self.alpha_interval == Nanos(0)),
            ("inverse gain (1/g)", self.inverse_gain == 0),
            ("increase interval (T)", self.increase_interval == Nanos(0)),
            ("increase octets (B)", self.increase_octets == Octets(0)),
            ("additive increase (R_AI)", self.additive_increase == BitPerSec(0)),
        ];
        if let Some((name, _)) = zeros.into_iter().find(|(_, zero)| *zero) {
            return Err(ConfigError::Zero(name));
        }
        if self.minimum_rate == BitPerSec(0) || self.minimum_rate > self.line_rate {
            return Err(ConfigError::Minimum { minimum: self.minimum_rate, line: self.line_rate });
        }
        Ok(())
    }
}
