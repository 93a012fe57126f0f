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

// The same for sources.
@id(0x16000008) @name(".source_counts")
register<bit<32>>(QUEUES) source_counts;
@id(0x16000009) @name(".source_slots")
register<bit<64>>(SOURCE_SLOT_WORDS) source_slots;

control FlowObserver(in metadata_t meta, in standard_metadata_t standard_metadata) {
    @hidden
    action observe(queue_index_t queue, bit<12> slot, bit<11> source_slot, bit<32> now, bit<32> epoch_micros) {
        bit<48> epoch;
        bit<32> counts;
        bit<64> word;
        bit<32> word_index = (bit<32>) (queue ++ slot[11:5]);
        flow_epoch.read(epoch, (bit<32>) queue);
        flow_counts.read(counts, (bit<32>) queue);
        flow_slots.read(word, word_index);
        bit<32> sources;
        bit<64> source_word;
        bit<32> source_index = (bit<32>) (queue ++ source_slot[10:5]);
        source_counts.read(sources, (bit<32>) queue);
        source_slots.read(source_word, source_index);
        bit<32> start = epoch[47:16];
        bit<16> packets = epoch[15:0];
        bit<16> current = counts[31:16];
        bit<16> previous = counts[15:0];
        bit<16> current_sources = sources[31:16];
        bit<16> previous_sources = sources[15:0];
        bit<32> age = now - start;
        if (packets >= FLOW_EPOCH_PACKETS || age > epoch_micros) {
            previous = current;
            previous_sources = current_sources;
            if (age > 2 * epoch_micros) {
                previous = 0;
                previous_sources = 0;
            }
            start = now;
            packets = 0;
            current = 0;
            current_sources = 0;
        }
        bit<32> marks = word[31:0];
        if (word[63:32] != start) {
            marks = 0;
        }
        bit<32> mark = 32w1 << slot[4:0];
        if (marks & mark == 0) {
            current = current + 1;
        }
        bit<32> source_marks = source_word[31:0];
        if (source_word[63:32] != start) {
            source_marks = 0;
        }
        bit<32> source_mark = 32w1 << source_slot[4:0];
        if (source_marks & source_mark == 0) {
            current_sources = current_sources + 1;
        }
        source_counts.write((bit<32>) queue, current_sources ++ previous_sources);
        source_slots.write(source_index, start ++ (source_marks | source_mark));
        flow_epoch.write((bit<32>) queue, start ++ (packets + 1));
        flow_counts.write((bit<32>) queue, current ++ previous);
        flow_slots.write(word_index, start ++ (marks | mark));
    }

    apply {
        observe(standard_metadata.egress_spec ++ meta.queue, meta.flow_hash[11:0], meta.source_hash[10:0],
                (bit<32>) standard_metadata.ingress_global_timestamp,
                meta.report_interval << FLOW_EPOCH_INTERVALS_LOG2);
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
        bit<32> counts;
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
