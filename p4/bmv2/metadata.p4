// The headers of a packet and what the pipeline knows about it.

#ifndef CRN_BMV2_METADATA_P4
#define CRN_BMV2_METADATA_P4

struct headers_t {
    packet_in_h packet_in;
    packet_out_h packet_out;
    ethernet_h ethernet;
    vlan_h vlan;
    ipv4_h ipv4;
    ipv6_h ipv6;
    ipv6_options_h hop_by_hop;
    ipv6_options_rest_h hop_by_hop_rest;
    ipv6_options_h destination_options;
    ipv6_options_rest_h destination_options_rest;
    ipv6_fragment_h ipv6_fragment;
    udp_h udp;
    udp_h fragment_udp; // of a datagram's first fragment: for the boundary, fragments have no ports otherwise
    tcp_ports_h tcp;
    bth_h bth;
    rate_signal_h rate_signal;
    // A report that is being built; on its second way through ingress these are payload.
    rdcc_h rdcc;
    congestion_report_h congestion_report;
    crem_h crem;
    path_report_h path_report;
    rate_advice_h rate_advice;
    ipv4_pair_h report_ipv4;
    ipv6_pair_h report_ipv6;
    rate_advice_ipv4_h advice_ipv4;
    rate_advice_ipv6_h advice_ipv6;
    hop_entry_h hop_entry;
    dropped_psn_h psn_1; // the oldest
    dropped_psn_h psn_2;
    dropped_psn_h psn_3;
    dropped_psn_h psn_4;
    dropped_psn_h psn_5; // the packet that the report was made from
}

// Flat, because only direct members can stand in a field list. A clone loses all but its field list, a
// recirculated packet loses everything.
struct metadata_t {
    // Carried by the clone that becomes a report (field list 1).
    @field_list(1) bit<2> report_kind;
    @field_list(1) octets_t occupancy;       // octets behind this packet in its queue
    @field_list(1) octets_t b_th;
    @field_list(1) bit<8> degree;
    @field_list(1) mbit_per_sec_t suggested_rate;
    @field_list(1) role_t role;
    // The port and queue that the report is about; kept when it is recirculated (field list 2), lest it be dropped.
    @field_list(1, 2) port_id_t report_port;
    @field_list(1, 2) queue_id_t report_queue;
    @field_list(1) bit<32> flow_hash;
    @field_list(1) bit<32> reporter_id;
    @field_list(1) bit<32> reporter_ipv4;
    @field_list(1) bit<128> reporter_ipv6;
    @field_list(1) bit<16> rdcc_port;
    @field_list(1) bit<16> crem_port;
    @field_list(1) bit<16> scone_port;
    @field_list(1) bit<8> protocol;
    // Of a PATH_REPORT.
    @field_list(1) bit<8> path_cause;
    @field_list(1) bit<16> path_lost;        // drops of the flow since its last report, this one included
    @field_list(1) bit<6> path_held;         // how many PSNs `path_psns` holds: the latest lowest
    @field_list(1) bit<96> path_psns;
    @field_list(1) address_t csf_addr;
    // Of Rate Advice.
    @field_list(1) profile_id_t profile;
    @field_list(1) bit<16> sources;          // of the congested queue; 0: the share isn't looked up by the clone
    @field_list(1) mbit_per_sec_t policy_rate;
    @field_list(1) mbit_per_sec_t advice_floor;

    // From the parser.
    octets_t link_octets; // of the headers below IP
    octets_t ip_octets;   // of the IP header and all that follows, 0 if it isn't IP
    bit<16> payload_octets; // of the IP packet, without the headers that are parsed already
    bit<6> dscp;
    bit<16> src_port;
    bit<16> dst_port;
    bit<1> hides_upper_layer; // behind an IPv6 extension header that isn't looked into
    bit<1> tunnelled;         // another packet is in it, or its final destination

    // From ingress.
    bit<1> is_report; // comes back through ingress
    bit<1> is_built;  // the clone that has just become a report
    bit<1> dropped;
    bit<3> drop_cause;
    bit<1> denied; // by the ACL
    bit<1> has_reporter;
    bit<1> is_data; // RoCEv2 with data, not to a control port
    bit<1> to_control_port; // to one of the domain's three: it may be a report
    bit<1> dscp_trusted;    // of the ingress port
    bit<1> control_trusted;
    bit<1> source_invalid;  // nothing is said to the source, and nothing that it marks is believed
    address_t src_addr;
    address_t dst_addr;
    bit<3> traffic_class;
    queue_id_t queue;
    bit<16> ecmp_hash;
    octets_t frame_octets; // what the packet costs in its queue, 0 if that isn't known

    // From `queue_profile` and the queue's account.
    bit<1> has_profile;
    octets_t q_max;
    octets_t ecn_threshold;
    micros_t report_interval;
    bit<1> charged;
    bit<32> stamp; // the queue's enqueue count with this packet in it

    // Rate Advice and Rate Signal.
    bit<1> advises;
    bit<1> advice_due; // the source's interval is over, and there may be something to say
    micros_t advice_interval;
    bit<32> source_hash;
    bit<1> signals; // carries a Rate Signal that this switch may lower
    mbit_per_sec_t signal_floor;

    // What egress looks up about the queue: for a report, for a Rate Signal.
    bit<1> is_clone;
    bit<1> congested;
    bit<1> reports_congestion;
    bit<1> wants_degree;
    bit<1> wants_share;
    bit<1> share_of_source; // the share that is wanted is a source's, not a flow's

    // Alternate Marking.
    bit<1> monitored;
    marking_index_t marking_flow;
    bit<1> counted; // marked, and of a monitored flow
    bit<1> hop_by_hop_mark;  // a mark stands in the Hop-by-Hop header; it is the one that counts
    bit<1> destination_mark; // a mark stands in the Destination Options header
    bit<1> colour;
    bit<1> delay_marked;
}

// Values of standard_metadata.instance_type (simple_switch).
const bit<32> INSTANCE_INGRESS_CLONE = 1;
const bit<32> INSTANCE_EGRESS_CLONE = 2;
const bit<32> INSTANCE_RECIRCULATED = 4;

#endif
