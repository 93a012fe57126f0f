// SCONE, Solution 1: a source hears what all its queue pairs together should not exceed.

#ifndef CRN_BMV2_RATE_ADVICE_P4
#define CRN_BMV2_RATE_ADVICE_P4

// Decides for one RoCEv2 data packet that leaves: its queue is congested, or a policy limits its source. One report
// per packet, and a CONGESTION_REPORT comes first: the advice then stays due for the source's next packet.
control RateAdviceTrigger(in headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // Time of the last advice to each source (us), 0 = never.
    @id(0x1600000A) @name(".last_advice")
    register<bit<48>>(RATE_ADVICE_SLOTS) last_advice;

    SourceRatePolicy() source_rate_policy;
    SourceCount() source_count;

    bit<2> verdict;

    // Nothing is written and the meter isn't asked where the packet's report is another one.
    @hidden
    action judge(bit<32> slot, bit<48> now, bit<32> port) {
        bit<48> last;
        bit<2> colour;
        last_advice.read(last, slot);
        if (last != 0 && now - last <= (bit<48>) meta.advice_interval) {
            verdict = VERDICT_INTERVAL;
        } else {
            verdict = VERDICT_SEND;
            if (meta.reports_congestion == 0) {
                report_meter.execute_meter(port, colour);
                if (colour == METER_RED) {
                    verdict = VERDICT_PORT_LIMIT;
                } else {
                    last_advice.write(slot, now);
                }
            }
        }
    }

    @hidden
    action suppress(bit<3> cause) {
        reports_suppressed.count((bit<32>) (cause ++ standard_metadata.egress_port ++ standard_metadata.priority));
    }

    apply {
        if (meta.advises == 1 && meta.is_data == 1 && meta.role != ROLE_CONTROL && meta.scone_port != 0
            && (hdr.ipv4.isValid() && meta.reporter_ipv4 != 0 || hdr.ipv6.isValid() && meta.reporter_ipv6 != 0)) {
            source_rate_policy.apply(meta.traffic_class, meta.src_addr, meta.policy_rate);
            if (meta.congested == 1 || meta.policy_rate != 0) {
                if (meta.source_invalid == 1) {
                    suppress(SUPPRESSED_SOURCE_INVALID);
                } else {
                    judge((bit<32>) (rate_advice_slot_t) meta.source_hash, standard_metadata.egress_global_timestamp,
                          (bit<32>) standard_metadata.egress_port);
                    if (verdict == VERDICT_PORT_LIMIT) {
                        suppress(SUPPRESSED_PORT_LIMIT);
                    } else if (verdict == VERDICT_INTERVAL) {
                        // Between two intervals a policy has nothing new to say: that isn't suppression.
                        if (meta.congested == 1) {
                            suppress(SUPPRESSED_SOURCE_INTERVAL);
                        }
                    } else if (meta.reports_congestion == 1) {
                        reports_deferred.count((bit<32>) (KIND_RATE_ADVICE ++ standard_metadata.egress_port
                                                          ++ standard_metadata.priority));
                    } else {
                        meta.report_kind = KIND_RATE_ADVICE;
                        meta.report_port = standard_metadata.egress_port;
                        meta.report_queue = standard_metadata.priority;
                        if (meta.congested == 1) {
                            meta.wants_degree = 1;
                            source_count.apply(meta.sources, standard_metadata.egress_port
                                                             ++ standard_metadata.priority);
                        }
                        clone_preserving_field_list(CloneType.E2E, REPORT_CLONE_SESSION, 1);
                    }
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
