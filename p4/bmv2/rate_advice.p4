// SCONE, Solution 1: a source hears what all its queue pairs together should not exceed.

#ifndef CRN_BMV2_RATE_ADVICE_P4
#define CRN_BMV2_RATE_ADVICE_P4

// Time of the last advice to each source (us), 0 = never.
@id(0x1600000A) @name(".last_advice")
register<bit<48>>(RATE_ADVICE_SLOTS) last_advice;

// Says whether a RoCEv2 data packet that leaves may be advised about: its queue is congested, or a policy limits its source,
// and the source's interval is over. Before the queue's share is looked up, which only such packets need.
control RateAdviceGate(in headers_t hdr, inout metadata_t meta, in standard_metadata_t standard_metadata) {
    SourceRatePolicy() source_rate_policy;
    SourceCount() source_count;

    @hidden
    action look(bit<32> slot, bit<48> now) {
        bit<48> last;
        last_advice.read(last, slot);
        bit<48> age = now - last;
        meta.advice_due = 1;
        if (last != 0 && (age <= (bit<48>) meta.advice_interval || age > LONGEST_AGE)) {
            meta.advice_due = 0;
        }
    }

    @hidden
    action suppress(bit<3> cause) {
        reports_suppressed.count((bit<32>) (cause ++ standard_metadata.egress_port ++ standard_metadata.priority));
    }

    apply {
        if (meta.advises == 1 && meta.is_data == 1 && meta.role != ROLE_CONTROL && meta.scone_port != 0) {
            source_rate_policy.apply(meta.traffic_class, meta.src_addr, meta.policy_rate);
            if (meta.congested == 1 || meta.policy_rate != 0) {
                if (meta.source_invalid == 1) {
                    suppress(SUPPRESSED_SOURCE_INVALID);
                } else if (hdr.ipv4.isValid() && meta.reporter_ipv4 == 0
                           || hdr.ipv6.isValid() && meta.reporter_ipv6 == 0) {
                    suppress(SUPPRESSED_NO_ADDRESS);
                } else {
                    look((bit<32>) (rate_advice_slot_t) meta.source_hash, standard_metadata.egress_global_timestamp);
                    if (meta.congested == 1) {
                        if (meta.advice_due == 0) {
                            // Between two intervals a policy alone has nothing new to say: that isn't suppression.
                            suppress(SUPPRESSED_SOURCE_INTERVAL);
                        } else {
                            source_count.apply(meta.sources, standard_metadata.egress_port
                                                             ++ standard_metadata.priority);
                            meta.wants_degree = 1;
                            if (meta.wants_share == 0) {
                                meta.wants_share = 1;
                                meta.share_of_source = 1;
                            }
                        }
                    }
                }
            }
        }
    }
}

// For packets that the gate let through. One report per packet, and a CONGESTION_REPORT comes first: the advice then stays due
// for the source's next packet. With neither a share nor a policy there is nothing to advise, and nothing happens.
control RateAdviceTrigger(inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    bit<2> verdict;

    // Looks again: another thread may have been first.
    @hidden
    action judge(bit<32> slot, bit<48> now, bit<32> port) {
        bit<48> last;
        bit<2> colour;
        last_advice.read(last, slot);
        bit<48> age = now - last;
        if (last != 0 && (age <= (bit<48>) meta.advice_interval || age > LONGEST_AGE)) {
            verdict = VERDICT_INTERVAL;
        } else {
            report_meter.execute_meter(port, colour);
            if (colour == METER_RED) {
                verdict = VERDICT_PORT_LIMIT;
            } else {
                last_advice.write(slot, now);
                verdict = VERDICT_SEND;
            }
        }
    }

    @hidden
    action suppress(bit<3> cause) {
        reports_suppressed.count((bit<32>) (cause ++ standard_metadata.egress_port ++ standard_metadata.priority));
    }

    apply {
        if (meta.suggested_rate != 0 || meta.policy_rate != 0) {
            if (meta.reports_congestion == 1) {
                reports_deferred.count((bit<32>) (KIND_RATE_ADVICE ++ standard_metadata.egress_port
                                                  ++ standard_metadata.priority));
            } else {
                judge((bit<32>) (rate_advice_slot_t) meta.source_hash, standard_metadata.egress_global_timestamp,
                      (bit<32>) standard_metadata.egress_port);
                if (verdict == VERDICT_PORT_LIMIT) {
                    suppress(SUPPRESSED_PORT_LIMIT);
                } else if (verdict == VERDICT_INTERVAL) {
                    suppress(SUPPRESSED_SOURCE_INTERVAL);
                } else {
                    meta.report_kind = KIND_RATE_ADVICE;
                    meta.report_port = standard_metadata.egress_port;
                    meta.report_queue = standard_metadata.priority;
                    if (meta.share_of_source == 1) {
                        // Looked up already, since no Rate Signal wanted a flow's share.
                        meta.sources = 0;
                    }
                    reports_triggered.count((bit<32>) (KIND_RATE_ADVICE ++ standard_metadata.egress_port
                                                       ++ standard_metadata.priority));
                    clone_preserving_field_list(CloneType.E2E, REPORT_CLONE_SESSION, 1);
                }
            }
        }
    }
}

// The body of the advice. `suggested_rate` is the queue's share for one source, 0 if the queue isn't congested or has
// no shares. Nothing known, nothing advised: `rate` 0.
control RateAdviceBody(inout headers_t hdr, in metadata_t meta, out bit<16> octets, out mbit_per_sec_t rate) {
    CongestedRate() congested_rate;
    LeastRate() least_rate;
    FillRateAdvice() fill_rate_advice;

    mbit_per_sec_t share;

    apply {
        congested_rate.apply(meta.suggested_rate, meta.degree, meta.advice_floor, share);
        least_rate.apply(share, meta.policy_rate, rate);
        fill_rate_advice.apply(hdr.rate_advice, rate);
        if (hdr.ipv4.isValid()) {
            octets = RATE_ADVICE_IPV4_OCTETS;
            hdr.advice_ipv4.setValid();
            hdr.advice_ipv4.src_addr = hdr.ipv4.src_addr;
            hdr.advice_ipv4.reserved = 0;
        } else {
            octets = RATE_ADVICE_IPV6_OCTETS;
            hdr.advice_ipv6.setValid();
            hdr.advice_ipv6.src_addr = hdr.ipv6.src_addr;
            hdr.advice_ipv6.reserved = 0;
        }
    }
}

#endif
