// Numbers of BMv2 that its program, its controller and its tests share. Plain `const` lines, as in constants.p4.

#ifndef CRN_BMV2_P4
#define CRN_BMV2_P4

// The port of the controller: `--cpu-port` of simple_switch_grpc must be this one.
const bit<9> CPU_PORT = 509;
// Of the header before a frame to the controller.
const bit<32> PACKET_IN_OCTETS = 2;
// Where clones wait until they become reports: a port without an interface. The controller's default; no packet is sent there
// by the program itself, only by the clone session.
const bit<9> REPORT_CLONE_PORT = 510;
// The clone session that leads there.
const bit<32> REPORT_CLONE_SESSION = 1;

#endif
