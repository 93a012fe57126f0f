// Alternate Marking: RFC 9341's counters per flow and colour, the IPv6 option of RFC 9343.
//
// A marked packet is counted when it arrives (`marked`) and when it leaves (`marked_departed`): their difference over
// a closed colour is what this switch lost, `marked` here against `marked_departed` one hop earlier what the link
// lost. The option is found as the first one of a Hop-by-Hop or a Destination Options header.
//
// RFC 9341 and RFC 9343 mark in a controlled domain. A mark that comes from outside of it would count, or lose, packets of
// others: from a source that isn't valid on its port (outside the domain, `source_check`), and where the flow enters the
// measured domain, the option becomes padding and the packet isn't counted. In both headers: were only the first one taken
// off, the next switch would believe the second.

#ifndef CRN_BMV2_MARKING_P4
#define CRN_BMV2_MARKING_P4

// Index flow << 1 | colour. Octets are those of the frame as it arrived at this switch.
@id(0x12000006) @name(".marked")
counter(MARKED_SIZE, CounterType.packets_and_bytes) marked;

// In place of a mark, padding of the same length.
@hidden
action blank(inout ipv6_options_h options) {
    options.option_type = PADN_OPTION;
    options.flow_mon_id = 0;
    options.loss = 0;
    options.delay = 0;
    options.reserved = 0;
}

control BlankMarks(inout headers_t hdr, in metadata_t meta) {
    apply {
        if (meta.hop_by_hop_mark == 1) {
            blank(hdr.hop_by_hop);
        }
        if (meta.destination_mark == 1) {
            blank(hdr.destination_options);
        }
    }
}

// After validation, before anything that could drop the packet. `marked` is counted at the end of ingress.
control MarkingArrival(inout headers_t hdr, inout metadata_t meta) {
    MarkingFlow() marking_flow;
    BlankMarks() blank_marks;

    bit<1> has_mark;
    bit<20> flow_mon_id;

    apply {
        if (hdr.ipv6.isValid()) {
            has_mark = 0;
            flow_mon_id = 0;
            if (hdr.hop_by_hop.isValid() && hdr.hop_by_hop.option_type == ALTERNATE_MARKING_OPTION
                && hdr.hop_by_hop.option_length == ALTERNATE_MARKING_DATA_OCTETS) {
                meta.hop_by_hop_mark = 1;
            }
            if (hdr.destination_options.isValid()
                && hdr.destination_options.option_type == ALTERNATE_MARKING_OPTION
                && hdr.destination_options.option_length == ALTERNATE_MARKING_DATA_OCTETS) {
                meta.destination_mark = 1;
            }
            if (meta.hop_by_hop_mark == 1) {
                has_mark = 1;
                flow_mon_id = hdr.hop_by_hop.flow_mon_id;
                meta.colour = hdr.hop_by_hop.loss;
                meta.delay_marked = hdr.hop_by_hop.delay;
            } else if (meta.destination_mark == 1) {
                has_mark = 1;
                flow_mon_id = hdr.destination_options.flow_mon_id;
                meta.colour = hdr.destination_options.loss;
                meta.delay_marked = hdr.destination_options.delay;
            }
            marking_flow.apply(has_mark, flow_mon_id, meta.src_addr, meta.dst_addr, meta.protocol, meta.src_port,
                               meta.dst_port, meta.monitored, meta.marking_flow);
            if (has_mark == 1 && meta.monitored == 1) {
                if (meta.source_invalid == 0) {
                    meta.counted = 1;
                } else {
                    meta.monitored = 0;
                    blank_marks.apply(hdr, meta);
                }
            }
        }
    }
}

