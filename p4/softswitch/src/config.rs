//! What a caller decides about a switch and its ports, and what the queues report.

/// How fast a port's queues may be served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueRate {
    /// Whatever is queued may leave at once.
    #[default]
    Unlimited,
    /// The port is a link: after a packet left, the next may leave when `(octets + overhead) * 8 / rate` has passed.
    BitsPerSecond {
        /// Link rate, bit/s; 0 is treated as [`QueueRate::Unlimited`].
        rate: u64,
        /// Octets per packet that occupy the link without being in the packet (preamble, FCS, gap).
        overhead_octets_per_packet: u32,
    },
    /// Every priority queue by itself leaves so many packets a second, as `simple_switch`'s `set_queue_rate` does;
    /// the time is fixed when a packet is queued. 0 is treated as [`QueueRate::Unlimited`].
    PacketsPerSecond(u64),
}

/// A port's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortConfig {
    /// Service rate.
    pub rate: QueueRate,
    /// Capacity of each priority queue in packets (`simple_switch`: 64).
    pub queue_packets: u32,
    /// Capacity of each priority queue in octets of packet as queued; `None`: only packets count.
    pub queue_octets: Option<u64>,
}

impl Default for PortConfig {
    /// As `simple_switch` starts: unlimited rate, 64 packets.
    fn default() -> PortConfig {
        PortConfig { rate: QueueRate::Unlimited, queue_packets: 64, queue_octets: None }
    }
}

/// What runs the program. Packets come out the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The interpreter for the first 10,000 packets; then, where there can be any, native code as soon as a thread of its
    /// own has made it, once for all switches that run the program. Packets wait for nothing.
    #[default]
    Automatic,
    /// Native code from the first packet on, where there can be any: a switch is there when its program is compiled.
    Native,
    /// The interpreter always.
    Interpreter,
}

/// What a switch is set up with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchConfig {
    /// Priority queues per port, 1..=8 (clamped); a packet with `priority` beyond them is dropped and counted, as
    /// `simple_switch` does.
    pub priority_queues: u8,
    /// The value of `egress_spec` that means drop.
    pub drop_port: u16,
    /// The port whose departures are packet-ins; see [`crate::Switch::poll_packet_in`].
    pub cpu_port: Option<u16>,
    /// Seed of the program's own randomness (`random`).
    pub seed: u64,
    /// Packets that may wait for another pass (resubmitted or recirculated) at once; more are dropped and counted.
    /// `simple_switch`: 1,024.
    pub recirculation_packets: usize,
    /// Resubmissions and recirculations one call may perform before the packet is dropped and counted. `simple_switch`
    /// would go on for ever.
    pub passes_per_call: u32,
    /// Digest samples kept for [`crate::Switch::poll_digest`]; more are dropped and counted.
    pub digest_samples: usize,
    /// Ports that [`crate::Switch::set_port`] was not called for get this.
    pub default_port: PortConfig,
    /// What runs the program.
    pub engine: Engine,
}

impl Default for SwitchConfig {
    fn default() -> SwitchConfig {
        SwitchConfig {
            priority_queues: 8,
            drop_port: 511,
            cpu_port: None,
            seed: 0,
            recirculation_packets: 1024,
            passes_per_call: 4096,
            digest_samples: 4096,
            default_port: PortConfig::default(),
            engine: Engine::default(),
        }
    }
}

/// One priority queue's state and counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Packets queued now.
    pub packets: u64,
    /// Octets queued now (a packet's length as it was when it was queued).
    pub octets: u64,
    /// Most packets ever queued at once.
    pub peak_packets: u64,
    /// Most octets ever queued at once.
    pub peak_octets: u64,
    /// Packets that ever entered.
    pub enqueued: u64,
    /// Packets refused because the queue was full.
    pub tail_drops: u64,
    /// Octets of those.
    pub tail_drop_octets: u64,
}

/// What happened in a switch since it started. Everything that `simple_switch` does in silence has a number here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchStats {
    /// Packets given to [`crate::Switch::ingress`].
    pub received: u64,
    /// Packets that left through [`crate::Switch::dequeue`].
    pub transmitted: u64,
    /// Dropped by the program at the end of ingress.
    pub ingress_drops: u64,
    /// Dropped by the program at the end of egress.
    pub egress_drops: u64,
    /// Refused by a full queue, all queues together.
    pub tail_drops: u64,
    /// Dropped because `priority` named a queue that isn't there.
    pub priority_drops: u64,
    /// Dropped because `egress_spec` or a replica named a port that isn't there.
    pub port_drops: u64,
    /// Clones made.
    pub clones: u64,
    /// Clones asked for in a session nobody configured.
    pub clones_without_session: u64,
    /// Multicast copies made.
    pub multicast_copies: u64,
    /// Multicasts to a group nobody configured, or an empty one.
    pub multicast_without_group: u64,
    /// Packets sent back to ingress by `recirculate`.
    pub recirculated: u64,
    /// Packets sent back to ingress by `resubmit`.
    pub resubmitted: u64,
    /// Dropped because too many packets waited for another pass, or one call took too many passes.
    pub loop_drops: u64,
    /// Packets the parser ended in an error (they go on to ingress, as in `simple_switch`).
    pub parser_errors: u64,
    /// Digest samples produced.
    pub digests: u64,
    /// Digest samples lost because nobody polled.
    pub digest_drops: u64,
    /// Packets dropped by a failed `assert` or `assume` (`simple_switch` would end the process).
    pub assertion_failures: u64,
    /// Dropped because an action's jumps ran longer than any program's.
    pub runaway_drops: u64,
}
