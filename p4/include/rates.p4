// SCONE for RoCEv2: whether this switch advises, and the rates that policy allows. All rates in Mbit/s.

#ifndef CRN_RATES_P4
#define CRN_RATES_P4

// SCONE, Solution 1: Rate Advice to sources. `enabled` is 0 before.
control RateAdviceSettings(inout bit<1> enabled, inout micros_t interval, inout mbit_per_sec_t floor) {
    @id(0x0100000C) @name(".set_rate_advice")
    action set_rate_advice(@id(1) @name("interval") micros_t interval_micros,
                           @id(2) @name("floor") mbit_per_sec_t least_rate) {
        enabled = 1;
        interval = interval_micros;
        floor = least_rate;
    }

    // Keyless: the controller sets it by modifying the default action. Until then no Rate Advice is sent.
    // `interval`: least time between two to one source. `floor`: no queue advises less; a policy may.
    @id(0x0200000C) @name(".rate_advice")
    table rate_advice {
        actions = { @defaultonly set_rate_advice; @defaultonly NoAction; }
        default_action = NoAction();
        size = 1;
    }

    apply {
        rate_advice.apply();
    }
}

// SCONE, Solution 2: the Rate Signal in passing packets.
control RateSignalSettings(out bit<1> enabled, out bit<8> extension_type, out mbit_per_sec_t floor) {
    @id(0x0100000D) @name(".set_rate_signal")
    action set_rate_signal(@id(1) @name("type") bit<8> type_octet, @id(2) @name("floor") mbit_per_sec_t least_rate) {
        enabled = 1;
        extension_type = type_octet;
        floor = least_rate;
    }

    // Keyless: the controller sets it by modifying the default action. Until then no Rate Signal is touched. The
    // type octet is the domain's choice, it has no default. `floor`: no queue sets less; a policy may.
    @id(0x0200000D) @name(".rate_signal")
    table rate_signal {
        actions = { @defaultonly set_rate_signal; @defaultonly NoAction; }
        default_action = NoAction();
        size = 1;
    }

    apply {
        enabled = 0;
        extension_type = 0;
        floor = 0;
        rate_signal.apply();
    }
}

// SCONE, Rate Policy Based on Network Element Configuration. `rate` 0: no policy.
control SourceRatePolicy(in bit<3> traffic_class, in address_t src_addr, out mbit_per_sec_t rate) {
    @id(0x0100000E) @name(".set_source_rate")
    action set_source_rate(@id(1) @name("rate") mbit_per_sec_t value) {
        rate = value;
    }

    // Filled by the controller: what a source may send in a traffic class, that is, its own limit or its priority's
    // share of the link, whichever is less. IPv4 addresses in the mapped form.
    @id(0x0200000E) @name(".source_rate_policy")
    table source_rate_policy {
        key = {
            traffic_class : exact @id(1) @name("traffic_class");
            src_addr : lpm @id(2) @name("src_addr");
        }
        actions = { set_source_rate; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SOURCE_RATE_POLICY_SIZE;
    }

    apply {
        rate = 0;
        source_rate_policy.apply();
    }
}

control QpRatePolicy(in address_t dst_addr, in bit<24> dest_qp, out mbit_per_sec_t rate) {
    @id(0x0100000F) @name(".set_qp_rate")
    action set_qp_rate(@id(1) @name("rate") mbit_per_sec_t value) {
        rate = value;
    }

    // Filled by the controller: what may be sent to a queue pair. IPv4 addresses in the mapped form.
    @id(0x0200000F) @name(".qp_rate_policy")
    table qp_rate_policy {
        key = {
            dst_addr : exact @id(1) @name("dst_addr");
            dest_qp : exact @id(2) @name("dest_qp");
        }
        actions = { set_qp_rate; @defaultonly NoAction; }
        const default_action = NoAction();
        size = QP_RATE_POLICY_SIZE;
    }

    apply {
        rate = 0;
        qp_rate_policy.apply();
    }
}

// The least of the two that are set; 0 is "not set".
control LeastRate(in mbit_per_sec_t one, in mbit_per_sec_t other, out mbit_per_sec_t rate) {
    apply {
        rate = one;
        if (one == 0 || other != 0 && other < one) {
            rate = other;
        }
    }
}

// Ours: what a congested queue leaves of a share, share x (1 - degree / 510), rounded down, but no less than `floor`
// and never 0, which would say "no advice". A share of 0 stays 0: nothing is known.
//
// Exact for every share and degree without a division: floor(x / 510) = floor(floor(x / 2) / 255), and with
// y = floor(x / 2) < 2^40, floor(y / 255) = floor(y * m / 2^48) for m = (2^48 + 254) / 255, because
// y * 254 < 2^48. The product has no more than 81 bits.
control CongestedRate(in mbit_per_sec_t share, in bit<8> degree, in mbit_per_sec_t floor, out mbit_per_sec_t rate) {
    apply {
        bit<88> half = ((bit<88>) share * (88w510 - (bit<88>) degree)) >> 1;
        rate = (bit<32>) ((half * 88w0x10101010102) >> 48);
        if (rate < floor) {
            rate = floor;
        }
        if (rate == 0) {
            rate = 1;
        }
        if (share == 0) {
            rate = 0;
        }
    }
}

// RFC 1624, equation 3, for a 32-bit field that stands at an even offset of what the checksum covers. A UDP
// checksum of 0 says "none" and stays; one that would become 0 is sent as all ones.
control RenewUdpChecksum(inout bit<16> checksum, in bit<32> before, in bit<32> after) {
    apply {
        if (checksum != 0) {
            bit<32> sum = (bit<32>) ~checksum + (bit<32>) ~before[31:16] + (bit<32>) ~before[15:0]
                          + (bit<32>) after[31:16] + (bit<32>) after[15:0];
            sum = (bit<32>) sum[15:0] + (bit<32>) sum[31:16];
            sum = (bit<32>) sum[15:0] + (bit<32>) sum[31:16];
            checksum = ~sum[15:0];
            if (checksum == 0) {
                checksum = 0xFFFF;
            }
        }
    }
}

#endif
