//! Looks at a switch over gRPC without becoming its primary: for plans and status.

use std::time::Duration;

use p4runtime::client::{Address, READ_OCTETS, from_uint128};
use p4runtime::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use p4runtime::p4::v1::p4_runtime_client::P4RuntimeClient;
use p4runtime::p4::v1::{
    CapabilitiesRequest, Entity, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest,
    MasterArbitrationUpdate, ReadRequest, StreamMessageRequest, stream_message_request,
    stream_message_response,
};
use p4runtime::status::Code;
use tonic::transport::Channel;

use super::{CookieOf, RequestError, of_status};

/// Who may write to a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primaryship {
    /// A controller with this election id.
    Held(u128),
    /// Nobody.
    Vacant,
}

/// A connection for reading only. It opens no stream but in [`Observer::primaryship`], so that it never gets in the
/// way of a controller.
#[derive(Debug)]
pub struct Observer {
    stub: P4RuntimeClient<Channel>,
    device_id: u64,
    timeout: Duration,
    tls: bool,
}

impl Observer {
    /// Connects to a switch.
    ///
    /// # Errors
    /// Nobody answers there, or it isn't the one that it should be.
    pub async fn connect(address: &Address, device_id: u64, timeout: Duration) -> Result<Self, RequestError> {
        let channel = channel(address, timeout).await?;
        let stub = P4RuntimeClient::new(channel).max_decoding_message_size(READ_OCTETS);
        Ok(Self { stub, device_id, timeout, tls: address.tls.is_some() })
    }

    /// How long an answer may take.
    fn patience(&self) -> Duration {
        self.timeout.saturating_mul(super::CALL_PATIENCE)
    }

    /// The running program's cookie; `None` if no program runs. A program without a cookie is somebody else's: 0.
    ///
    /// # Errors
    /// The switch's refusal.
    pub async fn cookie(&mut self) -> Result<Option<u64>, RequestError> {
        let config = self.program(ResponseType::CookieOnly).await?;
        match super::cookie_of(config.as_ref()) {
            CookieOf::Known(cookie) => Ok(cookie),
            CookieOf::AskForP4Info => {
                let config = self.program(ResponseType::P4infoAndCookie).await?;
                Ok(super::cookie_beside_p4info(config.as_ref()))
            }
        }
    }

    async fn program(
        &mut self,
        response_type: ResponseType,
    ) -> Result<Option<ForwardingPipelineConfig>, RequestError> {
        let request = GetForwardingPipelineConfigRequest {
            device_id: self.device_id,
            response_type: response_type.into(),
        };
        match in_time(self.patience(), self.stub.get_forwarding_pipeline_config(request)).await? {
            Ok(answer) => Ok(answer.into_inner().config),
            // How switches say that there is none.
            Err(status) if status.code() == Code::FailedPrecondition => Ok(None),
            Err(status) => Err(of_status(&status, !self.tls)),
        }
    }

    /// Reads entities; parts left out of a request stand for everything.
    ///
    /// # Errors
    /// The switch's refusal, or an answer without end.
    pub async fn read(&mut self, entities: Vec<Entity>) -> Result<Vec<Entity>, RequestError> {
        let request = ReadRequest { device_id: self.device_id, entities, ..ReadRequest::default() };
        let all = in_time(self.patience(), p4runtime::client::read(&mut self.stub, request)).await?;
        all.map_err(|error| super::of_client(error, false))
    }

    /// The switch's P4Runtime version.
    ///
    /// # Errors
    /// The switch's refusal.
    pub async fn api_version(&mut self) -> Result<String, RequestError> {
        let answer = in_time(self.patience(), self.stub.capabilities(CapabilitiesRequest::default())).await?;
        let answer = answer.map_err(|status| of_status(&status, false))?;
        Ok(super::words(&answer.into_inner().p4runtime_api_version))
    }

    /// Who is primary. A client without an election id asks: it is below all others and keeps nobody from writing.
    ///
    /// # Errors
    /// The switch's refusal, or no answer in time.
    pub async fn primaryship(&mut self) -> Result<Primaryship, RequestError> {
        let late = || RequestError::Unreachable("no answer about who is primary".to_owned());
        tokio::time::timeout(self.timeout, self.ask_primaryship()).await.map_err(|_| late())?
    }

    async fn ask_primaryship(&mut self) -> Result<Primaryship, RequestError> {
        let ended = || RequestError::Unreachable("the switch has closed the stream".to_owned());
        let arbitration =
            MasterArbitrationUpdate { device_id: self.device_id, ..MasterArbitrationUpdate::default() };
        let update = Some(stream_message_request::Update::Arbitration(arbitration));
        // The sender is kept until the answer is there: its end would end the stream.
        let (sender, outbound) = tokio::sync::mpsc::channel(1);
        sender.send(StreamMessageRequest { update }).await.map_err(|_| ended())?;
        let opened = self.stub.stream_channel(tokio_stream::wrappers::ReceiverStream::new(outbound)).await;
        let mut inbound = opened.map_err(|status| of_status(&status, false))?.into_inner();
        while let Some(message) = inbound.message().await.map_err(|status| of_status(&status, false))? {
            let Some(stream_message_response::Update::Arbitration(answer)) = message.update else { continue };
            let id = answer.election_id.map_or(0, from_uint128);
            let code = answer.status.map_or(0, |status| status.code);
            // BMv2 makes even a client without an id primary when there is nobody else.
            let held = code == Code::AlreadyExists as i32;
            return Ok(if held { Primaryship::Held(id) } else { Primaryship::Vacant });
        }
        drop(sender);
        Err(ended())
    }
}

/// A switch that takes a call and never answers, or never ends its answer, counts as gone.
async fn in_time<T>(patience: Duration, call: impl Future<Output = T>) -> Result<T, RequestError> {
    let late = || RequestError::Unreachable(format!("no answer in {} s", patience.as_secs()));
    tokio::time::timeout(patience, call).await.map_err(|_| late())
}

/// As [`p4runtime::client::channel`].
pub(super) async fn channel(address: &Address, timeout: Duration) -> Result<Channel, RequestError> {
    let made = p4runtime::client::channel(address, timeout).await;
    made.map_err(|error| RequestError::Unreachable(super::words(&error.to_string())))
}
