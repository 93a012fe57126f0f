// Numbers that the documents, the wire or this project fix. No sizes here (sizes.p4), no types.
// Plain `const` lines: the Rust constants are generated from them.

#ifndef CRN_CONSTANTS_P4
#define CRN_CONSTANTS_P4

// Ethernet and IP.
const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_VLAN = 0x8100;
const bit<16> ETHERTYPE_IPV6 = 0x86DD;
const bit<8> IP_PROTOCOL_TCP = 6;
const bit<8> IP_PROTOCOL_UDP = 17;
const bit<32> ETHERNET_OCTETS = 14;
const bit<32> VLAN_OCTETS = 4;
const bit<16> IPV4_OCTETS = 20;
const bit<16> IPV6_OCTETS = 40;
const bit<16> UDP_OCTETS = 8;
const bit<32> MIN_FRAME_OCTETS = 64;
const bit<2> ECN_NOT_ECT = 0;
const bit<2> ECN_CE = 3;

// What a DSCP means in the domain (`dscp_map`). Scheduled and unscheduled have the values of RDCC's
// Direction field, so a role is a direction: 1 toward the receiver, 2 toward the sender.
const bit<2> ROLE_NONE = 0;
const bit<2> ROLE_SCHEDULED = 1;
const bit<2> ROLE_UNSCHEDULED = 2;
const bit<2> ROLE_CONTROL = 3;

// Queues are BMv2 priorities: 7 is served first.
const bit<3> DATA_QUEUE = 0;
const bit<3> CONTROL_QUEUE = 7;

// RDCC, Message Formats.
const bit<4> RDCC_VERSION = 1;
const bit<8> RDCC_CONGESTION_REPORT = 6;
const bit<16> RDCC_CONGESTION_REPORT_IPV4_OCTETS = 48;
const bit<16> RDCC_CONGESTION_REPORT_IPV6_OCTETS = 72;
const bit<8> AF_IPV4 = 4;
const bit<8> AF_IPV6 = 6;
const bit<8> DIRECTION_TO_RECEIVER = 1;
const bit<8> DIRECTION_TO_SENDER = 2;

// Ours: what every report's IP header carries. CS6 must be mapped to the control role in the domain.
const bit<6> REPORT_DSCP = 48;
const bit<8> REPORT_TTL = 64;
// Ours: a report's UDP source port is a hash of the flow within the dynamic range.
const bit<16> REPORT_UDP_PORT_BASE = 0xC000;

// First part of the index of `reports_sent` and `reports_deferred`: kind << 12 | port << 3 | queue.
const bit<2> KIND_CONGESTION_TO_RECEIVER = 0;
const bit<2> KIND_CONGESTION_TO_SENDER = 1;
const bit<2> KIND_PATH_REPORT = 2;
const bit<2> KIND_RATE_ADVICE = 3;

// First part of the index of `reports_suppressed`: cause << 12 | port << 3 | queue.
const bit<2> SUPPRESSED_FLOW_INTERVAL = 0;
const bit<2> SUPPRESSED_PORT_LIMIT = 1;

// First part of the index of `drops`: cause << 12 | port << 3 | queue. The values up to 3 are CREM's causes.
// Port and queue are those of the egress for cause 1, of the ingress (queue 0) for all others.
const bit<3> DROP_UNKNOWN = 0;
const bit<3> DROP_CONGESTION = 1;
const bit<3> DROP_CORRUPTION = 2;
const bit<3> DROP_POLICY = 3;
const bit<3> DROP_NO_ROUTE = 4;
const bit<3> DROP_TTL_EXPIRED = 5;

#endif