// For packets of a monitored flow, after routing, before admission: the packet's length changes here.
control MarkingBoundary(inout headers_t hdr, inout metadata_t meta, in standard_metadata_t standard_metadata) {
    // The last period in which a packet of the flow was marked for delay, plus one.
    @id(0x1600000D) @name(".marking_period")
    register<bit<48>>(MARKING_FLOWS) marking_period;

    MarkingEdge() marking_edge;
    BlankMarks() blank_marks;

    bit<2> operation;
    bit<20> flow_mon_id;
    bit<8> period_log2;

    // RFC 9341, double marking: one packet of each period is marked for delay, its first one.
    @hidden
    action mark(bit<48> now) {
        bit<48> last;
        bit<48> period = now >> period_log2;
        marking_period.read(last, (bit<32>) meta.marking_flow);
        meta.colour = period[0:0];
        meta.delay_marked = 0;
        if (last != period + 1) {
            meta.delay_marked = 1;
            marking_period.write((bit<32>) meta.marking_flow, period + 1);
        }
    }

    @hidden
    action shorten() {
        hdr.ipv6.payload_length = hdr.ipv6.payload_length - ALTERNATE_MARKING_OCTETS;
        meta.ip_octets = meta.ip_octets - (bit<32>) ALTERNATE_MARKING_OCTETS;
    }

    apply {
        marking_edge.apply(standard_metadata.ingress_port, standard_metadata.egress_spec, meta.marking_flow,
                           operation, flow_mon_id, period_log2);
        if (operation == EDGE_INSERT && meta.counted == 1) {
            meta.counted = 0;
            blank_marks.apply(hdr, meta);
        // Only one Hop-by-Hop header may stand in a packet: where there is one, the packet stays unmarked.
        } else if (operation == EDGE_INSERT && !hdr.hop_by_hop.isValid() && hdr.ipv6.payload_length < 0xFFF8) {
            mark(standard_metadata.ingress_global_timestamp);
            hdr.hop_by_hop.setValid();
            hdr.hop_by_hop.next_header = hdr.ipv6.next_header;
            hdr.hop_by_hop.length = 0;
            hdr.hop_by_hop.option_type = ALTERNATE_MARKING_OPTION;
            hdr.hop_by_hop.option_length = ALTERNATE_MARKING_DATA_OCTETS;
            hdr.hop_by_hop.flow_mon_id = flow_mon_id;
            hdr.hop_by_hop.loss = meta.colour;
            hdr.hop_by_hop.delay = meta.delay_marked;
            hdr.hop_by_hop.reserved = 0;
            hdr.ipv6.next_header = IPV6_HOP_BY_HOP;
            hdr.ipv6.payload_length = hdr.ipv6.payload_length + ALTERNATE_MARKING_OCTETS;
            meta.ip_octets = meta.ip_octets + (bit<32>) ALTERNATE_MARKING_OCTETS;
            meta.counted = 1;
        } else if (operation == EDGE_REMOVE && meta.counted == 1) {
            // The mark that was counted. A header that holds nothing else goes; in a longer one the option becomes padding. A
            // second mark is somebody else's, such as one from host to host (RFC 9343, section 5).
            if (meta.hop_by_hop_mark == 1) {
                if (hdr.hop_by_hop.length == 0) {
                    hdr.ipv6.next_header = hdr.hop_by_hop.next_header;
                    hdr.hop_by_hop.setInvalid();
                    shorten();
                } else {
                    blank(hdr.hop_by_hop);
                }
            } else if (hdr.destination_options.length == 0) {
                if (hdr.hop_by_hop.isValid()) {
                    hdr.hop_by_hop.next_header = hdr.destination_options.next_header;
                } else {
                    hdr.ipv6.next_header = hdr.destination_options.next_header;
                }
                hdr.destination_options.setInvalid();
                shorten();
            } else {
                blank(hdr.destination_options);
            }
        }
    }
}

// For marked packets of a monitored flow, in egress, after the queue.
control MarkingDeparture(in metadata_t meta, in standard_metadata_t standard_metadata) {
    // Index flow << 1 | colour.
    @id(0x12000007) @name(".marked_departed")
    counter(MARKED_SIZE, CounterType.packets_and_bytes) marked_departed;

    // Delay-marked packets by their time in the queue; index flow << 4 | bin.
    @id(0x12000008) @name(".delay_bins")
    counter(DELAY_BINS_SIZE, CounterType.packets_and_bytes) delay_bins;

    DelayBin() delay_bin;

    bit<4> bin;

    apply {
        marked_departed.count((bit<32>) (meta.marking_flow ++ meta.colour));
        if (meta.delay_marked == 1) {
            delay_bin.apply(standard_metadata.deq_timedelta, bin);
            delay_bins.count((bit<32>) (meta.marking_flow ++ bin));
        }
    }
}

#endif
