//! A controller, its clients and its switches in virtual time.

use p4runtime::p4::v1::{Entity, Update, entity, packet_replication_engine_entry, update};

use super::*;
use crate::client::in_process::{Programs, Session};
use crate::client::{FailedUpdate, InProcessClient, Reply, Target};
use crate::pipeline::Pipeline;

/// A switch that remembers what it is told, and in which order.
#[derive(Default)]
pub(super) struct FakeSwitch {
    pub(super) cookie: Option<u64>,
    pub(super) held: Vec<Entity>,
    pub(super) log: Vec<String>,
    pub(super) other_primary: bool,
    pub(super) refuse: Option<RequestError>,
    pub(super) unasked: VecDeque<Event>,
    /// Entries of this table are refused, one by one.
    pub(super) full_table: Option<u32>,
    /// The next write breaks off after so many updates.
    pub(super) breaks_after: Option<usize>,
    pub(super) claims: Vec<u128>,
    /// Nobody answers.
    pub(super) away: bool,
}

impl FakeSwitch {
    fn table(entity: &Entity) -> Option<u32> {
        match entity.entity.as_ref()? {
            entity::Entity::TableEntry(entry) => Some(entry.table_id),
            _ => None,
        }
    }

    /// Makes what it can, as BMv2: the updates that it refuses don't keep the others from being made.
    fn write(&mut self, updates: &[Update]) -> Vec<FailedUpdate> {
        let mut failed = Vec::new();
        for (index, update) in updates.iter().enumerate() {
            let entity = update.entity.clone().expect("an entity");
            if self.full_table.is_some()
                && Self::table(&entity) == self.full_table
                && update.r#type() == update::Type::Insert
            {
                let message = "the table is full".to_owned();
                failed.push(FailedUpdate { index, code: 8, message });
                continue;
            }
            match update.r#type() {
                update::Type::Delete => self.held.retain(|other| !same_key(other, &entity)),
                update::Type::Insert => {
                    assert!(!self.held.contains(&entity), "written twice: {entity:?}");
                    self.held.push(entity);
                }
                update::Type::Modify => {
                    assert!(!self.held.contains(&entity), "written twice: {entity:?}");
                    self.held.retain(|other| !same_key(other, &entity));
                    if !unset(&entity) {
                        self.held.push(entity);
                    }
                }
                update::Type::Unspecified => panic!("no type"),
            }
        }
        failed
    }
}

/// Meters and default actions that say nothing are as after the start.
fn unset(entity: &Entity) -> bool {
    match &entity.entity {
        Some(entity::Entity::TableEntry(entry)) => entry.action.is_none(),
        Some(entity::Entity::MeterEntry(meter)) => meter.config.is_none(),
        _ => false,
    }
}

/// Whether two entities are the same but for what they say.
fn same_key(one: &Entity, other: &Entity) -> bool {
    let bare = |entity: &Entity| {
        let mut entity = entity.clone();
        match &mut entity.entity {
            Some(entity::Entity::TableEntry(entry)) => entry.action = None,
            Some(entity::Entity::MeterEntry(meter)) => meter.config = None,
            Some(entity::Entity::PacketReplicationEngineEntry(entry)) => {
                if let Some(packet_replication_engine_entry::Type::CloneSessionEntry(session)) =
                    &mut entry.r#type
                {
                    session.replicas.clear();
                }
            }
            _ => {}
        }
        entity
    };
    bare(one) == bare(other)
}

pub(super) fn is_copy(entity: &Entity) -> bool {
    matches!(entity.entity, Some(entity::Entity::PacketReplicationEngineEntry(_)))
}

impl Target for FakeSwitch {
    fn poll_event(&mut self, _: &mut Session) -> Option<Event> {
        self.unasked.pop_front()
    }

