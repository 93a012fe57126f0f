//! Datagrams from senders and from congestion reporting nodes, and associations.

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet};

use rand_chacha::rand_core::Rng;
use wire::rdcc::{
    AssocRequest, AssociationId, Capabilities, CongestionReport, DecodeError, Direction, ErrorMessage, Flags,
    Header, Message as RdccMessage, MessageId, RawHeader, Reason, SequenceNumber,
};
use wire::units::Nanos;

use super::ended::Ended;
use super::message::{Association, Flows};
use super::rate::{Aimd, LEAST_SIGNAL};
use super::{Receiver, ReceiverEvent, Timer};

/// The protocol number of UDP.
const UDP: u8 = 17;

impl Receiver {
    //= RDCC, Error Handling and Recovery: c70ea12f 05f5e7bb
    /// Takes the UDP payload of a datagram that came to the RDCC port from `from`. What isn't for a receiver, can't be
    /// decoded or is stale is ignored and counted.
    pub fn handle_datagram(&mut self, from: SocketAddr, octets: &[u8], now: Nanos) {
        let (header, message) = match wire::rdcc::decode(octets) {
            Ok(decoded) => decoded,
            Err(error) => {
                self.stats.datagrams_ignored += 1;
                if let DecodeError::UnknownType { .. } = error {
                    self.unknown_type(from, octets);
                }
                return;
            }
        };
        match &message {
            RdccMessage::CongestionReport(report) => {
                // Room that a decrease makes is given away at the next arrival: nothing is raised in response to a
                // report (RDCC, On-Path Congestion Reporting), not even somebody else's credit.
                self.report(from.ip(), report, now);
                return;
            }
            RdccMessage::AssocRequest(request) => self.assoc_request(from, header, request, now),
            _ => self.handle_associated(from, header, &message, now),
        }
        self.allocate(now);
    }

    //= RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: c9a4079a
    //= RDCC, Error Handling and Recovery: 1b56e178
    /// A message of unknown Type is discarded; one of an established association is answered, to the bound address,
    /// and no other is.
    fn unknown_type(&mut self, from: SocketAddr, octets: &[u8]) {
        let Ok(RawHeader { header, .. }) = RawHeader::decode(octets) else { return };
        let Some(&index) = self.by_id.get(&header.association_id) else { return };
        let epoch = self.config.epoch;
        let Some(association) = self.association_mut(index) else { return };
        let fresh = association.newest.is_none_or(|newest| header.sequence_number.is_newer_than(newest));
        if association.from == from && header.epoch == epoch && fresh {
            self.refuse(index, 0, Reason::UNSUPPORTED_TYPE);
        }
    }

    //= RDCC, Credit Allocation: 86d7a7ec
    //= RDCC, Common Header: 2c99ee26
    //= RDCC, Error Handling and Recovery: 0e5d708c
    //= RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: 87d809e2
    fn handle_associated(&mut self, from: SocketAddr, header: Header, message: &RdccMessage, now: Nanos) {
        let known = self.by_id.get(&header.association_id).copied();
        let Some(index) = known.filter(|_| header.epoch == self.config.epoch) else {
            // RDCC, Credit Allocation, rule 4, and Error Handling and Recovery.
            if matches!(message, RdccMessage::CreditRequest(_)) {
                // It concerns the whole association.
                let error = ErrorMessage { reason: Reason::UNKNOWN_ASSOCIATION, message_id: MessageId(0) };
                self.send_outside(from, header.association_id, &RdccMessage::Error(error));
            } else {
                self.stats.datagrams_ignored += 1;
            }
            return;
        };
        let Some(association) = self.association_mut(index) else { return };
        let fresh = association.newest.is_none_or(|newest| header.sequence_number.is_newer_than(newest));
        if association.from != from || !fresh {
            self.stats.datagrams_ignored += 1;
            return;
        }
        association.newest = Some(header.sequence_number);
        association.last_traffic = now;
        match message {
            RdccMessage::CreditRequest(request) => self.credit_request(index, request, now),
            RdccMessage::SenderStatus(status) => self.sender_status(index, status, now),
            RdccMessage::CreditReturn(credit) => self.credit_return(index, credit, now),
            RdccMessage::Cancel(cancel) => self.cancelled(index, cancel, now),
            _ => self.stats.datagrams_ignored += 1,
        }
    }

    //= RDCC, Association Establishment: 0e584cb0 cfb817c6
    //= RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: 86829dd5
    //= RDCC, Security Considerations: 3a83bfa6
    fn assoc_request(&mut self, from: SocketAddr, header: Header, request: &AssocRequest, now: Nanos) {
        if let Some(&index) = self.by_origin.get(&(from, request.sender_nonce)) {
            if let Some(association) = self.association_mut(index) {
                association.last_traffic = now;
            }
            if header.flags.contains(Flags::UPDATE_ACKNOWLEDGMENT) {
                self.update_acknowledged(index, now);
            } else {
                // Idempotent: the same Association ID again.
                self.send_accept(index, Flags::NONE);
            }
            return;
        }
        if header.flags.contains(Flags::UPDATE_ACKNOWLEDGMENT) {
            self.stats.datagrams_ignored += 1;
            return;
        }
        if self.by_id.len() >= self.config.max_associations {
            // RDCC, Security Considerations: refuse new ones rather than evict active ones.
            let error = ErrorMessage { reason: Reason::ASSOC_REFUSED, message_id: MessageId(0) };
            self.send_outside(from, AssociationId(0), &RdccMessage::Error(error));
            return;
        }
        let index = self.admit(from, request, now);
        self.send_accept(index, Flags::NONE);
        self.events.push_back(ReceiverEvent::AssociationUp { from });
    }

