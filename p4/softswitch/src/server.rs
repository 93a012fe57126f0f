//! P4Runtime over gRPC.
//!
//! The switch's [`Runtime`] stands behind a lock that is never held while anything is waited for: a call takes it for
//! as long as its own changes take, long Writes in parts, and a program is compiled before it is taken. Whoever moves
//! packets takes it with [`Server::runtime`] for a batch of them, calls [`Runtime::advance`], lets go, and calls
//! [`Server::deliver`]. The lock is fair: of two that want it again and again, each gets every second turn.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use p4runtime::p4::v1::p4_runtime_server::{P4Runtime, P4RuntimeServer};
use p4runtime::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, Entity, Error, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, ReadRequest, ReadResponse, SetForwardingPipelineConfigRequest,
    SetForwardingPipelineConfigResponse, StreamMessageRequest, StreamMessageResponse, Update, WriteRequest,
    WriteResponse, stream_message_response, write_request,
};
use p4runtime::status::{self, to_tonic};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::transport::ServerTlsConfig;
use tonic::{Request, Response, Status, Streaming};

use crate::runtime::large_read::{self, Large};
use crate::runtime::{Programs, Runtime, StreamId};

/// Largest message taken or sent, octets.
pub(crate) const MESSAGE_OCTETS: usize = 256 << 20;

/// Messages that wait for one controller. Packets and digests leave the last [`RESERVED_MESSAGES`] places free.
const STREAM_MESSAGES: usize = 4096;

/// Places that only arbitration and errors may take.
const RESERVED_MESSAGES: usize = 256;

/// Entities in one message of a read's answer, and read in one go.
const READ_CHUNK: usize = 1024;

/// Updates made in one go; packets pass before the next ones.
const WRITE_CHUNK: usize = 256;

type ToController = mpsc::Sender<Result<StreamMessageResponse, Status>>;

/// Serves one switch. Copies serve the same one.
#[derive(Clone, Debug)]
pub struct Server {
    runtime: Arc<Mutex<Runtime>>,
    /// Held only while waiting for `runtime`: who has just let go of that can't overtake who already waits.
    turn: Arc<Mutex<()>>,
    streams: Arc<Mutex<HashMap<StreamId, ToController>>>,
    undelivered: Arc<AtomicU64>,
    programs: Programs,
    driver: Option<Driver>,
}

/// What moves packets in real time.
#[derive(Clone)]
struct Driver {
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Driver")
    }
}

impl Server {
    /// Serves this switch. Its time stands still unless somebody calls [`Runtime::advance`].
    pub fn new(runtime: Arc<Mutex<Runtime>>) -> Server {
        Server {
            runtime,
            turn: Arc::default(),
            streams: Arc::default(),
            undelivered: Arc::default(),
            programs: Programs::default(),
            driver: None,
        }
    }

    /// As [`Server::new`], with somebody who moves packets: `clock` gives the time in ns, and `wake` is called after
    /// anything that may have queued a packet.
    pub fn with_driver(
        runtime: Arc<Mutex<Runtime>>,
        clock: impl Fn() -> u64 + Send + Sync + 'static,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Server {
        let driver = Driver { clock: Arc::new(clock), wake: Arc::new(wake) };
        Server { driver: Some(driver), ..Server::new(runtime) }
    }

    /// With programs that are compiled once for all servers of this process that share them: for many switches in one.
    #[must_use]
    pub fn sharing(self, programs: Programs) -> Server {
        Server { programs, ..self }
    }

