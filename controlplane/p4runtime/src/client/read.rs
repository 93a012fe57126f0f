//! Reading what a switch holds, as far as memory allows.

use prost::Message as _;
use tonic::transport::Channel;

use super::error::ClientError;
use crate::p4::v1::p4_runtime_client::P4RuntimeClient;
use crate::p4::v1::{Entity, ReadRequest};

/// Most entities that one Read may bring: four times what all tables and counters of the largest program here hold.
/// A switch that sends answers without end is given up at this point.
pub const READ_ENTITIES: usize = 1 << 19;

/// Most octets that the answers to one Read may have, as they come over the wire; a single message has no more either.
pub const READ_OCTETS: usize = 64 << 20;

/// Reads entities and collects the answers.
///
/// # Errors
/// The call's status; [`ClientError::TooMuch`] as soon as there is more than [`READ_ENTITIES`] or [`READ_OCTETS`], and
/// the call is ended then.
pub async fn read(
    stub: &mut P4RuntimeClient<Channel>,
    request: ReadRequest,
) -> Result<Vec<Entity>, ClientError> {
    let mut answers = stub.read(request).await?.into_inner();
    let mut found = Vec::new();
    let mut octets = 0;
    while let Some(answer) = answers.message().await? {
        octets += answer.encoded_len();
        if octets > READ_OCTETS || found.len() + answer.entities.len() > READ_ENTITIES {
            return Err(ClientError::TooMuch { entities: found.len() + answer.entities.len(), octets });
        }
        found.extend(answer.entities);
    }
    Ok(found)
}
