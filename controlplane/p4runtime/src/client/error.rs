//! What can go wrong between client and switch.

use super::read::{READ_ENTITIES, READ_OCTETS};
use crate::google::rpc;
use crate::status;

/// A call or the stream failed as a whole.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody answers at the address.
    #[error("can't connect to the switch at {address}: {}", root(source))]
    Connect {
        /// As it was given.
        address: String,
        /// gRPC's word.
        source: tonic::transport::Error,
    },
    /// The switch answered a call, or ended the stream, with an error.
    #[error("{}: {}", status::code_name(.0.code() as i32), .0.message())]
    Status(#[source] Box<tonic::Status>),
    /// The stream has ended without an error.
    #[error("the switch has closed the stream")]
    Closed,
    /// The answers to a Read would fill the memory; no more of them were taken.
    #[error(
        "the switch has sent {entities} entities ({octets} octets) in answer to one Read and there is no end; at most \
         {} ({} octets) are taken",
        READ_ENTITIES,
        READ_OCTETS
    )]
    TooMuch {
        /// How many came.
        entities: usize,
        /// What they take on the wire.
        octets: usize,
    },
    /// No answer in time.
    #[error("no answer in time: waited for {waiting_for}")]
    Timeout {
        /// For what.
        waiting_for: &'static str,
    },
}

impl From<tonic::Status> for ClientError {
    fn from(status: tonic::Status) -> ClientError {
        ClientError::Status(Box::new(status))
    }
}

impl ClientError {
    /// The gRPC code, if the switch gave one.
    pub fn code(&self) -> Option<tonic::Code> {
        match self {
            ClientError::Status(status) => Some(status.code()),
            _ => None,
        }
    }
}

/// The innermost cause says most: "Connection refused".
fn root(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// One change of a batch that wasn't made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("update {index}: {}: {message}", status::code_name(*code))]
pub struct UpdateError {
    /// Its place in the batch, from 0.
    pub index: usize,
    /// gRPC code.
    pub code: i32,
    /// The switch's words.
    pub message: String,
}

/// A Write failed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// These changes were not made, all others were.
    #[error("{} of {of} updates failed: {}", failed.len(), list(failed))]
    Updates {
        /// The failed ones, in order.
        failed: Vec<UpdateError>,
        /// Size of the batch.
        of: usize,
    },
    /// Nothing was made: the call failed as a whole.
    #[error(transparent)]
    Call(#[from] ClientError),
}

impl WriteError {
    /// From the status of a failed Write, carried by gRPC or given in process.
    #[must_use]
    pub fn from_status(status: &rpc::Status) -> WriteError {
        let outcomes = status::outcomes(status);
        if outcomes.is_empty() {
            return WriteError::Call(status::to_tonic(status).into());
        }
        let of = outcomes.len();
        let failed = outcomes
            .into_iter()
            .enumerate()
            .filter(|(_, outcome)| outcome.canonical_code != 0)
            .map(|(index, outcome)| UpdateError {
                index,
                code: outcome.canonical_code,
                message: outcome.message,
            })
            .collect();
        WriteError::Updates { failed, of }
    }
}

fn list(failed: &[UpdateError]) -> String {
    failed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
