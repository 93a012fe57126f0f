// Turns a clone into the report that it was sent for: everything beyond UDP goes, what follows is cut off when the
// report leaves.

#ifndef CRN_BMV2_REPORT_P4
#define CRN_BMV2_REPORT_P4

// The degree and the fair share of a queue, looked up once per pass whoever needs them: reports and Rate Signals by the number
// of flows, Rate Advice by the number of sources. Where a packet needs both, its clone looks for the second, so that
// both fit one table.
control QueueShare(inout metadata_t meta, in standard_metadata_t standard_metadata) {
    CongestionDegree() congestion_degree;
    FairShare() fair_share;
    FlowCount() flow_count;

    bit<16> sharers;

    apply {
        if (meta.wants_degree == 1) {
            congestion_degree.apply(meta.profile, meta.occupancy - meta.b_th, meta.degree);
        }
        if (meta.wants_share == 1) {
            sharers = meta.sources;
            if (meta.share_of_source == 0) {
                flow_count.apply(sharers, standard_metadata.egress_port ++ standard_metadata.priority);
            }
            fair_share.apply(meta.profile, sharers, meta.suggested_rate);
        }
    }
}

control ReportBuilder(inout headers_t hdr, inout metadata_t meta, in standard_metadata_t standard_metadata) {
    CongestionReportBody() congestion_report_body;
    PathReportBody() path_report_body;
    RateAdviceBody() rate_advice_body;
    FillReportIpv4() fill_report_ipv4;
    FillReportIpv6() fill_report_ipv6;
    FillReportUdp() fill_report_udp;

    bit<8> address_family;
    bit<16> octets;
    bit<16> to_port;
    bit<32> to_ipv4;
    bit<128> to_ipv6;
    mbit_per_sec_t rate;

    apply {
        meta.is_built = 1;
        // To the source, unless the kind says otherwise.
        to_ipv4 = hdr.ipv4.src_addr;
        to_ipv6 = hdr.ipv6.src_addr;
        address_family = AF_IPV6;
        if (hdr.ipv4.isValid()) {
            address_family = AF_IPV4;
        }
        if (meta.report_kind == KIND_PATH_REPORT) {
            to_port = meta.crem_port;
            to_ipv4 = meta.csf_addr[31:0];
            to_ipv6 = meta.csf_addr;
            path_report_body.apply(hdr, meta, address_family, octets);
        } else if (meta.report_kind == KIND_RATE_ADVICE) {
            to_port = meta.scone_port;
            rate_advice_body.apply(hdr, meta, octets, rate);
            if (rate == 0) {
                meta.is_built = 0;
            }
        } else {
            to_port = meta.rdcc_port;
            if (meta.report_kind == KIND_CONGESTION_TO_RECEIVER) {
                to_ipv4 = hdr.ipv4.dst_addr;
                to_ipv6 = hdr.ipv6.dst_addr;
            }
            congestion_report_body.apply(hdr, meta, address_family, octets);
        }
        if (hdr.ipv4.isValid()) {
            fill_report_ipv4.apply(hdr.ipv4, IPV4_OCTETS + UDP_OCTETS + octets, meta.reporter_ipv4, to_ipv4);
        } else {
            fill_report_ipv6.apply(hdr.ipv6, UDP_OCTETS + octets, meta.flow_hash[19:0], meta.reporter_ipv6, to_ipv6);
        }
        fill_report_udp.apply(hdr.udp, meta.flow_hash[29:16], to_port, UDP_OCTETS + octets);
        hdr.hop_by_hop.setInvalid();
        hdr.hop_by_hop_rest.setInvalid();
        hdr.destination_options.setInvalid();
        hdr.destination_options_rest.setInvalid();
        if (hdr.vlan.isValid()) {
            hdr.vlan.pcp = REPORT_PCP;
            hdr.vlan.dei = 0;
        }
        hdr.bth.setInvalid();
        hdr.rate_signal.setInvalid();
        // Of data that left for the controller.
        hdr.packet_in.setInvalid();
        if (standard_metadata.instance_type == INSTANCE_EGRESS_CLONE) {
            // The data frame's source address is this router's; ingress makes a frame's destination its source.
            hdr.ethernet.dst_mac = hdr.ethernet.src_mac;
        }
        if (meta.is_built == 1) {
            reports_sent.count((bit<32>) (meta.report_kind ++ meta.report_port ++ meta.report_queue));
        }
    }
}

#endif
