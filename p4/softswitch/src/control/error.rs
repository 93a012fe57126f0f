//! Refusals.

use super::MatchKind;
use crate::value::Value;

/// Why a control operation was refused. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// An index that isn't of this program.
    #[error("no {what} with index {index} in this program")]
    UnknownIndex {
        /// Kind of object.
        what: &'static str,
        /// The index.
        index: usize,
    },
    /// A name that isn't in the program, or that several things share.
    #[error("no {what} is called {name:?} in this program (or more than one is)")]
    UnknownName {
        /// Kind of object.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The object isn't there.
    #[error("{what} {id} doesn't exist")]
    NotFound {
        /// Kind of object.
        what: &'static str,
        /// Its number.
        id: u64,
    },
    /// The same key (and priority), member, group or session is there already.
    #[error("{what} exists already")]
    AlreadyExists {
        /// Kind of object.
        what: &'static str,
    },
    /// The number of key fields or arguments is wrong.
    #[error("{what}: {expected} expected, {got} given")]
    WrongCount {
        /// What was counted.
        what: &'static str,
        /// How many there should be.
        expected: usize,
        /// How many there were.
        got: usize,
    },
    /// A value has more bits than its field.
    #[error("{value} doesn't fit into the {width} bits of {what}")]
    TooWide {
        /// The field.
        what: String,
        /// Bits of the field.
        width: usize,
        /// The value.
        value: Value,
    },
    /// The match form doesn't suit the field.
    #[error("key field {field} is {expected:?}: the match given is of another kind, or malformed")]
    WrongMatch {
        /// The field.
        field: String,
        /// Its kind.
        expected: MatchKind,
    },
    /// The action isn't one of the table's or profile's.
    #[error("action {action} isn't allowed in {table}")]
    WrongAction {
        /// The action.
        action: String,
        /// The table or profile.
        table: String,
    },
    /// No room.
    #[error("{what} is full ({size})")]
    Full {
        /// The table or array.
        what: String,
        /// Its size.
        size: usize,
    },
    /// An array index beyond its size.
    #[error("index {index} is beyond {what} ({size} cells)")]
    OutOfRange {
        /// The array.
        what: String,
        /// The index.
        index: u64,
        /// Cells.
        size: usize,
    },
    /// The program made it constant.
    #[error("{0} is constant in the program")]
    Constant(String),
    /// Something else still uses it.
    #[error("{what} {id} is still used")]
    InUse {
        /// Kind of object.
        what: &'static str,
        /// Its number.
        id: u64,
    },
    /// The object has no such thing (a table without counter, a profile without selector ...).
    #[error("{0}")]
    Unsupported(String),
    /// A value outside what the field allows.
    #[error("{0}")]
    Invalid(String),
}
