//! The calls.

use p4runtime::p4::v1::p4_runtime_server::P4Runtime;
use p4runtime::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, ReadRequest, SetForwardingPipelineConfigRequest,
    SetForwardingPipelineConfigResponse, StreamMessageRequest, StreamMessageResponse, WriteRequest,
    WriteResponse,
};
use p4runtime::status::to_tonic;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::read::Answers;
use super::{STREAM_MESSAGES, Server, lock};

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
