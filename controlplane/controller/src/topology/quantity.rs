//! Quantities as an operator writes them, always with a unit: `100Gbps`, `256KiB`, `50us`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::nearest;

/// What a kind of quantity is called, its units and its allowed range.
pub trait Unit {
    /// Name in the JSON Schema.
    const NAME: &'static str;
    /// What it is called in errors, such as "a rate".
    const WHAT: &'static str;
    /// The smallest step, such as "bit/s".
    const STEP: &'static str;
    /// Units and how many steps each is, ascending.
    const UNITS: &'static [(&'static str, u64)];
    /// Smallest value allowed, in steps.
    const MIN: u64;
    /// Largest value allowed, in steps.
    const MAX: u64;
    /// An example for hints.
    const EXAMPLE: &'static str;
}

/// A quantity in steps of its unit.
pub struct Quantity<U> {
    value: u64,
    unit: PhantomData<U>,
}

/// Bits per second.
#[derive(Debug)]
pub enum Bits {}
/// Octets.
#[derive(Debug)]
pub enum Octets {}
/// Nanoseconds.
#[derive(Debug)]
pub enum Nanos {}

/// Octets, none allowed.
#[derive(Debug)]
pub enum OctetsOrNone {}
/// Millionths of a whole.
#[derive(Debug)]
pub enum Parts {}
/// Packets per second.
#[derive(Debug)]
pub enum Packets {}

/// A rate in bit/s.
pub type Rate = Quantity<Bits>;
/// A size in octets.
pub type Size = Quantity<Octets>;
/// A duration in nanoseconds.
pub type Time = Quantity<Nanos>;
/// A size in octets that may be 0.
pub type SizeOrZero = Quantity<OctetsOrNone>;
/// A part of a whole in millionths.
pub type Fraction = Quantity<Parts>;
/// A rate in packets per second.
pub type PacketRate = Quantity<Packets>;

impl Unit for Bits {
    const NAME: &'static str = "Rate";
    const WHAT: &'static str = "a rate";
    const STEP: &'static str = "bit/s";
    const UNITS: &'static [(&'static str, u64)] = &[
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
    ];
    // Every rate on the wire is a number of Mbit/s in 32 bits; above 10 Tbit/s there is no link today.
    const MIN: u64 = 1_000_000;
    const MAX: u64 = 10_000_000_000_000;
    const EXAMPLE: &'static str = "100Gbps";
}

impl Unit for Octets {
    const NAME: &'static str = "Size";
    const WHAT: &'static str = "a size";
    const STEP: &'static str = "octet";
    const UNITS: &'static [(&'static str, u64)] = &[
        ("B", 1),
        ("kB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
    ];
    const MIN: u64 = 1;
    // Sizes are 32-bit fields on the wire and in the tables.
    const MAX: u64 = u32::MAX as u64;
    const EXAMPLE: &'static str = "256KiB";
}

impl Unit for Nanos {
    const NAME: &'static str = "Duration";
    const WHAT: &'static str = "a duration";
    const STEP: &'static str = "nanosecond";
    const UNITS: &'static [(&'static str, u64)] =
        &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    const MIN: u64 = 0;
    const MAX: u64 = 60_000_000_000;
    const EXAMPLE: &'static str = "50us";
}

impl Unit for OctetsOrNone {
    const NAME: &'static str = "SizeOrZero";
    const WHAT: &'static str = Octets::WHAT;
    const STEP: &'static str = Octets::STEP;
    const UNITS: &'static [(&'static str, u64)] = Octets::UNITS;
    const MIN: u64 = 0;
    const MAX: u64 = Octets::MAX;
    const EXAMPLE: &'static str = Octets::EXAMPLE;
}

impl Unit for Parts {
    const NAME: &'static str = "Fraction";
    const WHAT: &'static str = "a fraction";
    const STEP: &'static str = "ppm";
    const UNITS: &'static [(&'static str, u64)] = &[("ppm", 1), ("%", 10_000)];
    const MIN: u64 = 0;
    const MAX: u64 = 1_000_000;
    const EXAMPLE: &'static str = "1%";
}

impl Unit for Packets {
    const NAME: &'static str = "PacketRate";
    const WHAT: &'static str = "a packet rate";
    const STEP: &'static str = "packet/s";
    const UNITS: &'static [(&'static str, u64)] = &[("pps", 1), ("kpps", 1_000), ("Mpps", 1_000_000)];
    const MIN: u64 = 1;
    // BMv2 divides a second by it, in microseconds and less.
    const MAX: u64 = 1_000_000_000;
    const EXAMPLE: &'static str = "5000pps";
}

/// Why a text isn't a quantity, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError {
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub hint: String,
}

impl<U: Unit> Quantity<U> {
    /// A quantity of so many steps.
    pub const fn new(value: u64) -> Self {
        Self { value, unit: PhantomData }
    }

    /// The value in steps: bit/s, octets or nanoseconds.
    pub const fn get(self) -> u64 {
        self.value
    }

