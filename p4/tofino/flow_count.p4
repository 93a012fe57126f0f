// How many flows, or sources, a queue carries: an estimate, for the fair share.
//
// An epoch is 2^24 ns (16.8 ms) of the chip's clock, the same for all queues. Each hash of (queue, flow) has a tag of eight
// bits, the epoch in which it was last seen; a packet whose tag is another one's is the first of its flow. Even and odd
// epochs have their counts apart, so that the last epoch's is still there while the next one's grows; the larger of both is
// taken. A flow that was silent for 256 epochs exactly isn't noticed to be new; a queue that was for 65,536 (18 minutes) begins with
// its count of then.

#ifndef CRN_TOFINO_FLOW_COUNT_P4
#define CRN_TOFINO_FLOW_COUNT_P4

struct bank_t {
    bit<16> epoch;
    bit<16> members;
}

// One bank: `mine` says whether this epoch is its own. In its own epochs it counts, in the others it says what it counted in the
// one before. `first`: the packet is the first of its member in this epoch. Three actions, each with what it adds as a constant: the
// chip's register unit takes two operands from the packet at most, and four actions.
control Bank(in bit<1> mine, in bit<1> first, in bit<16> queue, in bit<16> epoch, out bit<16> members) {
    Register<bank_t, queue_index_t>(QUEUES) counts;
    RegisterAction<bank_t, queue_index_t, bit<16>>(counts) count_first = {
        void apply(inout bank_t bank, out bit<16> result) {
            if (bank.epoch == epoch) {
                bank.members = bank.members + 1;
            } else {
                bank.members = 1;
            }
            bank.epoch = epoch;
            result = bank.members;
        }
    };
    RegisterAction<bank_t, queue_index_t, bit<16>>(counts) count_again = {
        void apply(inout bank_t bank, out bit<16> result) {
            if (bank.epoch != epoch) {
                bank.members = 0;
            }
            bank.epoch = epoch;
            result = bank.members;
        }
    };
    RegisterAction<bank_t, queue_index_t, bit<16>>(counts) read = {
        void apply(inout bank_t bank, out bit<16> result) {
            result = 0;
            if (epoch - bank.epoch == 1) {
                result = bank.members;
            }
        }
    };

    @hidden
    action counts_first() {
        members = count_first.execute(queue[11:0]);
    }

    @hidden
    action counts_again() {
        members = count_again.execute(queue[11:0]);
    }

    @hidden
    action reads() {
        members = read.execute(queue[11:0]);
    }

    @hidden
    table bank {
        key = {
            mine : exact @name("mine");
            first : exact @name("first");
        }
        actions = { counts_first; counts_again; reads; }
        const default_action = reads();
        const entries = {
            (1, 1) : counts_first();
            (1, 0) : counts_again();
        }
    }

    apply {
        bank.apply();
    }
}

// In egress, for each packet that leaves a queue. `who`: a hash of what is counted.
control Observer(in bit<16> queue, in bit<32> who, in bit<16> epoch, out bit<16> members) {
    Register<bit<8>, flow_tag_slot_t>(FLOW_TAGS, 0) tags;
    RegisterAction<bit<8>, flow_tag_slot_t, bit<1>>(tags) see = {
        void apply(inout bit<8> tag, out bit<1> is_first) {
            is_first = 0;
            if (tag != epoch[7:0]) {
                is_first = 1;
            }
            tag = epoch[7:0];
        }
    };
    Hash<flow_tag_slot_t>(HashAlgorithm_t.CRC16) slot;
    Bank() even;
    Bank() odd;

    bit<1> first;
    bit<16> even_members;
    bit<16> odd_members;

    @hidden
    action look() {
        first = see.execute(slot.get({ queue, who }));
    }

    @hidden
    action take_larger() {
        members = max(even_members, odd_members);
    }

    apply {
        look();
        even.apply(~epoch[0:0], first, queue, epoch, even_members);
        odd.apply(epoch[0:0], first, queue, epoch, odd_members);
        take_larger();
    }
}

#endif
