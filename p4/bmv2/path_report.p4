// CREM, Path Reports, method 3: the data packets that this switch refuses, by octet admission or by the ACL.

#ifndef CRN_BMV2_PATH_REPORT_P4
#define CRN_BMV2_PATH_REPORT_P4

// What a slot knows of the flow that it belongs to: hash of the flow (32), its QP (24), cause of the drops (2), held PSNs (6),
// drops since the last report (16), time of the last report (us, 48; 0 = never).
@id(0x1600000B) @name(".path_report_flows")
register<bit<128>>(PATH_REPORT_SLOTS) path_report_flows;
// When the first of them was held (units of 1,024 us, 32), and the held PSNs, the latest lowest.
@id(0x1600000C) @name(".path_report_psns")
register<bit<128>>(PATH_REPORT_SLOTS) path_report_psns;

// Decides for one refused data packet; the I2E clone that becomes the report is parsed again from what arrived.
//
// Flows that share a slot hold each other back, as with the other reports. A flow takes a slot over when its turn to
// report comes, or when the slot holds nothing; what it held for another flow is then lost and counted, never
// reported under a false name (two flows are mistaken for each other only if QP and 32-bit hash both agree).
// A report has one cause for all its PSNs. So what the ACL drops of a flow and what admission drops of it share the
// flow's slot, and its interval, as if they were two flows: no PSN is sent under a cause that isn't its own.
control PathReportTrigger(in headers_t hdr, inout metadata_t meta, in standard_metadata_t standard_metadata,
                          in port_id_t port, in queue_id_t queue) {
    PathReportSettings() path_report_settings;
    CsfAddress() csf_address;

    bit<1> enabled;
    micros_t interval;
    bit<32> path_hash;
    bit<2> verdict;
    bit<1> unnamed;

    @hidden
    action judge(bit<32> slot, bit<58> flow, bit<24> psn, bit<48> now, bit<32> meter_index) {
        bit<128> entry;
        bit<128> names;
        bit<2> colour;
        path_report_flows.read(entry, slot);
        path_report_psns.read(names, slot);
        bit<58> owner = entry[127:70];
        bit<6> held = entry[69:64];
        bit<16> lost = entry[63:48];
        bit<48> last = entry[47:0];
        bit<32> since = names[127:96];
        bit<96> psns = names[95:0];
        bit<48> age = now - last;
        unnamed = 0;
        if (last != 0 && (age <= (bit<48>) interval || age > LONGEST_AGE)) {
            verdict = VERDICT_INTERVAL;
        } else {
            report_meter.execute_meter(meter_index, colour);
            if (colour == METER_RED) {
                verdict = VERDICT_PORT_LIMIT;
            } else {
                verdict = VERDICT_SEND;
                last = now;
            }
        }
        if (owner != flow && (verdict == VERDICT_SEND || lost == 0)) {
            if (lost != 0) {
                unnamed = 1;
            }
            owner = flow;
            held = 0;
            lost = 0;
        }
        if (owner == flow) {
            if (lost != 0xFFFF) {
                lost = lost + 1;
            }
            if (held != 0 && now[41:10] - since > PATH_REPORT_HELD_TIME) {
                held = 0;
                unnamed = 1;
            }
            if (verdict == VERDICT_SEND) {
                meta.path_held = held;
                meta.path_psns = psns;
                meta.path_lost = lost;
                held = 0;
                lost = 0;
            } else if (held < PATH_REPORT_HELD_PSNS) {
                if (held == 0) {
                    since = now[41:10];
                }
                psns = psns[71:0] ++ psn;
                held = held + 1;
            } else {
                unnamed = 1;
            }
        } else {
            unnamed = 1;
        }
        path_report_flows.write(slot, owner ++ held ++ lost ++ last);
        path_report_psns.write(slot, since ++ psns);
    }

    @hidden
    action suppress(bit<3> cause) {
        reports_suppressed.count((bit<32>) (cause ++ port ++ queue));
    }

    apply {
        path_report_settings.apply(enabled, interval);
        // A report never causes a report: nothing is said about the control role, nor about a datagram to a control port.
        if (enabled == 1 && meta.crem_port != 0 && meta.role != ROLE_CONTROL && meta.to_control_port == 0
            && (meta.is_data == 1 || meta.tunnelled == 1)) {
            if (meta.tunnelled == 1) {
                // Whether that is RoCEv2 isn't known: only data of a role is counted.
                if (meta.role == ROLE_SCHEDULED || meta.role == ROLE_UNSCHEDULED) {
                    suppress(SUPPRESSED_TUNNELLED);
                }
            } else if (meta.source_invalid == 1) {
                suppress(SUPPRESSED_SOURCE_INVALID);
            } else if (hdr.ipv4.isValid() && meta.reporter_ipv4 == 0
                       || hdr.ipv6.isValid() && meta.reporter_ipv6 == 0) {
                // Last: only what would have been reported about.
                suppress(SUPPRESSED_NO_ADDRESS);
            } else {
                hash(path_hash, HashAlgorithm.crc32, 32w0, { meta.src_addr, meta.dst_addr, hdr.bth.dest_qp },
                     64w0x100000000);
                judge((bit<32>) (path_report_slot_t) path_hash, path_hash ++ hdr.bth.dest_qp ++ meta.drop_cause[1:0],
                      hdr.bth.psn, standard_metadata.ingress_global_timestamp, (bit<32>) port);
                if (verdict == VERDICT_SEND) {
                    csf_address.apply(meta.src_addr, meta.csf_addr);
                    meta.path_cause = (bit<8>) meta.drop_cause;
                    meta.report_kind = KIND_PATH_REPORT;
                    meta.report_port = port;
                    meta.report_queue = queue;
                    reports_triggered.count((bit<32>) (KIND_PATH_REPORT ++ port ++ queue));
                    clone_preserving_field_list(CloneType.I2E, REPORT_CLONE_SESSION, 1);
                } else if (verdict == VERDICT_INTERVAL) {
                    suppress(SUPPRESSED_FLOW_INTERVAL);
                } else {
                    suppress(SUPPRESSED_PORT_LIMIT);
                }
                if (unnamed == 1) {
                    suppress(SUPPRESSED_PSN_LIMIT);
                }
            }
        }
    }
}