    /// Reads a number with its unit.
    ///
    /// # Errors
    /// No number, no unit or an unknown one, a fraction of a step, or outside the allowed range.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let text = text.trim();
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest.trim_start()),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let split =
            unsigned.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(unsigned.len());
        let (number, unit) = (&unsigned[..split], unsigned[split..].trim());
        let Some((digits, decimals)) = parse_number(number) else {
            return Err(QuantityError {
                message: format!("`{text}` isn't {}", U::WHAT),
                hint: format!("write a number with a unit, such as {}", U::EXAMPLE),
            });
        };
        let factor = unit_factor::<U>(text, number, unit)?;
        if negative && digits > 0 {
            return Err(QuantityError {
                message: format!("{} can't be negative", U::WHAT),
                hint: Self::range(),
            });
        }
        let scaled = digits.saturating_mul(u128::from(factor));
        let divisor = 10_u128.pow(decimals);
        if scaled % divisor != 0 {
            return Err(QuantityError {
                message: format!("`{text}` isn't a whole number of {}", plural(U::STEP)),
                hint: format!("the smallest step is 1 {}", U::STEP),
            });
        }
        match u64::try_from(scaled / divisor) {
            Ok(value) if (U::MIN..=U::MAX).contains(&value) => Ok(Self::new(value)),
            _ => Err(QuantityError { message: format!("`{text}` is out of range"), hint: Self::range() }),
        }
    }

    fn range() -> String {
        format!("allowed: {} to {}", Self::new(U::MIN), Self::new(U::MAX))
    }
}

/// Digits without the point, and how many of them follow it; `None` if it isn't a plain decimal number.
fn parse_number(number: &str) -> Option<(u128, u32)> {
    let plain = number.replace('_', "");
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    // Thirty digits are far beyond every range and can't overflow the sums after it.
    if whole.is_empty() || whole.len() + fraction.len() > 30 || fraction.contains('.') {
        return None;
    }
    let digits = format!("{whole}{fraction}").parse().ok()?;
    Some((digits, u32::try_from(fraction.len()).ok()?))
}

fn unit_factor<U: Unit>(text: &str, number: &str, unit: &str) -> Result<u64, QuantityError> {
    let unit = unit.replace(['µ', 'μ'], "u");
    if let Some((_, factor)) = U::UNITS.iter().find(|(name, _)| *name == unit) {
        return Ok(*factor);
    }
    let names = U::UNITS.iter().map(|(name, _)| *name);
    let list = names.clone().collect::<Vec<_>>().join(", ");
    if unit.is_empty() {
        let message = if number == "0" {
            format!("`{text}` has no unit; even 0 needs one")
        } else {
            format!("`{text}` has no unit")
        };
        let hint = format!("{} needs one of {list}, as in {}", U::WHAT, U::EXAMPLE);
        return Err(QuantityError { message, hint });
    }
    if let Some(rest) = unit.strip_prefix(['e', 'E'])
        && rest.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit())
    {
        return Err(QuantityError {
            message: format!("`{text}` has an exponent"),
            hint: format!("write the number out, with one of {list}, as in {}", U::EXAMPLE),
        });
    }
    // As the field writes them too.
    let spelt = [("bit/s", "bps"), ("b/s", "bps"), ("bytes", "B"), ("byte", "B"), ("sec", "s")]
        .iter()
        .fold(unit.clone(), |unit, (other, ours)| unit.replace(other, ours));
    let hint = match nearest(&spelt, names) {
        Some(name) => format!("did you mean `{number}{name}`? Units of {}: {list}", U::WHAT),
        None => format!("units of {}: {list}", U::WHAT),
    };
    Err(QuantityError { message: format!("`{unit}` isn't a unit of {}", U::WHAT), hint })
}

fn plural(step: &str) -> String {
    if step.contains('/') || step == Parts::STEP { step.to_owned() } else { format!("{step}s") }
}

impl<U> Clone for Quantity<U> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<U> Copy for Quantity<U> {}

impl<U> PartialEq for Quantity<U> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<U> Eq for Quantity<U> {}

impl<U: Unit> fmt::Debug for Quantity<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// In the largest unit that leaves a whole number.
impl<U: Unit> fmt::Display for Quantity<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |(_, factor): &&(&str, u64)| self.value != 0 && self.value.is_multiple_of(*factor);
        match U::UNITS.iter().rev().find(whole).or(U::UNITS.first()) {
            Some((name, factor)) => write!(f, "{}{name}", self.value / factor),
            None => write!(f, "{}", self.value),
        }
    }
}

