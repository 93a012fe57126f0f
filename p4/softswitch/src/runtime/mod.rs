//! P4Runtime over a switch, without sockets, threads or a clock.
//!
//! [`Runtime`] is what the API calls a device: a [`Switch`], the P4Info to see it by, the pipeline's cookie, and who
//! may write. Calls take and give the API's own messages; [`crate::server`] carries them over gRPC, and a controller in
//! the same process calls them directly. Changes are made between packets: whoever moves packets through
//! [`Runtime::switch_mut`] also calls [`Runtime::advance`], which turns what the switch has for the controller into
//! stream messages, to be taken from [`Runtime::poll_response`].
//!
//! Ids come from P4Info; names in messages are P4Info's. Priorities are P4Runtime's (high wins). Reads are sorted.

mod arbitration;
mod arrays;
mod atomic;
mod convert;
mod device;
mod digests;
mod fault;
#[cfg(feature = "grpc")]
pub(crate) mod large_read;
mod packets;
mod pipeline;
mod profiles;
mod programs;
mod reconcile;
mod replication;
mod stream;
mod table_read;
mod table_write;
mod watch;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use p4runtime::client::from_uint128;
use p4runtime::google::rpc::Status;
use p4runtime::p4::v1::{
    CapabilitiesResponse, Entity, Error, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, ReadRequest, SetForwardingPipelineConfigRequest,
    StreamMessageResponse, Update, WriteRequest, get_forwarding_pipeline_config_request as get,
    set_forwarding_pipeline_config_request as set, write_request,
};
use p4runtime::status::{self, Code};

use crate::{PortConfig, Switch, SwitchConfig};
use arbitration::{Arbitration, numbered_role};
use device::Device;
use fault::Fault;
use pipeline::Pipeline;

pub use programs::Programs;

/// A controller's stream, for as long as it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub u64);

/// A program that [`Runtime::compile`] has made ready.
#[derive(Clone, Debug)]
pub struct Compiled(Arc<Pipeline>);

/// A P4Runtime device.
#[derive(Debug)]
pub struct Runtime {
    config: SwitchConfig,
    ports: BTreeMap<u16, PortConfig>,
    /// Ports whose link is down.
    down: BTreeSet<u16>,
    /// What packets go through.
    active: Option<Device>,
    /// What `VERIFY_AND_SAVE` has made: controllers already see it, packets don't.
    saved: Option<Device>,
    arbitration: Arbitration,
    last_stream: u64,
    outbox: VecDeque<(StreamId, StreamMessageResponse)>,
    dropped: u64,
    now_ns: u64,
}

impl Runtime {
    /// A device without program: it drops nothing and forwards nothing until a pipeline is set.
    pub fn new(device_id: u64, config: SwitchConfig) -> Runtime {
        Runtime {
            config,
            ports: BTreeMap::new(),
            down: BTreeSet::new(),
            active: None,
            saved: None,
            arbitration: Arbitration::new(device_id),
            last_stream: 0,
            outbox: VecDeque::new(),
            dropped: 0,
            now_ns: 0,
        }
    }

    /// A device that starts with a program.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`: the program can't be run, or P4Info and program don't belong together.
    pub fn with_pipeline(
        device_id: u64,
        config: SwitchConfig,
        pipeline: ForwardingPipelineConfig,
    ) -> Result<Runtime, Status> {
        let mut runtime = Runtime::new(device_id, config);
        runtime.active = Some(runtime.start(Runtime::compile(pipeline)?));
        Ok(runtime)
    }

    /// The switch that packets go through; `None` before a pipeline was set.
    pub fn switch(&self) -> Option<&Switch> {
        self.active.as_ref().map(|device| &device.switch)
    }

    /// As [`Runtime::switch`], to move packets.
    pub fn switch_mut(&mut self) -> Option<&mut Switch> {
        self.active.as_mut().map(|device| &mut device.switch)
    }

    /// Configures a port, now and for every program to come.
    pub fn set_port(&mut self, port: u16, config: PortConfig) {
        self.ports.insert(port, config);
        for device in self.active.iter_mut().chain(&mut self.saved) {
            device.switch.set_port(port, config);
        }
    }