    /// The switch, for one turn.
    pub fn runtime(&self) -> MutexGuard<'_, Runtime> {
        let turn = lock(&self.turn);
        let runtime = lock(&self.runtime);
        drop(turn);
        runtime
    }

    /// Packets, digests and idle timeouts that a controller didn't get because it didn't take those before.
    pub fn undelivered(&self) -> u64 {
        self.undelivered.load(Ordering::Relaxed) + self.runtime().dropped_packet_ins()
    }

    /// The switch at the present time.
    fn now(&self) -> MutexGuard<'_, Runtime> {
        let mut runtime = self.runtime();
        if let Some(driver) = &self.driver {
            runtime.advance((driver.clock)());
        }
        runtime
    }

    fn wake(&self) {
        if let Some(driver) = &self.driver {
            (driver.wake)();
        }
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

    /// As [`Server::serve`], over TLS; with a client CA in `tls`, only to clients that have its certificate.
    ///
    /// # Errors
    /// The certificate, the key or the CA can't be used; the socket fails.
    pub async fn serve_tls(
        &self,
        listener: TcpListener,
        tls: ServerTlsConfig,
        stop: impl Future<Output = ()>,
    ) -> Result<(), tonic::transport::Error> {
        tonic::transport::Server::builder()
            .tls_config(tls)?
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
            let mut runtime = self.runtime();
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
                self.undelivered.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            if sender.try_send(Ok(message)).is_err() {
                streams.remove(&stream);
            }
        }
    }

    /// Makes changes in parts, so that packets pass between them.
    fn write_in_parts(&self, mut request: WriteRequest) -> Result<(), Status> {
        if request.atomicity != write_request::Atomicity::ContinueOnError as i32
            || request.updates.len() <= WRITE_CHUNK
        {
            return self.now().write(&request).map_err(|status| to_tonic(&status));
        }
        let updates = std::mem::take(&mut request.updates);
        let mut outcomes = Vec::with_capacity(updates.len());
        for part in updates.chunks(WRITE_CHUNK) {
            request.updates = part.to_vec();
            let written = self.now().write(&request);
            outcomes.extend(part_outcomes(part, written, outcomes.is_empty())?);
        }
        status::batch(&outcomes).map_or(Ok(()), |status| Err(to_tonic(&status)))
    }

    /// Reads what each entity of a request stands for in a turn of its own.
    fn read_in_parts(
        &self,
        mut request: ReadRequest,
    ) -> (Vec<Entity>, Option<p4runtime::google::rpc::Status>) {
        if request.entities.len() < 2 {
            return self.read_one(&request);
        }
        let (mut found, mut outcomes) = (Vec::new(), Vec::new());
        for entity in std::mem::take(&mut request.entities) {
            request.entities = vec![entity];
            let (part, failed) = self.read_one(&request);
            found.extend(part);
            match failed {
                None => outcomes.push(Error::default()),
                Some(status) => match status::outcomes(&status).pop() {
                    Some(outcome) => outcomes.push(outcome),
                    // Refused whole: another device, or no pipeline.
                    None => return (found, Some(status)),
                },
            }
        }
        (found, status::batch(&outcomes))
    }

    /// Reads what one entity stands for; where that is many, in parts.
    fn read_one(&self, request: &ReadRequest) -> (Vec<Entity>, Option<p4runtime::google::rpc::Status>) {
        let large = self.now().large_read(request, READ_CHUNK);
        match large.and_then(|large| self.read_large(request, large)) {
            Some(all) => (all, None),
            // Not large, refused, or the program has changed meanwhile.
            None => self.now().read_each(request),
        }
    }

    fn read_large(&self, request: &ReadRequest, large: Large) -> Option<Vec<Entity>> {
        let mut all = Vec::new();
        match large {
            Large::Entries(tables) => {
                for (table, handles) in tables {
                    let mut found = Vec::with_capacity(handles.len());
                    for part in handles.chunks(READ_CHUNK) {
                        found.extend(self.now().read_entries(request, table, part)?);
                    }
                    all.extend(large_read::in_order(found));
                }
            }
            Large::Cells(arrays) => {
                for (array, cells) in arrays {
                    for first in (0..cells).step_by(READ_CHUNK) {
                        let part = first..cells.min(first + READ_CHUNK as u64);
                        all.extend(self.now().read_cells(request, array, part)?);
                    }
                }
            }
            Large::Numbered(requests) => {
                for part in requests.chunks(READ_CHUNK) {
                    all.extend(self.now().read_numbered(request, part)?);
                }
            }
        }
        Some(all)
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
            let refused = self.now().receive(stream, &message).err();
            self.wake();
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

/// A read's answer in messages, each made when it is sent.
#[derive(Debug)]
pub struct Answers {
    rest: std::vec::IntoIter<Entity>,
    failed: Option<Status>,
}

impl Iterator for Answers {
    type Item = Result<ReadResponse, Status>;

    fn next(&mut self) -> Option<Self::Item> {
        // A list of its own for each message: one that was split off would keep room for all the others.
        let entities: Vec<Entity> = self.rest.by_ref().take(READ_CHUNK).collect();
        if entities.is_empty() {
            return self.failed.take().map(Err);
        }
        Some(Ok(ReadResponse { entities }))
    }
}

/// One outcome for each update of a part. A refusal of the first part as a whole is the answer to all; later ones
/// (primaryship was lost meanwhile) are their updates' outcomes.
fn part_outcomes(
    part: &[Update],
    written: Result<(), p4runtime::google::rpc::Status>,
    first: bool,
) -> Result<Vec<Error>, Status> {
    let Err(status) = written else { return Ok(vec![Error::default(); part.len()]) };
    let outcomes = status::outcomes(&status);
    if outcomes.len() == part.len() {
        return Ok(outcomes);
    }
    if first {
        return Err(to_tonic(&status));
    }
    let outcome = Error { canonical_code: status.code, message: status.message, ..Error::default() };
    Ok(vec![outcome; part.len()])
}

/// A panic elsewhere leaves the data as it was between two changes.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[tonic::async_trait]
impl P4Runtime for Server {
    async fn write(&self, request: Request<WriteRequest>) -> Result<Response<WriteResponse>, Status> {
        let written = self.write_in_parts(request.into_inner());
        self.deliver();
        written?;
        Ok(Response::new(WriteResponse {}))
    }

    type ReadStream = tokio_stream::Iter<Answers>;

    async fn read(&self, request: Request<ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let (found, failed) = self.read_in_parts(request.into_inner());
        let failed = failed.map(|status| to_tonic(&status));
        Ok(Response::new(tokio_stream::iter(Answers { rest: found.into_iter(), failed })))
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
                let programs = self.programs.clone();
                let compiling = tokio::task::spawn_blocking(move || programs.compile(config));
                let compiled = compiling.await.map_err(|error| Status::internal(error.to_string()))?;
                Some(compiled.map_err(|status| to_tonic(&status))?)
            }
            None => None,
        };
        let done = self.now().set_compiled(&request, compiled);
        self.wake();
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A full read of counters has over a hundred thousand cells: what waits to be sent must not grow with their square.
    #[test]
    fn a_message_of_a_read_has_no_room_for_others() {
        let cells = 100 * READ_CHUNK + 1;
        let failed = Some(Status::internal("the rest"));
        let answers = Answers { rest: vec![Entity::default(); cells].into_iter(), failed };
        let (mut sent, mut messages, mut ended) = (0, 0, false);
        for answer in answers {
            let Ok(answer) = answer else {
                ended = true;
                continue;
            };
            assert!(answer.entities.capacity() <= READ_CHUNK, "{}", answer.entities.capacity());
            assert!(!ended, "the failure comes last");
            sent += answer.entities.len();
            messages += 1;
        }
        assert_eq!((sent, messages, ended), (cells, 101, true));
    }
}
