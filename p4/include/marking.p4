// Alternate Marking (RFC 9341, RFC 9343): which flows are counted, and where marks are put on and taken off.

#ifndef CRN_MARKING_P4
#define CRN_MARKING_P4

control MarkingFlow(in bit<1> marked, in bit<20> flow_mon_id, in address_t src_addr, in address_t dst_addr,
                    in bit<8> protocol, in bit<16> src_port, in bit<16> dst_port, out bit<1> monitored,
                    out marking_index_t flow) {
    @id(0x01000011) @name(".set_marking")
    action set_marking(@id(1) @name("flow") marking_index_t index) {
        monitored = 1;
        flow = index;
    }

    // Filled by the controller from `marking`: marked packets by their FlowMonID (`marked` 1), packets that are
    // to be marked by their five-tuple. `flow` is the first part of the index of the marking counters.
    @id(0x02000011) @name(".marking_flow")
    table marking_flow {
        key = {
            marked : ternary @id(1) @name("marked");
            flow_mon_id : ternary @id(2) @name("flow_mon_id");
            src_addr : ternary @id(3) @name("src_addr");
            dst_addr : ternary @id(4) @name("dst_addr");
            protocol : ternary @id(5) @name("protocol");
            src_port : ternary @id(6) @name("src_port");
            dst_port : ternary @id(7) @name("dst_port");
        }
        actions = { set_marking; @defaultonly NoAction; }
        const default_action = NoAction();
        size = MARKING_FLOW_SIZE;
    }

    apply {
        monitored = 0;
        flow = 0;
        marking_flow.apply();
    }
}

control MarkingEdge(in port_id_t ingress_port, in port_id_t egress_port, in marking_index_t flow, out bit<2> operation,
                    out bit<20> flow_mon_id, out bit<8> period_log2) {
    @id(0x01000012) @name(".set_edge")
    action set_edge(@id(1) @name("operation") bit<2> edge_operation, @id(2) @name("flow_mon_id") bit<20> mon_id,
                    @id(3) @name("period_log2") bit<8> log2_micros) {
        operation = edge_operation;
        flow_mon_id = mon_id;
        period_log2 = log2_micros;
    }

    // Filled by the controller: where a flow enters the measured domain (ingress port, operation 1) and where it
    // leaves (egress port, operation 2); the other port any. The colour changes every 2^period_log2 us.
    @id(0x02000012) @name(".marking_edge")
    table marking_edge {
        key = {
            ingress_port : ternary @id(1) @name("ingress_port");
            egress_port : ternary @id(2) @name("egress_port");
            flow : exact @id(3) @name("flow");
        }
        actions = { set_edge; @defaultonly NoAction; }
        const default_action = NoAction();
        size = MARKING_EDGE_SIZE;
    }

    apply {
        operation = EDGE_PASS;
        flow_mon_id = 0;
        period_log2 = 0;
        marking_edge.apply();
    }
}

// Bin n holds delays from 2^n up to 2^(n+1) us; bin 0 also those below 1 us, bin 15 all from 32,768 us.
control DelayBin(in micros_t delay, out bit<4> bin) {
    apply {
        bit<32> rest = delay;
        bin = 0;
        if (rest > 0xFFFF) {
            rest = 0xFFFF;
        }
        if (rest > 0xFF) {
            bin = bin | 8;
            rest = rest >> 8;
        }
        if (rest > 0xF) {
            bin = bin | 4;
            rest = rest >> 4;
        }
        if (rest > 3) {
            bin = bin | 2;
            rest = rest >> 2;
        }
        if (rest > 1) {
            bin = bin | 1;
        }
    }
}

#endif
