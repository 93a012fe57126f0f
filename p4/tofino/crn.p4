// Congestion Reporting Node for Tofino: `tna` on Tofino 1, `t2na` on Tofino 2, told apart by the compiler's __TARGET_TOFINO__.
// Tables, actions, counters and ids are those of the v1model program (bmv2/crn.p4); profile.p4 chooses features.
//
//          +-------------------- ingress ------------------+          +--------------- egress --------------+
// wire --->| FlowHash, Validation                          |          | QueueProfile   queue_profile        |
//          | Reporter       reporter                       |          | Measure, Observer, Excess           |
//          | Origin         port_trust, source_check       |          | CongestionGate, PathGate path_report|
//          | Acl            acl                            |--queues->| RateAdviceGate rate_advice          |---> wire
//          | Classifier     dscp_map                       |          | congestion_degree, fair_share       |
//          | rate policies  source_.., qp_rate_policy      |          | Trigger        report_meter ---.    |
//          | Candidates                                    |          | EcnMarking                     |    |
//    .---->| ReportBuilder  csf_address (copies only)      |          | RateSignal     rate_signal     |    |
//    |     | Routing        ipv4_route, ipv6_route, ecmp   |          +--------------------------------|----+
//    |     | Drop                                          |                                           | mirror session
//    |     +-----------------------------------------------+                                           |
//    '------------------------------------- recirculation port <---------------------------------------'
//
// A data packet goes on at once. Its copy, cut to its first octets and with a header of ours in front, passes the egress of
// the recirculation port and becomes the report in ingress, which routes it like any packet into the control queue. Data that
// the traffic manager has no room for is deflected to that port's egress, which makes the copy and drops it: no data is
// recirculated.

#include <core.p4>

#include "chip.p4"
#include "profile.p4"
#include "types.p4"
#include "sizes.p4"
#include "../include/constants.p4"
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

#include "headers.p4"
#include "metadata.p4"
#include "parser.p4"
#include "deparser.p4"
#include "egress_parser.p4"
#include "validation.p4"
#include "classifier.p4"
#include "routing.p4"
#include "drop.p4"
#include "measure.p4"
#ifdef WITH_FAIR_SHARE
#include "flow_count.p4"
#endif
#ifdef WITH_ECN
#include "ecn.p4"
#endif
#ifdef WITH_RATES
#include "rates.p4"
#endif
#include "congestion_report.p4"
#ifdef WITH_PATH_REPORT
#include "path_report.p4"
#endif
#ifdef WITH_RATE_ADVICE
#include "rate_advice.p4"
#endif
#ifdef WITH_RATE_SIGNAL
#include "rate_signal.p4"
#endif
#include "trigger.p4"
#include "report.p4"

