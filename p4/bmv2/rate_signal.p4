// SCONE, Solution 2: the Rate Signal of a passing data packet, lowered in place.

#ifndef CRN_BMV2_RATE_SIGNAL_P4
#define CRN_BMV2_RATE_SIGNAL_P4

// Says whether the packet carries a signal of this domain, before the queue's share is looked up.
control RateSignalGate(in headers_t hdr, inout metadata_t meta) {
    RateSignalSettings() rate_signal_settings;

    bit<1> enabled;
    bit<8> extension_type;

    apply {
        if (hdr.rate_signal.isValid() && meta.is_data == 1 && meta.role != ROLE_CONTROL) {
            rate_signal_settings.apply(enabled, extension_type, meta.signal_floor);
            if (enabled == 1 && hdr.rate_signal.type == extension_type
                && hdr.rate_signal.length == RATE_SIGNAL_OCTETS && hdr.rate_signal.version == SCONE_VERSION) {
                meta.signals = 1;
                if (meta.congested == 1) {
                    meta.wants_degree = 1;
                    meta.wants_share = 1;
                }
            }
        }
    }
}

// For packets that the gate let through. Ours: a switch sets a rate that is 0 and lowers one that is higher; it never
// raises one. The ICRC takes the rate as ones, so it stays right.
control RateSignal(inout headers_t hdr, in metadata_t meta, in standard_metadata_t standard_metadata) {
    // Rates set or lowered; index port << 3 | queue.
    @id(0x12000009) @name(".rate_signals")
    counter(QUEUES, CounterType.packets_and_bytes) rate_signals;

    QpRatePolicy() qp_rate_policy;
    CongestedRate() congested_rate;
    LeastRate() least_rate;
    RenewUdpChecksum() renew_udp_checksum;

    mbit_per_sec_t policy;
    mbit_per_sec_t share;
    mbit_per_sec_t rate;

    apply {
        qp_rate_policy.apply(meta.dst_addr, hdr.bth.dest_qp, policy);
        share = 0;
        if (meta.congested == 1) {
            congested_rate.apply(meta.suggested_rate, meta.degree, meta.signal_floor, share);
        }
        least_rate.apply(share, policy, rate);
        if (rate != 0 && (hdr.rate_signal.rate == 0 || rate < hdr.rate_signal.rate)) {
            renew_udp_checksum.apply(hdr.udp.checksum, hdr.rate_signal.rate, rate);
            hdr.rate_signal.rate = rate;
            rate_signals.count((bit<32>) (standard_metadata.egress_port ++ standard_metadata.priority));
        }
    }
}

#endif