    fn admit(&mut self, from: SocketAddr, request: &AssocRequest, now: Nanos) -> u32 {
        let id = loop {
            let id = AssociationId(self.rng.next_u32());
            if id != AssociationId(0) && !self.by_id.contains_key(&id) {
                break id;
            }
        };
        let relative_rate = (request.line_rate.0, self.config.link_rate.0);
        let told = self.wished(0, relative_rate);
        let unscheduled_limit = told.unscheduled_limit;
        self.promised_unscheduled += unscheduled_limit;
        let association = Association {
            id,
            takes_pools: request.capabilities.contains(Capabilities::POOL),
            pool_left: 0,
            from,
            nonce: request.sender_nonce,
            line_rate: self.in_payload(u64::from(request.line_rate.0)).max(1),
            relative_rate,
            unscheduled_limit,
            largest_limit: unscheduled_limit,
            unscheduled: 0,
            told,
            update: None,
            scheduled: 0,
            capped: BTreeSet::new(),
            next_sequence: SequenceNumber(1),
            newest: None,
            last_traffic: now,
            flows: Flows::default(),
            messages: BTreeMap::new(),
            ended: Ended::default(),
            given_up: BTreeMap::new(),
            aimd: Aimd::default(),
            rate: 0,
            holders: BTreeSet::new(),
            allowed_rate: 0,
            active: 0,
            suggestion: None,
            window: (0, 0),
            window_start: now,
        };
        let index = self.free_associations.pop().unwrap_or_else(|| {
            self.associations.push(None);
            u32::try_from(self.associations.len() - 1).unwrap_or(u32::MAX)
        });
        self.associations[index as usize] = Some(association);
        self.by_id.insert(id, index);
        self.by_origin.insert((from, request.sender_nonce), index);
        self.by_address.entry(from.ip()).or_default().insert(index);
        self.timers.set(Timer::Idle(index), now + self.config.idle_timeout);
        index
    }

    //= RDCC, Association Establishment: 020c8cf4
    /// RDCC, Association Establishment: an association without traffic for the idle time is removed, and all of its
    /// credit reclaimed. One in use gives up the messages that it doesn't talk of any more.
    pub(super) fn remove_if_idle(&mut self, index: u32, now: Nanos) {
        let idle = self.config.idle_timeout;
        let Some(association) = self.association_mut(index) else { return };
        let until = association.last_traffic + idle;
        if now < until {
            self.timers.set(Timer::Idle(index), until);
            self.abandon_silent(index, now);
            return;
        }
        let slots: Vec<u32> = association.messages.values().copied().collect();
        for slot in slots {
            self.stats.credit_reclaimed += self.inbound(slot).map_or(0, |message| message.scheduled);
            self.remove(slot, now);
        }
        self.timers.clear(Timer::Update(index));
        let Some(association) = self.associations[index as usize].take() else { return };
        self.free_associations.push(index);
        self.promised_unscheduled -= association.unscheduled_limit;
        self.by_id.remove(&association.id);
        self.by_origin.remove(&(association.from, association.nonce));
        let address = association.from.ip();
        if let Some(others) = self.by_address.get_mut(&address) {
            others.remove(&index);
            if others.is_empty() {
                self.by_address.remove(&address);
                self.bindings.forget_early(address);
            }
        }
        // Its U may be what others wait for.
        self.update_all(now);
    }

    //= RDCC, Credit Allocation: c2b49b43
    //= RDCC, On-Path Congestion Reporting: a1d27b43 bec94080 34d70df5
    /// RDCC, On-Path Congestion Reporting: only from configured nodes, only toward the receiver, only for flows of our
    /// senders; it lowers that sender's rate and can't raise anything. Of several associations of the flow's host it
    /// concerns those whose data came from the flow's port; all of them, if none's did yet.
    fn report(&mut self, from: IpAddr, report: &CongestionReport, now: Nanos) {
        let believed = self.config.hear.reports
            && report.direction == Direction::TO_RECEIVER
            && self.config.crn_addresses.contains(&from);
        let senders = if believed { self.senders_of(report) } else { Vec::new() };
        if senders.is_empty() {
            self.stats.reports_ignored += 1;
            return;
        }
        self.stats.reports_heard += 1;
        let strength = (u32::from(report.congestion_degree) * LEAST_SIGNAL).max(LEAST_SIGNAL);
        // The node counts whole packets, Pacing Rates count payload.
        let rate = u64::from(report.suggested_rate.0);
        let suggested = (rate > 0).then(|| self.in_payload(rate).max(1));
        for index in senders {
            if let Some(association) = self.association_mut(index) {
                association.aimd.signal(strength, suggested, now);
            }
            self.adjust(index, now);
        }
    }

    /// The associations whose flow a report names.
    fn senders_of(&self, report: &CongestionReport) -> Vec<u32> {
        let to = report.flow.destination();
        let ours = self.config.addresses.is_empty() || self.config.addresses.contains(&to);
        let data = report.protocol == UDP && report.destination_port == self.config.data_port;
        let Some(host) = self.by_address.get(&report.flow.source()).filter(|_| ours && data) else {
            return Vec::new();
        };
        let of_flow = |&&index: &&u32| {
            let association = self.associations.get(index as usize).and_then(Option::as_ref);
            association.is_some_and(|association| association.flows.contain(report.source_port))
        };
        let found: Vec<u32> = host.iter().filter(of_flow).copied().collect();
        if found.is_empty() { host.iter().copied().collect() } else { found }
    }

    /// A rate on the link in payload.
    fn in_payload(&self, rate: u64) -> u64 {
        let unit = self.config.credit_unit.0;
        rate * unit / (unit + self.config.unit_overhead.0)
    }
}
