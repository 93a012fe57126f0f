// What differs between Tofino 1 and Tofino 2, in numbers. Plain `const` lines where controllers need them too.

#ifndef CRN_TOFINO_CHIP_P4
#define CRN_TOFINO_CHIP_P4

#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
const bit<9> RECIRCULATION_PORT = 6; // of the first pipe
const bit<9> CPU_PORT = 0;
// 176 = 2^7 + 2^5 + 2^4 octets are a cell.
#define CELL_SHIFT_HIGH 7
#define CELL_SHIFT_MIDDLE 5
#define CELL_SHIFT_LOW 4
#else
#include <tna.p4>
const bit<9> RECIRCULATION_PORT = 68;
const bit<9> CPU_PORT = 320; // of chips with four pipes; 192 with two
// 80 = 2^6 + 2^4 octets are a cell.
#define CELL_SHIFT_HIGH 6
#define CELL_SHIFT_LOW 4
#endif

// The mirror session that leads to RECIRCULATION_PORT, and what it leaves of a copy (controller::pipeline::tofino): `copy_h`,
// then the first octets of the packet.
const bit<32> REPORT_CLONE_SESSION = 1;
const bit<32> COPY_OCTETS = 124;

// The first octet of what one gress leaves for another: what follows.
const bit<8> INTERNAL_BRIDGED = 1; // ingress to egress
const bit<8> INTERNAL_COPY = 2;    // a copy that becomes a report: from the egress deparser to the next pass of ingress
const MirrorType_t MIRROR_REPORT = 1;

const bit<8> METER_RED = 3;

#endif
