//! A switch that runs our program and answers a Read with entries without end.

use std::pin::Pin;

use controller::pipeline::Pipeline;
use p4runtime::p4::v1::forwarding_pipeline_config::Cookie;
use p4runtime::p4::v1::p4_runtime_server::{P4Runtime, P4RuntimeServer};
use p4runtime::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, Entity, FieldMatch, ForwardingPipelineConfig,
    GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse, MasterArbitrationUpdate,
    ReadRequest, ReadResponse, SetForwardingPipelineConfigRequest, SetForwardingPipelineConfigResponse,
    StreamMessageRequest, StreamMessageResponse, TableEntry, WriteRequest, WriteResponse, entity,
    field_match, stream_message_request, stream_message_response,
};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status, Streaming};

type Boxed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Where it listens; it ends with the test's process. Each entry's key has so many octets.
pub fn serve(key_octets: usize) -> String {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let service = P4RuntimeServer::new(Endless { cookie: Pipeline::v1model().unwrap().cookie, key_octets });
    std::thread::spawn(move || {
        let server = tonic::transport::Server::builder().add_service(service);
        runtime.block_on(server.serve_with_incoming(TcpListenerStream::new(listener))).unwrap();
    });
    address
}

struct Endless {
    cookie: u64,
    key_octets: usize,
}

#[tonic::async_trait]
impl P4Runtime for Endless {
    type ReadStream = Boxed<ReadResponse>;
    type StreamChannelStream = Boxed<StreamMessageResponse>;

    async fn read(&self, _: Request<ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let exact = field_match::Exact { value: vec![1; self.key_octets] };
        let field_match_type = Some(field_match::FieldMatchType::Exact(exact));
        let key = FieldMatch { field_id: 1, field_match_type };
        let entry = TableEntry { table_id: 0x0200_0001, r#match: vec![key], ..TableEntry::default() };
        let entity = Entity { entity: Some(entity::Entity::TableEntry(entry)) };
        let answer = ReadResponse { entities: vec![entity; 1_000] };
        Ok(Response::new(Box::pin(tokio_stream::iter(std::iter::repeat(answer).map(Ok)))))
    }

    /// Whoever asks is primary.
    async fn stream_channel(
        &self,
        request: Request<Streaming<StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let answers = request.into_inner().filter_map(|message| match message.ok()?.update? {
            stream_message_request::Update::Arbitration(asked) => {
                let told = MasterArbitrationUpdate {
                    status: Some(p4runtime::google::rpc::Status::default()),
                    ..asked
                };
                let update = Some(stream_message_response::Update::Arbitration(told));
                Some(Ok(StreamMessageResponse { update }))
            }
            _ => None,
        });
        Ok(Response::new(Box::pin(answers)))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        _: Request<GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<GetForwardingPipelineConfigResponse>, Status> {
        let cookie = Some(Cookie { cookie: self.cookie });
        let config = Some(ForwardingPipelineConfig { cookie, ..ForwardingPipelineConfig::default() });
        Ok(Response::new(GetForwardingPipelineConfigResponse { config }))
    }

    async fn capabilities(
        &self,
        _: Request<CapabilitiesRequest>,
    ) -> Result<Response<CapabilitiesResponse>, Status> {
        Ok(Response::new(CapabilitiesResponse::default()))
    }

    async fn write(&self, _: Request<WriteRequest>) -> Result<Response<WriteResponse>, Status> {
        Err(Status::unimplemented("nobody writes here"))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        _: Request<SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<SetForwardingPipelineConfigResponse>, Status> {
        Err(Status::unimplemented("nobody pushes here"))
    }
}
