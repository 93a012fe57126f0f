// Every size of the program, in one place.

#ifndef CRN_SIZES_P4
#define CRN_SIZES_P4

// (port, queue) pairs: 9-bit ports, 3-bit queues; the index is port << 3 | queue.
const bit<32> PORTS = 512;
const bit<32> QUEUES = 4096;

// Tables.
const bit<32> DSCP_MAP_SIZE = 64;
const bit<32> PORT_TRUST_SIZE = 512;
const bit<32> IPV4_ROUTE_SIZE = 16384;
const bit<32> IPV6_ROUTE_SIZE = 8192;
const bit<32> ECMP_MEMBERS = 4096;
const bit<32> QUEUE_PROFILE_SIZE = 4096;
const bit<32> CONGESTION_DEGREE_SIZE = 2048; // 8 profiles of at most 255 ranges; 0 is the miss
const bit<32> FAIR_SHARE_SIZE = 4096;        // 8 profiles: 256 exact counts, then ranges
const bit<32> ACL_SIZE = 1024;
const bit<32> CSF_ADDRESS_SIZE = 1024;
const bit<32> SOURCE_CHECK_SIZE = 8192;
const bit<32> SOURCE_RATE_POLICY_SIZE = 4096;
const bit<32> QP_RATE_POLICY_SIZE = 4096;
const bit<32> MARKING_FLOW_SIZE = 1024;
const bit<32> MARKING_EDGE_SIZE = 2048;

// One slot holds the time of one flow's last report. Flows that share a slot hold each other back: the
// limit per flow is never exceeded, a report may come later.
const bit<32> REPORT_INTERVAL_SLOTS = 65536;
typedef bit<16> report_slot_t;

// The same for PATH_REPORT (its slots also hold PSNs, and know their flow), and for Rate Advice per source.
const bit<32> PATH_REPORT_SLOTS = 16384;
typedef bit<14> path_report_slot_t;
const bit<32> RATE_ADVICE_SLOTS = 16384;
typedef bit<14> rate_advice_slot_t;

// Flow count estimate: 4,096 slots private to each queue, kept as 128 words of (epoch tag, 32 slots).
// With M slots and n flows about M (1 - (1 - 1/M)^n) are seen: 126 of 128, 906 of 1,024.
const bit<32> FLOW_SLOT_WORDS = 524288; // QUEUES x 128
typedef bit<7> flow_word_t;
typedef bit<5> slot_in_word_t;
// Source count, for Rate Advice: the same with 2,048 slots in 64 words: 63 of 64 sources are seen, 124 of 128.
const bit<32> SOURCE_SLOT_WORDS = 262144; // QUEUES x 64
typedef bit<6> source_word_t;
// An epoch ends after so many packets: four for each of 1,024 flows ...
const bit<16> FLOW_EPOCH_PACKETS = 4096;
// ... or after 2^8 report intervals, so that what an idle queue held is forgotten, and after 2^30 us in any case: the
// clock that epochs are named by has 32 bits, and two of them must fit into it.
const bit<8> FLOW_EPOCH_INTERVALS_LOG2 = 8;
const bit<32> FLOW_EPOCH_LONGEST_INTERVAL = 4194304; // us

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
