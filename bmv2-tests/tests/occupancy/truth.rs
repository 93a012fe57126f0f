//! What really is in a queue, and what the program's account of it must be.

use std::collections::VecDeque;

/// A packet in a queue or on its way into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Octets that it was charged; 0: it wasn't.
    pub charge: u32,
    /// Number of the charge among those of its queue.
    pub serial: u64,
}

/// A packet that has left its queue, with what was known then.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    item: Item,
    /// Whether its queue was empty behind it.
    was_last: bool,
    /// Octets charged but not queued then.
    on_the_way: u32,
    /// All octets ever charged then.
    charged: u64,
    /// Number of the last charge whose packet had been queued or dropped by then.
    arrived: u64,
}

/// One queue.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    queue: VecDeque<Item>,
    on_the_way: u32,
    /// Of the packet that has left the queue and not been through egress yet.
    leaving: u32,
    charges: u64,
    charged: u64,
    /// Dropped in silence, and charged after the packet that last set the account right.
    dropped: Vec<Item>,
    /// What the account didn't see when the queue seemed empty.
    blind: u32,
}

impl Truth {
    /// Ingress has charged a packet that isn't queued yet.
    pub fn charge(&mut self, octets: u32) -> Item {
        self.charges += 1;
        self.charged += u64::from(octets);
        self.on_the_way += octets;
        Item { charge: octets, serial: self.charges }
    }

    /// A packet is queued.
    pub fn queued(&mut self, item: Item) {
        self.on_the_way -= item.charge;
        self.queue.push_back(item);
    }

    /// A packet found the queue full.
    pub fn dropped(&mut self, item: Item) {
        self.on_the_way -= item.charge;
        self.dropped.push(item);
    }

    /// The first packet leaves the queue.
    pub fn leaves(&mut self) -> Option<Left> {
        let item = self.queue.pop_front()?;
        let was_last = self.queue.is_empty();
        self.leaving = item.charge;
        let arrived = self.charges - u64::from(self.on_the_way > 0);
        Some(Left { item, was_last, on_the_way: self.on_the_way, charged: self.charged, arrived })
    }

    /// The packet has been through egress. Returns the most that may have gone unseen.
    pub fn settled(&mut self, left: Left) -> u32 {
        self.leaving = 0;
        if left.was_last {
            self.dropped.retain(|item| item.serial > left.arrived);
            self.blind = self.octets() + self.surplus();
            let between = u32::try_from(self.charged - left.charged).unwrap_or(u32::MAX);
            return left.on_the_way + between;
        }
        if left.item.charge != 0 {
            self.dropped.retain(|item| item.serial > left.item.serial);
            self.blind = 0;
        }
        self.blind
    }

    /// T: octets in the queue, on their way into it, or on their way from it through egress.
    pub fn octets(&self) -> u32 {
        self.queue.iter().map(|item| item.charge).sum::<u32>() + self.on_the_way + self.leaving
    }

    /// D.
    pub fn surplus(&self) -> u32 {
        self.dropped.iter().map(|item| item.charge).sum()
    }

    /// W.
    pub fn blind(&self) -> u32 {
        self.blind
    }

    /// Whether a packet waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
