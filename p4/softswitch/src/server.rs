//! P4Runtime over gRPC.
//!
//! The switch's [`Runtime`] stands behind a lock that is never held while anything is waited for: a call takes it for
//! as long as its own changes take, long Writes in parts, and a program is compiled before it is taken. Whoever moves
//! packets takes it with [`Server::runtime`] for a batch of them, calls [`Runtime::advance`], lets go, and calls
//! [`Server::deliver`]. The lock is fair: of two that want it again and again, each gets every second turn.

mod read;
mod service;

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use p4runtime::p4::v1::p4_runtime_server::P4RuntimeServer;
use p4runtime::p4::v1::{
    Error, StreamMessageRequest, StreamMessageResponse, Update, WriteRequest, stream_message_response,
    write_request,
};
use p4runtime::status::{self, to_tonic};
pub use read::Answers;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::ServerTlsConfig;
use tonic::{Status, Streaming};

use crate::runtime::{Programs, Runtime, StreamId};

/// Largest message taken or sent, octets.
pub(crate) const MESSAGE_OCTETS: usize = 256 << 20;

/// Messages that wait for one controller. Packets and digests leave the last [`RESERVED_MESSAGES`] places free.
const STREAM_MESSAGES: usize = 4096;

/// Places that only arbitration and errors may take.
const RESERVED_MESSAGES: usize = 256;

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
