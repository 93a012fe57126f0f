// What passes leave for each other, and the headers of a packet.

#ifndef CRN_TOFINO_HEADERS_P4
#define CRN_TOFINO_HEADERS_P4

// What may be said about a packet, by kind of report, judged in ingress. The highest bit: it is suppressed, and the three bits
// behind it are the cause, where they stand in the index of `reports_suppressed`.
typedef bit<16> candidate_t;
const candidate_t CANDIDATE_NONE = 0;
const candidate_t CANDIDATE_REPORT = 1;
const candidate_t CANDIDATE_SUPPRESSED = 0x8000;

// From ingress to egress, with every packet. What moves on stands in octets of its own, since the chip copies whole
// containers.
header bridged_h {
    bit<8> internal;
    bit<8> role;
    bit<8> denied; // 1: by the ACL; here only because a PATH_REPORT may be made
    @padding bit<7> pad;
    port_id_t ingress_port;
    candidate_t congestion_candidate;
    bit<32> flow_hash;
#ifdef WITH_PATH_REPORT
    candidate_t path_candidate;
    bit<16> path_slot;
#endif
#ifdef WITH_RATE_ADVICE
    candidate_t advice_candidate;
    bit<16> source_hash;
    mbit_per_sec_t source_policy; // 0: none
#endif
#ifdef WITH_RATE_SIGNAL
    bit<8> carries_signal; // 1: a Rate Signal that may be lowered
    mbit_per_sec_t qp_policy; // 0: none
#endif
}

// Behind it, where the packet goes, as ingress writes it ...
header place_h {
    @padding bit<4> pad;
    port_id_t egress_port;
    queue_id_t queue;
}

// ... and as egress reads it: the last part of all counters' indices.
header index_h {
    bit<16> queue;
}

// In front of a copy that becomes a report.
header copy_h {
    bit<8> internal;
    bit<8> is_long; // 1: the packet was no shorter than what the copy has of it
    bit<8> kind;
    bit<8> role;
    bit<8> degree;
    bit<8> cause; // of a PATH_REPORT
    bit<16> report; // 2w0 ++ kind ++ port ++ queue that the report is about
    bit<32> depth; // cells
    bit<32> b_th;  // cells
    bit<32> flow_hash;
    mbit_per_sec_t rate; // what one flow has of the queue. Rate Advice: how many sources the queue has, then what one of them has
    bit<32> other; // PATH_REPORT: drops of the flow since its last report. Rate Advice: the policy
    mbit_per_sec_t floor; // of Rate Advice: no queue advises less
    bit<8> profile; // of the queue
    @padding bit<8> pad;
}

struct headers_t {
    bridged_h bridged;
    place_h place; // ingress
    index_h index; // egress
    copy_h copy;
    packet_in_h packet_in;
    packet_out_h packet_out;
    ethernet_h ethernet;
    vlan_h vlan;
    ipv4_h ipv4;
    ipv6_h ipv6;
    ipv6_options_h hop_by_hop;
    udp_h udp;
    tcp_ports_h tcp;
    bth_h bth;
    rate_signal_h rate_signal;
    // A report that was built in this pass.
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
    dropped_psn_h psn;
}

#endif
