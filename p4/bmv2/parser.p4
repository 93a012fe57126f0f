// Wire to headers and back.
//
// A frame may be longer than its IP packet: Ethernet pads to 64 octets. No header may reach into that padding, so each is held
// against what is left of the packet (`payload_octets`); a UDP length may be shorter than that (RFC 9868), not longer.

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
        meta.payload_octets = hdr.ipv4.total_length - IPV4_OCTETS;
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

    // Ports are found behind one Hop-by-Hop and one Destination Options header of at most 256 octets each, not behind
    // other extensions.
    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        meta.ip_octets = (bit<32>) hdr.ipv6.payload_length + (bit<32>) IPV6_OCTETS;
        meta.payload_octets = hdr.ipv6.payload_length;
        meta.dscp = hdr.ipv6.dscp;
        meta.protocol = hdr.ipv6.next_header;
        transition select(hdr.ipv6.next_header) {
            IPV6_HOP_BY_HOP : parse_hop_by_hop;
            IPV6_DESTINATION_OPTIONS : parse_destination_options;
            IP_PROTOCOL_UDP : parse_udp;
            IP_PROTOCOL_TCP : parse_tcp;
            IPV6_FRAGMENT : parse_ipv6_fragment;
            IPV6_ROUTING : parse_source_routed;
            IP_PROTOCOL_IPV4 : parse_tunnel;
            IP_PROTOCOL_IPV6 : parse_tunnel;
            IP_PROTOCOL_GRE : parse_tunnel;
            IPV6_AUTHENTICATION : hide_upper_layer;
            IPV6_MOBILITY : hide_upper_layer;
            IPV6_HIP : hide_upper_layer;
            IPV6_SHIM6 : hide_upper_layer;
            default : accept;
        }
    }

    state parse_hop_by_hop {
        packet.extract(hdr.hop_by_hop);
        bit<16> hop_by_hop_octets = ((bit<16>) hdr.hop_by_hop.length + 1) << 3;
        verify(hop_by_hop_octets <= meta.payload_octets, error.PacketTooShort);
        meta.payload_octets = meta.payload_octets - hop_by_hop_octets;
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
            IPV6_ROUTING : parse_source_routed;
            IP_PROTOCOL_IPV4 : parse_tunnel;
            IP_PROTOCOL_IPV6 : parse_tunnel;
            IP_PROTOCOL_GRE : parse_tunnel;
            IPV6_AUTHENTICATION : hide_upper_layer;
            IPV6_MOBILITY : hide_upper_layer;
            IPV6_HIP : hide_upper_layer;
            IPV6_SHIM6 : hide_upper_layer;
            default : accept;
        }
    }

    state parse_destination_options {
        packet.extract(hdr.destination_options);
        bit<16> destination_options_octets = ((bit<16>) hdr.destination_options.length + 1) << 3;
        verify(destination_options_octets <= meta.payload_octets, error.PacketTooShort);
        meta.payload_octets = meta.payload_octets - destination_options_octets;
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
            IPV6_ROUTING : parse_source_routed;
            IP_PROTOCOL_IPV4 : parse_tunnel;
            IP_PROTOCOL_IPV6 : parse_tunnel;
            IP_PROTOCOL_GRE : parse_tunnel;
            IPV6_AUTHENTICATION : hide_upper_layer;
            IPV6_MOBILITY : hide_upper_layer;
            IPV6_HIP : hide_upper_layer;
            IPV6_SHIM6 : hide_upper_layer;
            default : accept;
        }
    }

    // What stands behind options and the like in a fragment is hidden too. Each fragment says what is in the datagram, as
    // with IPv4: by that the ACL knows it, and all fragments are one flow. A later one that says something else (RFC 8200,
    // section 4.5, lets it) is no way around the ACL: without the first one there is no datagram.
    state parse_ipv6_fragment {
        packet.extract(hdr.ipv6_fragment);
        meta.protocol = hdr.ipv6_fragment.next_header;
        verify(meta.payload_octets >= IPV6_FRAGMENT_OCTETS, error.PacketTooShort);
        meta.payload_octets = meta.payload_octets - IPV6_FRAGMENT_OCTETS;
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
        verify(meta.payload_octets >= UDP_OCTETS, error.PacketTooShort);
        transition accept;
    }

    // SRv6 or another source route: where the packet goes at last stands in there.
    state parse_source_routed {
        meta.tunnelled = 1;
        transition hide_upper_layer;
    }

    // What is in the tunnel isn't looked into: its addresses may mean nothing here.
    state parse_tunnel {
        meta.tunnelled = 1;
        transition accept;
    }

    state hide_upper_layer {
        meta.hides_upper_layer = 1;
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        verify(hdr.udp.length >= UDP_OCTETS && hdr.udp.length <= meta.payload_octets, error.PacketTooShort);
        meta.src_port = hdr.udp.src_port;
        meta.dst_port = hdr.udp.dst_port;
        // Less than UDP header, BTH and ICRC (24 octets) isn't RoCEv2, whatever its port says.
        transition select(hdr.udp.dst_port, hdr.udp.length) {
            (ROCE_UDP_PORT, 0x0000 &&& 0xFFF0) : accept;
            (ROCE_UDP_PORT, 0x0010 &&& 0xFFF8) : accept;
            (ROCE_UDP_PORT, _) : parse_bth;
            (VXLAN_UDP_PORT, _) : parse_tunnel;
            (GENEVE_UDP_PORT, _) : parse_tunnel;
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
        verify(meta.payload_octets >= TCP_OCTETS, error.PacketTooShort);
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
