//! The traffic manager: strict priority queues at every port.

use crate::num::{low8, size32};
use std::collections::VecDeque;

use crate::config::{PortConfig, QueueRate, QueueStats, SwitchConfig};
use crate::flight::Flight;

#[derive(Debug, Default)]
struct Queue {
    #[allow(clippy::vec_box, reason = "flights are pooled: moving the box moves nothing else")]
    fifo: VecDeque<Box<Flight>>,
    stats: QueueStats,
    /// When the packet queued last may leave, with a rate in packets.
    last_send_ns: Option<u64>,
}

#[derive(Debug)]
struct Port {
    config: PortConfig,
    queues: Vec<Queue>,
    packets: usize,
    /// A bit for each queue with something in it.
    waiting: u8,
    /// The link is occupied until then; picoseconds, so that short packets on fast links don't round.
    busy_until_ps: u128,
    /// The first nanosecond after that.
    free_at_ns: u64,
}

/// All ports' queues. Ports appear when they are configured or used.
#[derive(Debug)]
pub(crate) struct TrafficManager {
    ports: Vec<Option<Box<Port>>>,
    /// A bit for each port with something queued.
    active: Vec<u64>,
    queues: usize,
    default: PortConfig,
}

impl TrafficManager {
    pub(crate) fn new(config: &SwitchConfig) -> TrafficManager {
        TrafficManager {
            ports: Vec::new(),
            active: Vec::new(),
            queues: usize::from(config.priority_queues.clamp(1, 8)),
            default: config.default_port,
        }
    }

    fn port_mut(&mut self, port: u16) -> &mut Port {
        let at = usize::from(port);
        if at >= self.ports.len() {
            self.ports.resize_with(at + 1, || None);
            self.active.resize(self.ports.len().div_ceil(64), 0);
        }
        let (config, queues) = (self.default, self.queues);
        self.ports[at].get_or_insert_with(|| {
            let queues = (0..queues).map(|_| Queue::default()).collect();
            Box::new(Port { config, queues, packets: 0, waiting: 0, busy_until_ps: 0, free_at_ns: 0 })
        })
    }

    fn port(&self, port: u16) -> Option<&Port> {
        self.ports.get(usize::from(port))?.as_deref()
    }

    pub(crate) fn set_port(&mut self, port: u16, config: PortConfig) {
        self.port_mut(port).config = config;
    }

    pub(crate) fn port_config(&self, port: u16) -> PortConfig {
        self.port(port).map_or(self.default, |p| p.config)
    }

    pub(crate) fn has_queue(&self, queue: u64) -> bool {
        queue < self.queues as u64
    }

    /// Packets in a queue now.
    pub(crate) fn depth(&self, port: u16, queue: u8) -> u64 {
        self.port(port).map_or(0, |p| p.queues.get(usize::from(queue)).map_or(0, |q| q.stats.packets))
    }

    pub(crate) fn stats(&self, port: u16, queue: u8) -> QueueStats {
        self.port(port)
            .and_then(|p| p.queues.get(usize::from(queue)))
            .map_or(QueueStats::default(), |q| q.stats)
    }

    /// Queues a packet, or gives it back when there is no room.
    pub(crate) fn push(
        &mut self,
        port: u16,
        queue: u8,
        mut flight: Box<Flight>,
        now_ns: u64,
    ) -> Result<(), Box<Flight>> {
        let p = self.port_mut(port);
        let (config, octets) = (p.config, flight.queued_octets);
        let Some(q) = p.queues.get_mut(usize::from(queue)) else { return Err(flight) };
        let stats = &mut q.stats;
        let full = stats.packets >= u64::from(config.queue_packets)
            || config.queue_octets.is_some_and(|most| stats.octets + octets > most);
        if full {
            stats.tail_drops += 1;
            stats.tail_drop_octets += octets;
            return Err(flight);
        }
        flight.send_ns = match config.rate {
            QueueRate::PacketsPerSecond(rate) if rate > 0 => {
                // BMv2 fixes the time when the packet is queued: the one before it plus a packet's time.
                let send = q.last_send_ns.map_or(now_ns, |last| now_ns.max(last + 1_000_000_000 / rate));
                q.last_send_ns = Some(send);
                send
            }
            _ => now_ns,
        };
        flight.enqueued_ns = now_ns;
        stats.packets += 1;
        stats.octets += octets;
        stats.enqueued += 1;
        stats.peak_packets = stats.peak_packets.max(stats.packets);
        stats.peak_octets = stats.peak_octets.max(stats.octets);
        q.fifo.push_back(flight);
        p.packets += 1;
        p.waiting |= 1 << queue;
        self.active[usize::from(port) / 64] |= 1 << (port % 64);
        Ok(())
    }

