//! What follows a pipeline besides forwarding: clones, multicast copies, digests, another pass.

use std::sync::Arc;

use super::{Switch, instance, set, set_if};
use crate::control::{CloneSession, Replica};
use crate::exec;
use crate::flight::Flight;
use crate::num::low16;
use crate::program::FieldCopy;
use crate::{DigestSample, Packet, Value};

impl Switch {
    /// A flight with the same packet, parsed as far.
    fn copy_packet(&mut self, of: &Flight) -> Box<Flight> {
        let mut f = self.take_flight();
        let mut head = self.heads.pop().unwrap_or_default();
        head.extend_from_slice(&of.packet.head);
        f.packet = Packet { head, virtual_octets: of.packet.virtual_octets };
        f.parsed = of.parsed;
        f.ingress_port = of.ingress_port;
        f.ingress_octets = of.ingress_octets;
        f.length = of.length;
        f
    }

    /// A flight with the same packet and fields.
    fn copy_all(&mut self, of: &Flight) -> Box<Flight> {
        let mut f = self.copy_packet(of);
        let n = self.program.layout_data;
        f.frame[..n].copy_from_slice(&of.frame[..n]);
        f.in_place = of.in_place;
        f
    }

    /// Makes a packet ready for another pass: all fields zero but those of a field list.
    pub(super) fn restart(&mut self, f: &mut Flight, list: u32, instance_type: u64) {
        let program = Arc::clone(&self.program);
        let copies = program.field_lists.get(&list).map_or(&[][..], Vec::as_slice);
        self.saved.clear();
        for c in copies {
            let at = c.slot as usize;
            self.saved.extend_from_slice(&f.frame[at..at + c.limbs]);
        }
        f.reset_fields(&program);
        f.reset_requests();
        let mut from = 0;
        for c in copies {
            let at = c.slot as usize;
            f.frame[at..at + c.limbs].copy_from_slice(&self.saved[from..from + c.limbs]);
            from += c.limbs;
        }
        set(&mut f.frame, program.standard.instance_type, instance_type);
    }

    /// The original packet, parsed again; of the metadata only the field list and the instance type.
    pub(super) fn clone_ingress(&mut self, f: &Flight, length: u32, now_ns: u64) {
        let Some(session) = self.session(f.clone_session) else { return };
        let program = Arc::clone(&self.program);
        let mut copy = self.copy_packet(f);
        copy.length = length;
        set(&mut copy.frame, program.standard.ingress_port, u64::from(f.ingress_port));
        self.parse(&mut copy, now_ns);
        copy.reset_requests();
        copy.reset_metadata(&program);
        self.send_clone(f, copy, &session, instance::INGRESS_CLONE, now_ns);
    }

    /// Headers as egress left them; of the metadata only the field list and the instance type.
    pub(super) fn clone_egress(&mut self, f: &Flight, now_ns: u64) {
        let Some(session) = self.session(f.clone_session) else { return };
        let mut copy = self.copy_all(f);
        copy.reset_metadata(&self.program);
        self.send_clone(f, copy, &session, instance::EGRESS_CLONE, now_ns);
    }

    fn session(&mut self, request: u32) -> Option<Arc<CloneSession>> {
        let id = low16(u64::from(request & 0x7fff));
        let session = self.sessions.get(&id).cloned();
        if session.is_none() {
            self.state.stats.clones_without_session += 1;
        }
        session
    }

    fn send_clone(
        &mut self,
        f: &Flight,
        mut copy: Box<Flight>,
        session: &CloneSession,
        kind: u64,
        now_ns: u64,
    ) {
        let program = Arc::clone(&self.program);
        for c in program.field_lists.get(&f.clone_list).into_iter().flatten() {
            let at = c.slot as usize;
            copy.frame[at..at + c.limbs].copy_from_slice(&f.frame[at..at + c.limbs]);
        }
        set(&mut copy.frame, program.standard.instance_type, kind);
        if session.class_of_service != 0 {
            set_if(&mut copy.frame, program.standard.priority, u64::from(session.class_of_service));
        }
        if session.packet_length_octets != 0 {
            let most = session.packet_length_octets as usize;
            let headers = exec::header_octets(&program, &copy);
            let keep = most.saturating_sub(headers);
            let parsed = copy.parsed;
            copy.packet.truncate(parsed + keep);
            copy.length = copy.length.min(session.packet_length_octets);
            if headers > most {
                copy.truncate = most;
            }
        }
        self.state.stats.clones += session.replicas.len() as u64;
        self.replicate(copy, &session.replicas, now_ns);
    }

    pub(super) fn multicast(&mut self, f: &Flight, group: u16, now_ns: u64) {
        let replicas = self.groups.get_mut(&group).map(std::mem::take).unwrap_or_default();
        if replicas.is_empty() {
            self.state.stats.multicast_without_group += 1;
        } else {
            self.state.stats.multicast_copies += replicas.len() as u64;
            let copy = self.copy_all(f);
            self.replicate(copy, &replicas, now_ns);
        }
        if let Some(place) = self.groups.get_mut(&group) {
            *place = replicas;
        }
    }

    /// Queues one copy for each replica.
    fn replicate(&mut self, f: Box<Flight>, replicas: &[Replica], now_ns: u64) {
        let rid = self.program.standard.egress_rid;
        let Some((last, others)) = replicas.split_last() else { return self.put_flight(f) };
        for r in others {
            let mut copy = self.copy_all(&f);
            copy.truncate = f.truncate;
            set_if(&mut copy.frame, rid, u64::from(r.instance));
            self.enqueue(u64::from(r.port), copy, now_ns);
        }
        let mut f = f;
        set_if(&mut f.frame, rid, u64::from(last.instance));
        self.enqueue(u64::from(last.port), f, now_ns);
    }

    pub(super) fn digest(&mut self, f: &Flight) {
        let program = Arc::clone(&self.program);
        let Some(list) = program.digests.get(&f.digest) else { return };
        self.state.stats.digests += 1;
        if self.state.digests.len() >= self.config.digest_samples {
            self.state.stats.digest_drops += 1;
            return;
        }
        let field = |c: &FieldCopy| {
            if c.valid.is_some_and(|v| f.frame[v as usize] == 0) {
                return Value::from(0u64);
            }
            let words = &f.frame[c.slot as usize..c.slot as usize + c.limbs];
            let masked: Vec<u64> = words
                .iter()
                .enumerate()
                .map(|(i, w)| w & crate::layout::mask(c.bits.saturating_sub(i * 64)))
                .collect();
            Value::from_limbs(&masked)
        };
        self.state
            .digests
            .push_back(DigestSample { list: f.digest, fields: list.iter().map(field).collect() });
    }
}
