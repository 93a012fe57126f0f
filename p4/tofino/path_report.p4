// CREM, Path Reports, method 3: data packets that the traffic manager had no room for, which it deflects to the recirculation
// port, and those that the ACL refuses, which ingress sends there. They go no further than egress: their copies become reports.

#ifndef CRN_TOFINO_PATH_REPORT_P4
#define CRN_TOFINO_PATH_REPORT_P4

struct path_slot_t {
    bit<32> last; // time of the last report
    bit<32> lost; // drops since, and one more: so that the value that a report takes is never 0
}

// Whether the flow is due, and how many of its packets were dropped since its last report. The PSNs of those in between are not
// kept, as BMv2's program keeps them: a slot of the chip has 64 bits.
control PathGate(in headers_t hdr, inout egress_metadata_t meta) {
    @id(0x1600000B) @name(".path_report_flows")
    Register<path_slot_t, path_report_slot_t>(PATH_REPORT_SLOTS, { 0, 1 }) path_report_flows;
    RegisterAction<path_slot_t, path_report_slot_t, bit<32>>(path_report_flows) judge = {
        void apply(inout path_slot_t slot, out bit<32> lost) {
            lost = 0;
            if (slot.last < meta.path_due_before || slot.last > meta.now) {
                lost = slot.lost;
                slot.last = meta.now;
                slot.lost = 1;
            } else {
                slot.lost = slot.lost + 1;
            }
        }
    };

    @hidden
    action look() {
        meta.asked = 2;
        meta.path_lost = judge.execute(hdr.bridged.path_slot[13:0]);
    }

    @hidden
    action suppress() {
        meta.suppressed = 1;
        meta.suppressed_index = meta.queue | hdr.bridged.path_candidate;
    }

    @hidden
    table path_gate {
        key = {
            meta.reports_drops : exact;
            meta.is_refused : exact;
            hdr.bridged.path_candidate : ternary;
        }
        actions = { look; suppress; NoAction; }
        const default_action = NoAction();
        const entries = {
            (1, 1, CANDIDATE_REPORT) : look();
            (1, 1, CANDIDATE_SUPPRESSED &&& CANDIDATE_SUPPRESSED) : suppress();
        }
    }

    apply {
        path_gate.apply();
    }
}

// The body of the report, in ingress: on its copy. One PSN, the packet's own; where others were lost too, Truncated says so.
control PathReportBody(inout headers_t hdr, inout ingress_metadata_t meta) {
    FillCrem() fill_crem_ipv4;
    FillPathReport() fill_report_ipv4;
    FillDroppedPsn() fill_psn_ipv4;
#ifdef WITH_IPV6
    FillCrem() fill_crem_ipv6;
    FillPathReport() fill_report_ipv6;
    FillDroppedPsn() fill_psn_ipv6;
#endif

    @hidden
    action truncated() {
        hdr.crem.flags = CREM_TRUNCATED;
    }

    @hidden
    table named {
        key = { hdr.copy.other : ternary; }
        actions = { truncated; NoAction; }
        const default_action = truncated();
        const entries = {
            32w1 : NoAction();
        }
    }

    apply {
        if (hdr.ipv4.isValid()) {
            hdr.report_ipv4.setValid();
            hdr.report_ipv4.src_addr = hdr.ipv4.src_addr;
            hdr.report_ipv4.dst_addr = hdr.ipv4.dst_addr;
            fill_crem_ipv4.apply(hdr.crem, CREM_PATH_REPORT, 0, PATH_REPORT_IPV4_OCTETS);
            fill_report_ipv4.apply(hdr.path_report, hdr.hop_entry, AF_IPV4, hdr.bth.dest_qp, meta.reporter_id,
                                   hdr.copy.other[15:0], hdr.copy.cause, 1);
            fill_psn_ipv4.apply(hdr.psn, hdr.bth.psn);
        }
#ifdef WITH_IPV6
        else {
            hdr.report_ipv6.setValid();
            hdr.report_ipv6.src_addr = hdr.ipv6.src_addr;
            hdr.report_ipv6.dst_addr = hdr.ipv6.dst_addr;
            fill_crem_ipv6.apply(hdr.crem, CREM_PATH_REPORT, 0, PATH_REPORT_IPV6_OCTETS);
            fill_report_ipv6.apply(hdr.path_report, hdr.hop_entry, AF_IPV6, hdr.bth.dest_qp, meta.reporter_id,
                                   hdr.copy.other[15:0], hdr.copy.cause, 1);
            fill_psn_ipv6.apply(hdr.psn, hdr.bth.psn);
        }
#endif
        named.apply();
        hdr.bth.setInvalid();
    }
}

#endif
