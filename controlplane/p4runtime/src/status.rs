//! One error per update of a batch, carried through gRPC's status details.
//!
//! P4Runtime, Write: when some updates of a batch fail, the call's status has code `UNKNOWN`, and its details hold
//! one [`p4::v1::Error`](crate::p4::v1::Error) for each update, in their order, code 0 for those that were made.

use prost::Message as _;
use prost_types::Any;
use tonic::Status;

pub use tonic::Code;

use crate::google::rpc;
use crate::p4::v1::Error;

const ERROR_TYPE: &str = "type.googleapis.com/p4.v1.Error";

/// An error without details.
pub fn error(code: Code, message: impl Into<String>) -> rpc::Status {
    rpc::Status { code: code as i32, message: message.into(), details: Vec::new() }
}

/// The status of a batch from its updates' outcomes; `None` when all were made.
pub fn batch(outcomes: &[Error]) -> Option<rpc::Status> {
    let failed = outcomes.iter().filter(|outcome| outcome.canonical_code != 0).count();
    if failed == 0 {
        return None;
    }
    let details = outcomes
        .iter()
        .map(|outcome| Any { type_url: ERROR_TYPE.to_owned(), value: outcome.encode_to_vec() })
        .collect();
    let message = format!("{failed} of {} failed", outcomes.len());
    Some(rpc::Status { code: Code::Unknown as i32, message, details })
}

/// The status as gRPC carries it.
pub fn to_tonic(status: &rpc::Status) -> Status {
    let code = Code::from(status.code);
    if status.details.is_empty() {
        return Status::new(code, &status.message);
    }
    Status::with_details(code, &status.message, status.encode_to_vec().into())
}

/// A status that gRPC carried. Details that can't be decoded are left out.
pub fn from_tonic(status: &Status) -> rpc::Status {
    let details = rpc::Status::decode(status.details()).map(|decoded| decoded.details).unwrap_or_default();
    rpc::Status { code: status.code() as i32, message: status.message().to_owned(), details }
}

/// The outcomes of a failed batch, one for each update in order; empty when the call failed as a whole.
pub fn outcomes(status: &rpc::Status) -> Vec<Error> {
    status
        .details
        .iter()
        .filter(|any| any.type_url == ERROR_TYPE)
        .filter_map(|any| Error::decode(any.value.as_slice()).ok())
        .collect()
}

/// The name of a gRPC code as the specification writes it: `NOT_FOUND`.
#[must_use]
pub fn code_name(code: i32) -> &'static str {
    match Code::from(code) {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_survive_the_status_and_keep_their_order() {
        let outcomes_in = [
            Error { canonical_code: 0, ..Error::default() },
            Error { canonical_code: 6, message: "there".to_owned(), ..Error::default() },
        ];
        let carried = to_tonic(&batch(&outcomes_in).unwrap());
        assert_eq!(carried.code(), Code::Unknown);
        assert_eq!(outcomes(&from_tonic(&carried)), outcomes_in);
        assert_eq!(code_name(outcomes_in[1].canonical_code), "ALREADY_EXISTS");
    }

    #[test]
    fn a_batch_without_failures_is_fine() {
        assert_eq!(batch(&[Error::default()]), None);
    }
}
