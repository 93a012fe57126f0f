//! Counters, meters and registers.

use super::{ArrayInfo, ControlError, CounterId, CounterValue, MeterConfig, MeterId, RegisterId};
use crate::Switch;
use crate::meter::Meter;
use crate::value::Value;

fn beyond(info: &ArrayInfo, index: u64) -> ControlError {
    ControlError::OutOfRange { what: info.name.clone(), index, size: info.size }
}

fn known<'a, T>(list: &'a [T], what: &'static str, index: usize) -> Result<&'a T, ControlError> {
    list.get(index).ok_or(ControlError::UnknownIndex { what, index })
}

/// Counters, meters and registers.
impl Switch {
    /// Reads a counter cell.
    ///
    /// # Errors
    /// Unknown counter, or an index beyond it.
    pub fn counter(&self, counter: CounterId, index: u64) -> Result<CounterValue, ControlError> {
        let info = known(self.program.counters(), "counter", counter.0)?;
        self.state.counters[counter.0].get(index).copied().ok_or_else(|| beyond(info, index))
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
        let info = known(self.program.counters(), "counter", counter.0)?;
        let cell = self.state.counters[counter.0].get_mut(index).ok_or_else(|| beyond(info, index))?;
        *cell = value;
        Ok(())
    }

    /// Clears a whole counter array.
    ///
    /// # Errors
    /// Unknown counter.
    pub fn reset_counter(&mut self, counter: CounterId) -> Result<(), ControlError> {
        known(self.program.counters(), "counter", counter.0)?;
        self.state.counters[counter.0].clear();
        Ok(())
    }

    /// Reads a meter cell's rates; `None`: not configured, every packet is green.
    ///
    /// # Errors
    /// Unknown meter, or an index beyond it.
    pub fn meter(&self, meter: MeterId, index: u64) -> Result<Option<MeterConfig>, ControlError> {
        let info = known(self.program.meters(), "meter", meter.0)?;
        let cell = self.state.meters[meter.0].get(index).ok_or_else(|| beyond(info, index))?;
        Ok(cell.as_ref().map(|m| m.config()))
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
        let info = known(self.program.meters(), "meter", meter.0)?;
        let made = config.map(Meter::new).transpose()?;
        let cell = self.state.meters[meter.0].get_mut(index).ok_or_else(|| beyond(info, index))?;
        *cell = made.map(Box::new);
        Ok(())
    }

    /// Reads a register cell.
    ///
    /// # Errors
    /// Unknown register, or an index beyond it.
    pub fn register(&self, register: RegisterId, index: u64) -> Result<Value, ControlError> {
        let info = known(self.program.registers(), "register", register.0)?;
        let registers = &self.state.registers;
        if !registers.has(register.0, index) {
            return Err(beyond(info, index));
        }
        let limbs = 0..registers.limbs(register.0);
        let words: Vec<u64> = limbs.map(|i| registers.limb(register.0, index, i)).collect();
        Ok(Value::from_limbs(&words))
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
        let info = known(self.program.registers(), "register", register.0)?;
        let registers = &mut self.state.registers;
        if !registers.has(register.0, index) {
            return Err(beyond(info, index));
        }
        let width = registers.width(register.0);
        if value.bits() > width {
            return Err(ControlError::TooWide { what: info.name.clone(), width, value: value.clone() });
        }
        for (i, word) in value.to_limbs(registers.limbs(register.0)).into_iter().enumerate() {
            registers.set_limb(register.0, index, i, word);
        }
        Ok(())
    }

    /// Clears a whole register array.
    ///
    /// # Errors
    /// Unknown register.
    pub fn reset_register(&mut self, register: RegisterId) -> Result<(), ControlError> {
        known(self.program.registers(), "register", register.0)?;
        self.state.registers.clear(register.0);
        Ok(())
    }
}
