// SCONE, Solution 1: a source hears what all its queue pairs together should not exceed.

#ifndef CRN_TOFINO_RATE_ADVICE_P4
#define CRN_TOFINO_RATE_ADVICE_P4

// In egress, once it is known whether a CONGESTION_REPORT is due: that one goes first, and the advice stays due for the source's
// next packet.
control RateAdviceGate(in headers_t hdr, inout egress_metadata_t meta) {
    // Time of the last advice to each source.
    @id(0x1600000A) @name(".last_advice")
    Register<bit<32>, rate_advice_slot_t>(RATE_ADVICE_SLOTS, 0) last_advice;
    RegisterAction<bit<32>, rate_advice_slot_t, bit<1>>(last_advice) judge = {
        void apply(inout bit<32> last, out bit<1> due) {
            due = 0;
            if (last < meta.advice_due_before || last > meta.now) {
                last = meta.now;
                due = 1;
            }
        }
    };
    RegisterAction<bit<32>, rate_advice_slot_t, bit<1>>(last_advice) peek = {
        void apply(inout bit<32> last, out bit<1> due) {
            due = 0;
            if (last < meta.advice_due_before || last > meta.now) {
                due = 1;
            }
        }
    };

    @hidden
    action look() {
        meta.may_advise = 1;
        meta.advice_due = judge.execute(hdr.bridged.source_hash[13:0]);
    }

    // Behind a CONGESTION_REPORT.
    @hidden
    action wait() {
        meta.advice_due = peek.execute(hdr.bridged.source_hash[13:0]);
    }

    @hidden
    action suppress() {
        meta.suppressed = 1;
        meta.suppressed_index = meta.queue | hdr.bridged.advice_candidate;
    }

    @hidden
    table advice_gate {
        key = {
            meta.advises : ternary;
            meta.is_refused : ternary;
            meta.suppressed : ternary;
            meta.congested : ternary;
            hdr.bridged.source_policy : ternary;
            meta.due : ternary;
            hdr.bridged.advice_candidate : ternary;
        }
        actions = { look; wait; suppress; NoAction; }
        const default_action = NoAction();
        const entries = {
            (0, _, _, _, _, _, _) : NoAction();
            (_, 1, _, _, _, _, _) : NoAction();
            (_, _, _, 0, 32w0, _, _) : NoAction();
            (_, _, _, _, _, 1, CANDIDATE_REPORT) : wait();
            (_, _, _, _, _, 0, CANDIDATE_REPORT) : look();
            (_, _, 0, _, _, _, CANDIDATE_SUPPRESSED &&& CANDIDATE_SUPPRESSED) : suppress();
        }
    }

    apply {
        advice_gate.apply();
    }
}

// After the port's limit was asked.
control RateAdviceTrigger(in headers_t hdr, inout egress_metadata_t meta) {
    @id(0x12000003) @name(".reports_deferred")
    Counter<bit<64>, bit<14>>(REPORTS_DEFERRED_SIZE, CounterType_t.PACKETS_AND_BYTES) reports_deferred;

    // The share is looked up on the copy's own way through egress, by the number of sources; 0: the queue isn't congested.
    @hidden
    action advise_about_queue() {
        meta.sends = 1;
        meta.kind = (bit<8>) KIND_RATE_ADVICE;
        meta.report = meta.queue | ((bit<16>) KIND_RATE_ADVICE << 12);
        meta.copied_rate = 16w0 ++ meta.sources;
        meta.copied_other = hdr.bridged.source_policy;
    }

    @hidden
    action advise_about_policy() {
        meta.sends = 1;
        meta.kind = (bit<8>) KIND_RATE_ADVICE;
        meta.report = meta.queue | ((bit<16>) KIND_RATE_ADVICE << 12);
        meta.copied_other = hdr.bridged.source_policy;
    }

    @hidden
    action defer() {
        meta.defers = 1;
        meta.deferred_index = meta.queue | ((bit<16>) KIND_RATE_ADVICE << 12);
    }

    @hidden
    action suppress(bit<16> cause) {
        meta.suppressed = 1;
        meta.suppressed_index = meta.queue | cause;
    }

    // Between two intervals a policy alone has nothing new to say: that isn't suppression.
    @hidden
    table advice_verdict {
        key = {
            meta.may_advise : ternary;
            meta.advice_due : ternary;
            meta.congested : ternary;
            meta.colour : ternary;
            meta.suppressed : ternary;
        }
        actions = { advise_about_queue; advise_about_policy; defer; suppress; NoAction; }
        const default_action = NoAction();
        const entries = {
            (0, 1, _, _, _) : defer();
            (1, 1, _, METER_RED, 0) : suppress((bit<16>) SUPPRESSED_PORT_LIMIT << 12);
            (1, 1, _, METER_RED, _) : NoAction();
            (1, 1, 1, _, _) : advise_about_queue();
            (1, 1, 0, _, _) : advise_about_policy();
            (1, 0, 1, _, 0) : suppress((bit<16>) SUPPRESSED_SOURCE_INTERVAL << 12);
        }
    }

    apply {
        meta.defers = 0;
        advice_verdict.apply();
        if (meta.defers == 1) {
            reports_deferred.count(meta.deferred_index[13:0]);
        }
    }
}

// The body of the advice, in ingress: on its copy, whose `rate` is the queue's share for one source and whose `other` is the policy.
// Nothing known, nothing advised.
control RateAdviceBody(inout headers_t hdr, inout ingress_metadata_t meta) {
    CongestedShare() congested_share;
    Unlimited() unlimited_policy;
    FillRateAdvice() fill_rate_advice;

    bit<32> share;
    bit<32> policy;
    bit<32> rate;

    @hidden
    action take_policy() {
        policy = hdr.copy.other;
    }

    @hidden
    action least() {
        rate = min(share, policy);
    }

    @hidden
    action says_nothing() {
        meta.says_nothing = 1;
    }

    @hidden
    table known {
        key = { rate : ternary @name("rate"); }
        actions = { says_nothing; NoAction; }
        const default_action = NoAction();
        const entries = { NO_LIMIT : says_nothing(); }
    }

    apply {
        take_policy();
        unlimited_policy.apply(policy);
        congested_share.apply(hdr.copy.rate, hdr.copy.degree, hdr.copy.floor, share);
        least();
        known.apply();
        fill_rate_advice.apply(hdr.rate_advice, rate);
        if (hdr.ipv4.isValid()) {
            hdr.advice_ipv4.setValid();
            hdr.advice_ipv4.src_addr = hdr.ipv4.src_addr;
            hdr.advice_ipv4.reserved = 0;
        }
#ifdef WITH_IPV6
        else {
            hdr.advice_ipv6.setValid();
            hdr.advice_ipv6.src_addr = hdr.ipv6.src_addr;
            hdr.advice_ipv6.reserved = 0;
        }
#endif
    }
}

#endif