    /// Compiles a program and binds it to its P4Info. Takes time and touches no device.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`: the program can't be run, or P4Info and program don't belong together.
    pub fn compile(config: ForwardingPipelineConfig) -> Result<Compiled, Status> {
        Ok(Compiled(Arc::new(Pipeline::new(config)?)))
    }

    fn start(&self, compiled: Compiled) -> Device {
        let pipeline = compiled.0;
        let mut switch = Switch::new(pipeline.program.clone(), self.config.clone());
        for (&port, &config) in &self.ports {
            switch.set_port(port, config);
        }
        let mut device = Device::new(pipeline, switch, self.now_ns);
        device.down.clone_from(&self.down);
        device
    }

    /// The device that controllers see.
    fn seen(&self) -> Result<&Device, Fault> {
        self.saved.as_ref().or(self.active.as_ref()).ok_or_else(no_pipeline)
    }

    fn seen_mut(&mut self) -> Result<&mut Device, Fault> {
        self.saved.as_mut().or(self.active.as_mut()).ok_or_else(no_pipeline)
    }

    /// Makes changes, in order. By the request's atomicity, a failed one doesn't keep the others from being made
    /// (`CONTINUE_ON_ERROR`), or none is made.
    ///
    /// # Errors
    /// `NOT_FOUND` (another device), `PERMISSION_DENIED` (not the role's primary), `FAILED_PRECONDITION` (no pipeline),
    /// `INVALID_ARGUMENT` (an unknown atomicity): nothing was made. `UNKNOWN`: some were not made (with another atomicity
    /// than `CONTINUE_ON_ERROR`, none);
    /// [`p4runtime::status::outcomes`] says which and why.
    pub fn write(&mut self, request: &WriteRequest) -> Result<(), Status> {
        self.arbitration.check_device(request.device_id)?;
        #[expect(deprecated, reason = "clients of older versions send it")]
        let role = numbered_role(&request.role, request.role_id);
        self.arbitration.check_primary(&role, request.election_id.map(from_uint128))?;
        let atomicity = write_request::Atomicity::try_from(request.atomicity)
            .map_err(|_| Fault::invalid(format!("atomicity {} is not known", request.atomicity)))?;
        let device = self.seen_mut()?;
        let outcomes = match atomicity {
            write_request::Atomicity::ContinueOnError => device.write(&request.updates),
            write_request::Atomicity::RollbackOnError | write_request::Atomicity::DataplaneAtomic => {
                device.write_whole(&request.updates)
            }
        };
        status::batch(&outcomes).map_or(Ok(()), Err)
    }

    /// Makes changes without asking who makes them: for whoever owns the switch. One outcome for each, code 0 if made.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION`: no pipeline.
    pub fn apply(&mut self, updates: &[Update]) -> Result<Vec<Error>, Status> {
        Ok(self.seen_mut()?.write(updates))
    }

    /// Reads entities, those of each request sorted.
    ///
    /// # Errors
    /// As [`Runtime::read_each`], whatever else was found.
    pub fn read(&self, request: &ReadRequest) -> Result<Vec<Entity>, Status> {
        let (found, failed) = self.read_each(request);
        failed.map_or(Ok(found), Err)
    }

    /// Reads entities; what was found is given even if some requests failed.
    ///
    /// The status is `NOT_FOUND` (another device), `FAILED_PRECONDITION` (no pipeline), or `UNKNOWN` with one outcome for
    /// each request.
    pub fn read_each(&self, request: &ReadRequest) -> (Vec<Entity>, Option<Status>) {
        let seen = self.arbitration.check_device(request.device_id).and_then(|()| self.seen());
        let device = match seen {
            Ok(device) => device,
            Err(fault) => return (Vec::new(), Some(fault.into())),
        };
        let mut found = Vec::new();
        let outcomes: Vec<Error> = request
            .entities
            .iter()
            .map(|entity| match device.read(entity) {
                Ok(entities) => {
                    found.extend(entities);
                    Error::default()
                }
                Err(fault) => fault.outcome(),
            })
            .collect();
        (found, status::batch(&outcomes))
    }

    /// Gives the device a program, or takes up a saved one. A program that is taken up starts without entries, clone
    /// sessions and multicast groups (but for `RECONCILE_AND_COMMIT`), and what was queued is lost.
    ///
    /// # Errors
    /// `NOT_FOUND` (another device; nothing saved), `PERMISSION_DENIED`, `INVALID_ARGUMENT` (the program can't be run, or
    /// can't keep the entries).
    pub fn set_pipeline(&mut self, request: &SetForwardingPipelineConfigRequest) -> Result<(), Status> {
        self.check_pipeline(request)?;
        let compiled = request.config.clone().map(Runtime::compile).transpose()?;
        self.set_compiled(request, compiled)
    }

