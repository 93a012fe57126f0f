//! Datagrams from receivers and from congestion reporting nodes.

use core::net::SocketAddr;

use wire::rdcc::{
    CongestionReport, CreditGrant, Direction, ErrorMessage, Flags, Header, Message as RdccMessage, MessageId,
    Reason,
};
use wire::units::{Micros, Nanos};

use super::association::Phase;
use super::message::State;
use super::{Key, Sender, SenderEvent, Timer};

impl Sender {
    //= RDCC, Error Handling and Recovery: c70ea12f 05f5e7bb
    /// Takes the UDP payload of a datagram that came to the RDCC port from `from`. What isn't for a sender, can't be
    /// decoded, is stale or of another association is ignored and counted.
    pub fn handle_datagram(&mut self, from: SocketAddr, octets: &[u8], now: Nanos) {
        let Ok((header, message)) = wire::rdcc::decode(octets) else {
            self.stats.datagrams_ignored += 1;
            return;
        };
        if let RdccMessage::CongestionReport(report) = &message {
            self.report(from, report, now);
            return;
        }
        let Some(&index) = self.by_peer.get(&from) else {
            self.stats.datagrams_ignored += 1;
            return;
        };
        match &message {
            RdccMessage::AssocAccept(accept) => self.accepted(index, header, accept, now),
            RdccMessage::Error(error) if self.concerns_establishment(index, header, error) => {
                if error.reason == Reason::ASSOC_REFUSED {
                    self.refused(index, now);
                } else {
                    self.lost(index, now);
                }
            }
            _ if self.is_current(index, header) => self.handle_current(index, header, &message, now),
            _ => self.stats.datagrams_ignored += 1,
        }
    }

    /// `ASSOC_REFUSED` while requesting, and `UNKNOWN_ASSOCIATION` that carries our Association ID: exempt from the
    /// sequence check, since the receiver has no state to count with.
    fn concerns_establishment(&mut self, index: u32, header: Header, error: &ErrorMessage) -> bool {
        let association = self.association(index);
        match error.reason {
            Reason::ASSOC_REFUSED => matches!(association.phase, Phase::Requesting { .. }),
            Reason::UNKNOWN_ASSOCIATION => association.is_up() && header.association_id == association.id,
            _ => false,
        }
    }

    //= RDCC, Common Header: 2c99ee26
    /// RDCC, Common Header: of this association and epoch, and newer than everything processed.
    fn is_current(&mut self, index: u32, header: Header) -> bool {
        let association = self.association(index);
        let current = association.is_up()
            && header.association_id == association.id
            && header.epoch == association.epoch
            && association.newest.is_none_or(|newest| header.sequence_number.is_newer_than(newest));
        if current {
            association.newest = Some(header.sequence_number);
        }
        current
    }

    fn handle_current(&mut self, index: u32, header: Header, message: &RdccMessage, now: Nanos) {
        match message {
            RdccMessage::CreditGrant(grant) => {
                if header.flags.contains(Flags::POOL) {
                    self.pool_grant(index, grant, now);
                } else if let Some(id) = self.association(index).resolve(grant.message_id.0) {
                    self.grant((index, id), grant, now);
                }
            }
            RdccMessage::MsgDone(done) => {
                match self.association(index).resolve(done.message_id.0) {
                    Some(id) => self.done((index, id), now),
                    // Of a message that was given up meanwhile.
                    None => self.association(index).end_unscheduled(done.message_id.0),
                }
            }
            RdccMessage::Cancel(cancel) => {
                if let Some(id) = self.association(index).resolve(cancel.message_id.0) {
                    self.abort((index, id), cancel.reason, now);
                }
            }
            RdccMessage::Error(error) => self.error(index, error, now),
            _ => self.stats.datagrams_ignored += 1,
        }
    }

