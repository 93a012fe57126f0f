// Where a packet leaves, or would have left, and how far that queue is above its thresholds.

#ifndef CRN_TOFINO_MEASURE_P4
#define CRN_TOFINO_MEASURE_P4

// First in egress, beside `queue_profile`.
control Measure(in headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t eg_intr_md,
                in egress_intrinsic_metadata_from_parser_t eg_prsr_md) {
    @hidden
    action take() {
        meta.queue = hdr.index.queue;
        meta.depth = eg_intr_md.deq_qdepth;
        meta.depth_cells = 13w0 ++ eg_intr_md.deq_qdepth;
        meta.now = eg_prsr_md.global_tstamp[41:10];
        meta.internal = INTERNAL_COPY;
        meta.session = (MirrorId_t) REPORT_CLONE_SESSION;
        meta.cause = 0;
        meta.copied_rate = 0;
        meta.copied_other = 0;
        meta.copy_pad = 0;
        meta.rate = 0;
        meta.flows = 0;
        meta.sources = 0;
#ifdef WITH_FAIR_SHARE
        meta.epoch = eg_prsr_md.global_tstamp[39:24];
#endif
    }

    // What a report about this packet would be: its kind, and the index that it is counted under.
    @hidden
    action to_receiver() {
        meta.kind = (bit<8>) KIND_CONGESTION_TO_RECEIVER;
        meta.report = hdr.index.queue;
    }

    @hidden
    action to_sender() {
        meta.kind = (bit<8>) KIND_CONGESTION_TO_SENDER;
        meta.report = hdr.index.queue | ((bit<16>) KIND_CONGESTION_TO_SENDER << 12);
    }

#ifdef WITH_PATH_REPORT
    @hidden
    action refused(bit<8> cause) {
        meta.is_refused = 1;
        meta.kind = (bit<8>) KIND_PATH_REPORT;
        meta.report = hdr.index.queue | ((bit<16>) KIND_PATH_REPORT << 12);
        meta.cause = cause;
    }
#endif

    @hidden
    table kind {
        key = {
            hdr.bridged.role : ternary;
#ifdef WITH_PATH_REPORT
            hdr.bridged.denied : ternary;
            eg_intr_md.deflection_flag : ternary;
#endif
        }
        actions = {
            to_receiver;
            to_sender;
#ifdef WITH_PATH_REPORT
            refused;
#endif
        }
        const default_action = to_receiver();
        const entries = {
#ifdef WITH_PATH_REPORT
            (_, 1, _) : refused((bit<8>) DROP_POLICY);
            (_, _, 1) : refused((bit<8>) DROP_CONGESTION);
            ((bit<8>) ROLE_UNSCHEDULED, _, _) : to_sender();
#else
            ((bit<8>) ROLE_UNSCHEDULED) : to_sender();
#endif
        }
    }

    // 128 octets and the chip's own four are more than what a copy has of a packet.
    @hidden
    action is_short() {
        meta.is_long = 0;
    }

    @hidden
    action is_long() {
        meta.is_long = 1;
    }

    @hidden
    table length {
        key = { eg_intr_md.pkt_length : ternary; }
        actions = { is_short; is_long; }
        const default_action = is_long();
        const entries = {
            16w0x0000 &&& 16w0xFF80 : is_short();
        }
    }

    apply {
        take();
        kind.apply();
        length.apply();
    }
}

// After `queue_profile`. On the chip each of these takes a stage, and no condition can hold two of them.
control Excess(inout egress_metadata_t meta) {
    @hidden
    action subtract() {
        meta.excess = meta.depth |-| meta.b_th;
        meta.due_before = meta.now |-| meta.report_interval;
        meta.b_th_cells = 13w0 ++ meta.b_th;
#ifdef WITH_ECN
        meta.ecn_excess = meta.depth |-| meta.ecn_threshold;
#endif
#ifdef WITH_PATH_REPORT
        meta.path_due_before = meta.now |-| meta.path_interval;
#endif
#ifdef WITH_RATE_ADVICE
        meta.advice_due_before = meta.now |-| meta.advice_interval;
#endif
    }

    apply {
        subtract();
    }
}

#endif
