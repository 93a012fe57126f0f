// What all kinds of reports share: the limit per port, and the counters of what was and wasn't sent.

#ifndef CRN_BMV2_REPORT_LIMITS_P4
#define CRN_BMV2_REPORT_LIMITS_P4

// Why a report isn't sent now.
const bit<2> VERDICT_SEND = 0;
const bit<2> VERDICT_INTERVAL = 1;
const bit<2> VERDICT_PORT_LIMIT = 2;
const bit<2> METER_RED = 2;

// The longest time that passes between two looks at a clock of 48 bits. BMv2's egress threads read it at different times: what
// seems to be longer is a clock that was read earlier, and then the interval hasn't passed.
const bit<48> LONGEST_AGE = 0x7FFFFFFFFFFF;

// Reports per second about one port, of all kinds; set by the controller, unlimited until then.
@id(0x14000001) @name(".report_meter")
meter(PORTS, MeterType.packets) report_meter;

// Reports that were decided on and cloned. What never becomes one of `reports_sent` was lost on its way: the clone session
// isn't set, or the clone port's queue was full. Octets are those of the data packets.
@id(0x1200000A) @name(".reports_triggered")
counter(REPORTS_SENT_SIZE, CounterType.packets_and_bytes) reports_triggered;

// Its octets are those of the data packets reported about: the cut comes later.
@id(0x12000001) @name(".reports_sent")
counter(REPORTS_SENT_SIZE, CounterType.packets_and_bytes) reports_sent;

@id(0x12000002) @name(".reports_suppressed")
counter(REPORTS_SUPPRESSED_SIZE, CounterType.packets_and_bytes) reports_suppressed;

// A second report about the same packet that had to wait for the next one.
@id(0x12000003) @name(".reports_deferred")
counter(REPORTS_DEFERRED_SIZE, CounterType.packets_and_bytes) reports_deferred;

#endif
