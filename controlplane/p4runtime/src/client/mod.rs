//! An asynchronous P4Runtime client.
//!
//! [`Client::connect`] opens the stream, asks for primaryship and waits for the answer, so that no Write races the
//! arbitration (a switch answers `PERMISSION_DENIED` to a Write that comes before it). After that the calls are
//! independent of each other; what the switch sends by itself comes out of [`Client::event`].

mod channel;
mod error;
mod read;
mod stream;

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;

pub use channel::{Address, Tls, channel};
pub use error::{ClientError, UpdateError, WriteError};
pub use read::{READ_ENTITIES, READ_OCTETS, read};
pub use stream::{Arbitration, Event};

use crate::p4::v1::p4_runtime_client::P4RuntimeClient;
use crate::p4::v1::{
    CapabilitiesRequest, DigestListAck, Entity, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest,
    MasterArbitrationUpdate, PacketOut, ReadRequest, Role, SetForwardingPipelineConfigRequest,
    StreamMessageRequest, Uint128, Update, WriteRequest, get_forwarding_pipeline_config_request,
    set_forwarding_pipeline_config_request, stream_message_request, write_request,
};
use crate::status;

/// Largest message sent, octets. Pipelines and batches exceed gRPC's default of 4 MiB.
const MESSAGE_OCTETS: usize = 256 << 20;

/// Messages waiting in either direction of the stream before the sender of them has to wait.
const STREAM_MESSAGES: usize = 1024;

/// Who the client is to the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The switch's device id.
    pub device_id: u64,
    /// The role to be primary of; empty for the default role, which may do everything.
    pub role: String,
    /// The highest election id among a role's clients is its primary. Not 0.
    pub election_id: u128,
    /// How long to wait for the connection and for the arbitration's answer.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options { device_id: 1, role: String::new(), election_id: 1, timeout: Duration::from_secs(10) }
    }
}

/// A connection to one switch. Dropping it closes the stream, which gives primaryship back.
#[derive(Debug)]
pub struct Client {
    stub: P4RuntimeClient<Channel>,
    options: Options,
    requests: mpsc::Sender<StreamMessageRequest>,
    events: mpsc::Receiver<Event>,
    arbitration: watch::Receiver<Option<Arbitration>>,
}

impl Client {
    /// Connects to a switch, opens the stream, and waits until it says who is primary. Being a backup is not an error:
    /// see [`Client::is_primary`].
    ///
    /// # Errors
    /// No connection, no answer in time, or the switch refuses the arbitration (wrong device id, election id taken).
    pub async fn connect(address: impl Into<Address>, options: Options) -> Result<Client, ClientError> {
        let channel = channel(&address.into(), options.timeout).await?;
        Client::over(channel, options).await
    }

    /// As [`Client::connect`], over a channel that the caller made (Unix sockets, tests).
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub async fn over(channel: Channel, options: Options) -> Result<Client, ClientError> {
        let mut stub = P4RuntimeClient::new(channel)
            .max_decoding_message_size(READ_OCTETS)
            .max_encoding_message_size(MESSAGE_OCTETS);
        let (requests, outbound) = mpsc::channel(STREAM_MESSAGES);
        let first = arbitration_request(&options);
        // The request waits in the channel while the stream opens: some switches answer the headers only after the
        // first message.
        requests.send(first).await.map_err(|_| ClientError::Closed)?;
        let opening = stub.stream_channel(ReceiverStream::new(outbound));
        let inbound = tokio::time::timeout(options.timeout, opening)
            .await
            .map_err(|_| ClientError::Timeout { waiting_for: "the stream to open" })??
            .into_inner();
        let (event_sender, events) = mpsc::channel(STREAM_MESSAGES);
        let (arbitration_sender, arbitration) = watch::channel(None);
        tokio::spawn(stream::pump(inbound, event_sender, arbitration_sender));
        let mut client = Client { stub, options, requests, events, arbitration };
        client.await_arbitration().await?;
        Ok(client)
    }

    /// Asks for primaryship again, with another election id, and waits for the answer. With the id that it has already
    /// there is nothing to ask: the switch tells by itself what changes, and BMv2 doesn't answer then.
    ///
    /// # Errors
    /// The stream is gone, no answer in time.
    pub async fn arbitrate(&mut self, election_id: u128) -> Result<Arbitration, ClientError> {
        if election_id == self.options.election_id
            && !self.requests.is_closed()
            && let Some(latest) = self.arbitration()
        {
            return Ok(latest);
        }
        self.options.election_id = election_id;
        self.arbitration.mark_unchanged();
        self.send(arbitration_request(&self.options)).await?;
        self.await_arbitration().await
    }

    async fn await_arbitration(&mut self) -> Result<Arbitration, ClientError> {
        let answered = tokio::time::timeout(self.options.timeout, self.arbitration.changed())
            .await
            .map_err(|_| ClientError::Timeout { waiting_for: "the arbitration's answer" })?;
        let latest = self.arbitration.borrow_and_update().clone();
        match latest {
            Some(arbitration) if answered.is_ok() => Ok(arbitration),
            // The stream ended: its last event tells why.
            _ => loop {
                match self.events.recv().await {
                    Some(Event::Closed(Some(status))) => return Err(ClientError::Status(status)),
                    Some(Event::Closed(None)) | None => return Err(ClientError::Closed),
                    Some(_) => {}
                }
            },
        }
    }

    /// The device id, role and election id in use.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What the switch said last about primaryship.
    pub fn arbitration(&self) -> Option<Arbitration> {
        self.arbitration.borrow().clone()
    }

