//! What senders ask: `CREDIT_REQUEST`, `CREDIT_RETURN`, `CANCEL`, `SENDER_STATUS`.

use wire::rdcc::{
    BindingKind, Cancel, CreditRequest, CreditReturn, ErrorMessage, Flags, Message as RdccMessage, MessageId,
    Reason, SenderStatus,
};
use wire::units::{Micros, Nanos};

use super::bindings::Carrier;
use super::ended::Fate;
use super::message::Inbound;
use super::pool::POOL_ID;
use super::{Receiver, ReceiverEvent, Timer};

impl Receiver {
    //= RDCC, Error Handling and Recovery: e0f6794c
    //= RDCC, Security Considerations: fe355f68 3a83bfa6
    //= RDCC, MSG_DONE, CANCEL, CREDIT_RETURN, and ERROR: f233043e 02e3c4ac fc69c784
    //= RDCC, Transport Bindings: 878ec657
    pub(super) fn credit_request(&mut self, index: u32, request: &CreditRequest, now: Nanos) {
        let id = request.message_id.0;
        let maximum = self.config.max_pending_messages;
        let Some(association) = self.association_mut(index) else { return };
        if id == 0 || request.message_length.0 == 0 {
            self.stats.datagrams_ignored += 1;
            return;
        }
        let known = association.messages.get(&id).copied();
        let fate = association.ended.fate(id);
        let pool = association.messages.contains_key(&POOL_ID);
        let pending = association.messages.len() - usize::from(pool);
        let limit = association.largest_limit;
        if known.is_none() && fate != Fate::Open {
            // RDCC, Sender Message State Machine: a request for a completed message is answered with MSG_DONE again.
            match fate {
                Fate::Completed(length) => {
                    self.send_done(index, id, length.unwrap_or(request.message_length.0));
                }
                _ => self.refuse(index, id, Reason::APPLICATION_ABORT),
            }
            return;
        }
        let Some(carrier) = self.carrier(request) else {
            self.refuse(index, id, Reason::UNSUPPORTED_BINDING);
            return;
        };
        if let Some(slot) = known {
            self.repeated_request(slot, request, carrier, now);
        } else if request.unscheduled_sent.0 > limit || request.unscheduled_sent > request.message_length {
            // More than any U of this association announced: nothing was ever promised for it. Ours: the message is
            // refused. One that keeps to a U of before is an honest sender's whose first request got lost.
            self.refuse(index, id, Reason::MESSAGE_TOO_LARGE);
        } else if pending < maximum {
            self.new_request(index, request, carrier, now);
        } else {
            // RDCC, Security Considerations: pending messages are bounded. The sender keeps asking.
            self.refuse(index, id, Reason::BUDGET_EXHAUSTED);
        }
    }

    //= RDCC, CREDIT_REQUEST: 404c4441 96287222
    //= RDCC, Unscheduled Transmission: dca002e6
    fn new_request(&mut self, index: u32, request: &CreditRequest, carrier: Carrier, now: Nanos) {
        // Numbers are used once, so a message whose numbers are taken over was given up: its CANCEL got lost.
        if let Some(from) = self.association_mut(index).map(|association| association.from.ip()) {
            for slot in self.bindings.superseded(from, &carrier) {
                self.abandon(slot, now);
            }
        }
        let id = request.message_id.0;
        let free = self.budget.free_unscheduled();
        let Some(association) = self.association_mut(index) else { return };
        let from = association.from.ip();
        let announced = request.unscheduled_sent.0;
        // The sum of U is within G_u, so this holds for every sender that keeps to one outstanding message; what a
        // misbehaving one sends beyond its own U is not promised anything, and takes nothing from the others. Neither
        // does a request that comes after U was lowered: its data has come, or comes again.
        let own = association.unscheduled_limit - association.unscheduled;
        let reserved = announced > 0 && announced <= own.min(free);
        let slot = self.place(Inbound {
            class: request.class.value(),
            weight: request.weight.value().into(),
            deadline: deadline(request.deadline, now),
            announced,
            reserved,
            wants: announced < request.message_length.0,
            ..Inbound::new(index, id, request.message_length.0, carrier, now)
        });
        if let Some(association) = self.association_mut(index) {
            association.messages.insert(id, slot);
        }
        self.stats.unscheduled_octets += announced;
        if reserved {
            let release = self.longest_jitter.nanos() + self.config.grant_lifetime.nanos();
            let release = now + release + self.config.d_max + self.config.d_max;
            self.timers.set(Timer::Reservation(slot), release);
            self.charge_link(slot, announced, now);
        }
        if !self.reuses_numbers(index, &carrier) {
            self.join_pool(slot, now);
        }
        self.recount(slot);
        self.bind(slot, from, carrier, now);
        if self.inbound(slot).is_some_and(|message| message.pooled) {
            self.pool_request(index, false, now);
        }
    }

