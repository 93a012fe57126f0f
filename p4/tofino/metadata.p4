// What each gress knows about a packet.

#ifndef CRN_TOFINO_METADATA_P4
#define CRN_TOFINO_METADATA_P4

struct ingress_metadata_t {
    // From the parser.
    bool checksum_error;
    bit<6> dscp;
    bit<8> protocol;
    bit<16> src_port;
    bit<16> dst_port;
    bit<1> is_udp;
    bit<1> hides_upper_layer; // behind an IPv6 extension header that isn't looked into
    bit<1> tunnelled;         // another packet is in it, or its final destination
    bit<1> signalled;         // room for a Rate Signal, and the bit that says so
    bit<16> udp_port;         // where a datagram goes, or the one whose first fragment this is

    // From `reporter`.
    bit<1> has_reporter;
    bit<32> reporter_id;
    bit<32> reporter_ipv4;
    bit<128> reporter_ipv6;
    bit<16> rdcc_port;
    bit<16> crem_port;
    bit<16> scone_port;
    bit<1> no_address; // of the packet's family
    // The packet's destination port, exclusive or with each of the three: 0 where they are equal.
    bit<16> rdcc_difference;
    bit<16> crem_difference;
    bit<16> scone_difference;
    bit<1> to_control_port;

    address_t src_addr;
    address_t dst_addr;
    bit<32> flow_hash;
    bit<1> is_data; // RoCEv2 with data
    bit<1> dscp_trusted;
    bit<1> control_trusted;
    bit<1> source_invalid;
    bit<1> denied;
    bit<3> traffic_class;
    role_t role;
    queue_id_t queue;
    bit<1> mapped;
    bit<1> routed;
    port_id_t egress_port;

    // Why the packet is dropped: drop.p4.
    bit<3> invalid_cause;
    bit<1> is_invalid;
    bit<1> at_boundary;
    bit<1> dropped;
    bit<1> reports_denial; // goes to egress, which drops it
    bit<16> drop_index; // 1w0 ++ cause ++ port ++ queue

    // A report that is being built: report.p4.
    bit<1> says_nothing;
    bit<32> depth_high;
    bit<32> depth_middle;
    bit<32> depth_low;
    octets_t depth_octets;
    bit<32> b_th_high;
    bit<32> b_th_middle;
    bit<32> b_th_low;
    octets_t b_th_octets;
    bit<32> sequence;
    address_t to_addr;
    bit<16> report_udp_length; // for the pseudo-header: a field stands in a checksum once
    bit<8> report_protocol;
}

struct egress_metadata_t {
    bit<1> is_copy; // on its way to ingress, where it becomes a report
    bit<1> is_refused; // by the traffic manager (deflected) or by the ACL: leaves nowhere
    bit<8> cause; // of that
    MirrorId_t session;
    bit<8> internal;
    bit<8> is_long;
    bit<16> queue;  // 4w0 ++ port ++ queue: an index
    bit<16> report; // 2w0 ++ kind ++ port ++ queue
    bit<8> kind;

    bit<1> has_profile;
    profile_id_t profile;
    depth_t depth;
    depth_t b_th;
    depth_t q_max;
    depth_t ecn_threshold;
    micros_t report_interval;
    depth_t excess;
    depth_t ecn_excess;
    bit<1> congested;
    bit<32> depth_cells; // as the copy carries them
    bit<32> b_th_cells;
    bit<32> now;

    // CONGESTION_REPORT.
    bit<32> due_before; // a flow is due whose last report is older
    bit<2> asked;       // which report's interval was looked at
    bit<1> due;
    bit<8> colour;
    bit<1> suppressed;
    bit<16> suppressed_index; // 1w0 ++ cause ++ port ++ queue
    bit<8> degree;
    mbit_per_sec_t rate;
    bit<1> sends;
    bit<32> copied_rate;
    bit<32> copied_other;
    bit<8> copy_pad; // 0

    // PATH_REPORT.
    bit<1> reports_drops;
    micros_t path_interval;
    bit<32> path_due_before;
    bit<32> path_lost; // drops of the flow since its last report, this one included; 0: not due

    // Rate Advice.
    bit<1> advises;
    micros_t advice_interval;
    mbit_per_sec_t advice_floor;
    bit<32> advice_due_before;
    bit<1> may_advise;
    bit<1> advice_due;
    bit<16> sources;
    bit<1> defers;
    bit<16> deferred_index; // 2w0 ++ kind ++ port ++ queue

    // Rate Signal.
    bit<1> signals;
    bit<8> signal_type;
    mbit_per_sec_t signal_floor;
    mbit_per_sec_t signalled; // what the packet says, or no limit
    mbit_per_sec_t share;
    mbit_per_sec_t limit;
    bit<16> udp_residual;
    bit<1> renews_checksum;
    bit<1> has_checksum;

    // Flows of the queue: flow_count.p4.
    bit<16> epoch;
    bit<16> flows;
}

#endif
