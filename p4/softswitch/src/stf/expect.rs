//! Compares what came with what was expected.

use std::collections::BTreeMap;
use std::fmt;

/// Something a test wanted and didn't get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A packet differs.
    Differs {
        /// Line of the `expect`.
        line: usize,
        /// Port.
        port: u16,
        /// Expected digits.
        expected: String,
        /// Digits that came.
        got: String,
        /// First digit that differs; the length of the shorter one if only lengths do.
        at: usize,
    },
    /// No packet came for an `expect`.
    Missing {
        /// Line of the `expect`.
        line: usize,
        /// Port.
        port: u16,
    },
    /// A packet came that nobody expected.
    Unexpected {
        /// Port.
        port: u16,
        /// Its digits.
        got: String,
    },
    /// A counter has another value.
    Counter {
        /// Line of the `check_counter`.
        line: usize,
        /// What was wanted.
        expected: String,
        /// What it is.
        got: u64,
    },
}

/// A packet that a test wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Line of the `expect`.
    pub line: usize,
    /// Digits, `*` for any; `None`: any packet.
    pub digits: Option<String>,
    /// Whether it may not be longer.
    pub exact_length: bool,
}

/// A counter cell that a test wants to be of some value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// `packets` or `bytes`.
    pub unit: String,
    /// The comparison.
    pub op: String,
    /// With what.
    pub value: u64,
}

impl Check {
    /// The value that is compared.
    ///
    /// # Errors
    /// The unit is neither of the two.
    pub fn chosen(&self, packets: u64, octets: u64) -> Result<u64, String> {
        match self.unit.as_str() {
            "packets" => Ok(packets),
            "bytes" => Ok(octets),
            other => Err(format!("packets or bytes expected, not {other:?}")),
        }
    }

    /// Whether a value holds.
    ///
    /// # Errors
    /// The comparison isn't known.
    pub fn holds(&self, got: u64) -> Result<bool, String> {
        let wanted = self.value;
        Ok(match self.op.as_str() {
            "==" => got == wanted,
            "!=" => got != wanted,
            "<" => got < wanted,
            "<=" => got <= wanted,
            ">" => got > wanted,
            ">=" => got >= wanted,
            other => return Err(format!("unknown comparison {other:?}")),
        })
    }
}

/// What differs between the packets that came out of each port that a test names, in order, and those it wants.
#[must_use]
pub fn compare(
    expected: &BTreeMap<u16, Vec<Expected>>,
    mut received: BTreeMap<u16, Vec<Vec<u8>>>,
) -> Vec<Failure> {
    let mut failures = Vec::new();
    for (&port, expected) in expected {
        let mut got = received.remove(&port).unwrap_or_default().into_iter().map(|octets| digits(&octets));
        for e in expected {
            let Some(packet) = got.next() else {
                failures.push(Failure::Missing { line: e.line, port });
                continue;
            };
            let Some(digits) = &e.digits else { continue };
            if let Some(at) = difference(digits, e.exact_length, &packet) {
                let expected = digits.clone();
                failures.push(Failure::Differs { line: e.line, port, expected, got: packet, at });
            }
        }
        failures.extend(got.map(|got| Failure::Unexpected { port, got }));
    }
    failures
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Differs { line, port, expected, got, at } => {
                writeln!(f, "line {line}: the packet on port {port} differs at octet {}:", at / 2)?;
                let marks: String = (0..expected.len().max(got.len()))
                    .map(|i| if same_digit(expected, got, i) { ' ' } else { '^' })
                    .collect();
                writeln!(f, "  expected {expected}")?;
                writeln!(f, "  got      {got}")?;
                write!(f, "           {}", marks.trim_end())
            }
            Failure::Missing { line, port } => write!(f, "line {line}: no packet came on port {port}"),
            Failure::Unexpected { port, got } => {
                write!(f, "a packet that no line expects on port {port}: {got}")
            }
            Failure::Counter { line, expected, got } => write!(f, "line {line}: {expected}, but it is {got}"),
        }
    }
}

fn same_digit(expected: &str, got: &str, i: usize) -> bool {
    match (expected.as_bytes().get(i), got.as_bytes().get(i)) {
        (Some(e), Some(g)) => *e == b'*' || e.eq_ignore_ascii_case(g),
        // More octets than expected matter only where the length does.
        (None, Some(_)) => true,
        _ => false,
    }
}

fn digits(octets: &[u8]) -> String {
    let digit = |o: u8| char::from_digit(u32::from(o), 16).unwrap_or('?');
    octets.iter().flat_map(|o| [digit(o >> 4), digit(o & 15)]).collect()
}

/// The first digit where a packet isn't what was expected.
fn difference(expected: &str, exact_length: bool, got: &str) -> Option<usize> {
    let differs = (0..expected.len()).find(|&i| !same_digit(expected, got, i));
    differs.or_else(|| (exact_length && got.len() != expected.len()).then(|| expected.len().min(got.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_enough_unless_the_length_is_pinned() {
        assert_eq!(difference("01*2", false, "01f2aa"), None);
        assert_eq!(difference("01*2", true, "01f2aa"), Some(4));
        assert_eq!(difference("01f2aa", false, "01f2"), Some(4));
        assert_eq!(difference("01F2", true, "01f2"), None);
        assert_eq!(difference("0102", false, "0103"), Some(3));
    }
}
