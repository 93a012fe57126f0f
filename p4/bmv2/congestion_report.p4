// RDCC, On-Path Congestion Reporting: when a packet is reported about, and what the report says.

#ifndef CRN_BMV2_CONGESTION_REPORT_P4
#define CRN_BMV2_CONGESTION_REPORT_P4

// Decides for one data packet that leaves its queue, and sends the clone that becomes the report.
control CongestionTrigger(in headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // Time of the last report of each flow (us), 0 = never.
    @id(0x16000006) @name(".last_report")
    register<bit<48>>(REPORT_INTERVAL_SLOTS) last_report;

    bit<2> verdict;

    // The port's meter is asked only if the flow is due, and the flow's interval starts only if the meter
    // agrees. Later than an interval, not equal to it: the clock counts whole microseconds, so a difference
    // of n can be a little less than n.
    @hidden
    action judge(bit<32> slot, bit<48> now, bit<32> port) {
        bit<48> last;
        bit<2> colour;
        last_report.read(last, slot);
        bit<48> age = now - last;
        if (last != 0 && (age <= (bit<48>) meta.report_interval || age > LONGEST_AGE)) {
            verdict = VERDICT_INTERVAL;
        } else {
            report_meter.execute_meter(port, colour);
            if (colour == METER_RED) {
                verdict = VERDICT_PORT_LIMIT;
            } else {
                last_report.write(slot, now);
                verdict = VERDICT_SEND;
            }
        }
    }

    @hidden
    action suppress(bit<3> cause) {
        reports_suppressed.count((bit<32>) (cause ++ standard_metadata.egress_port ++ standard_metadata.priority));
    }

    apply {
        // Whatever its DSCP says, a datagram to a control port is never reported about: it may be a report.
        if (meta.congested == 1 && meta.rdcc_port != 0 && meta.to_control_port == 0
            && (meta.role == ROLE_SCHEDULED || meta.role == ROLE_UNSCHEDULED)) {
            if (meta.tunnelled == 1) {
                suppress(SUPPRESSED_TUNNELLED);
            } else if (!hdr.udp.isValid()) {
                suppress(SUPPRESSED_NOT_UDP);
            } else if (meta.role == ROLE_UNSCHEDULED && meta.source_invalid == 1) {
                suppress(SUPPRESSED_SOURCE_INVALID);
            } else if (hdr.ipv4.isValid() && meta.reporter_ipv4 == 0
                       || hdr.ipv6.isValid() && meta.reporter_ipv6 == 0) {
                // Last: only what would have been reported about.
                suppress(SUPPRESSED_NO_ADDRESS);
            } else {
                judge((bit<32>) (report_slot_t) meta.flow_hash, standard_metadata.egress_global_timestamp,
                      (bit<32>) standard_metadata.egress_port);
                if (verdict == VERDICT_SEND) {
                    meta.reports_congestion = 1;
                    meta.wants_degree = 1;
                    meta.wants_share = 1;
                    meta.report_kind = KIND_CONGESTION_TO_RECEIVER;
                    if (meta.role == ROLE_UNSCHEDULED) {
                        meta.report_kind = KIND_CONGESTION_TO_SENDER;
                    }
                    meta.report_port = standard_metadata.egress_port;
                    meta.report_queue = standard_metadata.priority;
                    reports_triggered.count((bit<32>) (meta.report_kind ++ meta.report_port ++ meta.report_queue));
                    clone_preserving_field_list(CloneType.E2E, REPORT_CLONE_SESSION, 1);
                } else if (verdict == VERDICT_INTERVAL) {
                    suppress(SUPPRESSED_FLOW_INTERVAL);
                } else {
                    suppress(SUPPRESSED_PORT_LIMIT);
                }
            }
        }
    }
}

// The body of the report.
control CongestionReportBody(inout headers_t hdr, in metadata_t meta, in bit<8> address_family, out bit<16> octets) {
    // RDCC, Message Formats: one sequence per reporting port. The first report of a port is number 1.
    @id(0x16000007) @name(".report_sequence")
    register<bit<32>>(PORTS) report_sequence;

    FillRdcc() fill_rdcc;
    FillCongestionReport() fill_congestion_report;

    bit<32> sequence;

    @hidden
    action next_sequence(bit<32> port) {
        report_sequence.read(sequence, port);
        sequence = sequence + 1;
        report_sequence.write(port, sequence);
    }

    apply {
        next_sequence((bit<32>) meta.report_port);
        if (hdr.ipv4.isValid()) {
            octets = RDCC_CONGESTION_REPORT_IPV4_OCTETS;
            hdr.report_ipv4.setValid();
            hdr.report_ipv4.src_addr = hdr.ipv4.src_addr;
            hdr.report_ipv4.dst_addr = hdr.ipv4.dst_addr;
        } else {
            octets = RDCC_CONGESTION_REPORT_IPV6_OCTETS;
            hdr.report_ipv6.setValid();
            hdr.report_ipv6.src_addr = hdr.ipv6.src_addr;
            hdr.report_ipv6.dst_addr = hdr.ipv6.dst_addr;
        }
        fill_rdcc.apply(hdr.rdcc, RDCC_CONGESTION_REPORT, octets, sequence);
        fill_congestion_report.apply(hdr.congestion_report, meta.reporter_id, meta.occupancy, meta.b_th, meta.degree,
                                     meta.role, address_family, meta.protocol, hdr.udp.src_port, hdr.udp.dst_port,
                                     meta.suggested_rate);
    }
}

#endif
