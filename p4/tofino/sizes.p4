// Every size of the program on this target: include/sizes.p4, whose guard is set here, has those of BMv2. Smaller where a table
// takes TCAM: of 288 blocks of 512 rows of 44 bits Tofino 1 has no more than two fifths to give.

#ifndef CRN_SIZES_P4
#define CRN_SIZES_P4

// (port, queue) pairs: 9-bit ports, 3-bit queues; the index is port << 3 | queue.
const bit<32> PORTS = 512;
const bit<32> QUEUES = 4096;

// Tables.
const bit<32> DSCP_MAP_SIZE = 64;
const bit<32> PORT_TRUST_SIZE = 512;
#if __TARGET_TOFINO__ == 2
const bit<32> IPV4_ROUTE_SIZE = 8192;
const bit<32> IPV6_ROUTE_SIZE = 2048;
const bit<32> ACL_SIZE = 1024;
const bit<32> CSF_ADDRESS_SIZE = 512;
const bit<32> SOURCE_CHECK_SIZE = 1024;
const bit<32> SOURCE_RATE_POLICY_SIZE = 1024;
const bit<32> MARKING_FLOW_SIZE = 512;
#else
const bit<32> IPV4_ROUTE_SIZE = 4096;
const bit<32> IPV6_ROUTE_SIZE = 1024;
const bit<32> ACL_SIZE = 512;
const bit<32> CSF_ADDRESS_SIZE = 512;
const bit<32> SOURCE_CHECK_SIZE = 512;
const bit<32> SOURCE_RATE_POLICY_SIZE = 512;
const bit<32> MARKING_FLOW_SIZE = 512;
#endif
const bit<32> ECMP_MEMBERS = 1024;
const bit<32> ECMP_GROUP_SIZE = 64;
const bit<32> ECMP_GROUPS = 256;
const bit<32> QUEUE_PROFILE_SIZE = 4096;
const bit<32> CONGESTION_DEGREE_SIZE = 2048; // 8 profiles of at most 255 ranges; 0 is the miss
const bit<32> FAIR_SHARE_SIZE = 3072;        // 8 profiles: 256 exact counts, then ranges
const bit<32> QP_RATE_POLICY_SIZE = 4096;
const bit<32> MARKING_EDGE_SIZE = 512;

// One slot holds the time of one flow's last report. Flows that share a slot hold each other back: the
// limit per flow is never exceeded, a report may come later.
const bit<32> REPORT_INTERVAL_SLOTS = 65536;
typedef bit<16> report_slot_t;
// The same for PATH_REPORT, with the drops since, and for Rate Advice per source.
const bit<32> PATH_REPORT_SLOTS = 16384;
typedef bit<14> path_report_slot_t;
const bit<32> RATE_ADVICE_SLOTS = 16384;
typedef bit<14> rate_advice_slot_t;

// Flow count estimate: one tag for each hash of (queue, flow), shared by all queues of a pipe; as many for sources.
const bit<32> FLOW_TAGS = 65536;
typedef bit<16> flow_tag_slot_t;

// Counters: kinds or causes x QUEUES.
const bit<32> REPORTS_SENT_SIZE = 16384;
const bit<32> REPORTS_SUPPRESSED_SIZE = 32768;
const bit<32> REPORTS_DEFERRED_SIZE = 16384;
const bit<32> DROPS_SIZE = 32768;

// Alternate Marking: flows; flows x colours; flows x delay bins.
const bit<32> MARKING_FLOWS = 1024;
const bit<32> MARKED_SIZE = 2048;
const bit<32> DELAY_BINS_SIZE = 16384;

#endif
