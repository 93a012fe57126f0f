//! Setting a flow up and changing its configuration (CREM, Flow Establishment and Configuration Changes).

use core::net::SocketAddr;

use wire::crem::{
    Close, CloseReason, Flags, FlowId, FlowKind, Header, Hello, HelloAck, Message, ParamAck, ParamStatus,
    ParamUpdate, Scheme, Schemes,
};
use wire::roce::Psn;
use wire::units::Nanos;

use super::breaker::Verdict;
use super::flow::{Context, Flow, HALF, Limits};
use crate::code::Code;
use crate::configuration::Configuration;
use crate::ring::Ring;
use crate::sink::Transmit;

/// How often `HELLO` and `PARAM_UPDATE` are sent.
const ATTEMPTS: u32 = 8;
/// The first wait for an answer to `HELLO`, and the least for one to `PARAM_UPDATE`.
const FIRST_WAIT: Nanos = Nanos(1_000_000);

/// The schemes that this crate can use.
pub(crate) const SCHEMES: Schemes =
    Schemes(0).with(Scheme::SOURCE_COPY).with(Scheme::CAUCHY).with(Scheme::XOR);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing sent yet.
    Silent,
    /// `HELLO` sent so many times, and when again.
    Hello { attempts: u32, sent_at: Nanos, next: Nanos },
    /// Messages are exchanged.
    Open,
    /// Not protected until then.
    Refused { until: Nanos },
}

/// A configuration that waits for its `PARAM_ACK`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub configuration: Configuration,
    pub effective: Psn,
    attempts: u32,
    sent_at: Nanos,
    wait: Nanos,
    pub next: Nanos,
    /// How often an Effective PSN passed too early.
    late: u32,
}

impl Flow {
    //= CREM, Flow Establishment: 48384437 515340b8
    /// Sends `HELLO`, or gives up after eight.
    pub(super) fn say_hello<T: Transmit>(&mut self, ctx: &mut Context<'_, T>) {
        let attempts = match self.state {
            State::Hello { attempts, .. } => attempts,
            _ => 0,
        };
        if attempts == ATTEMPTS {
            self.refuse(ctx);
            return;
        }
        let wait = Nanos(FIRST_WAIT.0 << attempts);
        self.state = State::Hello { attempts: attempts + 1, sent_at: ctx.now, next: ctx.now + wait };
        let hello = Hello {
            flow_kind: FlowKind::ROCEV2,
            schemes: SCHEMES,
            max_k: ctx.config.k,
            max_m: ctx.config.max_m,
            max_t: ctx.config.symbol_octets,
            rdma_mtu: ctx.config.mtu,
            nonce: self.nonce,
            flow: self.key.addresses,
            flow_label: self.key.label,
        };
        self.send_message(&Message::Hello(hello), ctx);
    }

    pub(super) fn send_message<T: Transmit>(&self, message: &Message<'_>, ctx: &mut Context<'_, T>) {
        ctx.message.clear();
        message.encode(&Header { flags: Flags::NONE, flow_id: self.id }, ctx.message);
        ctx.out.transmit(&self.key, self.peer, ctx.message);
    }

    /// Leaves the flow unprotected for a while.
    fn refuse<T>(&mut self, ctx: &Context<'_, T>) {
        let fresh = Self::new(self.key, self.nonce, ctx.config, ctx.now);
        let kept = (self.next, self.last_source, self.armed);
        *self = Self { state: State::Refused { until: ctx.now + ctx.config.retry }, ..fresh };
        (self.next, self.last_source, self.armed) = kept;
    }

    /// Tells the receiver that the flow ends, and leaves it unprotected for a while.
    pub(super) fn close<T: Transmit>(&mut self, reason: CloseReason, ctx: &mut Context<'_, T>) {
        if self.state == State::Open {
            self.send_message(&Message::Close(Close { reason }), ctx);
        }
        self.refuse(ctx);
    }

    /// The receiver ends the flow.
    pub(super) fn closed_by_peer<T>(&mut self, ctx: &Context<'_, T>) {
        self.refuse(ctx);
    }

    //= CREM, Flow Establishment: 3166f60f e523af6a a0d48d54
    /// The receiver answers; false when the answer isn't one.
    pub(super) fn hello_ack<T: Transmit>(
        &mut self,
        from: SocketAddr,
        flow_id: FlowId,
        ack: &HelloAck,
        ctx: &mut Context<'_, T>,
    ) -> bool {
        let State::Hello { attempts, sent_at, .. } = self.state else { return false };
        if ack.nonce != self.nonce || flow_id == FlowId(0) || ack.flow_kind != FlowKind::ROCEV2 {
            return false;
        }
        if attempts == 1 {
            self.rtt.sample(ctx.now.saturating_sub(sent_at));
        }
        self.limits = Limits {
            schemes: ack.schemes.and(SCHEMES),
            max_k: ack.max_k.min(ctx.config.k),
            max_m: ack.max_m.min(ctx.config.max_m),
            max_t: ack.max_t.min(ctx.config.symbol_octets),
        };
        (self.peer, self.id, self.state) = (from, flow_id, State::Open);
        if self.desired().is_none() {
            // Nothing that both can do.
            self.close(CloseReason::LIMITS, ctx);
            return true;
        }
        // Blocks beyond what the receiver can hold can't be repaired by it either.
        let held = u32::from(ack.max_open_blocks).saturating_mul(self.limits.max_k.into());
        let window = usize::try_from(ctx.config.window.min(held)).unwrap_or(usize::MAX);
        self.ring = Ring::new(window, self.limits.max_t);
        self.update_parameters(ctx);
        true
    }

