//! P4Runtime with the switch.

use std::collections::BTreeMap;
use std::time::Duration;

use p4runtime::client::{Client, ClientError, Options};
use p4runtime::index::Object as _;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime::p4::v1::{CounterEntry, Entity, Update, entity};
use tokio::time::Instant;

use super::{PATIENCE, process};
use crate::program::Program;
use crate::target::{Count, TargetError, counted};

/// Between two attempts to connect to a switch that is starting.
const RETRY: Duration = Duration::from_millis(20);

/// Connects, pushes the pipeline, writes the entries.
pub(super) async fn configure(program: &Program, updates: Vec<Update>) -> Result<Client, TargetError> {
    let mut client = connect().await.map_err(|error| TargetError::switch("P4Runtime", &error))?;
    client
        .set_pipeline(Action::VerifyAndCommit, Some(program.pipeline()))
        .await
        .map_err(|error| TargetError::switch("pipeline", &error))?;
    client.write(updates).await.map_err(|error| TargetError::switch("entries", &error))?;
    Ok(client)
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

/// All counter cells that aren't 0.
pub(super) async fn counters(
    client: &mut Client,
    program: &Program,
) -> Result<BTreeMap<(String, u64), Count>, TargetError> {
    let mut cells = BTreeMap::new();
    for counter in &program.index.counters {
        let all = CounterEntry { counter_id: counter.id(), index: None, data: None };
        let asked = vec![Entity { entity: Some(entity::Entity::CounterEntry(all)) }];
        let read = client.read(asked).await.map_err(|error| TargetError::switch("counters", &error))?;
        cells.extend(read.iter().filter_map(|entity| counted(entity, counter.alias())));
    }
    Ok(cells)
}
