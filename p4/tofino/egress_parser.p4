// Wire to headers and back, egress: as far as IP, whose ECN is marked here, or as far as a Rate Signal.

#ifndef CRN_TOFINO_EGRESS_PARSER_P4
#define CRN_TOFINO_EGRESS_PARSER_P4

parser CrnEgressParser(packet_in packet, out headers_t hdr, out egress_metadata_t meta,
                       out egress_intrinsic_metadata_t eg_intr_md) {
#ifdef WITH_RATE_SIGNAL
    Checksum() udp_checksum;
#endif

    state start {
        packet.extract(eg_intr_md);
        meta.is_copy = 0;
        meta.is_refused = 0;
        meta.asked = 0;
        meta.due = 0;
        meta.suppressed = 0;
        meta.path_lost = 0;
        meta.may_advise = 0;
        meta.advice_due = 0;
        meta.signals = 0;
        meta.renews_checksum = 0;
        meta.sends = 0;
        meta.has_checksum = 0;
        transition select(packet.lookahead<bit<8>>()) {
            INTERNAL_COPY : parse_copy;
            default : parse_bridged;
        }
    }

    // All but its header is left as it is: the next pass of ingress takes it apart.
    state parse_copy {
        packet.extract(hdr.copy);
        meta.is_copy = 1;
        transition accept;
    }

    state parse_bridged {
        packet.extract(hdr.bridged);
        packet.extract(hdr.index);
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_VLAN : parse_vlan;
            ETHERTYPE_IPV4 : parse_ipv4;
#ifdef WITH_IPV6
            ETHERTYPE_IPV6 : parse_ipv6;
#endif
            default : accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.vlan);
        transition select(hdr.vlan.ether_type) {
            ETHERTYPE_IPV4 : parse_ipv4;
#ifdef WITH_IPV6
            ETHERTYPE_IPV6 : parse_ipv6;
#endif
            default : accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
#ifdef WITH_RATE_SIGNAL
        transition select(hdr.bridged.carries_signal) {
            1 : parse_udp;
            default : accept;
        }
#else
        transition accept;
#endif
    }

#ifdef WITH_IPV6
    state parse_ipv6 {
        packet.extract(hdr.ipv6);
#ifdef WITH_RATE_SIGNAL
        transition select(hdr.bridged.carries_signal, hdr.ipv6.next_header) {
            (1, IP_PROTOCOL_UDP) : parse_udp;
            (1, IPV6_HOP_BY_HOP) : parse_hop_by_hop;
            default : accept;
        }
#else
        transition accept;
#endif
    }
#endif

#ifdef WITH_RATE_SIGNAL
#ifdef WITH_IPV6
    state parse_hop_by_hop {
        packet.extract(hdr.hop_by_hop);
        transition parse_udp;
    }
#endif

    // The checksum without itself and without the rate: what the deparser adds the new rate to. 0 says "none" and stays.
    state parse_udp {
        packet.extract(hdr.udp);
        udp_checksum.subtract({ hdr.udp.checksum });
        packet.extract(hdr.bth);
        transition select(hdr.udp.checksum) {
            0 : parse_rate_signal;
            default : parse_summed_rate_signal;
        }
    }

    state parse_summed_rate_signal {
        meta.has_checksum = 1;
        transition parse_rate_signal;
    }

    state parse_rate_signal {
        packet.extract(hdr.rate_signal);
        udp_checksum.subtract({ hdr.rate_signal.rate });
        meta.udp_residual = udp_checksum.get();
        transition accept;
    }
#endif
}

control CrnEgressDeparser(packet_out packet, inout headers_t hdr, in egress_metadata_t meta,
                          in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    Mirror() mirror;
#ifdef WITH_ECN
    Checksum() ipv4_checksum;
#endif
#ifdef WITH_RATE_SIGNAL
    Checksum() udp_checksum;
#endif

    apply {
        if (eg_dprsr_md.mirror_type == MIRROR_REPORT) {
            mirror.emit<copy_h>(meta.session, {
                meta.internal, meta.is_long, meta.kind, hdr.bridged.role, meta.degree, meta.cause, meta.report,
                meta.depth_cells, meta.b_th_cells, hdr.bridged.flow_hash, meta.copied_rate, meta.copied_other,
                meta.advice_floor, meta.profile, meta.copy_pad });
        }
#ifdef WITH_ECN
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.checksum = ipv4_checksum.update({
                hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_length,
                hdr.ipv4.identification, hdr.ipv4.reserved, hdr.ipv4.dont_fragment, hdr.ipv4.more_fragments,
                hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr });
        }
#endif
#ifdef WITH_RATE_SIGNAL
        if (meta.renews_checksum == 1) {
            hdr.udp.checksum = udp_checksum.update({ hdr.rate_signal.rate, meta.udp_residual }, true);
        }
#endif
        packet.emit(hdr.copy);
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.hop_by_hop);
        packet.emit(hdr.udp);
        packet.emit(hdr.bth);
        packet.emit(hdr.rate_signal);
    }
}

#endif
