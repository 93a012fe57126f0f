//! The receiving half of the stream.

use tokio::sync::{mpsc, watch};

use super::from_uint128;
use crate::p4::v1::{
    DigestList, IdleTimeoutNotification, MasterArbitrationUpdate, PacketIn, StreamError,
    StreamMessageResponse, stream_message_response,
};

/// Who the primary of our role is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arbitration {
    /// Whether we are.
    pub primary: bool,
    /// Whether anybody is.
    pub primary_exists: bool,
    /// The highest election id that the role has seen; the primary's, if there is one.
    pub election_id: u128,
}

impl Arbitration {
    fn from_message(message: &MasterArbitrationUpdate) -> Arbitration {
        let code = message.status.as_ref().map_or(0, |status| status.code);
        Arbitration {
            primary: code == tonic::Code::Ok as i32,
            primary_exists: code != tonic::Code::NotFound as i32,
            election_id: message.election_id.map_or(0, from_uint128),
        }
    }
}

/// What a switch sends by itself.
#[derive(Clone, Debug)]
pub enum Event {
    /// Primaryship changed, or was answered.
    Arbitration(Arbitration),
    /// A packet for the controller.
    PacketIn(PacketIn),
    /// Digest messages; acknowledge them.
    Digest(DigestList),
    /// Entries that nothing has matched for their timeout.
    IdleTimeout(IdleTimeoutNotification),
    /// A message of ours was refused.
    Error(StreamError),
    /// The stream ended, with an error or without; nothing follows.
    Closed(Option<Box<tonic::Status>>),
}

/// Moves messages from the stream to the client until either goes away.
pub(super) async fn pump(
    mut inbound: tonic::Streaming<StreamMessageResponse>,
    events: mpsc::Sender<Event>,
    arbitration: watch::Sender<Option<Arbitration>>,
) {
    use stream_message_response::Update;
    loop {
        let event = match inbound.message().await {
            Ok(Some(StreamMessageResponse { update: Some(update) })) => match update {
                Update::Arbitration(message) => {
                    let latest = Arbitration::from_message(&message);
                    arbitration.send_replace(Some(latest.clone()));
                    Event::Arbitration(latest)
                }
                Update::Packet(packet) => Event::PacketIn(packet),
                Update::Digest(list) => Event::Digest(list),
                Update::IdleTimeoutNotification(notification) => Event::IdleTimeout(notification),
                Update::Error(error) => Event::Error(error),
                // Reserved for other architectures; nothing here knows its content.
                Update::Other(_) => continue,
            },
            Ok(Some(StreamMessageResponse { update: None })) => continue,
            Ok(None) => Event::Closed(None),
            Err(status) => Event::Closed(Some(Box::new(status))),
        };
        let last = matches!(event, Event::Closed(_));
        if events.send(event).await.is_err() || last {
            return;
        }
    }
}
