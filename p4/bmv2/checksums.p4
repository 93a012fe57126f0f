// IPv4 header checksum checked and renewed; UDP checksum of the reports that this switch builds.
// A passing packet's UDP checksum isn't touched here (rate_signal.p4 corrects it where it rewrites).

#ifndef CRN_BMV2_CHECKSUMS_P4
#define CRN_BMV2_CHECKSUMS_P4

control CrnVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_length,
              hdr.ipv4.identification, hdr.ipv4.reserved, hdr.ipv4.dont_fragment, hdr.ipv4.more_fragments,
              hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control CrnComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_length,
              hdr.ipv4.identification, hdr.ipv4.reserved, hdr.ipv4.dont_fragment, hdr.ipv4.more_fragments,
              hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        // A report is all headers, so its UDP checksum covers the whole message. Of each kind of report only its
        // own headers are valid, and simple_switch leaves invalid ones out.
        update_checksum(meta.is_built == 1 && hdr.ipv4.isValid(),
            { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, 8w0, hdr.ipv4.protocol, hdr.udp.length,
              hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length,
              hdr.rdcc, hdr.congestion_report, hdr.crem, hdr.path_report, hdr.rate_advice,
              hdr.report_ipv4, hdr.report_ipv6, hdr.advice_ipv4, hdr.advice_ipv6, hdr.hop_entry,
              hdr.psn_1, hdr.psn_2, hdr.psn_3, hdr.psn_4, hdr.psn_5 },
            hdr.udp.checksum, HashAlgorithm.csum16);
        update_checksum(meta.is_built == 1 && hdr.ipv6.isValid(),
            { hdr.ipv6.src_addr, hdr.ipv6.dst_addr, 8w0, hdr.ipv6.next_header, hdr.udp.length,
              hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length,
              hdr.rdcc, hdr.congestion_report, hdr.crem, hdr.path_report, hdr.rate_advice,
              hdr.report_ipv4, hdr.report_ipv6, hdr.advice_ipv4, hdr.advice_ipv6, hdr.hop_entry,
              hdr.psn_1, hdr.psn_2, hdr.psn_3, hdr.psn_4, hdr.psn_5 },
            hdr.udp.checksum, HashAlgorithm.csum16);
        // 0 would say "no checksum" (RFC 768, RFC 8200): the sum of nothing is sent instead, all ones.
        update_checksum(meta.is_built == 1 && hdr.udp.checksum == 0,
            { 16w0 }, hdr.udp.checksum, HashAlgorithm.csum16);
    }
}

#endif
