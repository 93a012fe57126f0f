//! A switch behind P4Runtime's gRPC. A task of its own waits for the switch, so that the controller doesn't.

use std::task::{Context, Poll};

use p4runtime::client::{Address, Client, Event as SwitchEvent, Options, WriteError};
use p4runtime::p4::v1::ForwardingPipelineConfig;
use p4runtime::p4::v1::forwarding_pipeline_config::Cookie;
use p4runtime::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action;
use tokio::sync::mpsc;
use wire::units::Nanos;

use super::of_client as failed;
use super::{
    CALL_PATIENCE, CookieOf, Event, FailedUpdate, Reply, Request, RequestError, RequestId, SwitchClient,
};

/// A client of one switch. Dropping it ends its task and gives primaryship back.
#[derive(Debug)]
pub struct GrpcClient {
    requests: mpsc::UnboundedSender<(RequestId, Request)>,
    events: mpsc::UnboundedReceiver<Event>,
}

impl GrpcClient {
    /// A client of the switch at `address`, which connects with the first
    /// [`Request::Arbitrate`]. The election id of `options` isn't used. To be called within a tokio runtime.
    pub fn spawn(address: impl Into<Address>, options: Options) -> Self {
        let (requests, incoming) = mpsc::unbounded_channel();
        let (outgoing, events) = mpsc::unbounded_channel();
        let address = address.into();
        tokio::spawn(Task { address, options, client: None, events: outgoing }.run(incoming));
        Self { requests, events }
    }

    /// The next event, when there is one. `None`: the task has ended.
    pub async fn event(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// As [`GrpcClient::event`], for waiting for several clients at once.
    pub fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.events.poll_recv(context)
    }
}

impl SwitchClient for GrpcClient {
    fn submit(&mut self, id: RequestId, request: Request, _: Nanos) {
        // The task ends only with this client; should it have died, `poll` says so.
        drop(self.requests.send((id, request)));
    }

    fn poll(&mut self, _: Nanos) -> Option<Event> {
        self.events.try_recv().ok()
    }

    /// The switch answers when it likes: see [`GrpcClient::event`].
    fn poll_timeout(&self) -> Option<Nanos> {
        None
    }
}

struct Task {
    address: Address,
    options: Options,
    client: Option<Client>,
    events: mpsc::UnboundedSender<Event>,
}

impl Task {
    async fn run(mut self, mut requests: mpsc::UnboundedReceiver<(RequestId, Request)>) {
        loop {
            let heard = tokio::select! {
                request = requests.recv() => match request {
                    Some((id, request)) => {
                        let result = self.serve_in_time(request).await;
                        Some(Event::Reply { id, result })
                    }
                    None => return,
                },
                event = next_event(&mut self.client) => self.hear(event),
            };
            if let Some(event) = heard
                && self.events.send(event).is_err()
            {
                return;
            }
        }
    }

    /// What the switch sent by itself.
    fn hear(&mut self, event: Option<SwitchEvent>) -> Option<Event> {
        match event {
            Some(SwitchEvent::Arbitration(told)) if !told.primary && !told.primary_exists => {
                Some(Event::Vacant { election_id: told.election_id })
            }
            Some(SwitchEvent::Arbitration(told)) => Some(Event::Primary(told.primary)),
            Some(SwitchEvent::PacketIn(packet)) => Some(Event::PacketIn(packet)),
            Some(SwitchEvent::Digest(digest)) => Some(Event::Digest(digest)),
            Some(SwitchEvent::Closed(status)) => {
                self.client = None;
                let reason = status.map_or_else(
                    || "the switch has closed the stream".to_owned(),
                    |status| super::words(status.message()),
                );
                Some(Event::Closed(reason))
            }
            Some(_) => None,
            None => {
                self.client = None;
                Some(Event::Closed("the stream has ended".to_owned()))
            }
        }
    }

    /// As [`Task::serve`], but a switch that takes a request and never answers counts as gone.
    async fn serve_in_time(&mut self, request: Request) -> Result<Reply, RequestError> {
        let patience = self.options.timeout.saturating_mul(CALL_PATIENCE);
        let served = tokio::time::timeout(patience, self.serve(request)).await;
        served.unwrap_or_else(|_| {
            self.client = None;
            Err(RequestError::Unreachable(format!("no answer in {} s", patience.as_secs())))
        })
    }

