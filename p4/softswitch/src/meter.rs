//! Two-rate three-colour meters as BMv2 runs them.

use crate::control::{ControlError, MeterConfig};

/// One token bucket: rate in units/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bucket {
    rate: u64,
    burst: u64,
    tokens: u64,
    /// Tokens made since time 0 that have been accounted for.
    made: u64,
}

impl Bucket {
    fn new(rate: u64, burst: u64) -> Bucket {
        Bucket { rate, burst, tokens: burst, made: 0 }
    }

    fn take(&mut self, now_us: u64, units: u64) -> bool {
        let made = u128::from(now_us) * u128::from(self.rate) / 1_000_000;
        let made = u64::try_from(made).unwrap_or(u64::MAX);
        let new = made.saturating_sub(self.made);
        self.made = made;
        self.tokens = self.tokens.saturating_add(new).min(self.burst);
        if self.tokens < units {
            return false;
        }
        self.tokens -= units;
        true
    }
}

/// A configured meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meter {
    peak: Bucket,
    committed: Bucket,
}

impl Meter {
    pub(crate) fn new(config: MeterConfig) -> Result<Meter, ControlError> {
        if config.pir < config.cir {
            return Err(ControlError::Invalid(
                "a meter's peak rate must be at least its committed rate".to_owned(),
            ));
        }
        Ok(Meter {
            peak: Bucket::new(config.pir, config.pburst),
            committed: Bucket::new(config.cir, config.cburst),
        })
    }

    pub(crate) fn config(&self) -> MeterConfig {
        MeterConfig {
            cir: self.committed.rate,
            cburst: self.committed.burst,
            pir: self.peak.rate,
            pburst: self.peak.burst,
        }
    }

    /// The colour of a packet: 0 green, 1 yellow, 2 red. As in BMv2, a packet that is only yellow has taken peak
    /// tokens, and a red one none.
    pub(crate) fn execute(&mut self, now_us: u64, units: u64) -> u64 {
        if self.peak.take(now_us, units) { u64::from(!self.committed.take(now_us, units)) } else { 2 }
    }
}
