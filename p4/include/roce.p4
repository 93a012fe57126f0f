// What a RoCEv2 packet is.

#ifndef CRN_ROCE_P4
#define CRN_ROCE_P4

// Ours: everything carries data but acknowledgements and CNPs. READ responses are data of their direction.
// `is_data` is 0 before.
control RoceData(in bth_h bth, inout bit<1> is_data) {
    apply {
        if (bth.isValid() && bth.opcode != BTH_RC_ACKNOWLEDGE && bth.opcode != BTH_RC_ATOMIC_ACKNOWLEDGE
            && bth.opcode != BTH_RD_ACKNOWLEDGE && bth.opcode != BTH_RD_ATOMIC_ACKNOWLEDGE
            && bth.opcode != BTH_XRC_ACKNOWLEDGE && bth.opcode != BTH_XRC_ATOMIC_ACKNOWLEDGE
            && bth.opcode != BTH_CNP) {
            is_data = 1;
        }
    }
}

#endif