    async fn serve(&mut self, request: Request) -> Result<Reply, RequestError> {
        if let Request::Arbitrate { election_id } = request {
            return self.arbitrate(election_id).await;
        }
        let Some(client) = &mut self.client else {
            return Err(RequestError::Unreachable(format!("not connected to {}", self.address.host_port)));
        };
        match request {
            Request::Arbitrate { .. } => Ok(Reply::Done),
            Request::GetCookie => {
                let asked = client.get_pipeline(ResponseType::CookieOnly).await;
                let config = asked.map_err(|error| failed(error, false))?;
                match super::cookie_of(config.as_ref()) {
                    CookieOf::Known(cookie) => Ok(Reply::Cookie(cookie)),
                    CookieOf::AskForP4Info => {
                        let asked = client.get_pipeline(ResponseType::P4infoAndCookie).await;
                        let config = asked.map_err(|error| failed(error, false))?;
                        Ok(Reply::Cookie(super::cookie_beside_p4info(config.as_ref())))
                    }
                }
            }
            Request::SetPipeline(pipeline) => {
                let config = ForwardingPipelineConfig {
                    p4info: Some(pipeline.p4info().clone()),
                    p4_device_config: pipeline.device_config.clone(),
                    cookie: Some(Cookie { cookie: pipeline.cookie }),
                };
                client
                    .set_pipeline(Action::VerifyAndCommit, Some(config))
                    .await
                    .map_err(|error| failed(error, false))?;
                Ok(Reply::Done)
            }
            Request::Write(updates) => {
                let asked = updates.len();
                client.write(updates).await.map_err(|error| write_failed(error, asked))?;
                Ok(Reply::Done)
            }
            Request::Read(entities) => {
                let found = client.read(entities).await.map_err(|error| failed(error, false))?;
                Ok(Reply::Entities(found))
            }
            Request::PacketOut(packet) => {
                client.packet_out(packet).await.map_err(|error| failed(error, false))?;
                Ok(Reply::Done)
            }
        }
    }

    async fn arbitrate(&mut self, election_id: u128) -> Result<Reply, RequestError> {
        let client = if let Some(client) = &mut self.client {
            client.arbitrate(election_id).await.map_err(|error| failed(error, false))?;
            client
        } else {
            let options = Options { election_id, ..self.options.clone() };
            let unknown = self.address.tls.is_none();
            let channel = super::observe::channel(&self.address, options.timeout).await?;
            self.client.insert(Client::over(channel, options).await.map_err(|error| failed(error, unknown))?)
        };
        // By the specification a switch remembers the highest id of all who were ever primary, and a lower one is
        // refused even if nobody is left. BMv2 promotes whoever is next.
        if let Some(told) = client.arbitration()
            && !told.primary
            && !told.primary_exists
        {
            let claim = super::claim(told.election_id, election_id);
            client.arbitrate(claim).await.map_err(|error| failed(error, false))?;
        }
        Ok(Reply::Arbitration { primary: client.is_primary() })
    }
}

/// The next thing that the switch sends by itself; without a connection, never anything.
async fn next_event(client: &mut Option<Client>) -> Option<SwitchEvent> {
    match client {
        Some(client) => client.event().await,
        None => std::future::pending().await,
    }
}

/// What a Write of so many updates came to. A switch has to list an outcome for each of them (P4Runtime, Batching and Ordering of
/// Updates); where it doesn't, nobody knows which were made, as after a connection that broke.
fn write_failed(error: WriteError, asked: usize) -> RequestError {
    match error {
        WriteError::Updates { failed, of } if of != asked => {
            let first = failed.first().map(|update| super::words(&update.message)).unwrap_or_default();
            let message = format!(
                "the switch lists {of} outcomes for {asked} changes, so that it isn't known which were made; the first failed: {first}"
            );
            RequestError::Refused { code: p4runtime::status::Code::Unknown as i32, message }
        }
        WriteError::Updates { failed, of } => {
            let failed = failed
                .into_iter()
                .map(|update| FailedUpdate {
                    index: update.index,
                    code: update.code,
                    message: super::words(&update.message),
                })
                .collect();
            RequestError::Updates { failed, of }
        }
        WriteError::Call(error) => failed(error, false),
    }
}

#[cfg(test)]
mod tests {
    use p4runtime::client::UpdateError;

    use super::*;

    #[test]
    fn outcomes_that_are_fewer_than_the_changes_say_nothing_of_single_ones() {
        let updates = || {
            let failed = vec![UpdateError { index: 2, code: 8, message: "full".to_owned() }];
            WriteError::Updates { failed, of: 3 }
        };
        assert!(matches!(write_failed(updates(), 3), RequestError::Updates { of: 3, .. }));
        let error = write_failed(updates(), 621);
        assert!(matches!(error, RequestError::Refused { code: 2, .. }), "{error:?}");
        assert!(error.to_string().contains("3 outcomes for 621 changes"), "{error}");
        assert!(error.to_string().contains("full"), "{error}");
    }
}
