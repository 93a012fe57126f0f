// How many flows a queue carries: an estimate.
//
// Each queue has 4,096 slots; a flow's hash chooses its slot; a slot is marked once per epoch. An epoch is
// named by the time of its start, and a word of slots that bears another name is empty, so nothing has to be
// cleared. The number of flows is the larger of this epoch's count and the previous one's; the previous one
// counts only if it ended no more than one epoch's time ago. Flows that share a slot are counted as one.
// Sources are counted in the same epochs, in slots of their own.
// Counted where packets enter the queue, not where they leave: what waits behind B_th octets is seen already
// when the first report is due.

#ifndef CRN_BMV2_FLOW_COUNT_P4
#define CRN_BMV2_FLOW_COUNT_P4

// Start of the epoch (us, 32 bits) and packets in it.
@id(0x16000003) @name(".flow_epoch")
register<bit<48>>(QUEUES) flow_epoch;
// Flows in this epoch and in the previous one.
@id(0x16000004) @name(".flow_counts")
register<bit<32>>(QUEUES) flow_counts;
// 32 slots and the epoch they belong to.
@id(0x16000005) @name(".flow_slots")
register<bit<64>>(FLOW_SLOT_WORDS) flow_slots;

// Start of the epoch that they belong to, sources in it and in the previous one.
@id(0x16000008) @name(".source_counts")
register<bit<64>>(QUEUES) source_counts;
// 32 slots and the epoch they belong to.
@id(0x16000009) @name(".source_slots")
register<bit<64>>(SOURCE_SLOT_WORDS) source_slots;

// How long an epoch may last. An interval of 0 is none: as long as it may.
control EpochMicros(in micros_t report_interval, out micros_t epoch_micros) {
    apply {
        epoch_micros = report_interval;
        if (epoch_micros - 1 >= FLOW_EPOCH_LONGEST_INTERVAL) {
            epoch_micros = FLOW_EPOCH_LONGEST_INTERVAL;
        }
        epoch_micros = epoch_micros << FLOW_EPOCH_INTERVALS_LOG2;
    }
}

control FlowObserver(in metadata_t meta, in standard_metadata_t standard_metadata) {
    EpochMicros() epoch;

    micros_t epoch_micros;

    @hidden
    action observe(queue_index_t queue, flow_word_t word_of_flow, slot_in_word_t slot, bit<32> now,
                   micros_t longest) {
        bit<48> kept;
        bit<32> counts;
        bit<64> word;
        bit<32> word_index = (bit<32>) (queue ++ word_of_flow);
        flow_epoch.read(kept, (bit<32>) queue);
        flow_counts.read(counts, (bit<32>) queue);
        flow_slots.read(word, word_index);
        bit<32> start = kept[47:16];
        bit<16> packets = kept[15:0];
        bit<16> current = counts[31:16];
        bit<16> previous = counts[15:0];
        bit<32> age = now - start;
        if (packets >= FLOW_EPOCH_PACKETS || age > longest) {
            previous = current;
            if (age > 2 * longest) {
                previous = 0;
            }
            start = now;
            packets = 0;
            current = 0;
        }
        bit<32> marks = word[31:0];
        if (word[63:32] != start) {
            marks = 0;
        }
        bit<32> mark = 32w1 << slot;
        if (marks & mark == 0) {
            current = current + 1;
        }
        flow_epoch.write((bit<32>) queue, start ++ (packets + 1));
        flow_counts.write((bit<32>) queue, current ++ previous);
        flow_slots.write(word_index, start ++ (marks | mark));
    }

    apply {
        epoch.apply(meta.report_interval, epoch_micros);
        observe(standard_metadata.egress_spec ++ meta.queue, (flow_word_t) (meta.flow_hash >> 5),
                (slot_in_word_t) meta.flow_hash, (bit<32>) standard_metadata.ingress_global_timestamp, epoch_micros);
    }
}

// After FlowObserver, which keeps the epochs: this takes over the one that it finds.
control SourceObserver(inout metadata_t meta, in standard_metadata_t standard_metadata) {
    EpochMicros() epoch;

    micros_t epoch_micros;

    @hidden
    action observe_source(queue_index_t queue, source_word_t word_of_source, slot_in_word_t slot,
                          micros_t longest) {
        bit<48> kept;
        bit<64> counts;
        bit<64> word;
        bit<32> word_index = (bit<32>) (queue ++ word_of_source);
        flow_epoch.read(kept, (bit<32>) queue);
        source_counts.read(counts, (bit<32>) queue);
        source_slots.read(word, word_index);
        bit<32> start = kept[47:16];
        bit<16> current = counts[31:16];
        bit<16> previous = counts[15:0];
        if (counts[63:32] != start) {
            previous = current;
            if (start - counts[63:32] > 2 * longest) {
                previous = 0;
            }
            current = 0;
        }
        bit<32> marks = word[31:0];
        if (word[63:32] != start) {
            marks = 0;
        }
        bit<32> mark = 32w1 << slot;
        if (marks & mark == 0) {
            current = current + 1;
        }
        source_counts.write((bit<32>) queue, start ++ current ++ previous);
        source_slots.write(word_index, start ++ (marks | mark));
    }

    apply {
        hash(meta.source_hash, HashAlgorithm.crc32, 32w0, { meta.src_addr }, 64w0x100000000);
        if (meta.charged == 1) {
            epoch.apply(meta.report_interval, epoch_micros);
            observe_source(standard_metadata.egress_spec ++ meta.queue, (source_word_t) (meta.source_hash >> 5),
                           (slot_in_word_t) meta.source_hash, epoch_micros);
        }
    }
}

// Reads an estimate: this epoch's count or the previous one's, the larger; at least 1.
control FlowCount(out bit<16> flows, in queue_index_t queue) {
    @hidden
    action count_flows() {
        bit<32> counts;
        flow_counts.read(counts, (bit<32>) queue);
        flows = 1;
        if (counts[31:16] > flows) {
            flows = counts[31:16];
        }
        if (counts[15:0] > flows) {
            flows = counts[15:0];
        }
    }

    apply {
        count_flows();
    }
}

control SourceCount(out bit<16> sources, in queue_index_t queue) {
    @hidden
    action count_sources() {
        bit<64> counts;
        source_counts.read(counts, (bit<32>) queue);
        sources = 1;
        if (counts[31:16] > sources) {
            sources = counts[31:16];
        }
        if (counts[15:0] > sources) {
            sources = counts[15:0];
        }
    }

    apply {
        count_sources();
    }
}

#endif
