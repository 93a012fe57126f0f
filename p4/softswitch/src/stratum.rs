//! A switch behind a server that takes no more than Stratum does on a Tofino, for controllers to be tried against.
//!
//! The limits are those of Stratum's source: a device configuration that is a serialised `BfPipelineConfig`,
//! `CONTINUE_ON_ERROR` only, clone sessions up to 1015 with one copy, its port in the older of the two fields, no instance
//! and a class of service below 8, members of weight 1 that watch no port, no registers, direct meters or value sets,
//! no reads of all meters, digests or action profiles at once, don't-care fields left out of keys. What the switch runs
//! is the profile's binary: here BMv2's JSON.

use p4runtime::p4::v1::p4_runtime_server::{P4Runtime, P4RuntimeServer};
use p4runtime::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, CloneSessionEntry, Entity, Error,
    GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse, ReadRequest,
    SetForwardingPipelineConfigRequest, SetForwardingPipelineConfigResponse, StreamMessageRequest, Update,
    WriteRequest, WriteResponse, entity, packet_replication_engine_entry as pre, replica, update,
    write_request,
};
use p4runtime::status::{self, Code};
use p4runtime::stratum::BfPipelineConfig;
use prost::Message as _;
use tonic::{Request, Response, Status, Streaming};

use crate::server::{MESSAGE_OCTETS, Server};

/// The highest clone session.
const LAST_SESSION: u32 = 1015;
/// Classes of service.
const CLASSES: u32 = 8;

/// Serves one switch within Stratum's limits.
#[derive(Clone, Debug)]
pub struct Stratum {
    inner: Server,
}