    /// Whether [`Runtime::set_pipeline`] would look at the request's program at all.
    ///
    /// # Errors
    /// `NOT_FOUND` (another device), `PERMISSION_DENIED`, `INVALID_ARGUMENT` (unknown action, config missing or too much).
    pub fn check_pipeline(&self, request: &SetForwardingPipelineConfigRequest) -> Result<(), Status> {
        self.arbitration.check_device(request.device_id)?;
        #[expect(deprecated, reason = "clients of older versions send it")]
        let role = numbered_role(&request.role, request.role_id);
        self.arbitration.check_primary(&role, request.election_id.map(from_uint128))?;
        let fault = match (set::Action::try_from(request.action).unwrap_or_default(), &request.config) {
            (set::Action::Unspecified, _) => format!("action {} is not known", request.action),
            (set::Action::Commit, Some(_)) => {
                "COMMIT takes what was saved: no config may be given".to_owned()
            }
            (set::Action::Commit, None) | (_, Some(_)) => return Ok(()),
            (_, None) => "no config was given".to_owned(),
        };
        Err(Fault::invalid(fault).into())
    }

    /// As [`Runtime::set_pipeline`], with the program already compiled, so that packets needn't wait for that.
    ///
    /// # Errors
    /// As [`Runtime::set_pipeline`].
    pub fn set_compiled(
        &mut self,
        request: &SetForwardingPipelineConfigRequest,
        compiled: Option<Compiled>,
    ) -> Result<(), Status> {
        self.check_pipeline(request)?;
        let Some(compiled) = compiled else {
            let saved = self.saved.take();
            self.active = Some(saved.ok_or_else(|| Fault::new(Code::NotFound, "no config was saved"))?);
            return Ok(());
        };
        let mut device = self.start(compiled);
        match set::Action::try_from(request.action).unwrap_or_default() {
            // It was compiled: that is all the verification there is.
            set::Action::Verify | set::Action::Unspecified | set::Action::Commit => return Ok(()),
            set::Action::VerifyAndSave => {
                self.saved = Some(device);
                return Ok(());
            }
            set::Action::VerifyAndCommit => {}
            set::Action::ReconcileAndCommit => {
                if let Some(old) = &self.active {
                    reconcile::keep_entries(old, &mut device)?;
                }
            }
        }
        self.active = Some(device);
        self.saved = None;
        Ok(())
    }

    /// The program that controllers see, or parts of it; without program the answer is empty.
    ///
    /// # Errors
    /// `NOT_FOUND` (another device), `INVALID_ARGUMENT` (unknown response type).
    pub fn get_pipeline(
        &self,
        request: &GetForwardingPipelineConfigRequest,
    ) -> Result<GetForwardingPipelineConfigResponse, Status> {
        self.arbitration.check_device(request.device_id)?;
        let kind = get::ResponseType::try_from(request.response_type)
            .map_err(|_| Fault::invalid(format!("response type {} is not known", request.response_type)))?;
        let Ok(device) = self.seen() else {
            return Ok(GetForwardingPipelineConfigResponse { config: None });
        };
        let has = &device.pipeline.config;
        let p4info = matches!(kind, get::ResponseType::All | get::ResponseType::P4infoAndCookie);
        let program = matches!(kind, get::ResponseType::All | get::ResponseType::DeviceConfigAndCookie);
        let config = ForwardingPipelineConfig {
            p4info: if p4info { has.p4info.clone() } else { None },
            p4_device_config: if program { has.p4_device_config.clone() } else { Vec::new() },
            cookie: has.cookie,
        };
        Ok(GetForwardingPipelineConfigResponse { config: Some(config) })
    }

    /// The API version.
    pub fn capabilities(&self) -> CapabilitiesResponse {
        CapabilitiesResponse { p4runtime_api_version: p4runtime::API_VERSION.to_owned() }
    }
}

fn no_pipeline() -> Fault {
    Fault::new(Code::FailedPrecondition, "no pipeline was set")
}
