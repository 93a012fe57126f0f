//! P4Runtime with the switch.

use std::collections::BTreeMap;
use std::time::Duration;

use p4runtime::bytes;
use p4runtime::client::{Client, ClientError, Event, Options, WriteError};
use p4runtime::index::Object as _;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime::p4::v1::{CounterEntry, Entity, PacketMetadata, PacketOut, Update, entity};
use tokio::time::Instant;

use super::{Frames, PATIENCE, RETRY, process};
use crate::program::{CPU_PORT, Program};
use crate::setup::{Entry, updates};
use crate::target::{Count, Seen, TargetError, counted};

/// Octets of `packet_out` and `packet_in`: a port in nine bits, seven bits of padding.
const HEADER: usize = 2;
/// The id of the port in both.
const PORT: u32 = 1;

/// The switch's controller.
pub(super) struct Controller {
    client: Client,
}

impl Controller {
    /// Connects, pushes the pipeline, writes the entries.
    pub(super) async fn configure(program: &Program, entries: &[Entry]) -> Result<Controller, TargetError> {
        let client = connect().await.map_err(|error| TargetError::switch("P4Runtime", &error))?;
        let mut controller = Controller { client };
        controller
            .client
            .set_pipeline(Action::VerifyAndCommit, Some(program.pipeline()))
            .await
            .map_err(|error| TargetError::switch("pipeline", &error))?;
        if !entries.is_empty() {
            controller.write(program, entries).await?;
        }
        Ok(controller)
    }

    pub(super) async fn write(&mut self, program: &Program, entries: &[Entry]) -> Result<(), TargetError> {
        let updates = updates(entries, program)?;
        self.client.write(updates).await.map_err(|error| TargetError::switch("entries", &error))
    }

    /// Writes updates as they are.
    pub(super) async fn apply(&mut self, updates: Vec<Update>) -> Result<(), WriteError> {
        self.client.write(updates).await
    }

    /// Sends a frame with its `packet_out` header.
    pub(super) async fn packet_out(&self, program: &Program, octets: &[u8]) -> Result<(), TargetError> {
        let (header, payload) = octets
            .split_at_checked(HEADER)
            .ok_or_else(|| TargetError::Setup("a packet-out without header".to_owned()))?;
        let fields = &program
            .index
            .controller_headers
            .find("packet_out")
            .map_err(|error| TargetError::Setup(error.to_string()))?;
        let port = u128::from(u16::from_be_bytes([header[0], header[1]]) >> 7);
        let metadata = fields
            .fields
            .iter()
            .map(|field| PacketMetadata {
                metadata_id: field.id,
                value: bytes::encode(if field.id == PORT { port } else { 0 }),
            })
            .collect();
        let packet = PacketOut { payload: payload.to_vec(), metadata };
        self.client.packet_out(packet).await.map_err(|error| TargetError::switch("packet-out", &error))
    }

    /// Takes all packets that the switch has sent to its controller, after waiting for the first of them so long.
    pub(super) async fn collect(
        &mut self,
        frames: &mut Frames,
        at_us: u64,
        wait: Duration,
    ) -> Result<(), TargetError> {
        let mut next = tokio::time::timeout(wait, self.client.event()).await.ok().flatten();
        while let Some(event) = next.take().or_else(|| self.client.try_event()) {
            match event {
                Event::PacketIn(packet) => {
                    let port = packet.metadata.iter().find(|field| field.metadata_id == PORT);
                    let port = port.map_or(0, |field| {
                        field.value.iter().fold(0u16, |value, &octet| value << 8 | u16::from(octet))
                    });
                    let mut octets = (port << 7).to_be_bytes().to_vec();
                    octets.extend(&packet.payload);
                    frames.entry(CPU_PORT).or_default().push(Seen { octets, at_us });
                }
                Event::Error(error) => return Err(TargetError::switch("stream", &error.message)),
                _ => {}
            }
        }
        Ok(())
    }

    /// All counter cells that aren't 0.
    pub(super) async fn counters(
        &mut self,
        program: &Program,
    ) -> Result<BTreeMap<(String, u64), Count>, TargetError> {
        let mut cells = BTreeMap::new();
        for counter in &program.index.counters {
            let all = CounterEntry { counter_id: counter.id(), index: None, data: None };
            let asked = vec![Entity { entity: Some(entity::Entity::CounterEntry(all)) }];
            let read =
                self.client.read(asked).await.map_err(|error| TargetError::switch("counters", &error))?;
            cells.extend(read.iter().filter_map(|entity| counted(entity, counter.alias())));
        }
        Ok(cells)
    }
}

async fn connect() -> Result<Client, ClientError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match Client::connect(process::GRPC_ADDRESS, Options::default()).await {
            Err(ClientError::Connect { .. }) if Instant::now() < deadline => tokio::time::sleep(RETRY).await,
            result => return result,
        }
    }
}
