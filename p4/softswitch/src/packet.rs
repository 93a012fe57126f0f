//! A packet: octets at its head, and a payload that need not exist.

/// Octets that the program may look at, and after them a count of payload octets that nobody has written yet and that
/// read as zero. A simulator moves packets of 4,096 octets without 4,096 octets of memory each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    pub(crate) head: Vec<u8>,
    pub(crate) virtual_octets: usize,
}

impl Packet {
    /// A packet whose octets all exist.
    pub fn new(octets: Vec<u8>) -> Packet {
        Packet { head: octets, virtual_octets: 0 }
    }

    /// A packet of `head.len() + payload_octets` octets, of which the last `payload_octets` are zero and take no memory.
    pub fn with_virtual_payload(head: Vec<u8>, payload_octets: usize) -> Packet {
        Packet { head, virtual_octets: payload_octets }
    }

    /// Length in octets, the virtual ones included.
    pub fn len(&self) -> usize {
        self.head.len() + self.virtual_octets
    }

    /// Whether the packet has no octet at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The octets that exist.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// How many zero octets follow [`Packet::head`].
    pub fn virtual_octets(&self) -> usize {
        self.virtual_octets
    }

    /// Every octet of the packet, the virtual ones written out as zeros.
    pub fn to_octets(&self) -> Vec<u8> {
        let mut octets = self.head.clone();
        octets.resize(self.len(), 0);
        octets
    }

    /// Gives the head's memory back, so that a driver can reuse it.
    pub fn into_head(self) -> Vec<u8> {
        self.head
    }

    /// Cuts the packet to at most `octets` octets.
    pub fn truncate(&mut self, octets: usize) {
        if octets <= self.head.len() {
            self.head.truncate(octets);
            self.virtual_octets = 0;
        } else {
            self.virtual_octets = self.virtual_octets.min(octets - self.head.len());
        }
    }

    /// Makes the first `octets` octets real (as far as the packet reaches).
    pub(crate) fn materialise(&mut self, octets: usize) {
        let want = octets.min(self.len());
        if want > self.head.len() {
            self.virtual_octets -= want - self.head.len();
            self.head.resize(want, 0);
        }
    }
}