// The body of the report: the PSNs that waited, oldest first, then the packet's own.
control PathReportBody(inout headers_t hdr, in metadata_t meta, in bit<8> address_family, out bit<16> octets) {
    FillCrem() fill_crem;
    FillPathReport() fill_path_report;
    FillDroppedPsn() fill_psn_1;
    FillDroppedPsn() fill_psn_2;
    FillDroppedPsn() fill_psn_3;
    FillDroppedPsn() fill_psn_4;
    FillDroppedPsn() fill_psn_5;

    bit<8> flags;

    apply {
        octets = (bit<16>) meta.path_held * PATH_REPORT_PSN_OCTETS;
        if (hdr.ipv4.isValid()) {
            octets = octets + PATH_REPORT_IPV4_OCTETS;
            hdr.report_ipv4.setValid();
            hdr.report_ipv4.src_addr = hdr.ipv4.src_addr;
            hdr.report_ipv4.dst_addr = hdr.ipv4.dst_addr;
        } else {
            octets = octets + PATH_REPORT_IPV6_OCTETS;
            hdr.report_ipv6.setValid();
            hdr.report_ipv6.src_addr = hdr.ipv6.src_addr;
            hdr.report_ipv6.dst_addr = hdr.ipv6.dst_addr;
        }
        if (meta.path_held >= 4) {
            fill_psn_1.apply(hdr.psn_1, meta.path_psns[95:72]);
        }
        if (meta.path_held >= 3) {
            fill_psn_2.apply(hdr.psn_2, meta.path_psns[71:48]);
        }
        if (meta.path_held >= 2) {
            fill_psn_3.apply(hdr.psn_3, meta.path_psns[47:24]);
        }
        if (meta.path_held >= 1) {
            fill_psn_4.apply(hdr.psn_4, meta.path_psns[23:0]);
        }
        fill_psn_5.apply(hdr.psn_5, hdr.bth.psn);
        flags = 0;
        if (meta.path_lost > (bit<16>) meta.path_held + 1) {
            flags = CREM_TRUNCATED;
        }
        fill_crem.apply(hdr.crem, CREM_PATH_REPORT, flags, octets);
        fill_path_report.apply(hdr.path_report, hdr.hop_entry, address_family, hdr.bth.dest_qp, meta.reporter_id,
                               meta.path_lost, meta.path_cause, (bit<8>) meta.path_held + 1);
    }
}

#endif
