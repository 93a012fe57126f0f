// Numbers that the documents, the wire or this project fix. No sizes here (sizes.p4), no types.
// Plain `const` lines: the Rust constants are generated from them.

#ifndef CRN_CONSTANTS_P4
#define CRN_CONSTANTS_P4

// Ethernet and IP.
const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_VLAN = 0x8100;
const bit<16> ETHERTYPE_IPV6 = 0x86DD;
const bit<8> IP_PROTOCOL_IPV4 = 4;
const bit<8> IP_PROTOCOL_TCP = 6;
const bit<8> IP_PROTOCOL_UDP = 17;
const bit<8> IPV6_HOP_BY_HOP = 0;
const bit<8> IP_PROTOCOL_IPV6 = 41;
const bit<8> IPV6_ROUTING = 43;
const bit<8> IPV6_FRAGMENT = 44;
const bit<8> IP_PROTOCOL_GRE = 47;
const bit<8> IPV6_AUTHENTICATION = 51;
const bit<8> IPV6_DESTINATION_OPTIONS = 60;
const bit<8> IPV6_MOBILITY = 135;
const bit<8> IPV6_HIP = 139;
const bit<8> IPV6_SHIM6 = 140;
const bit<32> ETHERNET_OCTETS = 14;
const bit<32> VLAN_OCTETS = 4;
const bit<16> IPV4_OCTETS = 20;
const bit<16> IPV6_OCTETS = 40;
const bit<16> UDP_OCTETS = 8;
const bit<16> TCP_OCTETS = 20;
const bit<16> IPV6_FRAGMENT_OCTETS = 8;
const bit<32> MIN_FRAME_OCTETS = 64;
// UDP ports of tunnels: VXLAN (RFC 7348) and Geneve (RFC 8926).
const bit<16> VXLAN_UDP_PORT = 4789;
const bit<16> GENEVE_UDP_PORT = 6081;
const bit<2> ECN_NOT_ECT = 0;
const bit<2> ECN_CE = 3;
// RFC 4291, section 2.5.5.2: where a table has one key for both families, IPv4 addresses stand in it as ::ffff:a.b.c.d.
const bit<96> IPV4_MAPPED = 0xFFFF;
// First bits of what isn't routed as unicast: fe00::/7 (multicast, link-local, once site-local), 224.0.0.0/3.
const bit<7> IPV6_NOT_ROUTED = 0x7F;
const bit<3> IPV4_NOT_ROUTED = 7;
// First bits of what is nobody's source on a link, beside these (RFC 1812, section 5.3.7; RFC 4291, section 2.5): 0.0.0.0/8
// and 127.0.0.0/8, :: and ::1, ff00::/8.
const bit<8> IPV4_THIS_NETWORK = 0;
const bit<8> IPV4_LOOPBACK = 127;
const bit<127> IPV6_UNSPECIFIED = 0;
const bit<8> IPV6_MULTICAST = 0xFF;
// The bit of a MAC address that says: a group (IEEE 802).
const bit<1> MAC_GROUP = 1;

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

// CREM, Message Formats and Path Reports.
const bit<4> CREM_VERSION = 1;
const bit<4> CREM_PATH_REPORT = 8;
const bit<8> CREM_TRUNCATED = 0x80;
const bit<8> PATH_METHOD_LOCAL_DROPS = 3;
// Octets of a PATH_REPORT with one hop entry and one PSN; each PSN more adds PATH_REPORT_PSN_OCTETS. With the five
// that one can hold it is no longer than 88 octets, so it fits every MTU that IP allows.
const bit<16> PATH_REPORT_IPV4_OCTETS = 48;
const bit<16> PATH_REPORT_IPV6_OCTETS = 72;
const bit<16> PATH_REPORT_PSN_OCTETS = 4;
// PSNs that a flow's slot keeps while the flow may not be reported about.
const bit<6> PATH_REPORT_HELD_PSNS = 4;
// Ours: for how long they are worth naming, in units of 1,024 us: some 4 s. A CSF has given its blocks up by then, and a fast
// queue pair has used the same PSNs again.
const bit<32> PATH_REPORT_HELD_TIME = 4096;

