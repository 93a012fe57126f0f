// What all kinds of reports share: the limit per port, and the counters of what was and wasn't sent.

#ifndef CRN_BMV2_REPORT_LIMITS_P4
#define CRN_BMV2_REPORT_LIMITS_P4

// Why a report isn't sent now.
const bit<2> VERDICT_SEND = 0;
const bit<2> VERDICT_INTERVAL = 1;
const bit<2> VERDICT_PORT_LIMIT = 2;
const bit<2> METER_RED = 2;

// Reports per second about one port, of all kinds; set by the controller, unlimited until then.
@id(0x14000001) @name(".report_meter")
meter(PORTS, MeterType.packets) report_meter;

// Its octets are those of the data packets reported about: the cut comes later.
@id(0x12000001) @name(".reports_sent")
counter(REPORTS_SENT_SIZE, CounterType.packets_and_bytes) reports_sent;

@id(0x12000002) @name(".reports_suppressed")
counter(REPORTS_SUPPRESSED_SIZE, CounterType.packets_and_bytes) reports_suppressed;

// A second report about the same packet that had to wait for the next one.
@id(0x12000003) @name(".reports_deferred")
counter(REPORTS_DEFERRED_SIZE, CounterType.packets_and_bytes) reports_deferred;

#endif