control CrnIngress(inout headers_t hdr, inout ingress_metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
                   in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                   inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                   inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    FlowHash() flow_hash;
    Validation() validation;
    Reporter() reporter;
    Origin() origin;
#ifdef WITH_ACL
    Acl() acl;
#endif
    Classifier() classifier;
    Candidates() candidates;
#ifdef WITH_PATH_REPORT
    Hash<bit<16>>(HashAlgorithm_t.CRC16) path_slot;
#endif
#ifdef WITH_RATE_ADVICE
    Hash<bit<16>>(HashAlgorithm_t.CRC16) source_hash;
    SourceRatePolicy() source_rate_policy;
#endif
#ifdef WITH_RATE_SIGNAL
    QpRatePolicy() qp_rate_policy;
#endif
    ReportBuilder() report_builder;
    Routing() routing;
    Drop() drop;

    apply {
        hdr.bridged.setValid();
        hdr.bridged.internal = INTERNAL_BRIDGED;
        hdr.bridged.denied = 0;
        hdr.bridged.congestion_candidate = CANDIDATE_NONE;
#ifdef WITH_PATH_REPORT
        hdr.bridged.path_candidate = CANDIDATE_NONE;
#endif
#ifdef WITH_RATE_ADVICE
        hdr.bridged.advice_candidate = CANDIDATE_NONE;
        hdr.bridged.source_policy = 0;
#endif
#ifdef WITH_RATE_SIGNAL
        hdr.bridged.carries_signal = 0;
        hdr.bridged.qp_policy = 0;
#endif
        hdr.place.setValid();
        meta.denied = 0;
        meta.says_nothing = 0;
#ifdef WITH_PACKET_IO
        if (hdr.packet_out.isValid()) {
            // The controller knows the way.
            meta.egress_port = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            meta.queue = CONTROL_QUEUE;
            meta.role = ROLE_CONTROL;
        } else
#endif
        {
            reporter.apply(meta.has_reporter, meta.reporter_id, meta.reporter_ipv4, meta.reporter_ipv6,
                           meta.rdcc_port, meta.crem_port, meta.scone_port);
            flow_hash.apply(hdr, meta);
            if (hdr.copy.isValid()) {
                report_builder.apply(hdr, meta);
            } else {
                validation.apply(hdr, meta);
                origin.apply(meta, ig_intr_md.ingress_port);
#ifdef WITH_ACL
                acl.apply(meta.src_addr, meta.dst_addr, meta.protocol, meta.src_port, meta.dst_port, meta.denied);
#endif
                classifier.apply(hdr, meta);
#ifdef WITH_RATE_ADVICE
                source_rate_policy.apply(meta.traffic_class, meta.src_addr, hdr.bridged.source_policy);
                hdr.bridged.source_hash = source_hash.get({ meta.src_addr });
#endif
#ifdef WITH_RATE_SIGNAL
                qp_rate_policy.apply(meta.dst_addr, hdr.bth.dest_qp, hdr.bridged.qp_policy);
#endif
                candidates.apply(hdr, meta);
#ifdef WITH_PATH_REPORT
                hdr.bridged.path_slot = path_slot.get({ meta.src_addr, meta.dst_addr, hdr.bth.dest_qp });
#endif
            }
            routing.apply(hdr, meta);
            drop.apply(hdr, meta, ig_intr_md.ingress_port, ig_dprsr_md.drop_ctl);
#ifdef WITH_RATE_ADVICE
            if (meta.says_nothing == 1) {
                ig_dprsr_md.drop_ctl = 1;
            }
#endif
        }
        hdr.bridged.role = 6w0 ++ meta.role;
        hdr.bridged.ingress_port = ig_intr_md.ingress_port;
        hdr.bridged.flow_hash = meta.flow_hash;
        hdr.place.egress_port = meta.egress_port;
        hdr.place.queue = meta.queue;
        ig_tm_md.qid = (QueueId_t) meta.queue;
        ig_tm_md.ucast_egress_port = meta.egress_port;
#ifdef WITH_PATH_REPORT
        if (hdr.bridged.path_candidate != CANDIDATE_NONE) {
            ig_tm_md.deflect_on_drop = 1;
        }
        if (meta.reports_denial == 1) {
            hdr.bridged.denied = 1;
            ig_tm_md.ucast_egress_port = RECIRCULATION_PORT;
            // What v1model says of a packet that was never routed.
            hdr.place.egress_port = ig_intr_md.ingress_port;
            hdr.place.queue = 0;
        }
#endif
        hdr.copy.setInvalid();
    }
}

