// ECN, RFC 3168: Congestion Experienced on packets of ECN-capable senders that leave more than the threshold behind.

#ifndef CRN_BMV2_ECN_P4
#define CRN_BMV2_ECN_P4

control EcnMarking(inout headers_t hdr, in metadata_t meta, in standard_metadata_t standard_metadata) {
    // Index port << 3 | queue.
    @id(0x12000005) @name(".ecn_marked")
    counter(QUEUES, CounterType.packets_and_bytes) ecn_marked;

    apply {
        if (meta.ecn_threshold != 0 && meta.occupancy > meta.ecn_threshold) {
            if (hdr.ipv4.isValid() && hdr.ipv4.ecn != ECN_NOT_ECT && hdr.ipv4.ecn != ECN_CE) {
                hdr.ipv4.ecn = ECN_CE;
                ecn_marked.count((bit<32>) (standard_metadata.egress_port ++ standard_metadata.priority));
            } else if (hdr.ipv6.isValid() && hdr.ipv6.ecn != ECN_NOT_ECT && hdr.ipv6.ecn != ECN_CE) {
                hdr.ipv6.ecn = ECN_CE;
                ecn_marked.count((bit<32>) (standard_metadata.egress_port ++ standard_metadata.priority));
            }
        }
    }
}

#endif
