// Turns a copy that comes back by the recirculation port into the report that it was made for. The data packet's headers
// beyond UDP go; the parser has left out what follows them.

#ifndef CRN_TOFINO_REPORT_P4
#define CRN_TOFINO_REPORT_P4

// First: what takes a stage or two before the bodies are filled.
control ReportFigures(in headers_t hdr, inout ingress_metadata_t meta) {
    // RDCC, Message Formats: one sequence per reporting port. The first report of a port is number 1.
    @id(0x16000007) @name(".report_sequence")
    Register<bit<32>, port_id_t>(PORTS, 0) report_sequence;
    RegisterAction<bit<32>, port_id_t, bit<32>>(report_sequence) next_sequence = {
        void apply(inout bit<32> last, out bit<32> sequence) {
            last = last + 1;
            sequence = last;
        }
    };

    @hidden
    action number() {
        meta.sequence = next_sequence.execute(hdr.copy.report[11:3]);
    }

    // Cells to octets: 80 of them on Tofino 1, 176 on Tofino 2.
    @hidden
    action multiply() {
        meta.depth_high = hdr.copy.depth << CELL_SHIFT_HIGH;
        meta.depth_low = hdr.copy.depth << CELL_SHIFT_LOW;
        meta.b_th_high = hdr.copy.b_th << CELL_SHIFT_HIGH;
        meta.b_th_low = hdr.copy.b_th << CELL_SHIFT_LOW;
#if __TARGET_TOFINO__ == 2
        meta.depth_middle = hdr.copy.depth << CELL_SHIFT_MIDDLE;
        meta.b_th_middle = hdr.copy.b_th << CELL_SHIFT_MIDDLE;
#endif
    }

#if __TARGET_TOFINO__ == 2
    @hidden
    action add_middle() {
        meta.depth_low = meta.depth_low + meta.depth_middle;
        meta.b_th_low = meta.b_th_low + meta.b_th_middle;
    }
#endif

    @hidden
    action add() {
        meta.depth_octets = meta.depth_high + meta.depth_low;
        meta.b_th_octets = meta.b_th_high + meta.b_th_low;
    }

    // The sequence is that of RDCC's reports alone.
    @hidden
    table sequence {
        key = { hdr.copy.kind : exact; }
        actions = { number; NoAction; }
        const default_action = NoAction();
        const entries = {
            (bit<8>) KIND_CONGESTION_TO_RECEIVER : number();
            (bit<8>) KIND_CONGESTION_TO_SENDER : number();
        }
    }

    apply {
        sequence.apply();
        multiply();
#if __TARGET_TOFINO__ == 2
        add_middle();
#endif
        add();
    }
}

// Whom the report is for.
control ReportAddress(in headers_t hdr, inout ingress_metadata_t meta) {
#ifdef WITH_PATH_REPORT
    CsfAddress() csf_address;
    address_t csf;
#endif

    apply {
#ifdef WITH_PATH_REPORT
        csf_address.apply(meta.src_addr, csf);
#endif
        if (hdr.copy.kind == (bit<8>) KIND_CONGESTION_TO_RECEIVER) {
            meta.to_addr = meta.dst_addr;
        }
#ifdef WITH_PATH_REPORT
        else if (hdr.copy.kind == (bit<8>) KIND_PATH_REPORT) {
            meta.to_addr = csf;
        }
#endif
        else {
            meta.to_addr = meta.src_addr;
        }
    }
}

control ReportBuilder(inout headers_t hdr, inout ingress_metadata_t meta) {
    // Its octets are those of the copies.
    @id(0x12000001) @name(".reports_sent")
    Counter<bit<64>, bit<14>>(REPORTS_SENT_SIZE, CounterType_t.PACKETS_AND_BYTES) reports_sent;

    ReportFigures() report_figures;
    ReportAddress() report_address;
    CongestionReportBody() congestion_report_body;
#ifdef WITH_PATH_REPORT
    PathReportBody() path_report_body;
#endif
#ifdef WITH_RATE_ADVICE
    RateAdviceBody() rate_advice_body;
#endif
    FillReportIpv4() fill_ipv4;
    FillReportUdp() fill_ipv4_udp;
#ifdef WITH_IPV6
    FillReportIpv6() fill_ipv6;
    FillReportUdp() fill_ipv6_udp;
#endif

    bit<16> ipv4_octets;
    bit<16> ipv6_octets;
    bit<16> to_port;

    @hidden
    action take_congestion() {
        ipv4_octets = UDP_OCTETS + RDCC_CONGESTION_REPORT_IPV4_OCTETS;
        ipv6_octets = UDP_OCTETS + RDCC_CONGESTION_REPORT_IPV6_OCTETS;
        to_port = meta.rdcc_port;
    }

    @hidden
    action take_path() {
        ipv4_octets = UDP_OCTETS + PATH_REPORT_IPV4_OCTETS;
        ipv6_octets = UDP_OCTETS + PATH_REPORT_IPV6_OCTETS;
        to_port = meta.crem_port;
    }

    @hidden
    action take_advice() {
        ipv4_octets = UDP_OCTETS + RATE_ADVICE_IPV4_OCTETS;
        ipv6_octets = UDP_OCTETS + RATE_ADVICE_IPV6_OCTETS;
        to_port = meta.scone_port;
    }

    @hidden
    table kind {
        key = { hdr.copy.kind : exact; }
        actions = { take_congestion; take_path; take_advice; }
        const default_action = take_congestion();
        const entries = {
            (bit<8>) KIND_PATH_REPORT : take_path();
            (bit<8>) KIND_RATE_ADVICE : take_advice();
        }
    }

    apply {
        report_figures.apply(hdr, meta);
        report_address.apply(hdr, meta);
        kind.apply();
#ifdef WITH_PATH_REPORT
        if (hdr.copy.kind == (bit<8>) KIND_PATH_REPORT) {
            path_report_body.apply(hdr, meta);
        } else
#endif
#ifdef WITH_RATE_ADVICE
        if (hdr.copy.kind == (bit<8>) KIND_RATE_ADVICE) {
            rate_advice_body.apply(hdr, meta);
        } else
#endif
        {
            congestion_report_body.apply(hdr, meta);
        }
        meta.report_protocol = IP_PROTOCOL_UDP;
        if (hdr.ipv4.isValid()) {
            meta.report_udp_length = ipv4_octets;
            fill_ipv4.apply(hdr.ipv4, ipv4_octets + IPV4_OCTETS, meta.reporter_ipv4, meta.to_addr[31:0]);
            fill_ipv4_udp.apply(hdr.udp, hdr.copy.flow_hash[29:16], to_port, ipv4_octets);
        }
#ifdef WITH_IPV6
        else {
            meta.report_udp_length = ipv6_octets;
            fill_ipv6.apply(hdr.ipv6, ipv6_octets, hdr.copy.flow_hash[19:0], meta.reporter_ipv6, meta.to_addr);
            fill_ipv6_udp.apply(hdr.udp, hdr.copy.flow_hash[29:16], to_port, ipv6_octets);
            hdr.hop_by_hop.setInvalid();
        }
#endif
        if (hdr.vlan.isValid()) {
            hdr.vlan.pcp = REPORT_PCP;
            hdr.vlan.dei = 0;
        }
        // The data frame's source address is this router's; routing makes a frame's destination its source.
        hdr.ethernet.dst_mac = hdr.ethernet.src_mac;
        meta.role = ROLE_CONTROL;
        meta.queue = CONTROL_QUEUE;
        if (meta.says_nothing == 0) {
            reports_sent.count(hdr.copy.report[13:0]);
        }
    }
}

#endif
