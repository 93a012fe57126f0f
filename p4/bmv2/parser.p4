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

    // A fragment has no ports, not even the first one: the fragments of a datagram are one flow. A header
    // with options isn't looked into, ingress drops it.
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        meta.ip_octets = (bit<32>) hdr.ipv4.total_length;
        meta.dscp = hdr.ipv4.dscp;
        meta.protocol = hdr.ipv4.protocol;
        transition select(hdr.ipv4.ihl, hdr.ipv4.more_fragments, hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (5, 0, 0, IP_PROTOCOL_UDP) : parse_udp;
            (5, 0, 0, IP_PROTOCOL_TCP) : parse_tcp;
            default : accept;
        }
    }

    // Ports behind extension headers aren't looked for.
    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        meta.ip_octets = (bit<32>) hdr.ipv6.payload_length + (bit<32>) IPV6_OCTETS;
        meta.dscp = hdr.ipv6.dscp;
        meta.protocol = hdr.ipv6.next_header;
        transition select(hdr.ipv6.next_header) {
            IP_PROTOCOL_UDP : parse_udp;
            IP_PROTOCOL_TCP : parse_tcp;
            default : accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.src_port = hdr.udp.src_port;
        meta.dst_port = hdr.udp.dst_port;
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
        packet.emit(hdr.udp);
        packet.emit(hdr.tcp);
        packet.emit(hdr.rdcc);
        packet.emit(hdr.congestion_report);
        packet.emit(hdr.report_ipv4);
        packet.emit(hdr.report_ipv6);
    }
}

#endif
