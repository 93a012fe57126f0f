//! Setting a flow up and taking configurations (CREM, Flow Establishment and Configuration Changes).

use wire::crem::{Flags, FlowKind, Hello, HelloAck, Message, ParamAck, ParamStatus, ParamUpdate};

use super::config::CrfConfig;
use super::flow::{Context, Flow};
use super::slot::{Slot, Store};
use crate::code::Code;
use crate::configuration::Configuration;
use crate::packet::{MIN_PAYLOAD, PREFIX_OCTETS};
use crate::ring::Ring;
use crate::sink::Deliver;

/// Configurations that are kept until they are released.
const MAX_CONFIGURATIONS: usize = 16;

impl Flow {
    //= CREM, Flow Establishment: 3166f60f
    //= CREM, Message Formats: 306e7445
    /// Answers `HELLO`.
    pub(super) fn acknowledge_hello<T: Deliver>(&self, ctx: &mut Context<'_, T>) {
        let Hello { rdma_mtu, nonce, flow, .. } = self.hello;
        let ack = HelloAck {
            flow_kind: FlowKind::ROCEV2,
            af: flow.af(),
            schemes: ctx.config.schemes,
            max_k: ctx.config.max_k,
            max_m: ctx.config.max_m,
            max_t: ctx.config.max_t,
            rdma_mtu,
            nonce,
            max_open_blocks: ctx.config.max_open_blocks,
        };
        self.send(&Message::HelloAck(ack), Flags::NONE, ctx);
    }

    /// Octets that the symbols of this flow take.
    pub(super) fn memory(&self, config: &CrfConfig) -> usize {
        if self.first.is_none() { 0 } else { needed(config, config.max_t.min(self.hello.max_t)) }
    }

    //= CREM, Configuration Changes: ea1c9932
    //= CREM, Message Formats: 625fb5ce
    /// Takes a configuration, or says why not. `free` is what is left for symbols.
    pub(super) fn param_update<T: Deliver>(
        &mut self,
        update: &ParamUpdate,
        free: usize,
        ctx: &mut Context<'_, T>,
    ) {
        self.last_heard = ctx.now;
        if let Some(sent) = self.acknowledged_at.take() {
            self.rtt.sample(ctx.now.saturating_sub(sent));
        }
        let status = self.take_configuration(update, free, ctx);
        ctx.stats.turned_away += u64::from(status != ParamStatus::ACCEPTED);
        let ack = ParamAck { config_id: update.config_id, status };
        self.send(&Message::ParamAck(ack), Flags::NONE, ctx);
    }

    fn take_configuration<T>(
        &mut self,
        update: &ParamUpdate,
        free: usize,
        ctx: &Context<'_, T>,
    ) -> ParamStatus {
        let Some(code) = Code::of(update.scheme).filter(|_| ctx.config.schemes.contains(update.scheme))
        else {
            return ParamStatus::UNSUPPORTED_SCHEME;
        };
        let max_t = ctx.config.max_t.min(self.hello.max_t);
        let within = (1..=ctx.config.max_k.min(self.hello.max_k)).contains(&update.k)
            && update.m <= ctx.config.max_m.min(self.hello.max_m)
            && u16::from(update.m) <= code.indices(update.k)
            && update.t <= max_t
            && usize::from(update.t) >= PREFIX_OCTETS + MIN_PAYLOAD;
        if !within {
            return ParamStatus::LIMITS_EXCEEDED;
        }
        if self.first.is_none() {
            if needed(ctx.config, max_t) > free {
                return ParamStatus::RESOURCES_EXHAUSTED;
            }
            self.ring = Ring::new(ctx.config.window(), max_t);
            self.slots = vec![Slot::default(); self.ring.window() as usize];
            self.store = Store::new(ctx.config.repair_symbols, max_t);
            self.start_at(update.effective_psn);
        }
        let effective = self.position(update.effective_psn);
        let configuration =
            Configuration { id: update.config_id, code, k: update.k, m: update.m, octets: update.t };
        if self.configurations.contains(&(configuration, effective)) {
            return ParamStatus::ACCEPTED;
        }
        self.release_configurations();
        let taken = self.configurations.iter().any(|(known, _)| known.id == configuration.id);
        if taken || self.configurations.len() >= MAX_CONFIGURATIONS {
            return ParamStatus::RESOURCES_EXHAUSTED;
        }
        self.configurations.push((configuration, effective));
        ParamStatus::ACCEPTED
    }

    //= CREM, Configuration Changes: af8b50a7
    /// Lets go of configurations that no block can use any more: a newer one holds from before everything that is tracked.
    fn release_configurations(&mut self) {
        let tail = self.tail();
        let newest = self.configurations.iter().rposition(|(_, effective)| *effective <= tail);
        if let Some(newest) = newest {
            self.configurations.drain(..newest);
        }
    }
}

/// Octets that a flow's symbols need.
fn needed(config: &CrfConfig, max_t: u16) -> usize {
    (config.window().next_power_of_two() + usize::from(config.repair_symbols)) * usize::from(max_t)
}
