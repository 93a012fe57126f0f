// RDCC, On-Path Congestion Reporting: when a packet is reported about, and what the report says.

#ifndef CRN_BMV2_CONGESTION_REPORT_P4
#define CRN_BMV2_CONGESTION_REPORT_P4

const bit<2> VERDICT_SEND = 0;
const bit<2> VERDICT_FLOW_INTERVAL = 1;
const bit<2> VERDICT_PORT_LIMIT = 2;
const bit<2> METER_RED = 2;

// Decides for one data packet that leaves its queue, and sends the clone that becomes the report.
control CongestionTrigger(in headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // Time of the last report of each flow (us), 0 = never.
    @id(0x16000006) @name(".last_report")
    register<bit<48>>(REPORT_INTERVAL_SLOTS) last_report;

    // Reports per second about one port; set by the controller, unlimited until then.
    @id(0x14000001) @name(".report_meter")
    meter(PORTS, MeterType.packets) report_meter;

    @id(0x12000002) @name(".reports_suppressed")
    counter(REPORTS_SUPPRESSED_SIZE, CounterType.packets_and_bytes) reports_suppressed;

    // A second report about the same packet that had to wait for the next one.
    @id(0x12000003) @name(".reports_deferred")
    counter(REPORTS_DEFERRED_SIZE, CounterType.packets_and_bytes) reports_deferred;

    CongestionDegree() congestion_degree;
    FairShare() fair_share;
    FlowCount() flow_count;

    bit<2> verdict;
    bit<16> flows;

    // The port's meter is asked only if the flow is due, and the flow's interval starts only if the meter
    // agrees. Later than an interval, not equal to it: the clock counts whole microseconds, so a difference
    // of n can be a little less than n.
    @hidden
    action judge(bit<32> slot, bit<48> now, bit<32> port) {
        bit<48> last;
        bit<2> colour;
        last_report.read(last, slot);
        if (last != 0 && now - last <= (bit<48>) meta.report_interval) {
            verdict = VERDICT_FLOW_INTERVAL;
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

    apply {
        // Whatever its DSCP says, a datagram to the RDCC port is never reported about: it may be a report.
        if (meta.occupancy > meta.b_th && meta.charged == 1 && hdr.udp.isValid() && hdr.udp.dst_port != meta.rdcc_port
            && (meta.role == ROLE_SCHEDULED || meta.role == ROLE_UNSCHEDULED)
            && (hdr.ipv4.isValid() && meta.reporter_ipv4 != 0 || hdr.ipv6.isValid() && meta.reporter_ipv6 != 0)) {
            judge((bit<32>) meta.flow_hash[15:0], standard_metadata.egress_global_timestamp,
                  (bit<32>) standard_metadata.egress_port);
            if (verdict == VERDICT_SEND) {
                congestion_degree.apply(meta.profile, meta.occupancy - meta.b_th, meta.degree);
                flow_count.apply(flows, standard_metadata);
                fair_share.apply(meta.profile, flows, meta.suggested_rate);
                meta.report_port = standard_metadata.egress_port;
                meta.report_queue = standard_metadata.priority;
                clone_preserving_field_list(CloneType.E2E, REPORT_CLONE_SESSION, 1);
            } else if (verdict == VERDICT_FLOW_INTERVAL) {
                reports_suppressed.count((bit<32>) (SUPPRESSED_FLOW_INTERVAL ++ standard_metadata.egress_port
                                                    ++ standard_metadata.priority));
            } else {
                reports_suppressed.count((bit<32>) (SUPPRESSED_PORT_LIMIT ++ standard_metadata.egress_port
                                                    ++ standard_metadata.priority));
            }
        }
    }
}

// Turns the clone into the report: everything beyond UDP goes, what follows is cut off when it leaves.
control CongestionReportBuilder(inout headers_t hdr, inout metadata_t meta) {
    // RDCC, Message Formats: one sequence per reporting port. The first report of a port is number 1.
    @id(0x16000007) @name(".report_sequence")
    register<bit<32>>(PORTS) report_sequence;

    // Its octets are those of the data packets reported about: the cut comes later.
    @id(0x12000001) @name(".reports_sent")
    counter(REPORTS_SENT_SIZE, CounterType.packets_and_bytes) reports_sent;

    FillRdcc() fill_rdcc;
    FillCongestionReport() fill_congestion_report;
    FillReportIpv4() fill_report_ipv4;
    FillReportIpv6() fill_report_ipv6;
    FillReportUdp() fill_report_udp;

    bit<32> sequence;
    bit<2> kind;
    bit<8> address_family;
    bit<16> octets;
    bit<32> to_ipv4;
    bit<128> to_ipv6;

    @hidden
    action next_sequence(bit<32> port) {
        report_sequence.read(sequence, port);
        sequence = sequence + 1;
        report_sequence.write(port, sequence);
    }

    apply {
        next_sequence((bit<32>) meta.report_port);
        if (meta.role == ROLE_SCHEDULED) {
            kind = KIND_CONGESTION_TO_RECEIVER;
            to_ipv4 = hdr.ipv4.dst_addr;
            to_ipv6 = hdr.ipv6.dst_addr;
        } else {
            kind = KIND_CONGESTION_TO_SENDER;
            to_ipv4 = hdr.ipv4.src_addr;
            to_ipv6 = hdr.ipv6.src_addr;
        }
        if (hdr.ipv4.isValid()) {
            address_family = AF_IPV4;
            octets = RDCC_CONGESTION_REPORT_IPV4_OCTETS;
            hdr.report_ipv4.setValid();
            hdr.report_ipv4.src_addr = hdr.ipv4.src_addr;
            hdr.report_ipv4.dst_addr = hdr.ipv4.dst_addr;
            fill_report_ipv4.apply(hdr.ipv4, IPV4_OCTETS + UDP_OCTETS + octets, meta.reporter_ipv4, to_ipv4);
        } else {
            address_family = AF_IPV6;
            octets = RDCC_CONGESTION_REPORT_IPV6_OCTETS;
            hdr.report_ipv6.setValid();
            hdr.report_ipv6.src_addr = hdr.ipv6.src_addr;
            hdr.report_ipv6.dst_addr = hdr.ipv6.dst_addr;
            fill_report_ipv6.apply(hdr.ipv6, UDP_OCTETS + octets, meta.flow_hash[19:0], meta.reporter_ipv6, to_ipv6);
        }
        fill_rdcc.apply(hdr.rdcc, RDCC_CONGESTION_REPORT, octets, sequence);
        fill_congestion_report.apply(hdr.congestion_report, meta.reporter_id, meta.occupancy, meta.b_th, meta.degree,
                                     meta.role, address_family, meta.protocol, hdr.udp.src_port, hdr.udp.dst_port,
                                     meta.suggested_rate);
        fill_report_udp.apply(hdr.udp, meta.flow_hash[29:16], meta.rdcc_port, UDP_OCTETS + octets);
        // The data frame's source address is this router's; ingress makes a frame's destination its source.
        hdr.ethernet.dst_mac = hdr.ethernet.src_mac;
        reports_sent.count((bit<32>) (kind ++ meta.report_port ++ meta.report_queue));
    }
}

#endif
