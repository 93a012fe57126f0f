// Type names that more than one file needs, as in include/types.p4, which they take the place of: that file's guard is set
// here. Depths count the chip's cells, times are slices of its clock.

#ifndef CRN_TYPES_P4
#define CRN_TYPES_P4

typedef bit<9> port_id_t;
typedef bit<3> queue_id_t;
typedef bit<12> queue_index_t; // port ++ queue
typedef bit<8> profile_id_t;
typedef bit<2> role_t;
typedef bit<128> address_t; // IPv6, or IPv4 in the mapped form
typedef bit<10> marking_index_t;
typedef bit<32> octets_t;
typedef bit<19> depth_t;  // of a queue, and its thresholds: cells (chip.p4)
typedef bit<32> micros_t; // 1,024 ns: bits 41 to 10 of the chip's clock
typedef bit<32> mbit_per_sec_t;

#endif
