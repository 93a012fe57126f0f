// Whether a packet is dropped, and under which cause it is counted.

#ifndef CRN_TOFINO_DROP_P4
#define CRN_TOFINO_DROP_P4

control Drop(inout headers_t hdr, inout ingress_metadata_t meta, in port_id_t ingress_port, inout bit<3> drop_ctl) {
    // By cause; what the traffic manager drops is in its own counters.
    @id(0x12000004) @name(".drops")
    Counter<bit<64>, bit<15>>(DROPS_SIZE, CounterType_t.PACKETS_AND_BYTES) drops;

    // 1w0 ++ cause ++ port ++ queue: data is counted under the port that it came through.
    @hidden
    action index_data() {
        meta.drop_index = 4w0 ++ ingress_port ++ 3w0;
    }

    // A report is counted under what it is about.
    @hidden
    action index_report() {
        meta.drop_index = hdr.copy.report & 0x0FFF;
    }

    @hidden
    action drop(bit<16> cause) {
        meta.dropped = 1;
        meta.drop_index = meta.drop_index | cause;
        drop_ctl = 1;
    }

#ifdef WITH_PATH_REPORT
    // RoCEv2 data that the ACL refuses goes to egress, which makes the report and drops it.
    @hidden
    action drop_and_report() {
        meta.dropped = 1;
        meta.drop_index = meta.drop_index | ((bit<16>) DROP_POLICY << 12);
        meta.reports_denial = 1;
    }
#endif

    // The first cause that applies.
    @hidden
    table judge {
        key = {
            hdr.copy.isValid() : ternary;
            meta.is_invalid : ternary;
            meta.invalid_cause : ternary;
            meta.denied : ternary;
            meta.at_boundary : ternary;
            meta.routed : ternary;
#ifdef WITH_PATH_REPORT
            hdr.bridged.path_candidate : ternary;
#endif
        }
#ifdef WITH_PATH_REPORT
        actions = { drop; drop_and_report; NoAction; }
#else
        actions = { drop; NoAction; }
#endif
        const default_action = NoAction();
        const entries = {
#ifdef WITH_PATH_REPORT
            (true, _, _, _, _, 0, _) : drop((bit<16>) DROP_REPORT << 12);
            (true, _, _, _, _, _, _) : NoAction();
            (_, 1, DROP_CORRUPTION, _, _, _, _) : drop((bit<16>) DROP_CORRUPTION << 12);
            (_, 1, DROP_POLICY, _, _, _, _) : drop((bit<16>) DROP_POLICY << 12);
            (_, 1, DROP_NOT_ROUTED, _, _, _, _) : drop((bit<16>) DROP_NOT_ROUTED << 12);
            (_, _, _, 1, _, _, CANDIDATE_NONE) : drop((bit<16>) DROP_POLICY << 12);
            (_, _, _, 1, _, _, _) : drop_and_report();
            (_, _, _, _, 1, _, _) : drop((bit<16>) DROP_POLICY << 12);
            (_, 1, DROP_TTL_EXPIRED, _, _, _, _) : drop((bit<16>) DROP_TTL_EXPIRED << 12);
            (_, _, _, _, _, 0, _) : drop((bit<16>) DROP_NO_ROUTE << 12);
#else
            (true, _, _, _, _, 0) : drop((bit<16>) DROP_REPORT << 12);
            (true, _, _, _, _, _) : NoAction();
            (_, 1, DROP_CORRUPTION, _, _, _) : drop((bit<16>) DROP_CORRUPTION << 12);
            (_, 1, DROP_POLICY, _, _, _) : drop((bit<16>) DROP_POLICY << 12);
            (_, 1, DROP_NOT_ROUTED, _, _, _) : drop((bit<16>) DROP_NOT_ROUTED << 12);
            (_, _, _, 1, _, _) : drop((bit<16>) DROP_POLICY << 12);
            (_, _, _, _, 1, _) : drop((bit<16>) DROP_POLICY << 12);
            (_, 1, DROP_TTL_EXPIRED, _, _, _) : drop((bit<16>) DROP_TTL_EXPIRED << 12);
            (_, _, _, _, _, 0) : drop((bit<16>) DROP_NO_ROUTE << 12);
#endif
        }
    }

    apply {
        meta.dropped = 0;
        meta.reports_denial = 0;
        if (hdr.copy.isValid()) {
            index_report();
        } else {
            index_data();
        }
        judge.apply();
        if (meta.dropped == 1) {
            drops.count(meta.drop_index[14:0]);
        }
    }
}

#endif
