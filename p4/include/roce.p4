// What a RoCEv2 packet is.

#ifndef CRN_ROCE_P4
#define CRN_ROCE_P4

// Ours: everything carries data but acknowledgements and CNPs. READ responses are data of their direction.
control RoceData(in bth_h bth, out bit<1> is_data) {
    apply {
        is_data = 0;
        if (bth.isValid() && bth.opcode != BTH_RC_ACKNOWLEDGE && bth.opcode != BTH_RC_ATOMIC_ACKNOWLEDGE
            && bth.opcode != BTH_RD_ACKNOWLEDGE && bth.opcode != BTH_RD_ATOMIC_ACKNOWLEDGE
            && bth.opcode != BTH_XRC_ACKNOWLEDGE && bth.opcode != BTH_XRC_ATOMIC_ACKNOWLEDGE
            && bth.opcode != BTH_CNP) {
            is_data = 1;
        }
    }
}

#endif
