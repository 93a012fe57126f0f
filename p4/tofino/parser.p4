// Wire to headers, ingress.
//
// What the v1model program holds against the packet's length isn't held here: the chip's parser compares no two fields. A
// header that is cut short is an error of the parser's own, which drops the packet.

#ifndef CRN_TOFINO_PARSER_P4
#define CRN_TOFINO_PARSER_P4

parser CrnIngressParser(packet_in packet, out headers_t hdr, out ingress_metadata_t meta,
                        out ingress_intrinsic_metadata_t ig_intr_md) {
    Checksum() ipv4_checksum;

    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        meta.checksum_error = false;
        meta.dscp = 0;
        meta.protocol = 0;
        meta.src_port = 0;
        meta.dst_port = 0;
        meta.is_udp = 0;
        meta.hides_upper_layer = 0;
        meta.tunnelled = 0;
        meta.udp_port = 0;
        meta.signalled = 0;
        transition select(ig_intr_md.ingress_port) {
            RECIRCULATION_PORT : parse_copy;
#ifdef WITH_PACKET_IO
            CPU_PORT : parse_packet_out;
#endif
            default : parse_ethernet;
        }
    }

#ifdef WITH_PACKET_IO
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }
#endif

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

    // A fragment has no ports, not even the first one. A header with options isn't looked into, ingress drops it.
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        ipv4_checksum.add(hdr.ipv4);
        meta.checksum_error = ipv4_checksum.verify();
        meta.dscp = hdr.ipv4.dscp;
        meta.protocol = hdr.ipv4.protocol;
        transition select(hdr.ipv4.ihl, hdr.ipv4.more_fragments, hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (5, 0, 0, IP_PROTOCOL_UDP) : parse_udp;
            (5, 0, 0, IP_PROTOCOL_TCP) : parse_tcp;
            (5, 1, 0, IP_PROTOCOL_UDP) : parse_fragment_udp;
            (5, 0, 0, IP_PROTOCOL_IPV4) : parse_tunnel;
            (5, 0, 0, IP_PROTOCOL_IPV6) : parse_tunnel;
            (5, 0, 0, IP_PROTOCOL_GRE) : parse_tunnel;
            default : accept;
        }
    }

#ifdef WITH_IPV6
    // Ports are found behind one Hop-by-Hop header of 8 octets, not behind other extensions.
    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        meta.dscp = hdr.ipv6.dscp;
        meta.protocol = hdr.ipv6.next_header;
        transition select(hdr.ipv6.next_header) {
            IPV6_HOP_BY_HOP : parse_hop_by_hop;
            IP_PROTOCOL_UDP : parse_udp;
            IP_PROTOCOL_TCP : parse_tcp;
            IP_PROTOCOL_IPV4 : parse_tunnel;
            IP_PROTOCOL_IPV6 : parse_tunnel;
            IP_PROTOCOL_GRE : parse_tunnel;
            IPV6_ROUTING : parse_source_routed;
            IPV6_FRAGMENT : hide_upper_layer;
            IPV6_DESTINATION_OPTIONS : hide_upper_layer;
            IPV6_AUTHENTICATION : hide_upper_layer;
            IPV6_MOBILITY : hide_upper_layer;
            IPV6_HIP : hide_upper_layer;
            IPV6_SHIM6 : hide_upper_layer;
            default : accept;
        }
    }

    state parse_hop_by_hop {
        packet.extract(hdr.hop_by_hop);
        meta.protocol = hdr.hop_by_hop.next_header;
        transition select(hdr.hop_by_hop.length, hdr.hop_by_hop.next_header) {
            (0, IP_PROTOCOL_UDP) : parse_udp;
            (0, IP_PROTOCOL_TCP) : parse_tcp;
            (0, IP_PROTOCOL_IPV4) : parse_tunnel;
            (0, IP_PROTOCOL_IPV6) : parse_tunnel;
            (0, IP_PROTOCOL_GRE) : parse_tunnel;
            (_, IPV6_ROUTING) : parse_source_routed;
            default : hide_upper_layer;
        }
    }

    // SRv6 or another source route: where the packet goes at last stands in there.
    state parse_source_routed {
        meta.tunnelled = 1;
        transition hide_upper_layer;
    }

    state hide_upper_layer {
        meta.hides_upper_layer = 1;
        transition accept;
    }
#endif

    // Looked at and not taken off: for the boundary only.
    state parse_fragment_udp {
        meta.udp_port = packet.lookahead<udp_h>().dst_port;
        transition accept;
    }

    // What is in the tunnel isn't looked into: its addresses may mean nothing here.
    state parse_tunnel {
        meta.tunnelled = 1;
        transition accept;
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        meta.src_port = hdr.tcp.src_port;
        meta.dst_port = hdr.tcp.dst_port;
        transition accept;
    }

    // Less than UDP header, BTH and ICRC (24 octets) isn't RoCEv2, whatever its port says.
    state parse_udp {
        packet.extract(hdr.udp);
        meta.is_udp = 1;
        meta.src_port = hdr.udp.src_port;
        meta.dst_port = hdr.udp.dst_port;
        meta.udp_port = hdr.udp.dst_port;
        transition select(hdr.udp.dst_port, hdr.udp.length) {
#ifdef WITH_ROCE
            (ROCE_UDP_PORT, 0x0000 &&& 0xFFF0) : accept;
            (ROCE_UDP_PORT, 0x0010 &&& 0xFFF8) : accept;
            (ROCE_UDP_PORT, _) : parse_bth;
#endif
            (VXLAN_UDP_PORT, _) : parse_tunnel;
            (GENEVE_UDP_PORT, _) : parse_tunnel;
            default : accept;
        }
    }

