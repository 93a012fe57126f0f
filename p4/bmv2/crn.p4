// Congestion Reporting Node, Path Reporter and rate-advising switch for BMv2 (v1model, simple_switch with 8 priority
// queues). A feature is off until its table is filled; with nothing but routes this is a plain router.
//
//              +----------------------------- ingress -----------------------------+
// wire, CPU -->| Validation                                                        |
//         .--->| FlowHash                                                          |
//         |    | Origin              source_check, port_trust                      |
//         |    | MarkingArrival      marking_flow                                  |
//         |    | Acl                 acl            refused ---.                   |
//         |    | Classifier          dscp_map                  |                   |
//         |    | Routing             ipv4_route, ipv6_route    |  (selector ecmp)  |
//         |    | MarkingBoundary     marking_edge              |                   |
//         |    | Admission           queue_profile  refused ---+                   |
//         |    | FlowObserver                                  v                   |
//         |    | SourceObserver      rate_advice        PathReportTrigger          |
//         |    |       |                                path_report, report_meter  |
//         |    |       |                                csf_address                |
//         |    +-------|---------------------------------------|-------------------+
//         |            v                                       v I2E clone
//         |    queues 0..7 of each port             queue of the clone port <----------.
//         |            |                                       |                       |
//         |    +-------|--------------------- egress ----------|-------------------+   |
//         |    | Settlement                                    |                   |   |
//         |    | EcnMarking                                    |                   |   |
//         |    | MarkingDeparture                              |                   |   |
//         |    | RateSignalGate      rate_signal               |                   |   |
//         |    | CongestionTrigger   report_meter -------------|--- E2E clone -----|---+
//         |    | RateAdviceGate      source_rate_policy        |                   |   |
//         |    | QueueShare          congestion_degree,    QueueShare              |   |
//         |    |       |             fair_share                |                   |   |
//         |    | RateAdviceTrigger   report_meter -------------|--- E2E clone -----|---'
//         |    | RateSignal          qp_rate_policy        ReportBuilder           |
//         |    +-------|---------------------------------------|-------------------+
//         |            v wire                                  | recirculate
//         '----------------------------------------------------'
//
// A data packet that is reported about goes on at once, or is dropped; its clone waits at a port of its own, is
// rewritten into the report there, comes back into ingress, is routed like any packet into the control queue, and is
// cut to its length when it leaves.

#include <core.p4>
#include <v1model.p4>

#include "../include/constants.p4"
#include "../include/bmv2.p4"
#include "../include/sizes.p4"
#include "../include/types.p4"
#include "../include/headers.p4"
#include "../include/classification.p4"
#include "../include/queue_profile.p4"
#include "../include/congestion.p4"
#include "../include/reporter.p4"
#include "../include/report_fields.p4"
#include "../include/acl.p4"
#include "../include/source_check.p4"
#include "../include/roce.p4"
#include "../include/path_report.p4"
#include "../include/rates.p4"
#include "../include/marking.p4"

#include "metadata.p4"
#include "parser.p4"
#include "checksums.p4"
#include "validation.p4"
#include "classifier.p4"
#include "routing.p4"
#include "occupancy.p4"
#include "flow_count.p4"
#include "ecn.p4"
#include "marking.p4"
#include "report_limits.p4"
#include "congestion_report.p4"
#include "path_report.p4"
#include "rate_advice.p4"
#include "rate_signal.p4"
#include "report.p4"

control CrnIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // By cause; a tail drop of BMv2 itself is seen by nobody.
    @id(0x12000004) @name(".drops")
    counter(DROPS_SIZE, CounterType.packets_and_bytes) drops;

    Reporter() reporter;
    Validation() validation;
    Classifier() classifier;
    FlowHash() flow_hash;
    Origin() origin;
    RoceData() roce_data;
    Acl() acl;
    MarkingArrival() marking_arrival;
    Routing() routing;
    MarkingBoundary() marking_boundary;
    Admission() admission;
    RateAdviceSettings() rate_advice_settings;
    FlowObserver() flow_observer;
    SourceObserver() source_observer;
    PathReportTrigger() path_report_trigger;

    port_id_t drop_port;
    queue_id_t drop_queue;

    apply {
        if (standard_metadata.instance_type == INSTANCE_RECIRCULATED) {
            meta.is_report = 1;
        }
        reporter.apply(meta.has_reporter, meta.reporter_id, meta.reporter_ipv4, meta.reporter_ipv6,
                       meta.rdcc_port, meta.crem_port, meta.scone_port);
        if (hdr.packet_out.isValid()) {
            // The controller knows the way.
            standard_metadata.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            meta.queue = CONTROL_QUEUE;
            meta.role = ROLE_CONTROL;
        } else {
            validation.apply(hdr, meta, standard_metadata);
            if (meta.dropped == 0) {
                flow_hash.apply(hdr, meta);
                if (meta.is_report == 0) {
                    roce_data.apply(hdr.bth, meta.is_data);
                    origin.apply(meta, standard_metadata);
                    marking_arrival.apply(hdr, meta);
                    acl.apply(meta.src_addr, meta.dst_addr, meta.protocol, meta.src_port, meta.dst_port, meta.denied);
                    if (meta.denied == 1) {
                        meta.dropped = 1;
                        meta.drop_cause = DROP_POLICY;
                    }
                }
                classifier.apply(hdr, meta);
                if (meta.dropped == 0) {
                    routing.apply(hdr, meta, standard_metadata);
                    if (meta.dropped == 0 && meta.monitored == 1) {
                        marking_boundary.apply(hdr, meta, standard_metadata);
                    }
                }
            }
        }
        if (meta.dropped == 0) {
            standard_metadata.priority = meta.queue;
            if (meta.ip_octets != 0) {
                meta.frame_octets = meta.ip_octets + meta.link_octets;
                if (meta.frame_octets < MIN_FRAME_OCTETS) {
                    meta.frame_octets = MIN_FRAME_OCTETS;
                }
            }
            admission.apply(meta, standard_metadata);
            if (meta.role != ROLE_CONTROL) {
                if (meta.has_reporter == 1) {
                    rate_advice_settings.apply(meta.advises, meta.advice_interval, meta.advice_floor);
                }
                if (meta.charged == 1) {
                    flow_observer.apply(meta, standard_metadata);
                }
                if (meta.advises == 1) {
                    source_observer.apply(meta, standard_metadata);
                }
            }
        }
        if (meta.counted == 1) {
            marked.count((bit<32>) (meta.marking_flow ++ meta.colour));
        }
        if (meta.dropped == 1) {
            if (meta.is_report == 1) {
                meta.drop_cause = DROP_REPORT;
                drop_port = meta.report_port;
                drop_queue = meta.report_queue;
            } else if (meta.drop_cause == DROP_CONGESTION) {
                drop_port = standard_metadata.egress_spec;
                drop_queue = meta.queue;
            } else {
                drop_port = standard_metadata.ingress_port;
                drop_queue = 0;
            }
            drops.count((bit<32>) (meta.drop_cause ++ drop_port ++ drop_queue));
            if (meta.denied == 1 || meta.drop_cause == DROP_CONGESTION) {
                path_report_trigger.apply(hdr, meta, standard_metadata, drop_port, drop_queue);
            }
            mark_to_drop(standard_metadata);
        }
    }
}

control CrnEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Settlement() settlement;
    EcnMarking() ecn_marking;
    MarkingDeparture() marking_departure;
    RateSignalGate() rate_signal_gate;
    CongestionTrigger() congestion_trigger;
    RateAdviceGate() rate_advice_gate;
    RateAdviceTrigger() rate_advice_trigger;
    QueueShare() queue_share;
    RateSignal() rate_signal;
    ReportBuilder() report_builder;

    octets_t report_octets;

    apply {
        if (standard_metadata.instance_type == INSTANCE_EGRESS_CLONE
            || standard_metadata.instance_type == INSTANCE_INGRESS_CLONE) {
            // No account here: nothing at the clone port is charged, and the clone carries the occupancy of
            // the queue that it reports about.
            meta.is_clone = 1;
            if (meta.report_kind == KIND_RATE_ADVICE && meta.sources != 0) {
                meta.wants_share = 1;
                meta.share_of_source = 1;
            }
        } else {
            settlement.apply(meta, standard_metadata);
            if (meta.is_report == 1) {
                // The rest of the data packet that it was made from.
                report_octets = meta.ip_octets + meta.link_octets;
                if (standard_metadata.egress_port == CPU_PORT) {
                    report_octets = report_octets + PACKET_IN_OCTETS;
                }
                truncate(report_octets);
            } else {
                if (meta.charged == 1 && meta.occupancy > meta.b_th) {
                    meta.congested = 1;
                }
                ecn_marking.apply(hdr, meta, standard_metadata);
                if (meta.counted == 1) {
                    marking_departure.apply(meta, standard_metadata);
                }
                rate_signal_gate.apply(hdr, meta);
                congestion_trigger.apply(hdr, meta, standard_metadata);
                rate_advice_gate.apply(hdr, meta, standard_metadata);
            }
        }
        if (meta.wants_degree == 1 || meta.wants_share == 1) {
            queue_share.apply(meta, standard_metadata);
        }
        if (meta.advice_due == 1) {
            rate_advice_trigger.apply(meta, standard_metadata);
        }
        if (meta.is_clone == 1) {
            report_builder.apply(hdr, meta, standard_metadata);
            if (meta.is_built == 1) {
                recirculate_preserving_field_list(2);
            } else {
                mark_to_drop(standard_metadata);
            }
        } else if (meta.signals == 1) {
            rate_signal.apply(hdr, meta, standard_metadata);
        }
        if (standard_metadata.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = standard_metadata.ingress_port;
            hdr.packet_in.pad = 0;
        }
    }
}

V1Switch(CrnParser(), CrnVerifyChecksum(), CrnIngress(), CrnEgress(), CrnComputeChecksum(), CrnDeparser()) main;
