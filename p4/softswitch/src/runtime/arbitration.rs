//! Who may write: one primary for each role, by election id.
//!
//! P4Runtime, Rules for Handling `MasterArbitrationUpdate` Messages. A role remembers the highest election id it has
//! ever seen; a client whose id is at least that is primary. When the primary goes, nobody is promoted: the role has
//! no primary until a client asks with an id that is high enough.

use std::collections::{BTreeMap, HashMap};

use p4runtime::client::{from_uint128, uint128};
use p4runtime::google::rpc::Status;
use p4runtime::p4::v1::{MasterArbitrationUpdate, Role};
use p4runtime::status::{self, Code};

use super::StreamId;
use super::fault::Fault;

/// A role's name; the empty one is the default role.
type RoleName = String;

#[derive(Debug)]
struct Client {
    role: RoleName,
    /// As the client gave it, to be given back.
    given: Option<Role>,
    election_id: Option<u128>,
}

#[derive(Debug, Default)]
struct RoleState {
    highest: Option<u128>,
    primary: Option<StreamId>,
}

/// The clients of one switch.
#[derive(Debug, Default)]
pub(super) struct Arbitration {
    device_id: u64,
    clients: BTreeMap<StreamId, Client>,
    roles: HashMap<RoleName, RoleState>,
}

/// An advisory message for one client.
pub(super) type Notice = (StreamId, MasterArbitrationUpdate);

impl Arbitration {
    pub fn new(device_id: u64) -> Arbitration {
        Arbitration { device_id, ..Arbitration::default() }
    }

    /// A client says who it wants to be. Gives the messages that go out for it, in their order.
    ///
    /// # Errors
    /// The client's stream must be ended with this.
    pub fn update(
        &mut self,
        stream: StreamId,
        message: &MasterArbitrationUpdate,
    ) -> Result<Vec<Notice>, Fault> {
        let role = role_name(message.role.as_ref());
        let election_id = message.election_id.map(from_uint128);
        self.check(stream, message, &role, election_id)?;
        self.clients.insert(stream, Client { role: role.clone(), given: message.role.clone(), election_id });

        let state = self.roles.entry(role.clone()).or_default();
        let was_primary = state.primary == Some(stream);
        // A client without election id is below all others, and the first id of a role is above nothing.
        let becomes = election_id.is_some() && election_id >= state.highest;
        if becomes {
            let unchanged = was_primary && state.highest == election_id;
            state.highest = election_id;
            state.primary = Some(stream);
            return Ok(if unchanged { self.notices(&role, Some(stream)) } else { self.notices(&role, None) });
        }
        if was_primary {
            state.primary = None;
            return Ok(self.notices(&role, None));
        }
        Ok(self.notices(&role, Some(stream)))
    }

    fn check(
        &self,
        stream: StreamId,
        message: &MasterArbitrationUpdate,
        role: &str,
        election_id: Option<u128>,
    ) -> Result<(), Fault> {
        match self.clients.get(&stream) {
            None => self.check_device(message.device_id)?,
            Some(_) if message.device_id != self.device_id => {
                let what = format!(
                    "this stream belongs to device {}, not {}: open another stream",
                    self.device_id, message.device_id
                );
                return Err(Fault::new(Code::FailedPrecondition, what));
            }
            Some(client) if client.role != role => {
                let what = format!(
                    "this stream has {}, not {}: open another stream",
                    named(&client.role),
                    named(role)
                );
                return Err(Fault::new(Code::FailedPrecondition, what));
            }
            Some(_) => {}
        }
        if message.role.as_ref().is_some_and(|role| role.config.is_some()) {
            return Err(Fault::invalid(
                "role configurations are not known here: every role may do everything",
            ));
        }
        let taken = |(&other, client): (&StreamId, &Client)| {
            other != stream && client.role == role && client.election_id == election_id
        };
        if let Some(id) = election_id
            && self.clients.iter().any(taken)
        {
            return Err(Fault::invalid(format!(
                "election id {id} is used by another client of {}: take another",
                named(role)
            )));
        }
        Ok(())
    }

