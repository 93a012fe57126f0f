// Headers to wire, ingress: the UDP checksum of the reports that this switch builds. A passing packet's isn't touched here.

#ifndef CRN_TOFINO_DEPARSER_P4
#define CRN_TOFINO_DEPARSER_P4

control CrnIngressDeparser(packet_out packet, inout headers_t hdr, in ingress_metadata_t meta,
                           in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    Checksum() ipv4_checksum;
    Checksum() congestion_over_ipv4;
#ifdef WITH_IPV6
    Checksum() congestion_over_ipv6;
#endif
#ifdef WITH_PATH_REPORT
    Checksum() path_over_ipv4;
#ifdef WITH_IPV6
    Checksum() path_over_ipv6;
#endif
#endif
#ifdef WITH_RATE_ADVICE
    Checksum() advice_over_ipv4;
#ifdef WITH_IPV6
    Checksum() advice_over_ipv6;
#endif
#endif

    apply {
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.checksum = ipv4_checksum.update({
                hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_length,
                hdr.ipv4.identification, hdr.ipv4.reserved, hdr.ipv4.dont_fragment, hdr.ipv4.more_fragments,
                hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr });
        }
        // A report is all headers, so its UDP checksum covers the whole message. Never 0, which would say "none".
        if (hdr.congestion_report.isValid() && hdr.report_ipv4.isValid()) {
            hdr.udp.checksum = congestion_over_ipv4.update({
                hdr.ipv4.src_addr, hdr.ipv4.dst_addr, 8w0, meta.report_protocol, meta.report_udp_length,
                hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length,
                hdr.rdcc.version, hdr.rdcc.reserved, hdr.rdcc.type, hdr.rdcc.length, hdr.rdcc.association_id,
                hdr.rdcc.epoch, hdr.rdcc.flags, hdr.rdcc.sequence,
                hdr.congestion_report.reporter_id, hdr.congestion_report.queue_depth,
                hdr.congestion_report.queue_threshold, hdr.congestion_report.degree, hdr.congestion_report.direction,
                hdr.congestion_report.address_family, hdr.congestion_report.protocol, hdr.congestion_report.src_port,
                hdr.congestion_report.dst_port, hdr.congestion_report.suggested_rate,
                hdr.report_ipv4.src_addr, hdr.report_ipv4.dst_addr }, true);
        }
#ifdef WITH_IPV6
        if (hdr.congestion_report.isValid() && hdr.report_ipv6.isValid()) {
            hdr.udp.checksum = congestion_over_ipv6.update({
                hdr.ipv6.src_addr, hdr.ipv6.dst_addr, 8w0, meta.report_protocol, meta.report_udp_length,
                hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length,
                hdr.rdcc.version, hdr.rdcc.reserved, hdr.rdcc.type, hdr.rdcc.length, hdr.rdcc.association_id,
                hdr.rdcc.epoch, hdr.rdcc.flags, hdr.rdcc.sequence,
                hdr.congestion_report.reporter_id, hdr.congestion_report.queue_depth,
                hdr.congestion_report.queue_threshold, hdr.congestion_report.degree, hdr.congestion_report.direction,
                hdr.congestion_report.address_family, hdr.congestion_report.protocol, hdr.congestion_report.src_port,
                hdr.congestion_report.dst_port, hdr.congestion_report.suggested_rate,
                hdr.report_ipv6.src_addr, hdr.report_ipv6.dst_addr }, true);
        }
#endif
#ifdef WITH_PATH_REPORT
        if (hdr.path_report.isValid() && hdr.report_ipv4.isValid()) {
            hdr.udp.checksum = path_over_ipv4.update({
                hdr.ipv4.src_addr, hdr.ipv4.dst_addr, 8w0, meta.report_protocol, meta.report_udp_length,
                hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length,
                hdr.crem.version, hdr.crem.type, hdr.crem.flags, hdr.crem.length, hdr.crem.flow_id,
                hdr.path_report.method, hdr.path_report.entries, hdr.path_report.address_family,
                hdr.path_report.reserved, hdr.report_ipv4.src_addr, hdr.report_ipv4.dst_addr,
                hdr.hop_entry.flow_label, hdr.hop_entry.node_id, hdr.hop_entry.period, hdr.hop_entry.lost,
                hdr.hop_entry.delay_change, hdr.hop_entry.cause, hdr.hop_entry.psn_count, hdr.hop_entry.reserved,
                hdr.psn.reserved, hdr.psn.psn }, true);
        }
#ifdef WITH_IPV6
        if (hdr.path_report.isValid() && hdr.report_ipv6.isValid()) {
            hdr.udp.checksum = path_over_ipv6.update({
                hdr.ipv6.src_addr, hdr.ipv6.dst_addr, 8w0, meta.report_protocol, meta.report_udp_length,
                hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length,
                hdr.crem.version, hdr.crem.type, hdr.crem.flags, hdr.crem.length, hdr.crem.flow_id,
                hdr.path_report.method, hdr.path_report.entries, hdr.path_report.address_family,
                hdr.path_report.reserved, hdr.report_ipv6.src_addr, hdr.report_ipv6.dst_addr,
                hdr.hop_entry.flow_label, hdr.hop_entry.node_id, hdr.hop_entry.period, hdr.hop_entry.lost,
                hdr.hop_entry.delay_change, hdr.hop_entry.cause, hdr.hop_entry.psn_count, hdr.hop_entry.reserved,
                hdr.psn.reserved, hdr.psn.psn }, true);
        }
#endif
#endif
#ifdef WITH_RATE_ADVICE
        if (hdr.advice_ipv4.isValid()) {
            hdr.udp.checksum = advice_over_ipv4.update({
                hdr.ipv4.src_addr, hdr.ipv4.dst_addr, 8w0, meta.report_protocol, meta.report_udp_length,
                hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length, hdr.rate_advice.version, hdr.rate_advice.rate,
                hdr.advice_ipv4.src_addr, hdr.advice_ipv4.reserved }, true);
        }
#ifdef WITH_IPV6
        if (hdr.advice_ipv6.isValid()) {
            hdr.udp.checksum = advice_over_ipv6.update({
                hdr.ipv6.src_addr, hdr.ipv6.dst_addr, 8w0, meta.report_protocol, meta.report_udp_length,
                hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length, hdr.rate_advice.version, hdr.rate_advice.rate,
                hdr.advice_ipv6.src_addr, hdr.advice_ipv6.reserved }, true);
        }
#endif
#endif
        packet.emit(hdr.bridged);
        packet.emit(hdr.place);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.hop_by_hop);
        packet.emit(hdr.udp);
        packet.emit(hdr.tcp);
        packet.emit(hdr.bth);
        packet.emit(hdr.rdcc);
        packet.emit(hdr.congestion_report);
        packet.emit(hdr.crem);
        packet.emit(hdr.path_report);
        packet.emit(hdr.rate_advice);
        packet.emit(hdr.report_ipv4);
        packet.emit(hdr.report_ipv6);
        packet.emit(hdr.advice_ipv4);
        packet.emit(hdr.advice_ipv6);
        packet.emit(hdr.hop_entry);
        packet.emit(hdr.psn);
    }
}

#endif
