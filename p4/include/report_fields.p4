// Flat assignments that turn the headers of a data packet into those of a report. No tables, no externs:
// where depth, threshold, degree, rate and sequence come from is the target's business.

#ifndef CRN_REPORT_FIELDS_P4
#define CRN_REPORT_FIELDS_P4

// RDCC, Message Formats. A CRN holds no association: Association ID and Epoch are 0.
control FillRdcc(inout rdcc_h rdcc, in bit<8> type, in bit<16> length, in bit<32> sequence) {
    apply {
        rdcc.setValid();
        rdcc.version = RDCC_VERSION;
        rdcc.reserved = 0;
        rdcc.type = type;
        rdcc.length = length;
        rdcc.association_id = 0;
        rdcc.epoch = 0;
        rdcc.flags = 0;
        rdcc.sequence = sequence;
    }
}

// RDCC, CONGESTION_REPORT: ports, protocol and addresses are those of the data packet.
control FillCongestionReport(inout congestion_report_h report, in bit<32> reporter_id, in octets_t queue_depth,
                              in octets_t queue_threshold, in bit<8> degree, in role_t role, in bit<8> address_family,
                              in bit<8> protocol, in bit<16> src_port, in bit<16> dst_port, in mbit_per_sec_t rate) {
    apply {
        report.setValid();
        report.reporter_id = reporter_id;
        report.queue_depth = queue_depth;
        report.queue_threshold = queue_threshold;
        report.degree = degree;
        report.direction = (bit<8>) role;
        report.address_family = address_family;
        report.protocol = protocol;
        report.src_port = src_port;
        report.dst_port = dst_port;
        report.suggested_rate = rate;
    }
}

// CREM, Message Formats. A Path Reporter knows no Flow ID: 0.
control FillCrem(inout crem_h crem, in bit<4> type, in bit<8> flags, in bit<16> length) {
    apply {
        crem.setValid();
        crem.version = CREM_VERSION;
        crem.type = type;
        crem.flags = flags;
        crem.length = length;
        crem.flow_id = 0;
    }
}

// CREM, Path Reports: one hop entry, this switch's. Ours for method 3: period and delay change 0, `lost` the drops
// of the flow since its last report.
control FillPathReport(inout path_report_h report, inout hop_entry_h hop, in bit<8> address_family, in bit<24> dest_qp,
                       in bit<32> node_id, in bit<16> lost, in bit<8> cause, in bit<8> psn_count) {
    apply {
        report.setValid();
        report.method = PATH_METHOD_LOCAL_DROPS;
        report.entries = 1;
        report.address_family = address_family;
        report.reserved = 0;
        hop.setValid();
        hop.flow_label = (bit<32>) dest_qp;
        hop.node_id = node_id;
        hop.period = 0;
        hop.lost = (bit<32>) lost;
        hop.delay_change = 0;
        hop.cause = cause;
        hop.psn_count = psn_count;
        hop.reserved = 0;
    }
}

control FillDroppedPsn(inout dropped_psn_h dropped, in bit<24> psn) {
    apply {
        dropped.setValid();
        dropped.reserved = 0;
        dropped.psn = psn;
    }
}

// SCONE, Payload Format, up to the source address.
control FillRateAdvice(inout rate_advice_h advice, in mbit_per_sec_t rate) {
    apply {
        advice.setValid();
        advice.version = SCONE_VERSION;
        advice.rate = rate;
    }
}

// The IPv4 header of a report. An atomic datagram: DF set, identification 0.
control FillReportIpv4(inout ipv4_h ipv4, in bit<16> total_length, in bit<32> src_addr, in bit<32> dst_addr) {
    apply {
        ipv4.dscp = REPORT_DSCP;
        ipv4.ecn = ECN_NOT_ECT;
        ipv4.total_length = total_length;
        ipv4.identification = 0;
        ipv4.reserved = 0;
        ipv4.dont_fragment = 1;
        ipv4.ttl = REPORT_TTL;
        ipv4.protocol = IP_PROTOCOL_UDP;
        ipv4.src_addr = src_addr;
        ipv4.dst_addr = dst_addr;
    }
}

// The IPv6 header of a report. Its flow label is a hash of the flow, like the UDP source port.
control FillReportIpv6(inout ipv6_h ipv6, in bit<16> payload_length, in bit<20> flow_hash, in bit<128> src_addr,
                       in bit<128> dst_addr) {
    apply {
        ipv6.dscp = REPORT_DSCP;
        ipv6.ecn = ECN_NOT_ECT;
        ipv6.flow_label = flow_hash;
        ipv6.payload_length = payload_length;
        ipv6.next_header = IP_PROTOCOL_UDP;
        ipv6.hop_limit = REPORT_TTL;
        ipv6.src_addr = src_addr;
        ipv6.dst_addr = dst_addr;
    }
}

// The UDP header of a report. The checksum is computed behind (RDCC wants it set). The source port is a
// hash of the flow, so that reports spread over equal paths.
control FillReportUdp(inout udp_h udp, in bit<14> flow_hash, in bit<16> dst_port, in bit<16> length) {
    apply {
        udp.src_port = REPORT_UDP_PORT_BASE | (bit<16>) flow_hash;
        udp.dst_port = dst_port;
        udp.length = length;
        udp.checksum = 0;
    }
}

#endif