    /// Whether this client is its role's primary, as far as it has been told.
    pub fn is_primary(&self) -> bool {
        self.arbitration.borrow().as_ref().is_some_and(|arbitration| arbitration.primary)
    }

    /// The switch's API version.
    ///
    /// # Errors
    /// The call's status.
    pub async fn capabilities(&mut self) -> Result<String, ClientError> {
        let answer = self.stub.capabilities(CapabilitiesRequest::default()).await?;
        Ok(answer.into_inner().p4runtime_api_version)
    }

    /// Gives the switch a program: `p4info` for us, `p4_device_config` for the target (BMv2's JSON), a cookie to know
    /// it by.
    ///
    /// # Errors
    /// The call's status: not primary, program refused.
    pub async fn set_pipeline(
        &mut self,
        action: set_forwarding_pipeline_config_request::Action,
        config: Option<ForwardingPipelineConfig>,
    ) -> Result<(), ClientError> {
        let request = SetForwardingPipelineConfigRequest {
            device_id: self.options.device_id,
            role: self.options.role.clone(),
            election_id: Some(uint128(self.options.election_id)),
            action: action.into(),
            config,
            ..SetForwardingPipelineConfigRequest::default()
        };
        self.stub.set_forwarding_pipeline_config(request).await?;
        Ok(())
    }

    /// Asks for the switch's program, or parts of it. `None`: no program was set.
    ///
    /// # Errors
    /// The call's status, but for `FAILED_PRECONDITION`, which is how switches say that there is none.
    pub async fn get_pipeline(
        &mut self,
        response_type: get_forwarding_pipeline_config_request::ResponseType,
    ) -> Result<Option<ForwardingPipelineConfig>, ClientError> {
        let request = GetForwardingPipelineConfigRequest {
            device_id: self.options.device_id,
            response_type: response_type.into(),
        };
        match self.stub.get_forwarding_pipeline_config(request).await {
            Ok(answer) => Ok(answer.into_inner().config),
            Err(status) if status.code() == tonic::Code::FailedPrecondition => Ok(None),
            Err(status) => Err(status.into()),
        }
    }

    /// Makes changes, in order; one that fails doesn't keep the others from being tried.
    ///
    /// # Errors
    /// [`WriteError::Updates`] names each change that failed and why; the others were made.
    pub async fn write(&mut self, updates: Vec<Update>) -> Result<(), WriteError> {
        self.write_atomic(updates, write_request::Atomicity::ContinueOnError).await
    }

    /// As [`Client::write`], with another atomicity. Not every switch has them.
    ///
    /// # Errors
    /// As [`Client::write`].
    pub async fn write_atomic(
        &mut self,
        updates: Vec<Update>,
        atomicity: write_request::Atomicity,
    ) -> Result<(), WriteError> {
        let request = WriteRequest {
            device_id: self.options.device_id,
            role: self.options.role.clone(),
            election_id: Some(uint128(self.options.election_id)),
            updates,
            atomicity: atomicity.into(),
            ..WriteRequest::default()
        };
        let answer = self.stub.write(request).await;
        answer.map_err(|carried| WriteError::from_status(&status::from_tonic(&carried)))?;
        Ok(())
    }

    /// Reads entities; parts left out of a request stand for everything (P4Runtime, Wildcard Reads).
    ///
    /// # Errors
    /// The call's status; more than fits into memory ([`READ_ENTITIES`], [`READ_OCTETS`]).
    pub async fn read(&mut self, entities: Vec<Entity>) -> Result<Vec<Entity>, ClientError> {
        let request =
            ReadRequest { device_id: self.options.device_id, role: self.options.role.clone(), entities };
        read(&mut self.stub, request).await
    }

    /// Lets the switch send a packet. It answers only if it refuses, with [`Event::Error`].
    ///
    /// # Errors
    /// The stream is gone.
    pub async fn packet_out(&self, packet: PacketOut) -> Result<(), ClientError> {
        self.send(request(stream_message_request::Update::Packet(packet))).await
    }

    /// Acknowledges a digest list.
    ///
    /// # Errors
    /// The stream is gone.
    pub async fn acknowledge_digest(&self, digest_id: u32, list_id: u64) -> Result<(), ClientError> {
        let ack = DigestListAck { digest_id, list_id };
        self.send(request(stream_message_request::Update::DigestAck(ack))).await
    }

    /// The next thing that the switch sent by itself. Waits for it; after [`Event::Closed`] there is `None`.
    pub async fn event(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// As [`Client::event`], without waiting: `None` also when nothing is there now.
    pub fn try_event(&mut self) -> Option<Event> {
        self.events.try_recv().ok()
    }

    async fn send(&self, message: StreamMessageRequest) -> Result<(), ClientError> {
        self.requests.send(message).await.map_err(|_| ClientError::Closed)
    }
}

/// The API's form of a 128-bit number.
#[must_use]
pub fn uint128(value: u128) -> Uint128 {
    #[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
    let low = value as u64;
    let high = (value >> 64) as u64;
    Uint128 { high, low }
}

/// A 128-bit number of the API.
#[must_use]
pub fn from_uint128(value: Uint128) -> u128 {
    (u128::from(value.high) << 64) | u128::from(value.low)
}

fn request(update: stream_message_request::Update) -> StreamMessageRequest {
    StreamMessageRequest { update: Some(update) }
}

fn arbitration_request(options: &Options) -> StreamMessageRequest {
    // The default role is said by leaving the message out.
    let role = (!options.role.is_empty()).then(|| Role { name: options.role.clone(), ..Role::default() });
    request(stream_message_request::Update::Arbitration(MasterArbitrationUpdate {
        device_id: options.device_id,
        role,
        election_id: Some(uint128(options.election_id)),
        status: None,
    }))
}