    /// The earliest time at which [`TrafficManager::pop`] gives something.
    pub(crate) fn next_departure(&self, port: u16) -> Option<u64> {
        let p = self.port(port)?;
        let ready = p.queues.iter().filter_map(|q| q.fifo.front()).map(|f| f.send_ns).min()?;
        Some(ready.max(p.free_at_ns))
    }

    /// Takes the next packet: of the highest queue whose first packet may leave.
    pub(crate) fn pop(&mut self, port: u16, now_ns: u64) -> Option<(Box<Flight>, u8)> {
        let p = self.ports.get_mut(usize::from(port))?.as_deref_mut()?;
        if p.packets == 0 || p.free_at_ns > now_ns {
            return None;
        }
        let ready = |q: &Queue| q.fifo.front().is_some_and(|f| f.send_ns <= now_ns);
        let mut left = p.waiting;
        let at = loop {
            let at = usize::try_from(left.checked_ilog2()?).ok()?;
            if ready(&p.queues[at]) {
                break at;
            }
            left &= !(1 << at);
        };
        let q = &mut p.queues[at];
        let flight = q.fifo.pop_front()?;
        if q.fifo.is_empty() {
            p.waiting &= !(1 << at);
        }
        q.stats.packets -= 1;
        q.stats.octets -= flight.queued_octets;
        p.packets -= 1;
        if p.packets == 0 {
            self.active[usize::from(port) / 64] &= !(1 << (port % 64));
        }
        Some((flight, low8(at as u64)))
    }

    /// A packet of so many octets really leaves now.
    pub(crate) fn departed(&mut self, port: u16, octets: usize, now_ns: u64) {
        let Some(Some(p)) = self.ports.get_mut(usize::from(port)) else { return };
        if let QueueRate::BitsPerSecond { rate, overhead_octets_per_packet } = p.config.rate
            && rate > 0
        {
            let now_ps = u128::from(now_ns) * 1000;
            // Served in the nanosecond in which the link became free: it starts where the last one ended.
            let start = if now_ps.saturating_sub(p.busy_until_ps) < 1000 { p.busy_until_ps } else { now_ps };
            let bits = (octets as u128 + u128::from(overhead_octets_per_packet)) * 8;
            p.busy_until_ps = start + bits * 1_000_000_000_000 / u128::from(rate);
            p.free_at_ns = u64::try_from(p.busy_until_ps.div_ceil(1000)).unwrap_or(u64::MAX);
        }
    }

    /// Ports with something queued, ascending.
    pub(crate) fn active(&self) -> impl Iterator<Item = u16> + '_ {
        self.active.iter().enumerate().flat_map(|(i, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                if left == 0 {
                    return None;
                }
                let bit = left.trailing_zeros();
                left &= left - 1;
                u16::try_from(size32(i) * 64 + bit).ok()
            })
        })
    }

    /// Empties all queues; counters start again.
    pub(crate) fn clear(&mut self) {
        for p in self.ports.iter_mut().flatten() {
            p.packets = 0;
            p.waiting = 0;
            p.busy_until_ps = 0;
            p.free_at_ns = 0;
            for q in &mut p.queues {
                *q = Queue::default();
            }
        }
        self.active.fill(0);
    }
}