// SCONE for RoCEv2.
const bit<32> SCONE_VERSION = 1;
const bit<16> RATE_ADVICE_IPV4_OCTETS = 16;
const bit<16> RATE_ADVICE_IPV6_OCTETS = 28;
// The whole extension, type and length included (our reading), as data packets carry it.
const bit<8> RATE_SIGNAL_OCTETS = 10;

// RoCEv2.
const bit<16> ROCE_UDP_PORT = 4791;
// Opcodes that carry no data, for each transport that has acknowledgements: RC, RD, XRC; and the CNP.
const bit<8> BTH_RC_ACKNOWLEDGE = 0x11;
const bit<8> BTH_RC_ATOMIC_ACKNOWLEDGE = 0x12;
const bit<8> BTH_RD_ACKNOWLEDGE = 0x51;
const bit<8> BTH_RD_ATOMIC_ACKNOWLEDGE = 0x52;
const bit<8> BTH_XRC_ACKNOWLEDGE = 0xB1;
const bit<8> BTH_XRC_ATOMIC_ACKNOWLEDGE = 0xB2;
const bit<8> BTH_CNP = 0x81;

// Alternate Marking, RFC 9343, section 3.1: the option, and the octets of an options header that holds it alone.
const bit<8> ALTERNATE_MARKING_OPTION = 0x12;
const bit<8> ALTERNATE_MARKING_DATA_OCTETS = 4;
const bit<16> ALTERNATE_MARKING_OCTETS = 8;
const bit<8> PADN_OPTION = 1;
// What `set_edge` does at a boundary of the measured domain.
const bit<2> EDGE_PASS = 0;
const bit<2> EDGE_INSERT = 1;
const bit<2> EDGE_REMOVE = 2;

// Ours: what every report's IP header carries. CS6 must be mapped to the control role in the domain.
const bit<6> REPORT_DSCP = 48;
const bit<8> REPORT_TTL = 64;
// The priority of a report whose data frame is tagged: that of CS6 by IEEE 802.1Q's usual mapping.
const bit<3> REPORT_PCP = 6;
// Ours: a report's UDP source port is a hash of the flow within the dynamic range.
const bit<16> REPORT_UDP_PORT_BASE = 0xC000;

// First part of the index of `reports_triggered`, `reports_sent` and `reports_deferred`: kind << 12 | port << 3 | queue.
const bit<2> KIND_CONGESTION_TO_RECEIVER = 0;
const bit<2> KIND_CONGESTION_TO_SENDER = 1;
const bit<2> KIND_PATH_REPORT = 2;
const bit<2> KIND_RATE_ADVICE = 3;

// First part of the index of `reports_suppressed`: cause << 12 | port << 3 | queue.
const bit<3> SUPPRESSED_FLOW_INTERVAL = 0;
const bit<3> SUPPRESSED_PORT_LIMIT = 1;
const bit<3> SUPPRESSED_PSN_LIMIT = 2;       // a drop because of which PSNs will be named by no PATH_REPORT
const bit<3> SUPPRESSED_SOURCE_INTERVAL = 3; // Rate Advice about a congested queue
const bit<3> SUPPRESSED_SOURCE_INVALID = 4;  // outside the domain, or `source_check`
const bit<3> SUPPRESSED_TUNNELLED = 5;       // scheduled or unscheduled data in a tunnel: its addresses aren't the flow's
const bit<3> SUPPRESSED_NOT_UDP = 6;         // scheduled or unscheduled data without UDP ports: TCP, fragments
const bit<3> SUPPRESSED_NO_ADDRESS = 7;      // the reporter has no address of the packet's family

// First part of the index of `drops`: cause << 12 | port << 3 | queue. The values up to 3 are CREM's causes.
// Port and queue are those of the egress for cause 1, those that the report is about for cause 6, of the ingress (queue 0)
// for all others.
const bit<3> DROP_UNKNOWN = 0;
const bit<3> DROP_CONGESTION = 1;
const bit<3> DROP_CORRUPTION = 2;
const bit<3> DROP_POLICY = 3;
const bit<3> DROP_NO_ROUTE = 4;
const bit<3> DROP_TTL_EXPIRED = 5;
const bit<3> DROP_REPORT = 6;     // a report of this switch, for whatever reason
const bit<3> DROP_NOT_ROUTED = 7; // nothing that a router forwards: not IP, multicast, IPv6 link-local

#endif
