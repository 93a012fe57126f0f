// ECN, RFC 3168: Congestion Experienced on packets of ECN-capable senders that leave more than the threshold behind.

#ifndef CRN_TOFINO_ECN_P4
#define CRN_TOFINO_ECN_P4

control EcnMarking(inout headers_t hdr, in egress_metadata_t meta) {
    // Index port << 3 | queue.
    @id(0x12000005) @name(".ecn_marked")
    Counter<bit<64>, bit<12>>(QUEUES, CounterType_t.PACKETS_AND_BYTES) ecn_marked;

    @hidden
    action mark_ipv4() {
        hdr.ipv4.ecn = ECN_CE;
        ecn_marked.count(meta.queue[11:0]);
    }

    @hidden
    action mark_ipv6() {
        hdr.ipv6.ecn = ECN_CE;
        ecn_marked.count(meta.queue[11:0]);
    }

    // A threshold of 0 marks nothing.
    @hidden
    table mark {
        key = {
            meta.is_refused : ternary;
            meta.ecn_threshold : ternary;
            meta.ecn_excess : ternary;
            hdr.ipv4.isValid() : ternary;
            hdr.ipv6.isValid() : ternary;
            hdr.ipv4.ecn : ternary;
            hdr.ipv6.ecn : ternary;
        }
        actions = { mark_ipv4; mark_ipv6; NoAction; }
        const default_action = NoAction();
        const entries = {
            (1, _, _, _, _, _, _) : NoAction();
            (_, 19w0, _, _, _, _, _) : NoAction();
            (_, _, 19w0, _, _, _, _) : NoAction();
            (_, _, _, true, _, 2w1, _) : mark_ipv4();
            (_, _, _, true, _, 2w2, _) : mark_ipv4();
            (_, _, _, _, true, _, 2w1) : mark_ipv6();
            (_, _, _, _, true, _, 2w2) : mark_ipv6();
        }
    }

    apply {
        mark.apply();
    }
}

#endif
