// Congestion Reporting Node for BMv2 (v1model, simple_switch with 8 priority queues).
//
//                    +------------------------------- ingress -----------------------------------+
//   wire, CPU ------>| Validation  Classifier  FlowHash  Routing     Admission      FlowObserver |--.
//             .----->|             dscp_map              ipv4_route  queue_profile               |  |
//             |      |             port_trust            ipv6_route                              |  |
//             |      |                                   ecmp                                    |  |
//             |      +---------------------------------------------------------------------------+  |
//             |                                                                                     v
//             |                                                                 queues 0..7 of each port
//             |      +-------------------------------- egress -----------------------------------+  |
//             |      | Settlement  EcnMarking  CongestionTrigger ---- E2E clone ----.            |<-'
//   wire <-----------|                         report_meter                         |            |
//             |      |                         congestion_degree, fair_share        v            |
//             '------| recirculate <---- CongestionReportBuilder <---- queue of the clone port   |
//                    +---------------------------------------------------------------------------+
//
// A data packet above B_th is cloned and goes on at once. The clone waits at a port of its own, is rewritten
// into the report there, comes back into ingress, is routed like any packet into the control queue, and is
// cut to its length when it leaves.

#include <core.p4>
#include <v1model.p4>

#include "../include/constants.p4"
#include "../include/sizes.p4"
#include "../include/types.p4"
#include "../include/headers.p4"
#include "../include/classification.p4"
#include "../include/queue_profile.p4"
#include "../include/congestion.p4"
#include "../include/reporter.p4"
#include "../include/report_fields.p4"

#include "metadata.p4"
#include "parser.p4"
#include "checksums.p4"
#include "validation.p4"
#include "classifier.p4"
#include "routing.p4"
#include "occupancy.p4"
#include "flow_count.p4"
#include "ecn.p4"
#include "congestion_report.p4"

control CrnIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // By cause; a tail drop of BMv2 itself is seen by nobody.
    @id(0x12000004) @name(".drops")
    counter(DROPS_SIZE, CounterType.packets_and_bytes) drops;

    Reporter() reporter;
    Validation() validation;
    Classifier() classifier;
    FlowHash() flow_hash;
    Routing() routing;
    Admission() admission;
    FlowObserver() flow_observer;

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
                classifier.apply(hdr, meta, standard_metadata);
            }
            if (meta.dropped == 0) {
                flow_hash.apply(hdr, meta);
                routing.apply(hdr, meta, standard_metadata);
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
            if (meta.charged == 1 && meta.role != ROLE_CONTROL) {
                flow_observer.apply(meta, standard_metadata);
            }
        }
        if (meta.dropped == 1) {
            if (meta.drop_cause == DROP_CONGESTION) {
                drops.count((bit<32>) (meta.drop_cause ++ standard_metadata.egress_spec ++ meta.queue));
            } else {
                drops.count((bit<32>) (meta.drop_cause ++ standard_metadata.ingress_port ++ 3w0));
            }
            mark_to_drop(standard_metadata);
        }
    }
}

control CrnEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Settlement() settlement;
    EcnMarking() ecn_marking;
    CongestionTrigger() congestion_trigger;
    CongestionReportBuilder() congestion_report_builder;

    apply {
        if (standard_metadata.instance_type == INSTANCE_EGRESS_CLONE) {
            // No account here: nothing at the clone port is charged, and the clone carries the occupancy of
            // the queue that it reports about.
            congestion_report_builder.apply(hdr, meta);
            recirculate_preserving_field_list(0);
        } else {
            settlement.apply(meta, standard_metadata);
            if (meta.is_report == 1) {
                // The rest of the data packet that it was made from.
                truncate(meta.ip_octets + meta.link_octets);
            } else {
                ecn_marking.apply(hdr, meta, standard_metadata);
                congestion_trigger.apply(hdr, meta, standard_metadata);
            }
        }
        if (standard_metadata.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = standard_metadata.ingress_port;
            hdr.packet_in.pad = 0;
        }
    }
}

V1Switch(CrnParser(), CrnVerifyChecksum(), CrnIngress(), CrnEgress(), CrnComputeChecksum(), CrnDeparser()) main;
