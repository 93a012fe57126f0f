//! The packet replication engine: clone sessions and multicast groups.

use p4runtime::bytes;
use p4runtime::p4::v1::{
    self as api, CloneSessionEntry, MulticastGroupEntry, PacketReplicationEngineEntry, entity,
    packet_replication_engine_entry as pre, replica, update,
};
use p4runtime::status::Code;

use super::device::Device;
use super::fault::Fault;
use crate::control::{CloneSession, Replica};

/// v1model's ports have 9 bits.
const PORT_BITS: usize = 9;

/// `simple_switch` maps session s to group 32768 + s.
const MOST_SESSIONS: u32 = 32767;

impl Device {
    pub(super) fn write_clone_session(
        &mut self,
        how: update::Type,
        entry: &CloneSessionEntry,
    ) -> Result<(), Fault> {
        let at = format!("clone session {}", entry.session_id);
        let session = u16::try_from(entry.session_id)
            .ok()
            .filter(|&id| id != 0 && u32::from(id) <= MOST_SESSIONS)
            .ok_or_else(|| Fault::invalid(format!("{at}: sessions are 1 to {MOST_SESSIONS}")))?;
        exists(how, self.switch.clone_session(session).is_some(), &at)?;
        if how == update::Type::Delete {
            self.switch.delete_clone_session(session)?;
            self.clone_sessions.remove(&session);
            return Ok(());
        }
        let class_of_service = u8::try_from(entry.class_of_service).map_err(|_| {
            Fault::invalid(format!("class of service {}: queues end at 7", entry.class_of_service)).at(&at)
        })?;
        let packet_length_octets = u32::try_from(entry.packet_length_bytes)
            .map_err(|_| Fault::invalid("a negative packet_length_bytes").at(&at))?;
        let replicas = replicas(&entry.replicas).map_err(|fault| fault.at(&at))?;
        let config = CloneSession { replicas, packet_length_octets, class_of_service };
        self.switch.set_clone_session(session, config).map_err(|error| Fault::from(error).at(&at))?;
        self.clone_sessions.insert(session, entry.clone());
        Ok(())
    }

    pub(super) fn write_multicast_group(
        &mut self,
        how: update::Type,
        entry: &MulticastGroupEntry,
    ) -> Result<(), Fault> {
        let at = format!("multicast group {}", entry.multicast_group_id);
        let group = u16::try_from(entry.multicast_group_id)
            .ok()
            .filter(|&id| id != 0)
            .ok_or_else(|| Fault::invalid(format!("{at}: groups are 1 to 65535")))?;
        exists(how, self.switch.multicast_group(group).is_some(), &at)?;
        if how == update::Type::Delete {
            self.switch.delete_multicast_group(group)?;
            self.multicast_groups.remove(&group);
            return Ok(());
        }
        let replicas = replicas(&entry.replicas).map_err(|fault| fault.at(&at))?;
        self.switch.set_multicast_group(group, replicas).map_err(|error| Fault::from(error).at(&at))?;
        self.multicast_groups.insert(group, entry.clone());
        Ok(())
    }

    pub(super) fn read_replication(
        &self,
        filter: &PacketReplicationEngineEntry,
        out: &mut Vec<entity::Entity>,
    ) -> Result<(), Fault> {
        let mut push = |kind| {
            out.push(entity::Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
                r#type: Some(kind),
            }));
        };
        match filter.r#type.as_ref() {
            Some(pre::Type::CloneSessionEntry(filter)) => {
                let mut found = |id, session| {
                    let given = self.clone_sessions.get(&id).cloned();
                    push(pre::Type::CloneSessionEntry(given.unwrap_or_else(|| session_message(id, session))));
                };
                match filter.session_id {
                    0 => self.switch.clone_sessions().for_each(|(id, session)| found(id, session)),
                    one => {
                        let id = u16::try_from(one).ok();
                        let one = id.and_then(|id| Some((id, self.switch.clone_session(id)?)));
                        if let Some((id, session)) = one {
                            found(id, session);
                        }
                    }
                }
            }
            Some(pre::Type::MulticastGroupEntry(filter)) => {
                let mut found = |id, replicas| {
                    let given = self.multicast_groups.get(&id).cloned();
                    push(pre::Type::MulticastGroupEntry(
                        given.unwrap_or_else(|| group_message(id, replicas)),
                    ));
                };
                match filter.multicast_group_id {
                    0 => self.switch.multicast_groups().for_each(|(id, replicas)| found(id, replicas)),
                    one => {
                        let id = u16::try_from(one).ok();
                        let one = id.and_then(|id| Some((id, self.switch.multicast_group(id)?)));
                        if let Some((id, replicas)) = one {
                            found(id, replicas);
                        }
                    }
                }
            }
            None => return Err(Fault::invalid("a replication entry that is neither a group nor a session")),
        }
        Ok(())
    }
}

/// INSERT wants it absent, MODIFY and DELETE present.
fn exists(how: update::Type, present: bool, what: &str) -> Result<(), Fault> {
    match (how, present) {
        (update::Type::Insert, true) => {
            Err(Fault::new(Code::AlreadyExists, format!("{what} exists already")))
        }
        (update::Type::Modify | update::Type::Delete, false) => {
            Err(Fault::new(Code::NotFound, format!("{what} doesn't exist")))
        }
        _ => Ok(()),
    }
}

fn replicas(given: &[api::Replica]) -> Result<Vec<Replica>, Fault> {
    let mut replicas = Vec::with_capacity(given.len());
    for replica in given {
        let converted = convert(replica)?;
        if replicas.contains(&converted) {
            let what = format!("port {}, instance {} is given twice", converted.port, converted.instance);
            return Err(Fault::invalid(what));
        }
        replicas.push(converted);
    }
    Ok(replicas)
}

fn convert(replica: &api::Replica) -> Result<Replica, Fault> {
    let port = match replica.port_kind.as_ref() {
        #[expect(deprecated, reason = "clients of older versions use it")]
        Some(replica::PortKind::EgressPort(port)) => bytes::encode(u128::from(*port)),
        Some(replica::PortKind::Port(port)) => port.clone(),
        None => return Err(Fault::invalid("a replica without port")),
    };
    let port = bytes::decode(&port, PORT_BITS)
        .map_err(|error| Fault::invalid(format!("a replica's port: {error}")))?;
    let instance = u16::try_from(replica.instance)
        .map_err(|_| Fault::invalid(format!("instance {} has more than 16 bits", replica.instance)))?;
    Ok(Replica { port: u16::try_from(port).unwrap_or(u16::MAX), instance })
}

fn replica_messages(replicas: &[Replica]) -> Vec<api::Replica> {
    replicas
        .iter()
        .map(|replica| api::Replica {
            port_kind: Some(replica::PortKind::Port(bytes::encode(u128::from(replica.port)))),
            instance: u32::from(replica.instance),
        })
        .collect()
}

/// A session that no client wrote.
fn session_message(id: u16, session: &CloneSession) -> CloneSessionEntry {
    CloneSessionEntry {
        session_id: u32::from(id),
        replicas: replica_messages(&session.replicas),
        class_of_service: session.class_of_service.into(),
        packet_length_bytes: i32::try_from(session.packet_length_octets).unwrap_or(i32::MAX),
    }
}

/// A group that no client wrote.
fn group_message(id: u16, replicas: &[Replica]) -> MulticastGroupEntry {
    MulticastGroupEntry {
        multicast_group_id: u32::from(id),
        replicas: replica_messages(replicas),
        metadata: Vec::new(),
    }
}
