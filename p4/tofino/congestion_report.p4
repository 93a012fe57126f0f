// RDCC, On-Path Congestion Reporting: when a packet is reported about, and what the report says.

#ifndef CRN_TOFINO_CONGESTION_REPORT_P4
#define CRN_TOFINO_CONGESTION_REPORT_P4

// For a data packet that leaves its queue: whether its queue is congested, and if so, whether its flow is due.
control CongestionGate(in headers_t hdr, inout egress_metadata_t meta) {
    // Time of the last report of each flow. Due after an interval, not with it. A time that lies ahead is one from before
    // the clock's 32 bits wrapped, 73 minutes ago at most.
    @id(0x16000006) @name(".last_report")
    Register<bit<32>, report_slot_t>(REPORT_INTERVAL_SLOTS, 0) last_report;
    RegisterAction<bit<32>, report_slot_t, bit<1>>(last_report) judge = {
        void apply(inout bit<32> last, out bit<1> due) {
            due = 0;
            if (last < meta.due_before || last > meta.now) {
                last = meta.now;
                due = 1;
            }
        }
    };

    @hidden
    action look() {
        meta.congested = 1;
        meta.asked = 1;
        meta.due = judge.execute(hdr.bridged.flow_hash[15:0]);
    }

    @hidden
    action suppress() {
        meta.congested = 1;
        meta.suppressed = 1;
        meta.suppressed_index = meta.queue | hdr.bridged.congestion_candidate;
    }

    @hidden
    action is_congested() {
        meta.congested = 1;
    }

    @hidden
    action is_not_congested() {
        meta.congested = 0;
    }

    @hidden
    table congestion_gate {
        key = {
            meta.has_profile : ternary;
            meta.is_refused : ternary;
            meta.excess : ternary;
            hdr.bridged.congestion_candidate : ternary;
        }
        actions = { look; suppress; is_congested; is_not_congested; }
        const default_action = is_congested();
        const entries = {
            (0, _, _, _) : is_not_congested();
            (_, 1, _, _) : is_not_congested();
            (_, _, 19w0, _) : is_not_congested();
            (_, _, _, CANDIDATE_REPORT) : look();
            (_, _, _, CANDIDATE_SUPPRESSED &&& CANDIDATE_SUPPRESSED) : suppress();
        }
    }

    apply {
        congestion_gate.apply();
    }
}

// The body of the report, in ingress: on its copy.
control CongestionReportBody(inout headers_t hdr, inout ingress_metadata_t meta) {
    FillRdcc() fill_rdcc_ipv4;
    FillCongestionReport() fill_report_ipv4;
#ifdef WITH_IPV6
    FillRdcc() fill_rdcc_ipv6;
    FillCongestionReport() fill_report_ipv6;
#endif

    apply {
        if (hdr.ipv4.isValid()) {
            hdr.report_ipv4.setValid();
            hdr.report_ipv4.src_addr = hdr.ipv4.src_addr;
            hdr.report_ipv4.dst_addr = hdr.ipv4.dst_addr;
            fill_rdcc_ipv4.apply(hdr.rdcc, RDCC_CONGESTION_REPORT, RDCC_CONGESTION_REPORT_IPV4_OCTETS, meta.sequence);
            fill_report_ipv4.apply(hdr.congestion_report, meta.reporter_id, meta.depth_octets, meta.b_th_octets,
                                   hdr.copy.degree, hdr.copy.role[1:0], AF_IPV4, IP_PROTOCOL_UDP,
                                   hdr.udp.src_port, hdr.udp.dst_port, hdr.copy.rate);
        }
#ifdef WITH_IPV6
        else {
            hdr.report_ipv6.setValid();
            hdr.report_ipv6.src_addr = hdr.ipv6.src_addr;
            hdr.report_ipv6.dst_addr = hdr.ipv6.dst_addr;
            fill_rdcc_ipv6.apply(hdr.rdcc, RDCC_CONGESTION_REPORT, RDCC_CONGESTION_REPORT_IPV6_OCTETS, meta.sequence);
            fill_report_ipv6.apply(hdr.congestion_report, meta.reporter_id, meta.depth_octets, meta.b_th_octets,
                                   hdr.copy.degree, hdr.copy.role[1:0], AF_IPV6, IP_PROTOCOL_UDP,
                                   hdr.udp.src_port, hdr.udp.dst_port, hdr.copy.rate);
        }
#endif
    }
}

#endif
