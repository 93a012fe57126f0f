// Headers as they stand on the wire. All lengths are octets, all integers big-endian.

#ifndef CRN_HEADERS_P4
#define CRN_HEADERS_P4

// --- Controller packet I/O (P4Runtime) ---

@controller_header("packet_in")
header packet_in_h {
    @id(1) bit<9> ingress_port;
    @id(2) @padding bit<7> pad;
}

@controller_header("packet_out")
header packet_out_h {
    @id(1) bit<9> egress_port;
    @id(2) @padding bit<7> pad;
}

// --- Link and network ---

header ethernet_h {
    bit<48> dst_mac;
    bit<48> src_mac;
    bit<16> ether_type;
}

header vlan_h {
    bit<3> pcp;
    bit<1> dei;
    bit<12> vid;
    bit<16> ether_type;
}

header ipv4_h {
    bit<4> version;
    bit<4> ihl;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> total_length;
    bit<16> identification;
    bit<1> reserved;
    bit<1> dont_fragment;
    bit<1> more_fragments;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

header ipv6_h {
    bit<4> version;
    bit<6> dscp;
    bit<2> ecn;
    bit<20> flow_label;
    bit<16> payload_length;
    bit<8> next_header;
    bit<8> hop_limit;
    bit<128> src_addr;
    bit<128> dst_addr;
}

// RFC 8200, section 4.2: a Hop-by-Hop or Destination Options header up to the eighth octet, which is its least
// length, with the first option read as the Alternate Marking option of RFC 9343. What follows is in a header
// of its own.
header ipv6_options_h {
    bit<8> next_header;
    bit<8> length; // in units of 8 octets, without the first 8
    bit<8> option_type;
    bit<8> option_length;
    bit<20> flow_mon_id;
    bit<1> loss;
    bit<1> delay;
    bit<10> reserved;
}

// Up to 31 units of 8 octets (the parser stops at longer ones).
header ipv6_options_rest_h {
    varbit<1984> octets;
}

header ipv6_fragment_h {
    bit<8> next_header;
    bit<8> reserved;
    bit<13> fragment_offset;
    bit<2> reserved2;
    bit<1> more_fragments;
    bit<32> identification;
}

// --- Transport ---

header udp_h {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

// The first four octets of a TCP header: all that the five-tuple needs.
header tcp_ports_h {
    bit<16> src_port;
    bit<16> dst_port;
}

// --- RoCEv2 ---

// Base Transport Header.
header bth_h {
    bit<8> opcode;
    bit<1> solicited;
    bit<1> migration;
    bit<2> pad;
    bit<4> transport_version;
    bit<16> partition_key;
    bit<1> fecn;
    bit<1> becn;
    bit<6> reserved;
    bit<24> dest_qp;
    bit<1> ack_request;
    bit<6> reserved2;
    bit<1> extension; // ours: a Rate Signal follows
    bit<24> psn;
}

// SCONE, Rate Signal Bearer: between the BTH and whatever else follows it.
header rate_signal_h {
    bit<8> type;
    bit<8> length;
    bit<32> rate; // Mbit/s, 0 = no advice
    bit<32> version;
}

// --- RDCC ---

// RDCC, Message Formats: the common header.
header rdcc_h {
    bit<4> version;
    bit<4> reserved;
    bit<8> type;
    bit<16> length; // of the whole message
    bit<32> association_id;
    bit<16> epoch;
    bit<16> flags;
    bit<32> sequence;
}

// RDCC, CONGESTION_REPORT: the body up to the addresses, which follow in a header of their family.
header congestion_report_h {
    bit<32> reporter_id;
    bit<32> queue_depth;     // octets
    bit<32> queue_threshold; // octets
    bit<8> degree;
    bit<8> direction;
    bit<8> address_family;
    bit<8> protocol;
    bit<16> src_port;
    bit<16> dst_port;
    bit<32> suggested_rate; // Mbit/s, 0 = none
}

header ipv4_pair_h {
    bit<32> src_addr;
    bit<32> dst_addr;
}

header ipv6_pair_h {
    bit<128> src_addr;
    bit<128> dst_addr;
}

// --- CREM ---

// CREM, Message Formats: the common header.
header crem_h {
    bit<4> version;
    bit<4> type;
    bit<8> flags;
    bit<16> length; // of the whole message
    bit<32> flow_id;
}

// CREM, Path Reports: PATH_REPORT up to the addresses, which follow in a header of their family.
header path_report_h {
    bit<8> method;
    bit<8> entries;
    bit<8> address_family;
    bit<8> reserved;
}

// Behind the addresses: the flow label, and the one hop entry that a switch can know.
header hop_entry_h {
    bit<32> flow_label;
    bit<32> node_id;
    bit<32> period;
    bit<32> lost;
    bit<32> delay_change; // signed, us
    bit<8> cause;
    bit<8> psn_count;
    bit<16> reserved;
}

header dropped_psn_h {
    bit<8> reserved;
    bit<24> psn;
}

// --- SCONE ---

// SCONE, Payload Format: up to the source address, which follows in a header of its family.
header rate_advice_h {
    bit<32> version;
    bit<32> rate; // Mbit/s
}

header rate_advice_ipv4_h {
    bit<32> src_addr;
    bit<32> reserved;
}

header rate_advice_ipv6_h {
    bit<128> src_addr;
    bit<32> reserved;
}

#endif
