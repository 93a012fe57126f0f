//! A message as a list of its fields, in wire order, under the names that the documents use (in `snake_case`).
//!
//! This is what `crn decode` prints: integers as they stand on the wire, addresses as text, and beside a code its
//! registered name. Nothing is interpreted: a Class of 9 is 9, although it is to be treated as 7.

mod rdcc;

use core::fmt;
use core::net::IpAddr;

pub use rdcc::{rdcc, rdcc_message};

/// A decoded message, field by field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The message's name in its document, such as `CREDIT_GRANT`.
    pub message: &'static str,
    /// Its fields in wire order, reserved ones left out.
    pub fields: Vec<Field>,
}

/// One field of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The document's name in `snake_case`.
    pub name: &'static str,
    /// What stands there.
    pub value: Value,
    /// What it means, for people: the name of a code, the unit of a quantity, the flags that are set.
    pub meaning: Option<String>,
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// An unsigned integer.
    Integer(u64),
    /// An IPv4 or IPv6 address.
    Address(IpAddr),
}

impl Description {
    /// The value of the field `name`.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.fields.iter().find(|field| field.name == name).map(|field| field.value)
    }

    /// The fields as a JSON object, in wire order: integers as numbers, addresses as text.
    pub fn to_json(&self) -> serde_json::Value {
        let json = |value| match value {
            Value::Integer(integer) => serde_json::Value::from(integer),
            Value::Address(address) => serde_json::Value::from(address.to_string()),
        };
        self.fields.iter().map(|field| (field.name.to_owned(), json(field.value))).collect()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(integer) => integer.fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl fmt::Display for Description {
    /// The name of the message, then a line a field: name, value, meaning in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.fields.iter().map(|field| field.name.len()).max().unwrap_or(0);
        f.write_str(self.message)?;
        for Field { name, value, meaning } in &self.fields {
            write!(f, "\n  {name:width$}  {value}")?;
            if let Some(meaning) = meaning {
                write!(f, " ({meaning})")?;
            }
        }
        Ok(())
    }
}

impl Field {
    fn integer(name: &'static str, value: impl Into<u64>) -> Self {
        Self { name, value: Value::Integer(value.into()), meaning: None }
    }

    fn address(name: &'static str, value: IpAddr) -> Self {
        Self { name, value: Value::Address(value), meaning: None }
    }

    fn meaning(self, meaning: impl Into<String>) -> Self {
        Self { meaning: Some(meaning.into()), ..self }
    }

    /// The registered name of a code, where there is one.
    fn code(name: &'static str, value: impl Into<u64>, meaning: Option<&str>) -> Self {
        Self { meaning: Some(meaning.unwrap_or("unknown").to_owned()), ..Self::integer(name, value) }
    }

    /// A word of bits: in hexadecimal, with the names of those that are set.
    fn bits(name: &'static str, value: u32, known: &[(u32, &str)]) -> Self {
        let mut meaning = format!("{value:#x}");
        for (bit, bit_name) in known {
            if value & bit != 0 {
                meaning.push(' ');
                meaning.push_str(bit_name);
            }
        }
        Self::integer(name, value).meaning(meaning)
    }
}
