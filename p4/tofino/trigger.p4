// One report per packet: the port's limit, then what is sent or why nothing is. All kinds share these, since the chip asks a meter
// and counts once per packet.

#ifndef CRN_TOFINO_TRIGGER_P4
#define CRN_TOFINO_TRIGGER_P4

control Trigger(in headers_t hdr, inout egress_metadata_t meta, inout MirrorType_t mirror_type) {
    // Reports that were decided on. What never becomes one of `reports_sent` was lost on its way: the mirror session isn't
    // set, or the recirculation port's queue was full.
    @id(0x1200000A) @name(".reports_triggered")
    Counter<bit<64>, bit<14>>(REPORTS_SENT_SIZE, CounterType_t.PACKETS_AND_BYTES) reports_triggered;
    @id(0x12000002) @name(".reports_suppressed")
    Counter<bit<64>, bit<15>>(REPORTS_SUPPRESSED_SIZE, CounterType_t.PACKETS_AND_BYTES) reports_suppressed;

    // Reports per second about one port; set by the controller, unlimited until then.
    @id(0x14000001) @name(".report_meter")
    Meter<port_id_t>(PORTS, MeterType_t.PACKETS) report_meter;

    @hidden
    action ask() {
        meta.colour = (bit<8>) report_meter.execute(meta.queue[11:3]);
    }

    @hidden
    action needs_none() {
        meta.colour = 0;
    }

    @hidden
    table limit {
        key = {
            meta.due : ternary;
#ifdef WITH_PATH_REPORT
            meta.path_lost : ternary;
#endif
#ifdef WITH_RATE_ADVICE
            meta.may_advise : ternary;
            meta.advice_due : ternary;
#endif
        }
        actions = { ask; needs_none; }
        const default_action = ask();
        const entries = {
#ifdef WITH_PATH_REPORT
#ifdef WITH_RATE_ADVICE
            (0, 32w0, 0, _) : needs_none();
            (0, 32w0, _, 0) : needs_none();
#else
            (0, 32w0) : needs_none();
#endif
#else
#ifdef WITH_RATE_ADVICE
            (0, 0, _) : needs_none();
            (0, _, 0) : needs_none();
#else
            (0) : needs_none();
#endif
#endif
        }
    }

    @hidden
    action send() {
        meta.sends = 1;
        meta.copied_rate = meta.rate;
        meta.copied_other = meta.path_lost;
    }

    @hidden
    action suppress(bit<16> cause) {
        meta.suppressed = 1;
        meta.suppressed_index = meta.queue | cause;
    }

    // `asked`: 0 nothing, 1 about congestion, 2 about a drop.
    @hidden
    table verdict {
        key = {
            meta.asked : ternary;
            meta.due : ternary;
            meta.colour : ternary;
#ifdef WITH_PATH_REPORT
            meta.path_lost : ternary;
#endif
        }
        actions = { send; suppress; NoAction; }
        const default_action = NoAction();
        const entries = {
#ifdef WITH_PATH_REPORT
            (1, 0, _, _) : suppress((bit<16>) SUPPRESSED_FLOW_INTERVAL << 12);
            (1, 1, METER_RED, _) : suppress((bit<16>) SUPPRESSED_PORT_LIMIT << 12);
            (1, 1, _, _) : send();
            // Its PSN will stand in no report, as `SUPPRESSED_PSN_LIMIT` would say: the chip counts one cause for a packet.
            (2, _, _, 32w0) : suppress((bit<16>) SUPPRESSED_FLOW_INTERVAL << 12);
            (2, _, METER_RED, _) : suppress((bit<16>) SUPPRESSED_PORT_LIMIT << 12);
            (2, _, _, _) : send();
#else
            (1, 0, _) : suppress((bit<16>) SUPPRESSED_FLOW_INTERVAL << 12);
            (1, 1, METER_RED) : suppress((bit<16>) SUPPRESSED_PORT_LIMIT << 12);
            (1, 1, _) : send();
#endif
        }
    }

#ifdef WITH_RATE_ADVICE
    RateAdviceTrigger() rate_advice_trigger;
#endif

    @hidden
    action copy() {
        mirror_type = MIRROR_REPORT;
        reports_triggered.count(meta.report[13:0]);
    }

    @hidden
    action count_suppressed() {
        reports_suppressed.count(meta.suppressed_index[14:0]);
    }

    apply {
        limit.apply();
        verdict.apply();
#ifdef WITH_RATE_ADVICE
        rate_advice_trigger.apply(hdr, meta);
#endif
        if (meta.sends == 1) {
            copy();
        }
        if (meta.suppressed == 1) {
            count_suppressed();
        }
    }
}

#endif
