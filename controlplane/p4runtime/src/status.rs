//! One error per update of a batch, carried through gRPC's status details.
//!
//! P4Runtime, Write: when some updates of a batch fail, the call's status has code `UNKNOWN`, and its details hold
//! one [`p4::v1::Error`](crate::p4::v1::Error) for each update, in their order, code 0 for those that were made.

use prost::Message as _;
use prost_types::Any;
use tonic::{Code, Status};

use crate::google::rpc;
use crate::p4::v1::Error;

const ERROR_TYPE: &str = "type.googleapis.com/p4.v1.Error";

/// The gRPC status of a batch from its updates' outcomes.
///
/// # Errors
/// When any outcome isn't 0.
pub fn batch(outcomes: &[Error]) -> Result<(), Status> {
    let failed = outcomes.iter().filter(|outcome| outcome.canonical_code != 0).count();
    if failed == 0 {
        return Ok(());
    }
    let message = format!("{failed} of {} updates failed", outcomes.len());
    let details = outcomes
        .iter()
        .map(|outcome| Any { type_url: ERROR_TYPE.to_owned(), value: outcome.encode_to_vec() })
        .collect();
    let status = rpc::Status { code: Code::Unknown as i32, message: message.clone(), details };
    Err(Status::with_details(Code::Unknown, message, status.encode_to_vec().into()))
}

/// The updates' outcomes out of a failed Write's status; empty when the status carries none (the call failed as a
/// whole). Details that aren't `p4.v1.Error` are left out.
pub fn outcomes(status: &Status) -> Vec<Error> {
    if status.details().is_empty() {
        return Vec::new();
    }
    let Ok(decoded) = rpc::Status::decode(status.details()) else { return Vec::new() };
    decoded
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
        let status = batch(&outcomes_in).unwrap_err();
        assert_eq!(status.code(), Code::Unknown);
        assert_eq!(outcomes(&status), outcomes_in);
        assert_eq!(code_name(outcomes_in[1].canonical_code), "ALREADY_EXISTS");
    }

    #[test]
    fn a_batch_without_failures_is_fine() {
        assert!(batch(&[Error::default()]).is_ok());
    }
}
