//! Digests: lists of distinct messages, and a memory of those that weren't acknowledged yet.
//!
//! P4Runtime, Digest Messages. A list goes out when it is full or its first message has waited long enough. What was
//! sent isn't sent again until it is acknowledged or the acknowledgment's time is over.

use std::collections::{BTreeMap, VecDeque};

use p4runtime::index::DataShape;
use p4runtime::p4::v1::{
    DigestEntry, DigestList, DigestListAck, P4Data, P4StructLike, digest_entry, entity, p4_data, update,
};
use p4runtime::status::Code;

use super::arrays::bits;
use super::device::Device;
use super::fault::Fault;
use crate::Value;

/// Lists grow to this where the client sets no limit.
const LARGEST_LIST: usize = 4096;

/// Lists remembered while nobody acknowledges them; the oldest is forgotten first.
const LISTS_REMEMBERED: usize = 1024;

#[derive(Clone, Debug, Default)]
struct Learning {
    config: digest_entry::Config,
    pending: Vec<Vec<Value>>,
    first_ns: u64,
    sent: VecDeque<Sent>,
}

#[derive(Clone, Debug)]
struct Sent {
    list_id: u64,
    messages: Vec<Vec<Value>>,
    forget_ns: u64,
}

/// The digests that a controller asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Digests {
    learning: BTreeMap<u32, Learning>,
    last_list: u64,
}

impl Digests {
    fn add(&mut self, digest: u32, message: Vec<Value>, now_ns: u64) {
        let Some(learning) = self.learning.get_mut(&digest) else { return };
        learning.sent.retain(|sent| sent.forget_ns > now_ns);
        let known = learning.pending.contains(&message)
            || learning.sent.iter().any(|sent| sent.messages.contains(&message));
        if known {
            return;
        }
        if learning.pending.is_empty() {
            learning.first_ns = now_ns;
        }
        learning.pending.push(message);
    }

    /// The digests whose lists are full or have waited long enough, with their messages.
    fn due(&mut self, now_ns: u64) -> Vec<(u32, u64, Vec<Vec<Value>>)> {
        let mut due = Vec::new();
        for (&digest, learning) in &mut self.learning {
            let limit = usize::try_from(learning.config.max_list_size).unwrap_or(0);
            let limit = if limit == 0 { LARGEST_LIST } else { limit };
            let timeout = u64::try_from(learning.config.max_timeout_ns).unwrap_or(0);
            loop {
                let waited = now_ns.saturating_sub(learning.first_ns) >= timeout;
                if learning.pending.is_empty() || !(waited || learning.pending.len() >= limit) {
                    break;
                }
                let messages: Vec<_> = learning.pending.drain(..limit.min(learning.pending.len())).collect();
                self.last_list += 1;
                let ack = u64::try_from(learning.config.ack_timeout_ns).unwrap_or(0);
                if ack > 0 {
                    let forget_ns = now_ns.saturating_add(ack);
                    learning.sent.push_back(Sent {
                        list_id: self.last_list,
                        messages: messages.clone(),
                        forget_ns,
                    });
                    if learning.sent.len() > LISTS_REMEMBERED {
                        learning.sent.pop_front();
                    }
                }
                due.push((digest, self.last_list, messages));
            }
        }
        due
    }
}

impl Device {
    pub(super) fn write_digest(&mut self, how: update::Type, entry: &DigestEntry) -> Result<(), Fault> {
        let digest = self.pipeline.index.digests.find_id(entry.digest_id)?;
        let at = format!("digest `{}`", digest.name);
        let present = self.digests.learning.contains_key(&digest.id);
        match (how, present) {
            (update::Type::Insert, true) => {
                return Err(Fault::new(Code::AlreadyExists, "is on already").at(&at));
            }
            (update::Type::Modify | update::Type::Delete, false) => {
                return Err(Fault::new(Code::NotFound, "isn't on").at(&at));
            }
            _ => {}
        }
        if how == update::Type::Delete {
            self.digests.learning.remove(&digest.id);
            return Ok(());
        }
        let config = entry.config.unwrap_or_default();
        if config.max_timeout_ns < 0 || config.ack_timeout_ns < 0 || config.max_list_size < 0 {
            return Err(Fault::invalid("a negative time or size").at(&at));
        }
        self.digests.learning.entry(digest.id).or_default().config = config;
        Ok(())
    }

