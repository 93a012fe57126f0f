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
    udp_h udp;
    tcp_ports_h tcp;
    // A report that is being built; on its second way through ingress these are payload.
    rdcc_h rdcc;
    congestion_report_h congestion_report;
    ipv4_pair_h report_ipv4;
    ipv6_pair_h report_ipv6;
}

// Flat, because only direct members can stand in a field list. A clone loses all but its field list, a
// recirculated packet loses everything.
struct metadata_t {
    // Carried by the E2E clone that becomes a report (field list 1).
    @field_list(1) octets_t occupancy;       // octets behind this packet in its queue
    @field_list(1) octets_t b_th;
    @field_list(1) bit<8> degree;
    @field_list(1) mbit_per_sec_t suggested_rate;
    @field_list(1) role_t role;
    @field_list(1) port_id_t report_port;    // the port and queue that the report is about
    @field_list(1) queue_id_t report_queue;
    @field_list(1) bit<32> flow_hash;
    @field_list(1) bit<32> reporter_id;
    @field_list(1) bit<32> reporter_ipv4;
    @field_list(1) bit<128> reporter_ipv6;
    @field_list(1) bit<16> rdcc_port;
    @field_list(1) bit<8> protocol;

    // From the parser.
    octets_t link_octets; // of the headers below IP
    octets_t ip_octets;   // of the IP header and all that follows, 0 if it isn't IP
    bit<6> dscp;
    bit<16> src_port;
    bit<16> dst_port;

    // From ingress.
    bit<1> is_report;
    bit<1> dropped;
    bit<3> drop_cause;
    bit<1> has_reporter;
    bit<16> crem_port;
    bit<16> scone_port;
    bit<3> traffic_class;
    queue_id_t queue;
    bit<16> ecmp_hash;
    octets_t frame_octets; // what the packet costs in its queue, 0 if that isn't known

    // From `queue_profile` and the queue's account.
    bit<1> has_profile;
    profile_id_t profile;
    octets_t q_max;
    octets_t ecn_threshold;
    micros_t report_interval;
    bit<1> charged;
    bit<32> stamp; // the queue's enqueue count with this packet in it
}

// Values of standard_metadata.instance_type (simple_switch).
const bit<32> INSTANCE_EGRESS_CLONE = 2;
const bit<32> INSTANCE_RECIRCULATED = 4;

// The port of the controller (`--cpu-port`), and the clone session that leads to the clone port.
const bit<9> CPU_PORT = 509;
const bit<32> REPORT_CLONE_SESSION = 1;

#endif
