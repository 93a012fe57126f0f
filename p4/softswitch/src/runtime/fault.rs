//! Why something was refused: a gRPC code and words that name the table and the field.

use p4runtime::bytes::BytesError;
use p4runtime::google::rpc::Status;
use p4runtime::index::IndexError;
use p4runtime::p4::v1::Error;
use p4runtime::status::{self, Code};

use crate::control::ControlError;

/// A refusal, inside the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub code: Code,
    pub message: String,
}

impl Fault {
    pub fn new(code: Code, message: impl Into<String>) -> Fault {
        Fault { code, message: message.into() }
    }

    pub fn invalid(message: impl Into<String>) -> Fault {
        Fault::new(Code::InvalidArgument, message)
    }

    pub fn unimplemented(message: impl Into<String>) -> Fault {
        Fault::new(Code::Unimplemented, message)
    }

    /// Puts the place in front: "table `t`: field `f`: ...".
    pub fn at(mut self, place: &str) -> Fault {
        self.message = format!("{place}: {}", self.message);
        self
    }

    pub fn outcome(self) -> Error {
        Error { canonical_code: self.code as i32, message: self.message, ..Error::default() }
    }
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Status {
        status::error(fault.code, fault.message)
    }
}

impl From<IndexError> for Fault {
    /// An id that isn't in the P4Info is a malformed request; `NOT_FOUND` means that an entity isn't there.
    fn from(error: IndexError) -> Fault {
        Fault::invalid(error.to_string())
    }
}

impl From<BytesError> for Fault {
    /// P4Runtime, Bytestrings: too wide and empty strings are out of range.
    fn from(error: BytesError) -> Fault {
        Fault::new(Code::OutOfRange, error.to_string())
    }
}

impl From<ControlError> for Fault {
    fn from(error: ControlError) -> Fault {
        let code = match &error {
            ControlError::UnknownIndex { .. } => Code::Internal,
            ControlError::UnknownName { .. } | ControlError::NotFound { .. } => Code::NotFound,
            ControlError::AlreadyExists { .. } => Code::AlreadyExists,
            ControlError::TooWide { .. } | ControlError::OutOfRange { .. } => Code::OutOfRange,
            ControlError::Full { .. } => Code::ResourceExhausted,
            ControlError::Constant(_) => Code::PermissionDenied,
            ControlError::InUse { .. } => Code::FailedPrecondition,
            ControlError::WrongCount { .. }
            | ControlError::WrongMatch { .. }
            | ControlError::WrongAction { .. }
            | ControlError::Unsupported(_)
            | ControlError::Invalid(_) => Code::InvalidArgument,
        };
        Fault::new(code, error.to_string())
    }
}
