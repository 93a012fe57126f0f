//! What the machines tell of, and what of it the observer is told.

use std::net::{IpAddr, SocketAddr};

use rdcc::receiver::ReceiverEvent;
use rdcc::sender::SenderEvent;
use wire::rdcc::{CongestionReport, Flags, Message, MessageId, MessageType};
use wire::units::Nanos;

use super::Host;
use crate::rdcc::event::Event;
use crate::rdcc::summary::micros;
use crate::rdcc::transport::Way;

impl Host {
    pub(super) fn receiver_event(&mut self, event: ReceiverEvent, now: Nanos) {
        let told = match event {
            ReceiverEvent::AssociationUp { from } => {
                // A sender that begins has a transport that begins. Ours to it, if there is one, isn't concerned.
                if let IpAddr::V4(address) = from.ip() {
                    self.transport.connect(address, Way::In);
                }
                Event::AssociationUp { peer: from, unscheduled_limit: None, credit_unit: None }
            }
            ReceiverEvent::MessageCompleted { from, message, octets, .. } => {
                Event::MessageDone { peer: from, message: message.0, octets: Some(octets.0), took: None }
            }
            ReceiverEvent::MessageCancelled { from, message } => {
                let reason = "cancelled by the sender".to_owned();
                Event::MessageAborted { peer: from, message: message.0, reason }
            }
            ReceiverEvent::BeyondCredit { from, message, octets } => {
                Event::BeyondCredit { peer: from, message: message.0, octets }
            }
        };
        self.tell(now, &told);
    }

    pub(super) fn sender_event(&mut self, event: SenderEvent, now: Nanos) {
        let told = match event {
            SenderEvent::AssociationUp { peer, unscheduled_limit, credit_unit } => Event::AssociationUp {
                peer,
                unscheduled_limit: Some(unscheduled_limit.0),
                credit_unit: Some(credit_unit.0),
            },
            SenderEvent::AssociationLost { peer } => {
                if let IpAddr::V4(address) = peer.ip() {
                    self.connect(address, now);
                }
                Event::AssociationLost { peer }
            }
            SenderEvent::AssociationRefused { peer } => Event::AssociationFailed { peer, refused: true },
            SenderEvent::AssociationUnanswered { peer } => Event::AssociationFailed { peer, refused: false },
            SenderEvent::WithoutRdcc { peer, message, .. } => {
                self.progress.without_rdcc += 1;
                return self.message_aborted(peer, message, "the receiver doesn't answer", now);
            }
            SenderEvent::MessageAborted { peer, message, reason, .. } => {
                return self.message_aborted(peer, message, &reason.to_string(), now);
            }
            SenderEvent::MessageRestarted { .. } => return,
            SenderEvent::MessageDone { peer, message, at, .. } => {
                self.bindings.remove(&(peer, message.0));
                self.message_over(peer, message, true);
                let Some(ended) = self.progress.ended(peer, message, true, at) else { return };
                let took = Some(micros(ended.took));
                let event = Event::MessageDone { peer, message: message.0, octets: Some(ended.octets), took };
                self.tell(now, &event);
                return self.tell_batch(ended.batch, now);
            }
        };
        self.tell(now, &told);
    }

    fn message_aborted(&mut self, peer: SocketAddr, message: MessageId, reason: &str, now: Nanos) {
        if let (Some(binding), IpAddr::V4(address)) = (self.bindings.remove(&(peer, message.0)), peer.ip()) {
            self.transport.abandon(address, binding);
        }
        self.message_over(peer, message, false);
        self.progress.aborted += 1;
        self.tell(now, &Event::MessageAborted { peer, message: message.0, reason: reason.to_owned() });
        let ended = self.progress.ended(peer, message, false, now);
        self.tell_batch(ended.and_then(|ended| ended.batch), now);
    }

    pub(super) fn tell_batch(&mut self, batch: Option<(u32, Nanos)>, now: Nanos) {
        if let Some((batch, took)) = batch {
            self.tell(now, &Event::BatchDone { batch, took: micros(took) });
        }
    }

    /// Tells of grants, statuses and reports; `heard` is for reports that came.
    pub(super) fn observe_control(
        &mut self,
        peer: SocketAddr,
        octets: &[u8],
        heard: Option<bool>,
        now: Nanos,
    ) {
        let interesting =
            [MessageType::CREDIT_GRANT, MessageType::SENDER_STATUS, MessageType::CONGESTION_REPORT];
        if !octets.get(1).is_some_and(|&code| interesting.contains(&MessageType(code))) {
            return;
        }
        let Ok((header, message)) = wire::rdcc::decode(octets) else { return };
        let event = match message {
            Message::CreditGrant(grant) => Event::Grant {
                peer,
                message: grant.message_id.0,
                limit: grant.grant_limit.0,
                rate: grant.pacing_rate.0,
                lifetime: grant.lifetime.0,
                pool: header.flags.contains(Flags::POOL),
            },
            Message::SenderStatus(status) => Event::SenderStatus {
                peer,
                unused: status.unused_credit.0,
                level: status.congestion_level,
                suggested_rate: status.suggested_rate.0,
            },
            Message::CongestionReport(report) => report_event(peer, &report, heard.unwrap_or_default()),
            _ => return,
        };
        self.tell(now, &event);
    }
}

fn report_event(from: SocketAddr, report: &CongestionReport, heard: bool) -> Event {
    Event::Report {
        from,
        reporter: report.reporter_id,
        source: SocketAddr::new(report.flow.source(), report.source_port),
        destination: SocketAddr::new(report.flow.destination(), report.destination_port),
        depth: report.queue_depth.0,
        threshold: report.queue_threshold.0,
        degree: report.congestion_degree,
        suggested_rate: report.suggested_rate.0,
        heard,
    }
}