    /// The configuration that the policy asks for now; `None` when the limits leave no room for any.
    fn desired(&self) -> Option<Configuration> {
        let Limits { schemes, max_k, max_m, max_t } = self.limits;
        if max_k == 0 || usize::from(max_t) < crate::packet::PREFIX_OCTETS + crate::packet::MIN_PAYLOAD {
            return None;
        }
        let code = [Code::Xor, Code::Cauchy].into_iter().find(|code| {
            let wanted = *code == self.wanted_code || *code == Code::Cauchy;
            wanted && schemes.contains(code.scheme())
        })?;
        let room = u8::try_from(code.indices(max_k)).unwrap_or(u8::MAX);
        let m = self.policy.repairs(max_k, max_m.min(room));
        Some(Configuration { id: self.next_config_id, code, k: max_k, m, octets: max_t })
    }

    //= CREM, Configuration Changes: f4ca4432 765ba7e6
    /// Starts a change of the configuration if the policy asks for another one and none is under way.
    pub(super) fn update_parameters<T: Transmit>(&mut self, ctx: &mut Context<'_, T>) {
        if self.state != State::Open || self.pending.is_some() {
            return;
        }
        let Some(mut desired) = self.desired() else { return };
        if self.breaker.verdict(ctx.now) != Verdict::Closed {
            desired.m = 0;
        }
        let latest = self.accepted.map(|(configuration, _)| configuration).or(self.current);
        if latest.is_some_and(|latest| Configuration { id: desired.id, ..latest } == desired) {
            return;
        }
        self.propose(desired, 0, ctx);
    }

    /// Sends a configuration with an Effective PSN that, at the pace of the flow, comes after the acknowledgement.
    fn propose<T: Transmit>(&mut self, configuration: Configuration, late: u32, ctx: &mut Context<'_, T>) {
        let [current, previous] = self.activity;
        let idle = ctx.now.saturating_sub(self.last_source) >= self.rtt.smoothed();
        let pace = if idle { 0 } else { current.max(previous).saturating_mul(2) };
        // An idle flow may start at once; one that surprised us gets more room each time.
        let margin = if late > 0 { pace.max(64) << late.min(8) } else { pace };
        let effective = self.next.unwrap_or_default().plus(margin.min(HALF / 2));
        self.next_config_id = self.next_config_id.wrapping_add(1);
        let wait = Nanos((self.rtt.smoothed().0 * 2).max(FIRST_WAIT.0));
        let pending =
            Pending { configuration, effective, attempts: 0, sent_at: ctx.now, wait, next: ctx.now, late };
        self.pending = Some(pending);
        self.resend_parameters(ctx);
    }

    //= CREM, Configuration Changes: 673c6fa3
    /// Sends `PARAM_UPDATE` again when it is due; closes the flow after eight.
    pub(super) fn resend_parameters<T: Transmit>(&mut self, ctx: &mut Context<'_, T>) {
        let Some(mut pending) = self.pending.filter(|pending| ctx.now >= pending.next) else { return };
        if pending.attempts == ATTEMPTS {
            self.close(CloseReason::NO_ANSWER, ctx);
            return;
        }
        pending.attempts += 1;
        pending.next = ctx.now + pending.wait;
        pending.wait = Nanos(pending.wait.0.saturating_mul(2));
        let Configuration { id, code, k, m, octets } = pending.configuration;
        let update = ParamUpdate {
            config_id: id,
            scheme: code.scheme(),
            k,
            m,
            t: octets,
            effective_psn: pending.effective,
        };
        self.pending = Some(pending);
        self.send_message(&Message::ParamUpdate(update), ctx);
    }

    //= CREM, Configuration Changes: c65c22fb 3fd98f11
    //= CREM, Message Formats: 570c57df
    /// The receiver answers a configuration; false when none was asked for.
    pub(super) fn param_ack<T: Transmit>(&mut self, ack: ParamAck, ctx: &mut Context<'_, T>) -> bool {
        let Some(pending) = self.pending.filter(|pending| pending.configuration.id == ack.config_id) else {
            return false;
        };
        self.pending = None;
        if pending.attempts == 1 {
            self.rtt.sample(ctx.now.saturating_sub(pending.sent_at));
        }
        if ack.status != ParamStatus::ACCEPTED {
            if self.current.is_none() && self.accepted.is_none() {
                self.close(CloseReason::LIMITS, ctx);
            }
            return true;
        }
        let next = self.next.unwrap_or(pending.effective);
        let passed = next != pending.effective && next.ahead_of(pending.effective) < HALF;
        if passed {
            let again = Configuration { id: self.next_config_id, ..pending.configuration };
            self.propose(again, pending.late + 1, ctx);
        } else {
            self.accepted = Some((pending.configuration, pending.effective));
        }
        true
    }
}