    //= RDCC, CREDIT_GRANT: bfe331a3
    //= RDCC, Credit Requests and Grants: 228641b5 9cfb8b2f
    //= RDCC, Sender Message State Machine: 53a28436
    fn grant(&mut self, key: Key, grant: &CreditGrant, now: Nanos) {
        let association = &mut self.associations[key.0 as usize];
        let parameters = association.parameters;
        // RDCC, CREDIT_GRANT: Pacing Rate zero is ignored.
        let Some(message) = association.messages.get_mut(&key.1).filter(|_| grant.pacing_rate.0 != 0) else {
            self.stats.datagrams_ignored += 1;
            return;
        };
        self.stats.grants += 1;
        // Rule 3 of Unscheduled Transmission: a grant ends its being outstanding. What has not been posted of it is
        // posted under credit from now on: the receiver asks for that by granting.
        let ends_unscheduled = message.state != State::Unsched;
        // Rule 1 of Credit Requests and Grants: never reduces credit. The receiver must not grant beyond the length
        // (rule 5); if it does, the rest is meaningless.
        let limit = grant.grant_limit.0.min(message.spec.length.0);
        let more = limit.saturating_sub(message.grant_limit.max(message.transmitted));
        self.stats.credit_received = self.stats.credit_received.saturating_add(more);
        // A paused message can't use it: back it goes.
        let returned = if message.paused { limit.saturating_sub(message.transmitted) } else { 0 };
        let (wire_id, transmitted) = (message.wire_id, message.transmitted);
        message.grant_limit = message.grant_limit.max(if message.paused { 0 } else { limit });
        let lifetime = if grant.lifetime == Micros(0) { parameters.grant_lifetime } else { grant.lifetime };
        message.usable_until = now + lifetime.nanos();
        message.pacer.set_rate(grant.pacing_rate, now);
        if let Some((first, repeated)) = message.asked.take() {
            association.rtt.answered(now - first, repeated);
        }
        if message.state == State::Waiting
            && !message.paused
            && message.covers_next_post(parameters.credit_unit)
        {
            message.state = State::Scheduled;
            message.repetitions = association.rtt.doublings_beyond(now - message.waiting_since);
            self.timers.clear(Timer::Request(key));
        }
        if ends_unscheduled {
            self.association(key.0).end_unscheduled(key.1);
        }
        if returned > 0 {
            self.return_credit(key.0, wire_id, transmitted, returned);
        }
        let Some(message) = self.message(key) else { return };
        if message.state == State::Scheduled {
            let unused = message.grant_limit.saturating_sub(message.transmitted);
            let until = message.usable_until;
            self.timers.set(Timer::Lifetime(key), until);
            self.set_unused(key, unused, now);
            self.schedule(key);
        }
    }

    //= RDCC, Sender Message State Machine: 0d9a4006
    fn done(&mut self, key: Key, now: Nanos) {
        let association = self.association(key.0);
        let peer = association.peer;
        association.end_unscheduled(key.1);
        // Ours: completes any live state, not only DRAINED; the receiver has the octets.
        if let Some(message) = self.remove(key) {
            self.stats.messages_done += 1;
            let tag = message.spec.tag;
            self.events.push_back(SenderEvent::MessageDone { peer, message: MessageId(key.1), tag, at: now });
            if message.state != State::Drained {
                self.leave_queue_pair(key, now);
            }
            self.settle_pool(key.0, now);
        }
        self.check_backlog(now);
    }

    //= RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: 16c513f9
    //= RDCC, Sender Message State Machine: 9f0e68bc 86ef7019
    /// The rows of the state table for ERROR.
    fn error(&mut self, index: u32, error: &ErrorMessage, now: Nanos) {
        match error.reason {
            Reason::MESSAGE_TOO_LARGE | Reason::APPLICATION_ABORT | Reason::UNSUPPORTED_BINDING => {
                if let Some(id) = self.association(index).resolve(error.message_id.0) {
                    self.abort((index, id), error.reason, now);
                }
            }
            Reason::ASSOC_REFUSED => self.refused(index, now),
            // BUDGET_EXHAUSTED: the request stays outstanding. Others change nothing here.
            _ => {}
        }
    }

    //= RDCC, On-Path Congestion Reporting: a1d27b43 bec94080 34d70df5
    /// RDCC, On-Path Congestion Reporting: at a sender a report can only stop unscheduled transmission: that to the flow's
    /// receiver, and all of it if we have no association there.
    fn report(&mut self, from: SocketAddr, report: &CongestionReport, now: Nanos) {
        let believed = self.config.hear_reports
            && report.direction == Direction::TO_SENDER
            && self.config.crn_addresses.contains(&from.ip());
        if !believed {
            self.stats.reports_ignored += 1;
            return;
        }
        self.stats.reports_heard += 1;
        let receiver = SocketAddr::new(report.flow.destination(), self.config.rdcc_port);
        match self.by_peer.get(&receiver) {
            Some(&index) => self.stop_unscheduled_to(index, now),
            None => self.stop_unscheduled(now),
        }
    }
}
