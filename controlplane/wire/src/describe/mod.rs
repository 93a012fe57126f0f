//! A message as a list of its fields, in wire order, under the names that the documents use (in `snake_case`).
//!
//! This is what `crn decode` prints: integers as they stand on the wire, addresses as text, and beside a code its
//! registered name. Nothing is interpreted: a Class of 9 is 9, although it is to be treated as 7.

mod crem;
mod rdcc;
mod roce;
mod scone;

use core::fmt;
use core::net::IpAddr;

pub use crem::{crem, crem_message};
pub use rdcc::{rdcc, rdcc_message};
pub use roce::roce;
pub use scone::scone;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An unsigned integer.
    Integer(u64),
    /// A signed integer.
    Signed(i64),
    /// An IPv4 or IPv6 address.
    Address(IpAddr),
    /// Octets: bitmaps and symbols. In hexadecimal, without separators.
    Octets(Vec<u8>),
    /// A list of integers.
    Integers(Vec<u64>),
    /// A list of groups of fields.
    Groups(Vec<Vec<Field>>),
}

impl Description {
    /// The value of the field `name`.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.fields.iter().find(|field| field.name == name).map(|field| field.value.clone())
    }

    /// The fields as a JSON object, in wire order: integers as numbers, addresses as text, octets as hexadecimal text,
    /// lists as arrays.
    pub fn to_json(&self) -> serde_json::Value {
        object(&self.fields)
    }
}

fn object(fields: &[Field]) -> serde_json::Value {
    fields.iter().map(|field| (field.name.to_owned(), field.value.to_json())).collect()
}

impl Value {
    fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Integer(integer) => (*integer).into(),
            Self::Signed(integer) => (*integer).into(),
            Self::Address(_) | Self::Octets(_) => self.to_string().into(),
            Self::Integers(integers) => integers.clone().into(),
            Self::Groups(groups) => groups.iter().map(|group| object(group)).collect(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(integer) => integer.fmt(f),
            Self::Signed(integer) => integer.fmt(f),
            Self::Address(address) => address.fmt(f),
            Self::Octets(octets) => octets.iter().try_for_each(|octet| write!(f, "{octet:02x}")),
            Self::Integers(integers) => {
                let words: Vec<_> = integers.iter().map(u64::to_string).collect();
                f.write_str(&words.join(" "))
            }
            Self::Groups(groups) => groups.len().fmt(f),
        }
    }
}

impl fmt::Display for Description {
    /// The name of the message, then a line a field: name, value, meaning in brackets. A list of groups is the count
    /// of groups, then the groups one under the other.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)?;
        lines(&self.fields, 2, f)
    }
}

fn lines(fields: &[Field], indent: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let width = fields.iter().map(|field| field.name.len()).max().unwrap_or(0);
    for Field { name, value, meaning } in fields {
        write!(f, "\n{:indent$}{name:width$}  {value}", "")?;
        if let Some(meaning) = meaning {
            write!(f, " ({meaning})")?;
        }
        if let Value::Groups(groups) = value {
            for (index, group) in groups.iter().enumerate() {
                write!(f, "\n{:indent$}  {}:", "", index + 1)?;
                lines(group, indent + 4, f)?;
            }
        }
    }
    Ok(())
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
