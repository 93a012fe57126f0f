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
        let array = &self.state.registers[register.0];
        if index >= array.size as u64 {
            return Err(beyond(info, index));
        }
        let first = index * array.limbs as u64;
        let words: Vec<u64> =
            (0..array.limbs as u64).map(|i| array.cells.get(first + i).copied().unwrap_or(0)).collect();
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
        let array = &mut self.state.registers[register.0];
        if index >= array.size as u64 {
            return Err(beyond(info, index));
        }
        if value.bits() > array.width {
            return Err(ControlError::TooWide {
                what: info.name.clone(),
                width: array.width,
                value: value.clone(),
            });
        }
        let first = index * array.limbs as u64;
        for (i, word) in value.to_limbs(array.limbs).into_iter().enumerate() {
            if let Some(cell) = array.cells.get_mut(first + i as u64) {
                *cell = word;
            }
        }
        Ok(())
    }

    /// Clears a whole register array.
    ///
    /// # Errors
    /// Unknown register.
    pub fn reset_register(&mut self, register: RegisterId) -> Result<(), ControlError> {
        known(self.program.registers(), "register", register.0)?;
        self.state.registers[register.0].cells.clear();
        Ok(())
    }
}