#ifdef WITH_ROCE
    // A Rate Signal needs ten octets more: 34. It is egress that looks at it.
    state parse_bth {
        packet.extract(hdr.bth);
        transition select(hdr.bth.extension, hdr.udp.length) {
            (1, 0x0018 &&& 0xFFF8) : accept;
            (1, 0x0020 &&& 0xFFFE) : accept;
            (1, _) : parse_signalled;
            default : accept;
        }
    }

    state parse_signalled {
        meta.signalled = 1;
        transition accept;
    }
#endif

    // Nothing but copies comes in by the recirculation port: COPY_OCTETS each, of which what stands behind UDP, or behind the BTH
    // for a PATH_REPORT, is left out. Of a packet that is shorter it stays, as octets behind the report's IP packet; so do four
    // octets of one without a tag.
    state parse_copy {
        packet.extract(hdr.copy);
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_VLAN : copy_vlan;
            ETHERTYPE_IPV4 : copy_ipv4;
#ifdef WITH_IPV6
            ETHERTYPE_IPV6 : copy_ipv6;
#endif
            default : accept;
        }
    }

    state copy_vlan {
        packet.extract(hdr.vlan);
        transition select(hdr.vlan.ether_type) {
            ETHERTYPE_IPV4 : copy_ipv4;
#ifdef WITH_IPV6
            ETHERTYPE_IPV6 : copy_ipv6;
#endif
            default : accept;
        }
    }

    // 124 octets: the copy's header 34, Ethernet 14, tag 4, IPv4 20, UDP 8; 44 are left, with a BTH 32.
    state copy_ipv4 {
        packet.extract(hdr.ipv4);
        packet.extract(hdr.udp);
        meta.protocol = IP_PROTOCOL_UDP;
        meta.src_port = hdr.udp.src_port;
        meta.dst_port = hdr.udp.dst_port;
        transition select(hdr.copy.kind, hdr.copy.is_long) {
#ifdef WITH_PATH_REPORT
            ((bit<8>) KIND_PATH_REPORT, 1) : skip_behind_ipv4_bth;
            ((bit<8>) KIND_PATH_REPORT, 0) : copy_bth;
#endif
            (_, 1) : skip_behind_ipv4;
            default : accept;
        }
    }

    state skip_behind_ipv4 {
        packet.advance(44 * 8);
        transition accept;
    }

#ifdef WITH_PATH_REPORT
    state skip_behind_ipv4_bth {
        packet.extract(hdr.bth);
        packet.advance(32 * 8);
        transition accept;
    }

    state copy_bth {
        packet.extract(hdr.bth);
        transition accept;
    }
#endif

#ifdef WITH_IPV6
    state copy_ipv6 {
        packet.extract(hdr.ipv6);
        meta.protocol = IP_PROTOCOL_UDP;
        transition select(hdr.ipv6.next_header) {
            IPV6_HOP_BY_HOP : copy_hop_by_hop;
            default : copy_ipv6_udp;
        }
    }

    state copy_ipv6_udp {
        packet.extract(hdr.udp);
        meta.src_port = hdr.udp.src_port;
        meta.dst_port = hdr.udp.dst_port;
        transition select(hdr.copy.kind, hdr.copy.is_long) {
#ifdef WITH_PATH_REPORT
            ((bit<8>) KIND_PATH_REPORT, 1) : skip_behind_ipv6_bth;
            ((bit<8>) KIND_PATH_REPORT, 0) : copy_bth;
#endif
            (_, 1) : skip_behind_ipv6;
            default : accept;
        }
    }

    state copy_hop_by_hop {
        packet.extract(hdr.hop_by_hop);
        packet.extract(hdr.udp);
        meta.src_port = hdr.udp.src_port;
        meta.dst_port = hdr.udp.dst_port;
        transition select(hdr.copy.kind, hdr.copy.is_long) {
#ifdef WITH_PATH_REPORT
            ((bit<8>) KIND_PATH_REPORT, 1) : skip_behind_hop_by_hop_bth;
            ((bit<8>) KIND_PATH_REPORT, 0) : copy_bth;
#endif
            (_, 1) : skip_behind_hop_by_hop;
            default : accept;
        }
    }

    // 20 octets less than behind IPv4, eight less still behind a Hop-by-Hop header.
    state skip_behind_ipv6 {
        packet.advance(24 * 8);
        transition accept;
    }

    state skip_behind_hop_by_hop {
        packet.advance(16 * 8);
        transition accept;
    }

#ifdef WITH_PATH_REPORT
    state skip_behind_ipv6_bth {
        packet.extract(hdr.bth);
        packet.advance(12 * 8);
        transition accept;
    }

    state skip_behind_hop_by_hop_bth {
        packet.extract(hdr.bth);
        packet.advance(4 * 8);
        transition accept;
    }
#endif
#endif
}

#endif