    /// Takes arrivals under a message's numbers for its own from now on. What came before its request can only be what
    /// it sent unscheduled, or under a pool's credit: octets beyond that were another's.
    fn bind(&mut self, slot: u32, from: core::net::IpAddr, carrier: Carrier, now: Nanos) {
        let early = self.bindings.bind(from, carrier, slot, now);
        self.settle_lane(from, carrier.lane, now);
        let Some(message) = self.inbound(slot).filter(|_| early > 0) else { return };
        let most = if self.config.pool_grants { message.length } else { message.announced };
        let own = early.min(most.saturating_sub(message.received));
        self.stats.unmatched_octets += early - own;
        if own > 0 {
            self.receive(slot, own, false, now);
        }
    }

    /// A request for a message that is known: its sender holds no usable credit, has converted its unscheduled message, or
    /// waits for `MSG_DONE`.
    fn repeated_request(&mut self, slot: u32, request: &CreditRequest, carrier: Carrier, now: Nanos) {
        let Some(message) = self.inbound_mut(slot).filter(|message| !message.cancelled) else { return };
        let (index, before, reserved) = (message.association, message.carrier, message.unscheduled);
        let announced = request.unscheduled_sent.0;
        message.heard_at = now;
        // A conversion only lowers what was announced; the reservation shrinks to what was really sent.
        // Credit counts from its end, so it stands once there was any: lowered then, it would make that credit larger.
        if message.issued == 0 {
            message.announced = message.announced.min(announced);
        }
        message.wants = message.announced < message.length;
        message.deadline = message.deadline.min(deadline(request.deadline, now));
        message.carrier = carrier;
        // RDCC, Error Handling and Recovery: nothing more for a sender that went beyond its credit, not even time.
        let live = message.live && !message.barred;
        self.recount(slot);
        let freed = reserved - self.inbound(slot).map_or(0, |message| message.unscheduled);
        self.discharge_link(slot, freed, now);
        let Some(from) = self.association_mut(index).map(|association| association.from.ip()) else { return };
        if carrier != before {
            self.bindings.unbind(from, before.lane, slot);
            self.settle_lane(from, before.lane, now);
            self.bind(slot, from, carrier, now);
        }
        let pooled = self.inbound(slot).is_some_and(|message| message.pooled);
        if pooled {
            self.pool_request(index, true, now);
            self.leave_pool_in_vain(slot, now);
        }
        if live && self.inbound(slot).is_some_and(|message| message.live) && !self.is_behind_another(slot) {
            // The grant was lost or ran out at the sender; it is still charged here. Behind a message without credit
            // it couldn't be used, and renewed again and again it would keep the budget from that one for ever.
            self.refresh_in_place(slot, now);
        }
        self.settle_lane(from, carrier.lane, now);
    }

    pub(super) fn refuse(&mut self, index: u32, id: u64, reason: Reason) {
        let error = ErrorMessage { reason, message_id: MessageId(id) };
        self.send(index, Flags::NONE, &RdccMessage::Error(error));
    }

    /// The sender will not transmit beyond New Limit.
    pub(super) fn credit_return(&mut self, index: u32, credit: &CreditReturn, now: Nanos) {
        let certain = self.config.d_max + self.config.d_max;
        // Message ID 0 is the pool.
        let Some(slot) = self.slot_of(index, credit.message_id.0) else { return };
        let Some(message) = self.inbound_mut(slot).filter(|message| message.live) else { return };
        // It doesn't ask for more either, until it requests again.
        message.wants = false;
        // A grant that may have crossed this return would leave the sender more than New Limit; then the credit stays
        // charged until it is used or expires (our decision).
        if now < message.granted_at + certain {
            self.settle(slot, now);
            return;
        }
        let limit = credit.new_limit.0.max(message.base()).min(message.issued);
        let returned = message.issued - limit;
        message.issued = limit;
        self.stats.credit_returned += returned;
        self.recount(slot);
        self.settle(slot, now);
    }

