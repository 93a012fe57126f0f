//! P4Runtime over gRPC.
//!
//! The switch's [`Runtime`] stands behind a lock that is never held while anything is waited for: a call takes it for
//! as long as its own changes take, and a program is compiled before it is taken. Whoever moves packets takes the lock
//! for a batch of them, calls [`Runtime::advance`], lets go, and calls [`Server::deliver`].

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use p4runtime::p4::v1::p4_runtime_server::{P4Runtime, P4RuntimeServer};
use p4runtime::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, ReadRequest, ReadResponse, SetForwardingPipelineConfigRequest,
    SetForwardingPipelineConfigResponse, StreamMessageRequest, StreamMessageResponse, WriteRequest,
    WriteResponse, stream_message_response,
};
use p4runtime::status::to_tonic;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{Request, Response, Status, Streaming};

use crate::runtime::{Runtime, StreamId};

/// Largest message taken or sent, octets.
const MESSAGE_OCTETS: usize = 256 << 20;

/// Messages that wait for one controller. Packets and digests leave the last [`RESERVED_MESSAGES`] places free.
const STREAM_MESSAGES: usize = 4096;

/// Places that only arbitration and errors may take.
const RESERVED_MESSAGES: usize = 256;

/// Entities in one message of a read's answer.
const READ_CHUNK: usize = 1024;

type ToController = mpsc::Sender<Result<StreamMessageResponse, Status>>;

/// Serves one switch. Copies serve the same one.
#[derive(Clone, Debug)]
pub struct Server {
    runtime: Arc<Mutex<Runtime>>,
    streams: Arc<Mutex<HashMap<StreamId, ToController>>>,
}

impl Server {
    /// Serves this switch.
    pub fn new(runtime: Arc<Mutex<Runtime>>) -> Server {
        Server { runtime, streams: Arc::default() }
    }

    /// The gRPC service, to be put beside others.
    pub fn service(&self) -> P4RuntimeServer<Server> {
        P4RuntimeServer::new(self.clone())
            .max_decoding_message_size(MESSAGE_OCTETS)
            .max_encoding_message_size(MESSAGE_OCTETS)
    }

    /// Answers on a socket until `stop` is done.
    ///
    /// # Errors
    /// The socket fails.
    pub async fn serve(
        &self,
        listener: TcpListener,
        stop: impl Future<Output = ()>,
    ) -> Result<(), tonic::transport::Error> {
        tonic::transport::Server::builder()
            .add_service(self.service())
            .serve_with_incoming_shutdown(TcpListenerStream::new(listener), stop)
            .await
    }

    /// Hands what the runtime has for controllers to their streams. Never waits: packets and digests for a controller
    /// that doesn't take them are dropped, and one that doesn't even take arbitration messages loses its stream.
    pub fn deliver(&self) {
        // Taken first, so that messages of two callers keep their order.
        let mut streams = lock(&self.streams);
        let mut messages = Vec::new();
        {
            let mut runtime = lock(&self.runtime);
            while let Some(message) = runtime.poll_response() {
                messages.push(message);
            }
        }
        for (stream, message) in messages {
            let Some(sender) = streams.get(&stream) else { continue };
            let droppable = !matches!(
                message.update,
                Some(
                    stream_message_response::Update::Arbitration(_)
                        | stream_message_response::Update::Error(_)
                )
            );
            if droppable && sender.capacity() <= RESERVED_MESSAGES {
                continue;
            }
            if sender.try_send(Ok(message)).is_err() {
                streams.remove(&stream);
            }
        }
    }

    fn runtime(&self) -> MutexGuard<'_, Runtime> {
        lock(&self.runtime)
    }

    /// Takes a controller's messages until its stream ends.
    async fn listen(
        &self,
        stream: StreamId,
        mut inbound: Streaming<StreamMessageRequest>,
        sender: ToController,
    ) {
        loop {
            // A stream that breaks ends like one that is closed.
            let received = tokio::select! {
                received = inbound.message() => received,
                () = sender.closed() => break,
            };
            let Ok(Some(message)) = received else { break };
            let refused = self.runtime().receive(stream, &message).err();
            self.deliver();
            if let Some(status) = refused {
                // What it was told before comes first; then the reason.
                let _ = sender.send(Err(to_tonic(&status))).await;
                break;
            }
        }
        self.runtime().close_stream(stream);
        lock(&self.streams).remove(&stream);
        self.deliver();
    }
}

/// A panic elsewhere leaves the data as it was between two changes.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[tonic::async_trait]
impl P4Runtime for Server {
    async fn write(&self, request: Request<WriteRequest>) -> Result<Response<WriteResponse>, Status> {
        let written = self.runtime().write(request.get_ref());
        self.deliver();
        written.map_err(|status| to_tonic(&status))?;
        Ok(Response::new(WriteResponse {}))
    }

    type ReadStream = tokio_stream::Iter<std::vec::IntoIter<Result<ReadResponse, Status>>>;

    async fn read(&self, request: Request<ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let (mut found, failed) = self.runtime().read_each(request.get_ref());
        let mut answers = Vec::with_capacity(found.len() / READ_CHUNK + 2);
        while !found.is_empty() {
            let rest = found.split_off(found.len().min(READ_CHUNK));
            answers.push(Ok(ReadResponse { entities: std::mem::replace(&mut found, rest) }));
        }
        answers.extend(failed.map(|status| Err(to_tonic(&status))));
        Ok(Response::new(tokio_stream::iter(answers)))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<SetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        // Whoever may not do it doesn't get to know what is wrong with the program.
        self.runtime().check_pipeline(&request).map_err(|status| to_tonic(&status))?;
        let config = request.config.clone();
        let compiled = match config {
            Some(config) => {
                let compiling = tokio::task::spawn_blocking(move || Runtime::compile(config));
                let compiled = compiling.await.map_err(|error| Status::internal(error.to_string()))?;
                Some(compiled.map_err(|status| to_tonic(&status))?)
            }
            None => None,
        };
        let done = self.runtime().set_compiled(&request, compiled);
        self.deliver();
        done.map_err(|status| to_tonic(&status))?;
        Ok(Response::new(SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<GetForwardingPipelineConfigResponse>, Status> {
        self.runtime().get_pipeline(request.get_ref()).map(Response::new).map_err(|status| to_tonic(&status))
    }

    type StreamChannelStream = ReceiverStream<Result<StreamMessageResponse, Status>>;

    async fn stream_channel(
        &self,
        request: Request<Streaming<StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let (sender, outbound) = mpsc::channel(STREAM_MESSAGES);
        let stream = self.runtime().open_stream();
        lock(&self.streams).insert(stream, sender.clone());
        let server = self.clone();
        let inbound = request.into_inner();
        tokio::spawn(async move { server.listen(stream, inbound, sender).await });
        Ok(Response::new(ReceiverStream::new(outbound)))
    }

    async fn capabilities(
        &self,
        _request: Request<CapabilitiesRequest>,
    ) -> Result<Response<CapabilitiesResponse>, Status> {
        Ok(Response::new(self.runtime().capabilities()))
    }
}
