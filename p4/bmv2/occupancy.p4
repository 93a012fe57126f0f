// Octets in each queue, and admission by octets.
//
// v1model counts packets, not octets, and loses packets without a word. So ingress counts what it puts into
// a queue, egress notes how far it has come, and each packet carries the count at its own end (`stamp`).
// Occupancy, as a packet that leaves sees it, is what was counted after it. Both counts wrap, each has one
// writer. A packet that is lost in between, or counted by ingress while egress reads, is an error until the
// next packet leaves: the stamp corrects it, and an empty queue is always 0.

#ifndef CRN_BMV2_OCCUPANCY_P4
#define CRN_BMV2_OCCUPANCY_P4

@id(0x16000001) @name(".queue_enqueued")
register<bit<32>>(QUEUES) queue_enqueued;
@id(0x16000002) @name(".queue_dequeued")
register<bit<32>>(QUEUES) queue_dequeued;

// Last in ingress. Only packets of known length that go to one port are charged.
control Admission(inout metadata_t meta, in standard_metadata_t standard_metadata) {
    QueueProfile() queue_profile;

    // One action, so one lock: nothing comes between reading and writing.
    @hidden
    action admit(queue_index_t queue) {
        bit<32> enqueued;
        bit<32> dequeued;
        queue_enqueued.read(enqueued, (bit<32>) queue);
        queue_dequeued.read(dequeued, (bit<32>) queue);
        if (enqueued - dequeued + meta.frame_octets > meta.q_max) {
            meta.dropped = 1;
            meta.drop_cause = DROP_CONGESTION;
        } else {
            meta.stamp = enqueued + meta.frame_octets;
            meta.charged = 1;
            queue_enqueued.write((bit<32>) queue, meta.stamp);
        }
    }

    apply {
        queue_profile.apply(standard_metadata.egress_spec, meta.queue, meta.has_profile, meta.profile, meta.b_th,
                            meta.q_max, meta.ecn_threshold, meta.report_interval);
        if (meta.has_profile == 1 && meta.frame_octets != 0) {
            admit(standard_metadata.egress_spec ++ meta.queue);
        }
    }
}

// First in egress, for every packet that isn't a clone, charged or not.
control Settlement(inout metadata_t meta, in standard_metadata_t standard_metadata) {
    @hidden
    action settle(queue_index_t queue) {
        bit<32> enqueued;
        queue_enqueued.read(enqueued, (bit<32>) queue);
        if (standard_metadata.deq_qdepth == 0) {
            meta.occupancy = 0;
            queue_dequeued.write((bit<32>) queue, enqueued);
        } else if (meta.charged == 1) {
            meta.occupancy = enqueued - meta.stamp;
            queue_dequeued.write((bit<32>) queue, meta.stamp);
        }
    }

    apply {
        settle(standard_metadata.egress_port ++ standard_metadata.priority);
    }
}

#endif
