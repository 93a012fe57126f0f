// SCONE, Solution 2: the Rate Signal of a passing data packet, lowered in place.

#ifndef CRN_TOFINO_RATE_SIGNAL_P4
#define CRN_TOFINO_RATE_SIGNAL_P4

// First in egress: whether the packet carries a signal of this domain. Ingress has seen that there is room for one.
control RateSignalGate(in headers_t hdr, inout egress_metadata_t meta) {
    RateSignalSettings() rate_signal_settings;

    bit<1> enabled;

    @hidden
    action differ() {
        meta.signal_type = meta.signal_type ^ hdr.rate_signal.type;
    }

    @hidden
    action signals() {
        meta.signals = 1;
    }

    @hidden
    table domain_signal {
        key = {
            enabled : ternary @name("enabled");
            meta.is_refused : ternary;
            hdr.rate_signal.isValid() : ternary;
            meta.signal_type : ternary;
            hdr.rate_signal.length : ternary;
            hdr.rate_signal.version : ternary;
        }
        actions = { signals; NoAction; }
        const default_action = NoAction();
        const entries = {
            (1, 0, true, 0, RATE_SIGNAL_OCTETS, SCONE_VERSION) : signals();
        }
    }

    apply {
        rate_signal_settings.apply(enabled, meta.signal_type, meta.signal_floor);
        differ();
        domain_signal.apply();
    }
}

// Once share and degree are known. A switch sets a rate that is 0 and lowers one that is higher; it never raises one.
control RateSignal(inout headers_t hdr, inout egress_metadata_t meta) {
    // Rates set or lowered; index port << 3 | queue.
    @id(0x12000009) @name(".rate_signals")
    Counter<bit<64>, bit<12>>(QUEUES, CounterType_t.PACKETS_AND_BYTES) rate_signals;

    CongestedShare() congested_share;
    Unlimited() unlimited_signal;
    Unlimited() unlimited_policy;

    bit<32> policy;
    bit<32> share;
    bit<32> lower;

    @hidden
    action no_share() {
        share = NO_LIMIT;
    }

    @hidden
    action take_policy() {
        meta.signalled = hdr.rate_signal.rate;
        policy = hdr.bridged.qp_policy;
    }

    @hidden
    action least_allowed() {
        meta.limit = min(share, policy);
    }

    @hidden
    action least() {
        lower = meta.signalled |-| meta.limit;
    }

    @hidden
    action write() {
        hdr.rate_signal.rate = meta.limit;
        meta.renews_checksum = meta.has_checksum;
        rate_signals.count(meta.queue[11:0]);
    }

    // The signal is more than the limit. Where neither says anything both are all ones.
    @hidden
    table lowered {
        key = {
            meta.signals : exact;
            lower : ternary @name("lower");
        }
        actions = { write; NoAction; }
        const default_action = NoAction();
        const entries = {
            (1, 32w0) : NoAction();
            (1, _) : write();
        }
    }

    apply {
        take_policy();
        unlimited_signal.apply(meta.signalled);
        unlimited_policy.apply(policy);
        congested_share.apply(meta.rate, meta.degree, meta.signal_floor, share);
        if (meta.congested == 0) {
            no_share();
        }
        least_allowed();
        least();
        lowered.apply();
    }
}

#endif