    fn serve(&mut self, _: &mut Session, request: &Request) -> Result<Reply, RequestError> {
        if self.away {
            return Err(RequestError::Unreachable("connection refused".to_owned()));
        }
        let (name, reply) = match request {
            Request::Arbitrate { election_id } => {
                self.claims.push(*election_id);
                ("arbitrate".to_owned(), Reply::Arbitration { primary: !self.other_primary })
            }
            Request::GetCookie => ("cookie".to_owned(), Reply::Cookie(self.cookie)),
            Request::SetPipeline(pipeline) => {
                if let Some(error) = self.refuse.take() {
                    return Err(error);
                }
                self.cookie = Some(pipeline.cookie);
                // As BMv2: copies survive a push.
                self.held.retain(is_copy);
                ("push".to_owned(), Reply::Done)
            }
            Request::Write(updates) => {
                if let Some(made) = self.breaks_after.take() {
                    self.write(&updates[..made]);
                    return Err(RequestError::Unreachable("connection reset".to_owned()));
                }
                let failed = self.write(updates);
                if !failed.is_empty() {
                    self.log.push(format!("write {} refused {}", updates.len(), failed.len()));
                    return Err(RequestError::Updates { failed, of: updates.len() });
                }
                (format!("write {}", updates.len()), Reply::Done)
            }
            Request::Read(asked) => {
                let counters = matches!(asked[0].entity, Some(entity::Entity::CounterEntry(_)));
                let copies = asked.iter().all(is_copy);
                let kind = |entity: &&Entity| {
                    let counter = matches!(entity.entity, Some(entity::Entity::CounterEntry(_)));
                    counter == counters && (!copies || is_copy(entity))
                };
                let found = self.held.iter().filter(kind).cloned().collect();
                let name = if counters {
                    "read counters"
                } else if copies {
                    "read copies"
                } else {
                    "read"
                };
                (name.to_owned(), Reply::Entities(found))
            }
            Request::PacketOut(_) => ("packet".to_owned(), Reply::Done),
        };
        self.log.push(name);
        Ok(reply)
    }
}

pub(super) const DELAY: Nanos = Nanos(1_000);

/// A controller, its clients and its switches in virtual time.
pub(super) struct Lab {
    pub(super) controller: Controller,
    pub(super) clients: BTreeMap<String, InProcessClient>,
    pub(super) switches: BTreeMap<String, FakeSwitch>,
    pub(super) now: Nanos,
}

pub(super) fn text(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies").join(name);
    std::fs::read_to_string(path).expect("readable")
}

pub(super) fn parse(text: &str) -> Topology {
    topology::parse("test", text).expect("accepted")
}

pub(super) fn pipeline() -> Arc<Pipeline> {
    Arc::new(Pipeline::v1model().expect("usable"))
}

impl Lab {
    pub(super) fn new(topology: &Topology) -> Self {
        let controller = Controller::new(pipeline(), topology, 1).expect("fits");
        let names = topology.switches.keys();
        Self {
            controller,
            clients: names
                .clone()
                .map(|name| (name.clone(), InProcessClient::new(1, DELAY, Programs::default())))
                .collect(),
            switches: names.map(|name| (name.clone(), FakeSwitch::default())).collect(),
            now: Nanos(0),
        }
    }

    /// Runs until nothing is under way, and gives what the controller told.
    pub(super) fn run(&mut self) -> Vec<ControllerEvent> {
        let mut told = Vec::new();
        loop {
            pump(&mut self.controller, &mut self.clients, self.now);
            told.extend(std::iter::from_fn(|| self.controller.poll_event()));
            let times =
                self.clients.values().flat_map(|client| [client.next_service(), client.poll_timeout()]);
            let Some(next) = times.flatten().min() else { return told };
            self.now = next;
            for (name, client) in &mut self.clients {
                client.serve(self.switches.get_mut(name).expect("there"), next);
            }
        }
    }

    /// The switch sends something by itself.
    pub(super) fn unasked(&mut self, switch: &str, event: Event) {
        let target = self.switches.get_mut(switch).expect("there");
        target.unasked.push_back(event);
        self.clients.get_mut(switch).expect("there").listen(target, self.now);
    }

    pub(super) fn log(&mut self, switch: &str) -> Vec<String> {
        std::mem::take(&mut self.switches.get_mut(switch).expect("there").log)
    }
}
