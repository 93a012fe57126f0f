// Wire to headers and back.

#ifndef CRN_BMV2_PARSER_P4
#define CRN_BMV2_PARSER_P4

parser CrnParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    state start {
        meta.link_octets = ETHERNET_OCTETS;
        transition select(standard_metadata.ingress_port) {
            CPU_PORT : parse_packet_out;
            default : parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_VLAN : parse_vlan;
            ETHERTYPE_IPV4 : parse_ipv4;
            ETHERTYPE_IPV6 : parse_ipv6;
            default : accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.vlan);
        meta.link_octets = ETHERNET_OCTETS + VLAN_OCTETS;
        transition select(hdr.vlan.ether_type) {
            ETHERTYPE_IPV4 : parse_ipv4;
            ETHERTYPE_IPV6 : parse_ipv6;
            default : accept;
        }
    }

    // A fragment has no ports, not even the first one: the fragments of a datagram are one flow. Where the first one
    // would go is looked at by the boundary alone. A header with options isn't looked into, ingress drops it.
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        meta.ip_octets = (bit<32>) hdr.ipv4.total_length;
        meta.dscp = hdr.ipv4.dscp;
        meta.protocol = hdr.ipv4.protocol;
        transition select(hdr.ipv4.ihl, hdr.ipv4.more_fragments, hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (5, 0, 0, IP_PROTOCOL_UDP) : parse_udp;
            (5, 0, 0, IP_PROTOCOL_TCP) : parse_tcp;
            (5, 1, 0, IP_PROTOCOL_UDP) : parse_fragment_udp;
            default : accept;
        }
    }

    // Ports are found behind one Hop-by-Hop and one Destination Options header of at most 256 octets each, not behind
    // other extensions.
    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        meta.ip_octets = (bit<32>) hdr.ipv6.payload_length + (bit<32>) IPV6_OCTETS;
        meta.dscp = hdr.ipv6.dscp;
        meta.protocol = hdr.ipv6.next_header;
        transition select(hdr.ipv6.next_header) {
            IPV6_HOP_BY_HOP : parse_hop_by_hop;
            IPV6_DESTINATION_OPTIONS : parse_destination_options;
            IP_PROTOCOL_UDP : parse_udp;
            IP_PROTOCOL_TCP : parse_tcp;
            IPV6_FRAGMENT : parse_ipv6_fragment;
            IPV6_ROUTING : hide_upper_layer;
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
        transition select(hdr.hop_by_hop.length) {
            0 : after_hop_by_hop;
            0x00 &&& 0xE0 : parse_hop_by_hop_rest;
            default : hide_upper_layer;
        }
    }

    state parse_hop_by_hop_rest {
        packet.extract(hdr.hop_by_hop_rest, (bit<32>) hdr.hop_by_hop.length << 6);
        transition after_hop_by_hop;
    }

    state after_hop_by_hop {
        transition select(hdr.hop_by_hop.next_header) {
            IPV6_DESTINATION_OPTIONS : parse_destination_options;
            IP_PROTOCOL_UDP : parse_udp;
            IP_PROTOCOL_TCP : parse_tcp;
            IPV6_FRAGMENT : parse_ipv6_fragment;
            IPV6_HOP_BY_HOP : hide_upper_layer;
            IPV6_ROUTING : hide_upper_layer;
            IPV6_AUTHENTICATION : hide_upper_layer;
            IPV6_MOBILITY : hide_upper_layer;
            IPV6_HIP : hide_upper_layer;
            IPV6_SHIM6 : hide_upper_layer;
            default : accept;
        }
    }

    state parse_destination_options {
        packet.extract(hdr.destination_options);
        meta.protocol = hdr.destination_options.next_header;
        transition select(hdr.destination_options.length) {
            0 : after_destination_options;
            0x00 &&& 0xE0 : parse_destination_options_rest;
            default : hide_upper_layer;
        }
    }

    state parse_destination_options_rest {
        packet.extract(hdr.destination_options_rest, (bit<32>) hdr.destination_options.length << 6);
        transition after_destination_options;
    }

    state after_destination_options {
        transition select(hdr.destination_options.next_header) {
            IP_PROTOCOL_UDP : parse_udp;
            IP_PROTOCOL_TCP : parse_tcp;
            IPV6_FRAGMENT : parse_ipv6_fragment;
            IPV6_HOP_BY_HOP : hide_upper_layer;
            IPV6_DESTINATION_OPTIONS : hide_upper_layer;
            IPV6_ROUTING : hide_upper_layer;
            IPV6_AUTHENTICATION : hide_upper_layer;
            IPV6_MOBILITY : hide_upper_layer;
            IPV6_HIP : hide_upper_layer;
            IPV6_SHIM6 : hide_upper_layer;
            default : accept;
        }
    }

    // What stands behind options and the like in a fragment is hidden too.
    state parse_ipv6_fragment {
        packet.extract(hdr.ipv6_fragment);
        transition select(hdr.ipv6_fragment.fragment_offset, hdr.ipv6_fragment.next_header) {
            (0, IP_PROTOCOL_UDP) : parse_fragment_udp;
            (0, IPV6_HOP_BY_HOP) : hide_upper_layer;
            (0, IPV6_DESTINATION_OPTIONS) : hide_upper_layer;
            (0, IPV6_FRAGMENT) : hide_upper_layer;
            (0, IPV6_ROUTING) : hide_upper_layer;
            (0, IPV6_AUTHENTICATION) : hide_upper_layer;
            (0, IPV6_MOBILITY) : hide_upper_layer;
            (0, IPV6_HIP) : hide_upper_layer;
            (0, IPV6_SHIM6) : hide_upper_layer;
            default : accept;
        }
    }

    state parse_fragment_udp {
        packet.extract(hdr.fragment_udp);
        transition accept;
    }

    state hide_upper_layer {
        meta.hides_upper_layer = 1;
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.src_port = hdr.udp.src_port;
        meta.dst_port = hdr.udp.dst_port;
        // Less than UDP header, BTH and ICRC (24 octets) isn't RoCEv2, whatever its port says.
        transition select(hdr.udp.dst_port, hdr.udp.length) {
            (ROCE_UDP_PORT, 0x0000 &&& 0xFFF0) : accept;
            (ROCE_UDP_PORT, 0x0010 &&& 0xFFF8) : accept;
            (ROCE_UDP_PORT, _) : parse_bth;
            default : accept;
        }
    }

    // A Rate Signal needs ten octets more: 34.
    state parse_bth {
        packet.extract(hdr.bth);
        transition select(hdr.bth.extension, hdr.udp.length) {
            (1, 0x0018 &&& 0xFFF8) : accept;
            (1, 0x0020 &&& 0xFFFE) : accept;
            (1, _) : parse_rate_signal;
            default : accept;
        }
    }

    state parse_rate_signal {
        packet.extract(hdr.rate_signal);
        transition accept;
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        meta.src_port = hdr.tcp.src_port;
        meta.dst_port = hdr.tcp.dst_port;
        transition accept;
    }
}

control CrnDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.hop_by_hop);
        packet.emit(hdr.hop_by_hop_rest);
        packet.emit(hdr.destination_options);
        packet.emit(hdr.destination_options_rest);
        packet.emit(hdr.ipv6_fragment);
        packet.emit(hdr.udp);
        packet.emit(hdr.fragment_udp);
        packet.emit(hdr.tcp);
        packet.emit(hdr.bth);
        packet.emit(hdr.rate_signal);
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
        packet.emit(hdr.psn_1);
        packet.emit(hdr.psn_2);
        packet.emit(hdr.psn_3);
        packet.emit(hdr.psn_4);
        packet.emit(hdr.psn_5);
    }
}

#endif