/// Why something isn't taken.
type Refusal = (Code, &'static str);

impl Stratum {
    /// The same switch as `server` serves.
    pub fn new(server: Server) -> Self {
        Self { inner: server }
    }

    /// The gRPC service, to be put beside others.
    pub fn service(&self) -> P4RuntimeServer<Self> {
        P4RuntimeServer::new(self.clone())
            .max_decoding_message_size(MESSAGE_OCTETS)
            .max_encoding_message_size(MESSAGE_OCTETS)
    }
}

fn refused((code, message): Refusal) -> Error {
    Error { canonical_code: code as i32, message: message.to_owned(), ..Error::default() }
}

/// What Stratum would say to an update before it looks at its tables.
fn check_update(update: &Update) -> Result<(), Refusal> {
    let invalid = |message| Err((Code::InvalidArgument, message));
    match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
        Some(
            entity::Entity::RegisterEntry(_)
            | entity::Entity::DirectMeterEntry(_)
            | entity::Entity::ValueSetEntry(_),
        ) => Err((Code::Unimplemented, "unsupported entity type")),
        Some(entity::Entity::TableEntry(entry)) if entry.meter_config.is_some() => {
            Err((Code::Unimplemented, "meter configs on table entries are not supported"))
        }
        Some(entity::Entity::ActionProfileGroup(group)) => {
            let watches = group.members.iter().any(|member| member.watch_kind.is_some());
            let weighted = group.members.iter().any(|member| member.weight != 1);
            match (watches, weighted) {
                (true, _) => invalid("watch ports are not supported"),
                (_, true) => Err((Code::Unimplemented, "member weights other than 1 are not supported")),
                _ => Ok(()),
            }
        }
        Some(entity::Entity::MeterEntry(_) | entity::Entity::CounterEntry(_))
            if update.r#type() != update::Type::Modify =>
        {
            invalid("cells can only be modified")
        }
        Some(entity::Entity::PacketReplicationEngineEntry(entry)) => match &entry.r#type {
            Some(pre::Type::CloneSessionEntry(session)) => check_session(session, update.r#type()),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn check_session(session: &CloneSessionEntry, how: update::Type) -> Result<(), Refusal> {
    let invalid = |message| Err((Code::InvalidArgument, message));
    if !(1..=LAST_SESSION).contains(&session.session_id) {
        return invalid("invalid session id");
    }
    if !(0..=i32::from(u16::MAX)).contains(&session.packet_length_bytes) {
        return invalid("packet length exceeds maximum value");
    }
    if how == update::Type::Delete {
        return Ok(());
    }
    let [copy] = session.replicas.as_slice() else { return invalid("multiple replicas are not supported") };
    #[expect(deprecated, reason = "the only field that Stratum reads")]
    let port = match copy.port_kind {
        Some(replica::PortKind::EgressPort(port)) => port,
        _ => 0,
    };
    if port == 0 {
        return invalid("invalid egress port in replica");
    }
    if copy.instance != 0 {
        return invalid("instances on replicas are not supported");
    }
    if session.class_of_service >= CLASSES {
        return invalid("class of service must be smaller than 8");
    }
    Ok(())
}

fn check_read(entity: &Entity) -> Result<(), Refusal> {
    let invalid = |message| Err((Code::InvalidArgument, message));
    match &entity.entity {
        Some(entity::Entity::TableEntry(entry)) if entry.is_default_action && entry.table_id == 0 => {
            invalid("missing table id on default action read")
        }
        Some(entity::Entity::MeterEntry(entry)) if entry.meter_id == 0 => {
            invalid("wildcard meter reads are not supported")
        }
        Some(entity::Entity::DigestEntry(entry)) if entry.digest_id == 0 => invalid("missing digest id"),
        Some(entity::Entity::ActionProfileMember(member)) if member.action_profile_id == 0 => {
            invalid("reading all action profiles is not supported yet")
        }
        Some(entity::Entity::ActionProfileGroup(group)) if group.action_profile_id == 0 => {
            invalid("reading all action profiles is not supported yet")
        }
        Some(
            entity::Entity::RegisterEntry(_)
            | entity::Entity::DirectMeterEntry(_)
            | entity::Entity::ValueSetEntry(_),
        ) => Err((Code::Unimplemented, "unsupported entity type")),
        _ => Ok(()),
    }
}

/// Whose class of service is set aside: the switch behind has none.
fn without_class(update: &Update) -> Update {
    let mut update = update.clone();
    if let Some(entity::Entity::PacketReplicationEngineEntry(entry)) =
        update.entity.as_mut().and_then(|entity| entity.entity.as_mut())
        && let Some(pre::Type::CloneSessionEntry(session)) = &mut entry.r#type
    {
        session.class_of_service = 0;
    }
    update
}

#[tonic::async_trait]
impl P4Runtime for Stratum {
    async fn write(&self, request: Request<WriteRequest>) -> Result<Response<WriteResponse>, Status> {
        let request = request.into_inner();
        if request.atomicity != write_request::Atomicity::ContinueOnError as i32 {
            return Err(Status::invalid_argument("request atomicity is not supported"));
        }
        let mut outcomes: Vec<Error> = request
            .updates
            .iter()
            .map(|update| check_update(update).map_or_else(refused, |()| Error::default()))
            .collect();
        let good: Vec<usize> = (0..outcomes.len())
            .filter(|index| outcomes.get(*index).is_some_and(|it| it.canonical_code == 0))
            .collect();
        let updates =
            good.iter().filter_map(|index| request.updates.get(*index)).map(without_class).collect();
        if let Err(failed) = self.inner.write(Request::new(WriteRequest { updates, ..request })).await {
            let inner = status::outcomes(&status::from_tonic(&failed));
            if inner.len() != good.len() {
                return Err(failed);
            }
            for (index, outcome) in good.into_iter().zip(inner) {
                if let Some(place) = outcomes.get_mut(index) {
                    *place = outcome;
                }
            }
        }
        match status::batch(&outcomes) {
            Some(status) => Err(status::to_tonic(&status)),
            None => Ok(Response::new(WriteResponse {})),
        }
    }

    type ReadStream = <Server as P4Runtime>::ReadStream;

    async fn read(&self, request: Request<ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let checked: Vec<Error> = request
            .get_ref()
            .entities
            .iter()
            .map(|entity| check_read(entity).map_or_else(refused, |()| Error::default()))
            .collect();
        match status::batch(&checked) {
            Some(status) => Err(status::to_tonic(&status)),
            None => self.inner.read(request).await,
        }
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<SetForwardingPipelineConfigResponse>, Status> {
        let mut request = request.into_inner();
        if let Some(config) = &mut request.config {
            let packed = BfPipelineConfig::decode(config.p4_device_config.as_slice());
            let packed =
                packed.map_err(|_| Status::invalid_argument("unknown format for p4_device_config"))?;
            let mut profiles = packed.profiles.into_iter();
            let (Some(profile), None) = (profiles.next(), profiles.next()) else {
                return Err(Status::invalid_argument("a program of one pipeline is wanted"));
            };
            if packed.bfruntime_info.is_empty() || profile.context.is_empty() {
                return Err(Status::invalid_argument("the BF-RT schema or the context is missing"));
            }
            config.p4_device_config = profile.binary;
        }
        self.inner.set_forwarding_pipeline_config(Request::new(request)).await
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
