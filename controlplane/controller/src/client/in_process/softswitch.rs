//! softswitch's P4Runtime layer as a target.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use p4runtime::client::{from_uint128, uint128};
use p4runtime::google::rpc::Status;
use p4runtime::p4::v1::forwarding_pipeline_config::Cookie;
use p4runtime::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime::p4::v1::{
    ForwardingPipelineConfig, GetForwardingPipelineConfigRequest, MasterArbitrationUpdate, ReadRequest,
    SetForwardingPipelineConfigRequest, StreamMessageRequest, WriteRequest, stream_message_request,
    stream_message_response,
};
use p4runtime::status;
use softswitch::runtime::{Compiled, Runtime, StreamId};

use super::{Event, Reply, Request, RequestError, Target};
use crate::client::FailedUpdate;
use crate::pipeline::Pipeline;

/// Programs that have been compiled, by cookie: hundreds of switches run the same one.
#[derive(Clone, Debug, Default)]
pub struct Programs(Arc<Mutex<HashMap<u64, Compiled>>>);

impl Programs {
    fn compiled(&self, pipeline: &Pipeline) -> Result<Compiled, RequestError> {
        // A panic elsewhere can't leave the map half changed.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = known.get(&pipeline.cookie) {
            return Ok(compiled.clone());
        }
        let config = ForwardingPipelineConfig {
            p4info: Some(pipeline.p4info().clone()),
            p4_device_config: pipeline.device_config.clone(),
            cookie: Some(Cookie { cookie: pipeline.cookie }),
        };
        let compiled = Runtime::compile(config).map_err(refused)?;
        known.insert(pipeline.cookie, compiled.clone());
        Ok(compiled)
    }
}

/// A controller's side of its conversation with one switch.
#[derive(Clone, Debug)]
pub struct Session {
    device_id: u64,
    election_id: u128,
    stream: Option<StreamId>,
    programs: Programs,
}

impl Session {
    pub(super) fn new(device_id: u64, programs: Programs) -> Self {
        Self { device_id, election_id: 0, stream: None, programs }
    }
}

impl Target for Runtime {
    fn serve(&mut self, session: &mut Session, request: &Request) -> Result<Reply, RequestError> {
        let device_id = session.device_id;
        let election_id = Some(uint128(session.election_id));
        match request {
            Request::Arbitrate { election_id } => arbitrate(self, session, *election_id),
            Request::GetCookie => {
                let request = GetForwardingPipelineConfigRequest {
                    device_id,
                    response_type: ResponseType::CookieOnly.into(),
                };
                let answer = self.get_pipeline(&request).map_err(refused)?;
                // A program without a cookie is somebody else's.
                Ok(Reply::Cookie(answer.config.map(|config| config.cookie.map_or(0, |cookie| cookie.cookie))))
            }
            Request::SetPipeline(pipeline) => {
                let request = SetForwardingPipelineConfigRequest {
                    device_id,
                    election_id,
                    action: Action::VerifyAndCommit.into(),
                    // The program itself is given compiled.
                    config: Some(ForwardingPipelineConfig::default()),
                    ..SetForwardingPipelineConfigRequest::default()
                };
                let compiled = session.programs.compiled(pipeline)?;
                self.set_compiled(&request, Some(compiled)).map_err(refused)?;
                Ok(Reply::Done)
            }
            Request::Write(updates) => {
                let updates = updates.clone();
                write(self, &WriteRequest { device_id, election_id, updates, ..WriteRequest::default() })
            }
            Request::Read(entities) => {
                let entities = entities.clone();
                let found = self.read(&ReadRequest { device_id, entities, ..ReadRequest::default() });
                Ok(Reply::Entities(found.map_err(refused)?))
            }
            Request::PacketOut(packet) => {
                send(self, session, stream_message_request::Update::Packet(packet.clone()))?;
                Ok(Reply::Done)
            }
        }
    }

    fn poll_event(&mut self, session: &mut Session) -> Option<Event> {
        loop {
            let (stream, message) = self.poll_response()?;
            if Some(stream) != session.stream {
                continue;
            }
            match message.update {
                Some(stream_message_response::Update::Arbitration(arbitration)) => {
                    return Some(told(&arbitration));
                }
                Some(stream_message_response::Update::Packet(packet)) => {
                    return Some(Event::PacketIn(packet));
                }
                Some(stream_message_response::Update::Digest(digest)) => return Some(Event::Digest(digest)),
                _ => {}
            }
        }
    }
}

fn arbitrate(runtime: &mut Runtime, session: &mut Session, election_id: u128) -> Result<Reply, RequestError> {
    if session.stream.is_none() {
        session.stream = Some(runtime.open_stream());
    }
    match ask(runtime, session, election_id)? {
        // As over gRPC: whoever comes after a primary that has left needs a higher id than that one's.
        Some(Event::Vacant { election_id: seen }) => {
            let answer = ask(runtime, session, crate::client::claim(seen, election_id))?;
            Ok(Reply::Arbitration { primary: answer == Some(Event::Primary(true)) })
        }
        answer => Ok(Reply::Arbitration { primary: answer == Some(Event::Primary(true)) }),
    }
}

/// Asks for primaryship, and gives the answer.
fn ask(
    runtime: &mut Runtime,
    session: &mut Session,
    election_id: u128,
) -> Result<Option<Event>, RequestError> {
    session.election_id = election_id;
    let arbitration = MasterArbitrationUpdate {
        device_id: session.device_id,
        election_id: Some(uint128(election_id)),
        ..MasterArbitrationUpdate::default()
    };
    send(runtime, session, stream_message_request::Update::Arbitration(arbitration))?;
    // The answer is the last of the messages: earlier ones told of what has passed.
    let mut answer = None;
    while let Some(event) = runtime.poll_event(session) {
        if matches!(event, Event::Primary(_) | Event::Vacant { .. }) {
            answer = Some(event);
        }
    }
    Ok(answer)
}

fn told(arbitration: &MasterArbitrationUpdate) -> Event {
    let code = arbitration.status.as_ref().map_or(0, |status| status.code);
    if code == status::Code::NotFound as i32 {
        let seen = arbitration.election_id.map_or(0, from_uint128);
        return Event::Vacant { election_id: seen };
    }
    Event::Primary(code == 0)
}

fn send(
    runtime: &mut Runtime,
    session: &mut Session,
    update: stream_message_request::Update,
) -> Result<(), RequestError> {
    let Some(stream) = session.stream else {
        return Err(RequestError::Unreachable("no stream to the switch".to_owned()));
    };
    let sent = runtime.receive(stream, &StreamMessageRequest { update: Some(update) });
    if sent.is_err() {
        runtime.close_stream(stream);
        session.stream = None;
    }
    sent.map_err(refused)
}

fn write(runtime: &mut Runtime, request: &WriteRequest) -> Result<Reply, RequestError> {
    let Err(status) = runtime.write(request) else { return Ok(Reply::Done) };
    let outcomes = status::outcomes(&status);
    if outcomes.is_empty() {
        return Err(refused(status));
    }
    let of = outcomes.len();
    let failed = outcomes.into_iter().enumerate().filter(|(_, outcome)| outcome.canonical_code != 0);
    let failed = failed
        .map(|(index, outcome)| FailedUpdate {
            index,
            code: outcome.canonical_code,
            message: outcome.message,
        })
        .collect();
    Err(RequestError::Updates { failed, of })
}

fn refused(status: Status) -> RequestError {
    RequestError::Refused { code: status.code, message: status.message }
}
