#![allow(unused_variables, clippy::unimplemented, clippy::unused_self, clippy::needless_pass_by_value)]
#[allow(clippy::wildcard_imports)]
use super::*;
use crate::Switch;

/// Counters, meters and registers.
impl Switch {
    /// Reads a counter cell.
    ///
    /// # Errors
    /// Unknown counter, or an index beyond it.
    pub fn counter(&self, counter: CounterId, index: u64) -> Result<CounterValue, ControlError> {
        unimplemented!()
    }
    /// Sets a counter cell.
    ///
    /// # Errors
    /// Unknown counter, or an index beyond it.
    pub fn set_counter(
        &mut self,
        counter: CounterId,
        index: u64,
        value: CounterValue,
    ) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Clears a whole counter array.
    ///
    /// # Errors
    /// Unknown counter.
    pub fn reset_counter(&mut self, counter: CounterId) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Reads a meter cell's rates; `None`: not configured, every packet is green.
    ///
    /// # Errors
    /// Unknown meter, or an index beyond it.
    pub fn meter(&self, meter: MeterId, index: u64) -> Result<Option<MeterConfig>, ControlError> {
        unimplemented!()
    }
    /// Configures a meter cell; `None` switches it off.
    ///
    /// # Errors
    /// Unknown meter, an index beyond it, or a peak rate below the committed rate.
    pub fn set_meter(
        &mut self,
        meter: MeterId,
        index: u64,
        config: Option<MeterConfig>,
    ) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Reads a register cell.
    ///
    /// # Errors
    /// Unknown register, or an index beyond it.
    pub fn register(&self, register: RegisterId, index: u64) -> Result<Value, ControlError> {
        unimplemented!()
    }
    /// Writes a register cell.
    ///
    /// # Errors
    /// Unknown register, an index beyond it, or a value too wide.
    pub fn set_register(
        &mut self,
        register: RegisterId,
        index: u64,
        value: &Value,
    ) -> Result<(), ControlError> {
        unimplemented!()
    }
    /// Clears a whole register array.
    ///
    /// # Errors
    /// Unknown register.
    pub fn reset_register(&mut self, register: RegisterId) -> Result<(), ControlError> {
        unimplemented!()
    }
}