control CrnEgress(inout headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t eg_intr_md,
                  in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                  inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                  inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    QueueProfile() queue_profile;
    Measure() measure;
    Excess() excess;
    CongestionDegree() congestion_degree;
    CongestionGate() congestion_gate;
#ifdef WITH_FAIR_SHARE
    Observer() flow_observer;
    FairShare() fair_share;
#endif
#ifdef WITH_PATH_REPORT
    PathReportSettings() path_report_settings;
    PathGate() path_gate;
#endif
#ifdef WITH_RATE_ADVICE
    RateAdviceSettings() rate_advice_settings;
    Observer() source_observer;
    RateAdviceGate() rate_advice_gate;
#endif
#ifdef WITH_RATE_SIGNAL
    RateSignalGate() rate_signal_gate;
    RateSignal() rate_signal;
#endif
#ifdef WITH_ECN
    EcnMarking() ecn_marking;
#endif
    Trigger() trigger;

    apply {
        if (meta.is_copy == 0) {
            measure.apply(hdr, meta, eg_intr_md, eg_prsr_md);
            queue_profile.apply(hdr.index.queue[11:3], hdr.index.queue[2:0], meta.has_profile, meta.profile, meta.b_th,
                                meta.q_max, meta.ecn_threshold, meta.report_interval);
#ifdef WITH_PATH_REPORT
            path_report_settings.apply(meta.reports_drops, meta.path_interval);
#endif
#ifdef WITH_RATE_ADVICE
            meta.advises = 0;
            meta.advice_interval = 0;
            meta.advice_floor = 0;
            rate_advice_settings.apply(meta.advises, meta.advice_interval, meta.advice_floor);
            if (hdr.bridged.denied == 0 && hdr.bridged.role != (bit<8>) ROLE_CONTROL) {
                source_observer.apply(hdr.index.queue, 16w0 ++ hdr.bridged.source_hash, meta.epoch, meta.sources);
            }
#endif
#ifdef WITH_RATE_SIGNAL
            rate_signal_gate.apply(hdr, meta);
#endif
#ifdef WITH_FAIR_SHARE
            if (hdr.bridged.denied == 0 && hdr.bridged.role != (bit<8>) ROLE_CONTROL) {
                flow_observer.apply(hdr.index.queue, hdr.bridged.flow_hash, meta.epoch, meta.flows);
            }
#endif
            excess.apply(meta);
            congestion_degree.apply(meta.profile, meta.excess, meta.degree);
            congestion_gate.apply(hdr, meta);
#ifdef WITH_PATH_REPORT
            path_gate.apply(hdr, meta);
#endif
#ifdef WITH_RATE_ADVICE
            rate_advice_gate.apply(hdr, meta);
#endif
        }
#ifdef WITH_RATE_ADVICE
        else {
            meta.profile = hdr.copy.profile;
            meta.flows = hdr.copy.rate[15:0];
        }
#endif
#ifdef WITH_FAIR_SHARE
        fair_share.apply(meta.profile, meta.flows, meta.rate);
#endif
        if (meta.is_copy == 0) {
            trigger.apply(hdr, meta, eg_dprsr_md.mirror_type);
#if __TARGET_TOFINO__ == 2
            eg_dprsr_md.mirror_io_select = 1; // what leaves, not what came
#endif
#ifdef WITH_ECN
            ecn_marking.apply(hdr, meta);
#endif
#ifdef WITH_RATE_SIGNAL
            rate_signal.apply(hdr, meta);
#endif
#ifdef WITH_PATH_REPORT
            if (meta.is_refused == 1) {
                eg_dprsr_md.drop_ctl = 1;
            }
#endif
#ifdef WITH_PACKET_IO
            if (eg_intr_md.egress_port == CPU_PORT) {
                hdr.packet_in.setValid();
                hdr.packet_in.ingress_port = hdr.bridged.ingress_port;
                hdr.packet_in.pad = 0;
            }
#endif
        }
#ifdef WITH_RATE_ADVICE
        else if (hdr.copy.kind == (bit<8>) KIND_RATE_ADVICE) {
            hdr.copy.rate = meta.rate;
        }
#endif
    }
}

Pipeline(CrnIngressParser(), CrnIngress(), CrnIngressDeparser(), CrnEgressParser(), CrnEgress(), CrnEgressDeparser()) pipe;

Switch(pipe) main;