    /// The sender gave the message up; its credit is reclaimed `2 * D_max` later.
    pub(super) fn cancelled(&mut self, index: u32, cancel: &Cancel, now: Nanos) {
        if let Some(slot) =
            self.slot_of(index, cancel.message_id.0).filter(|_| cancel.message_id.0 != POOL_ID)
        {
            self.abandon(slot, now);
        }
    }

    //= RDCC, Credit Requests and Grants: d3c17bd0
    //= RDCC, Receiver Credit Budget: 6fae2f8d
    /// Stops serving a message; its credit stays charged until what was sent under it must have arrived.
    fn abandon(&mut self, slot: u32, now: Nanos) {
        let reclaim = now + self.config.d_max + self.config.d_max;
        let Some(message) = self.inbound_mut(slot).filter(|message| !message.cancelled) else { return };
        message.cancelled = true;
        message.wants = false;
        let (index, id, carrier) = (message.association, message.id, message.carrier);
        let reserved = message.unscheduled;
        self.discharge_link(slot, reserved, now);
        self.note_given_up(index, &carrier);
        self.timers.set(Timer::Cancelled(slot), reclaim);
        self.settle(slot, now);
        self.settle_pool(index, now);
        let Some(association) = self.association_mut(index) else { return };
        association.ended.abort(id);
        let from = association.from;
        // Another message may take over its sequence numbers, so arrivals must not be taken for it any more.
        self.bindings.give_up(from.ip(), carrier, slot);
        self.settle_lane(from.ip(), carrier.lane, now);
        self.events.push_back(ReceiverEvent::MessageCancelled { from, message: MessageId(id) });
    }

    /// Ours: gives up the messages of an association that nothing was heard of for the idle time although it is in use,
    /// and that hold nothing. Their `CANCEL` got lost, or their application has paused them for too long; the sender is
    /// told, and told again if it asks. Otherwise so many lost `CANCEL`s would fill the association for ever.
    pub(super) fn abandon_silent(&mut self, index: u32, now: Nanos) {
        let idle = self.config.idle_timeout;
        let Some(association) = self.association_mut(index) else { return };
        let slots: Vec<u32> = association.messages.values().copied().collect();
        for slot in slots {
            let silent = self.inbound(slot).filter(|message| {
                let holds = message.live || message.reserved || message.pool || message.cancelled;
                !holds && now >= message.heard_at + idle
            });
            let Some(id) = silent.map(|message| message.id) else { continue };
            let cancel = Cancel { message_id: MessageId(id), reason: Reason::APPLICATION_ABORT };
            self.send(index, Flags::NONE, &RdccMessage::Cancel(cancel));
            self.abandon(slot, now);
        }
    }

    /// RDCC, Sender Backlog Indication and Suggested Rates.
    pub(super) fn sender_status(&mut self, index: u32, status: &SenderStatus, now: Nanos) {
        let Some(association) = self.association_mut(index) else { return };
        let rate = u64::from(status.suggested_rate.0);
        association.suggestion = (rate > 0).then_some((rate, now));
        self.lower(index, now);
    }

    /// How the data of a request's message is recognised; `None` for a Binding Kind that isn't supported here.
    fn carrier(&self, request: &CreditRequest) -> Option<Carrier> {
        match request.binding_kind {
            BindingKind::ROCEV2 => request.roce_binding().map(Carrier::roce),
            BindingKind::OPAQUE if self.config.opaque_bindings => {
                Some(Carrier::opaque(request.binding_value))
            }
            _ => None,
        }
    }

    fn slot_of(&self, index: u32, id: u64) -> Option<u32> {
        self.associations.get(index as usize)?.as_ref()?.messages.get(&id).copied()
    }
}

/// The absolute time of a wish that counts from the request; zero is none.
fn deadline(wish: Micros, now: Nanos) -> Nanos {
    if wish == Micros(0) { Nanos::MAX } else { now + wish.nanos() }
}