impl<U: Unit> JsonSchema for Quantity<U> {
    fn schema_name() -> Cow<'static, str> {
        U::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let units: Vec<_> = U::UNITS.iter().map(|(name, _)| *name).collect();
        json_schema!({
            "type": "string",
            "pattern": format!("^[0-9][0-9_]*(\\.[0-9]+)? ?({})$", units.join("|")),
            "description": format!("{} with its unit, such as {}; {}", U::WHAT, U::EXAMPLE, Self::range()),
            "examples": [U::EXAMPLE],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_are_exact() {
        assert_eq!(Rate::parse("100Gbps").map(Rate::get), Ok(100_000_000_000));
        assert_eq!(Rate::parse("0.4 Tbps").map(Rate::get), Ok(400_000_000_000));
        assert_eq!(Size::parse("6.25kB").map(Size::get), Ok(6250));
        assert_eq!(Size::parse("1MiB").map(Size::get), Ok(1 << 20));
        assert_eq!(Size::parse("1_000B").map(Size::get), Ok(1000));
        assert_eq!(Time::parse("2us").map(Time::get), Ok(2000));
        assert_eq!(Time::parse("1.5µs").map(Time::get), Ok(1500));
        assert_eq!(Time::parse("0ns").map(Time::get), Ok(0));
        assert_eq!(Fraction::parse("0.5%").map(Fraction::get), Ok(5000));
        assert_eq!(PacketRate::parse("5kpps").map(PacketRate::get), Ok(5000));
    }

    #[test]
    fn both_ends_of_each_range_are_tested() {
        assert_eq!(Rate::parse("1Mbps").map(Rate::get), Ok(Bits::MIN));
        assert!(Rate::parse("999999bps").is_err());
        assert_eq!(Rate::parse("10Tbps").map(Rate::get), Ok(Bits::MAX));
        assert!(Rate::parse("10000000000001bps").is_err());
        assert!(Size::parse("0B").is_err());
        assert_eq!(SizeOrZero::parse("0B").map(SizeOrZero::get), Ok(0));
        assert!(SizeOrZero::parse("4GiB").is_err());
        assert_eq!(Fraction::parse("0%").map(Fraction::get), Ok(0));
        assert_eq!(Fraction::parse("100%").map(Fraction::get), Ok(1_000_000));
        assert!(Fraction::parse("100.0001%").is_err());
        assert_eq!(PacketRate::parse("1pps").map(PacketRate::get), Ok(1));
        assert!(PacketRate::parse("0pps").is_err());
        assert_eq!(Size::parse("4294967295B").map(Size::get), Ok(Octets::MAX));
        assert!(Size::parse("4GiB").is_err());
        assert_eq!(Time::parse("60s").map(Time::get), Ok(Nanos::MAX));
        assert!(Time::parse("60.000000001s").is_err());
    }

    #[test]
    fn what_is_wrong_and_what_would_be_right_are_said() {
        let said = |error: QuantityError| format!("{} -- {}", error.message, error.hint);
        let rate = |text| said(Rate::parse(text).expect_err("refused"));
        assert_eq!(
            rate("100"),
            "`100` has no unit -- a rate needs one of bps, kbps, Mbps, Gbps, Tbps, as in 100Gbps"
        );
        assert_eq!(rate("-1Gbps"), "a rate can't be negative -- allowed: 1Mbps to 10Tbps");
        assert_eq!(rate("900Tbps"), "`900Tbps` is out of range -- allowed: 1Mbps to 10Tbps");
        assert_eq!(
            rate("100gbps"),
            "`gbps` isn't a unit of a rate -- did you mean `100Gbps`? Units of a rate: bps, kbps, Mbps, Gbps, Tbps"
        );
        assert_eq!(rate("fast"), "`fast` isn't a rate -- write a number with a unit, such as 100Gbps");
        assert_eq!(rate(""), "`` isn't a rate -- write a number with a unit, such as 100Gbps");
        assert_eq!(
            rate("1.2.3Gbps"),
            "`1.2.3Gbps` isn't a rate -- write a number with a unit, such as 100Gbps"
        );
        assert_eq!(
            rate("1e3Gbps"),
            "`1e3Gbps` has an exponent -- write the number out, with one of bps, kbps, Mbps, Gbps, Tbps, as in 100Gbps"
        );
        assert_eq!(
            rate("100Gbit/s"),
            "`Gbit/s` isn't a unit of a rate -- did you mean `100Gbps`? Units of a rate: bps, kbps, Mbps, Gbps, Tbps"
        );
        assert!(rate("99999999999999999999999999999999999Gbps").contains("isn't a rate"));
        assert_eq!(
            said(Size::parse("0.5B").expect_err("refused")),
            "`0.5B` isn't a whole number of octets -- the smallest step is 1 octet"
        );
    }

    #[test]
    fn quantities_print_in_the_largest_whole_unit() {
        assert_eq!(Rate::new(100_000_000_000).to_string(), "100Gbps");
        assert_eq!(Size::new(1 << 20).to_string(), "1MiB");
        assert_eq!(Size::new(100_000).to_string(), "100kB");
        assert_eq!(Time::new(0).to_string(), "0ns");
        assert_eq!(Time::new(1500).to_string(), "1500ns");
    }
}
