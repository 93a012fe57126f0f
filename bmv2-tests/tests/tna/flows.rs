//! `Observer` of `tofino/flow_count.p4`: tags of hashed slots, epochs of the chip's clock, two banks.

use std::collections::BTreeSet;

use proptest::prelude::*;

const SLOTS: usize = 65_536;

/// One bank of one queue: its epoch and how many were seen in it.
#[derive(Clone, Copy, Default)]
struct Bank {
    epoch: u16,
    members: u16,
}

impl Bank {
    fn counts_on(&mut self, epoch: u16, first: u16) -> u16 {
        self.members = if self.epoch == epoch { self.members + first } else { first };
        self.epoch = epoch;
        self.members
    }

    fn reads(self, epoch: u16) -> u16 {
        if epoch.wrapping_sub(self.epoch) == 1 { self.members } else { 0 }
    }
}

/// What the chip keeps, for one queue.
struct Observer {
    tags: Vec<u8>,
    even: Bank,
    odd: Bank,
}

impl Observer {
    fn new() -> Observer {
        Observer { tags: vec![0; SLOTS], even: Bank::default(), odd: Bank::default() }
    }

    /// A packet of the member that has this slot. Epochs are bits 39 to 24 of the clock, their tags the lowest eight bits of these.
    fn sees(&mut self, slot: usize, nanoseconds: u64) -> u16 {
        let epoch = u16::try_from(nanoseconds >> 24 & 0xffff).unwrap();
        let tag = u8::try_from(epoch & 0xff).unwrap();
        let first = u16::from(self.tags[slot] != tag);
        self.tags[slot] = tag;
        let (even, odd) = if epoch & 1 == 0 {
            (self.even.counts_on(epoch, first), self.odd.reads(epoch))
        } else {
            (self.even.reads(epoch), self.odd.counts_on(epoch, first))
        };
        even.max(odd)
    }
}

const EPOCH: u64 = 1 << 24;

/// The flows of `tables::counts`: as if drawn by lot (Knuth's multiplicative hashing); here the slot is the hash's last 16 bits.
fn slot_of(flow: u32) -> usize {
    let octets = (flow + 1).wrapping_mul(2_654_435_761).to_be_bytes();
    usize::try_from(crc32fast::hash(&octets) & 0xffff).unwrap()
}

/// As many as have slots of their own: with 65,536 of them 1,024 of 1,024 but for some eight. v1model sees 906 in its 4,096.
#[test]
fn flows_are_counted_by_their_slots() {
    for flows in [1_u32, 16, 128, 1024] {
        let mut observer = Observer::new();
        let mut seen = 0;
        for round in 0..2 {
            for flow in 0..flows {
                seen = observer.sees(slot_of(flow), 7 * EPOCH + u64::from(round * flows + flow));
            }
        }
        let slots: BTreeSet<usize> = (0..flows).map(slot_of).collect();
        assert_eq!(usize::from(seen), slots.len(), "{flows} flows");
        assert!(slots.len() * 64 >= 63 * usize::try_from(flows).unwrap(), "{} of {flows}", slots.len());
    }
}

/// In an epoch's first packet the last epoch's count still stands, two epochs later nothing does.
#[test]
fn the_last_epoch_counts_until_this_one_has_more() {
    let mut observer = Observer::new();
    for flow in 0..10 {
        observer.sees(slot_of(flow), 4 * EPOCH + u64::from(flow));
    }
    assert_eq!(observer.sees(slot_of(0), 5 * EPOCH), 10, "the epoch before");
    assert_eq!(observer.sees(slot_of(0), 6 * EPOCH), 1, "one flow in the epoch before");
    assert_eq!(observer.sees(slot_of(0), 9 * EPOCH), 1, "after two silent epochs: itself");
}

/// What isn't noticed, as the program's comment says: a flow that comes back after 256 epochs exactly.
#[test]
fn a_flow_of_256_epochs_ago_is_not_new() {
    let mut observer = Observer::new();
    assert_eq!(observer.sees(5, 3 * EPOCH), 1);
    assert_eq!(observer.sees(5, (3 + 256) * EPOCH), 0);
    assert_eq!(observer.sees(5, (3 + 257) * EPOCH), 1);
}

proptest! {
    /// Never more than there are.
    #[test]
    fn never_more_than_there_are(
        packets in proptest::collection::vec((0_u32..50, 0_u64..EPOCH / 4), 1..400),
    ) {
        let mut observer = Observer::new();
        let mut now = 11 * EPOCH;
        let mut all = BTreeSet::new();
        for (flow, step) in packets {
            now += step;
            all.insert(flow);
            let seen = observer.sees(slot_of(flow), now);
            prop_assert!(usize::from(seen) <= all.len());
        }
    }
}
