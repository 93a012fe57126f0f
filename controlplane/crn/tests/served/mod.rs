//! softswitch's P4Runtime servers for the switches of a topology, in this process, and the `crn` command.

#![allow(dead_code, reason = "every test binary uses a part of it")]

pub mod proxy;
pub mod running;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use p4runtime::p4::v1::p4_runtime_server::{P4Runtime, P4RuntimeServer};
use p4runtime::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, Error, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, ReadRequest, SetForwardingPipelineConfigRequest,
    SetForwardingPipelineConfigResponse, StreamMessageRequest, Update, WriteRequest, WriteResponse, entity,
    update,
};
use p4runtime::status;
use softswitch::SwitchConfig;
use softswitch::runtime::Runtime;
use softswitch::server::Server;
use softswitch::stratum::Stratum;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, Streaming};

pub fn crn(args: &[String]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crn"));
    command.args(args).env("NO_COLOR", "1").env("COLUMNS", "200").output().unwrap()
}

pub fn topology(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies").join(name)
}

/// A copy of a topology with one thing changed; the folder goes with the first value.
pub fn edited(name: &str, from: &str, to: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(topology(name)).unwrap();
    let changed = text.replacen(from, to, 1);
    assert_ne!(text, changed, "{from}");
    let path = folder.path().join(name);
    std::fs::write(&path, changed).unwrap();
    (folder, path)
}

pub fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// Servers that run as long as this lives.
pub struct Served {
    runtime: Option<tokio::runtime::Runtime>,
    pub addresses: BTreeMap<String, String>,
    /// The switches behind the servers.
    pub switches: BTreeMap<String, Arc<Mutex<Runtime>>>,
    table: Option<u32>,
    stratum: bool,
}

impl Served {
    pub fn new(name: &str) -> Served {
        Served::start(name, None, false)
    }

    /// Switches that take no more than Stratum does on a Tofino.
    pub fn stratum(name: &str) -> Served {
        Served::start(name, None, true)
    }

    /// Switches that take no entry of this table.
    pub fn refusing(name: &str, table: &str) -> Served {
        let pipeline = controller::pipeline::Pipeline::v1model().unwrap();
        Served::start(name, Some(pipeline.index.tables.find(table).unwrap().id), false)
    }

    fn start(name: &str, table: Option<u32>, stratum: bool) -> Served {
        let mut served =
            Served { runtime: None, addresses: BTreeMap::new(), switches: BTreeMap::new(), table, stratum };
        served.restart(name);
        served
    }

    /// Ends all switches, as if their processes had been killed.
    pub fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    /// Starts them anew where they were, empty.
    pub fn restart(&mut self, name: &str) {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let topology = controller::topology::load(&topology(name)).unwrap();
        for (name, switch) in &topology.switches {
            let switch = Arc::new(Mutex::new(Runtime::new(switch.device_id, SwitchConfig::default())));
            self.switches.insert(name.clone(), Arc::clone(&switch));
            let stratum = self.stratum.then(|| Stratum::new(Server::new(Arc::clone(&switch))));
            let service = Refusing { inner: Server::new(switch), table: self.table };
            let wanted = self.addresses.get(name).map_or("127.0.0.1:0", String::as_str).to_owned();
            // The sockets of the one before may take a moment to go.
            let listener = loop {
                match runtime.block_on(TcpListener::bind(&wanted)) {
                    Ok(listener) => break listener,
                    Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse, "{error}"),
                }
            };
            self.addresses.insert(name.clone(), listener.local_addr().unwrap().to_string());
            runtime.spawn(async move {
                let service = P4RuntimeServer::new(service).max_decoding_message_size(64 << 20);
                let mut builder = tonic::transport::Server::builder();
                let server = match stratum {
                    Some(stratum) => builder.add_service(stratum.service()),
                    None => builder.add_service(service),
                };
                server.serve_with_incoming(TcpListenerStream::new(listener)).await
            });
        }
        self.runtime = Some(runtime);
    }

    /// A command's arguments, with the addresses of these servers.
    pub fn args(&self, command: &str, path: &str) -> Vec<String> {
        let mut args = vec![command.to_owned(), path.to_owned()];
        for (name, address) in &self.addresses {
            args.extend(["--at".to_owned(), format!("{name}={address}")]);
        }
        args
    }
}

/// A server that refuses the entries of one table, and makes all other changes of the same batch.
struct Refusing {
    inner: Server,
    table: Option<u32>,
}

impl Refusing {
    fn refuses(&self, update: &Update) -> bool {
        let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
        let table = match entity {
            Some(entity::Entity::TableEntry(entry)) => Some(entry.table_id),
            _ => None,
        };
        table.is_some() && table == self.table && update.r#type() == update::Type::Insert
    }
}

#[tonic::async_trait]
impl P4Runtime for Refusing {
    async fn write(&self, request: Request<WriteRequest>) -> Result<Response<WriteResponse>, Status> {
        let request = request.into_inner();
        let refused: Vec<bool> = request.updates.iter().map(|update| self.refuses(update)).collect();
        if !refused.contains(&true) {
            return self.inner.write(Request::new(request)).await;
        }
        let kept = request.updates.iter().zip(&refused).filter(|(_, refused)| !**refused);
        let updates = kept.map(|(update, _)| update.clone()).collect();
        self.inner.write(Request::new(WriteRequest { updates, ..request })).await?;
        let outcome = |refused: &bool| match refused {
            true => Error { canonical_code: 8, message: "no room for that".to_owned(), ..Error::default() },
            false => Error::default(),
        };
        let outcomes: Vec<Error> = refused.iter().map(outcome).collect();
        Err(status::to_tonic(&status::batch(&outcomes).unwrap()))
    }

    type ReadStream = <Server as P4Runtime>::ReadStream;

    async fn read(&self, request: Request<ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        self.inner.read(request).await
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<SetForwardingPipelineConfigResponse>, Status> {
        self.inner.set_forwarding_pipeline_config(request).await
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<GetForwardingPipelineConfigResponse>, Status> {
        self.inner.get_forwarding_pipeline_config(request).await
    }

    type StreamChannelStream = <Server as P4Runtime>::StreamChannelStream;

    async fn stream_channel(
        &self,
        request: Request<Streaming<StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        self.inner.stream_channel(request).await
    }

    async fn capabilities(
        &self,
        request: Request<CapabilitiesRequest>,
    ) -> Result<Response<CapabilitiesResponse>, Status> {
        self.inner.capabilities(request).await
    }
}