    pub(super) fn read_digests(
        &self,
        filter: &DigestEntry,
        out: &mut Vec<entity::Entity>,
    ) -> Result<(), Fault> {
        if filter.digest_id != 0 {
            self.pipeline.index.digests.find_id(filter.digest_id)?;
        }
        for (&digest_id, learning) in &self.digests.learning {
            if filter.digest_id == 0 || filter.digest_id == digest_id {
                let config = Some(learning.config);
                out.push(entity::Entity::DigestEntry(DigestEntry { digest_id, config }));
            }
        }
        Ok(())
    }

    /// A client has got a list.
    pub(super) fn acknowledge(&mut self, ack: &DigestListAck) -> Result<(), Fault> {
        self.pipeline.index.digests.find_id(ack.digest_id)?;
        if let Some(learning) = self.digests.learning.get_mut(&ack.digest_id) {
            learning.sent.retain(|sent| sent.list_id != ack.list_id);
        }
        Ok(())
    }

    /// Takes the switch's digests; gives the lists that are due.
    pub(super) fn poll_digests(&mut self) -> Vec<DigestList> {
        while let Some(sample) = self.switch.poll_digest() {
            if let Some(&digest) = self.pipeline.digests.get(&sample.list) {
                self.digests.add(digest, sample.fields, self.now_ns);
            }
        }
        let timestamp = i64::try_from(self.now_ns).unwrap_or(i64::MAX);
        let shape = |digest: u32| self.pipeline.index.digests.by_id(digest).map(|found| found.shape.clone());
        self.digests
            .due(self.now_ns)
            .into_iter()
            .map(|(digest_id, list_id, messages)| {
                let shape = shape(digest_id).unwrap_or(DataShape::Struct(Vec::new()));
                let data = messages.iter().map(|fields| message(&shape, &mut fields.iter())).collect();
                DigestList { digest_id, list_id, data, timestamp }
            })
            .collect()
    }
}

/// Folds a program's flat fields into the shape that P4Info gives the message.
fn message(shape: &DataShape, fields: &mut std::slice::Iter<'_, Value>) -> P4Data {
    match shape {
        DataShape::Bits(_) => bits(fields.next().map_or(&[0], Value::octets)),
        DataShape::Struct(members) => {
            let members = members.iter().map(|member| message(member, fields)).collect();
            P4Data { data: Some(p4_data::Data::Struct(P4StructLike { members })) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learning(max_timeout_ns: i64, max_list_size: i32, ack_timeout_ns: i64) -> Digests {
        let mut digests = Digests::default();
        digests.learning.entry(1).or_default().config =
            digest_entry::Config { max_timeout_ns, max_list_size, ack_timeout_ns };
        digests
    }

    fn one(value: u64) -> Vec<Value> {
        vec![Value::from(value)]
    }

    #[test]
    fn a_list_goes_out_when_full_or_old_and_its_messages_are_distinct() {
        let mut digests = learning(100, 2, 0);
        digests.add(1, one(7), 0);
        digests.add(1, one(7), 1);
        assert!(digests.due(99).is_empty(), "neither full nor old");
        assert_eq!(digests.due(100)[0].2.len(), 1, "old");
        digests.add(1, one(7), 200);
        digests.add(1, one(8), 200);
        assert_eq!(digests.due(200)[0].2.len(), 2, "full");
    }

    #[test]
    fn what_was_sent_is_not_sent_again_until_acknowledged_or_forgotten() {
        let mut digests = learning(0, 1, 1000);
        digests.add(1, one(7), 0);
        assert_eq!(digests.due(0).len(), 1);
        digests.add(1, one(7), 999);
        assert!(digests.due(999).is_empty());
        digests.add(1, one(7), 1000);
        assert_eq!(digests.due(1000).len(), 1, "the acknowledgment's time is over");
    }
}