    /// A stream ended.
    pub fn close(&mut self, stream: StreamId) -> Vec<Notice> {
        let Some(client) = self.clients.remove(&stream) else { return Vec::new() };
        match self.roles.get_mut(&client.role) {
            Some(state) if state.primary == Some(stream) => {
                state.primary = None;
                self.notices(&client.role, None)
            }
            _ => Vec::new(),
        }
    }

    /// # Errors
    /// `NOT_FOUND` with both ids.
    pub fn check_device(&self, device_id: u64) -> Result<(), Fault> {
        if device_id == self.device_id {
            return Ok(());
        }
        let what = format!("no device {device_id} here: this switch is device {}", self.device_id);
        Err(Fault::new(Code::NotFound, what))
    }

    /// Whether a change with this role and election id comes from the role's primary.
    ///
    /// # Errors
    /// `PERMISSION_DENIED`, with the reason.
    pub fn check_primary(&self, role: &str, election_id: Option<u128>) -> Result<(), Fault> {
        let denied = |what: String| Err(Fault::new(Code::PermissionDenied, what));
        let Some(state) = self.roles.get(role).filter(|state| state.primary.is_some()) else {
            return denied(format!(
                "{} has no primary: open a stream and wait for the arbitration's answer",
                named(role)
            ));
        };
        if election_id.is_some() && election_id == state.highest {
            return Ok(());
        }
        let given = election_id.map_or("none".to_owned(), |id| id.to_string());
        let highest = state.highest.map_or("none".to_owned(), |id| id.to_string());
        denied(format!("not the primary of {}: its election id is {highest}, {given} was given", named(role)))
    }

    pub fn is_primary(&self, stream: StreamId) -> bool {
        self.roles.values().any(|state| state.primary == Some(stream))
    }

    /// The primaries of all roles, in the order of their streams.
    pub fn primaries(&self) -> Vec<StreamId> {
        self.clients.keys().copied().filter(|&stream| self.is_primary(stream)).collect()
    }

    /// The advisory message of a role, for one of its clients or for all: the primary hears last, when all others
    /// already know.
    fn notices(&self, role: &str, only: Option<StreamId>) -> Vec<Notice> {
        let Some(state) = self.roles.get(role) else { return Vec::new() };
        let mut notices: Vec<Notice> = self
            .clients
            .iter()
            .filter(|&(&stream, client)| client.role == role && only.is_none_or(|only| only == stream))
            .map(|(&stream, client)| {
                let message = MasterArbitrationUpdate {
                    device_id: self.device_id,
                    role: client.given.clone(),
                    election_id: state.highest.map(uint128),
                    status: Some(advice(state.primary, stream)),
                };
                (stream, message)
            })
            .collect();
        notices.sort_by_key(|&(stream, _)| (state.primary == Some(stream), stream));
        notices
    }
}

fn advice(primary: Option<StreamId>, stream: StreamId) -> Status {
    match primary {
        Some(primary) if primary == stream => status::error(Code::Ok, "you are the primary"),
        Some(_) => status::error(Code::AlreadyExists, "another client is the primary"),
        None => status::error(Code::NotFound, "there is no primary"),
    }
}

/// Roles were numbers before version 1.4; such a role gets a name that no client can give.
fn role_name(role: Option<&Role>) -> RoleName {
    #[expect(deprecated, reason = "clients of older versions send it")]
    match role {
        Some(role) if role.name.is_empty() => numbered_role("", role.id),
        Some(role) => role.name.clone(),
        None => RoleName::new(),
    }
}

/// The role of a request that may still use the number.
pub(super) fn numbered_role(name: &str, id: u64) -> RoleName {
    if name.is_empty() && id != 0 { format!("\0{id}") } else { name.to_owned() }
}

/// A role in words; the default one has no name.
fn named(role: &str) -> String {
    if role.is_empty() { "the default role".to_owned() } else { format!("role `{role}`") }
}

#[cfg(test)]
mod tests;
