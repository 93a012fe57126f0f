//! The traffic manager's rules.

use softswitch::{Packet, PortConfig, QueueRate, Switch, SwitchConfig};

use super::program::{Build, assign, config, drain, field, packet, std_field, word};

/// Goes to port 1, queue `h.a`; egress writes the queue's figures into the packet.
fn to_queue() -> Build {
    Build {
        ingress: vec![
            assign(std_field("egress_spec"), super::program::number(1)),
            assign(std_field("priority"), field("h", "a")),
        ],
        egress: vec![
            assign(field("h", "a"), std_field("enq_qdepth")),
            assign(field("h", "b"), std_field("deq_qdepth")),
        ],
        ..Build::default()
    }
}

fn rate(rate: u64) -> PortConfig {
    let rate = QueueRate::BitsPerSecond { rate, overhead_octets_per_packet: 24 };
    PortConfig { rate, queue_packets: 4, queue_octets: None }
}

#[test]
fn depths_count_packets_of_the_same_queue_without_the_packet_itself() {
    let mut switch = to_queue().switch();
    for queue in [0, 0, 0, 5] {
        switch.ingress(0, packet(queue, 0, 0), 0);
    }
    let depths: Vec<(u32, u32)> =
        drain(&mut switch, 0).iter().map(|(_, p)| (word(p, 0), word(p, 1))).collect();
    // Queue 5 goes first and is alone in its queue.
    assert_eq!(depths, [(0, 0), (0, 2), (1, 1), (2, 0)]);
}

#[test]
fn the_highest_queue_is_always_served_first() {
    let mut switch = to_queue().switch();
    for queue in [0, 7, 3] {
        switch.ingress(0, packet(queue, 0, 0), 0);
    }
    let order: Vec<u8> = std::iter::from_fn(|| switch.dequeue(1, 0)).map(|d| d.queue).collect();
    assert_eq!(order, [7, 3, 0]);
}

#[test]
fn a_queue_that_is_full_counts_what_it_drops() {
    let mut switch = to_queue().switch();
    switch.set_port(1, rate(1_000_000));
    for _ in 0..7 {
        switch.ingress(0, packet(0, 0, 92), 0);
    }
    let stats = switch.queue(1, 0);
    assert_eq!((stats.packets, stats.tail_drops, stats.tail_drop_octets), (4, 3, 300));
    assert_eq!((stats.octets, stats.peak_octets), (400, 400));
    assert_eq!(switch.stats().tail_drops, 3);
    // Another queue has room of its own.
    switch.ingress(0, packet(6, 0, 0), 0);
    assert_eq!(switch.queue(1, 6).packets, 1);
}

#[test]
fn octets_limit_a_queue_too_and_exactly() {
    let mut switch = to_queue().switch();
    switch.set_port(1, PortConfig { queue_octets: Some(200), ..rate(1_000_000) });
    switch.ingress(0, packet(0, 0, 92), 0);
    switch.ingress(0, packet(0, 0, 92), 0);
    assert_eq!(switch.queue(1, 0).tail_drops, 0, "200 octets fit into 200");
    switch.ingress(0, packet(0, 0, 0), 0);
    assert_eq!(switch.queue(1, 0).tail_drops, 1, "8 more don't");
}

#[test]
fn a_link_is_busy_for_the_packet_and_its_overhead() {
    let mut switch = to_queue().switch();
    switch.set_port(1, rate(1_000_000_000));
    for _ in 0..3 {
        switch.ingress(0, packet(0, 0, 92), 50);
    }
    assert_eq!(switch.next_departure(1), Some(50));
    assert!(switch.dequeue(1, 50).is_some());
    // (100 + 24) * 8 bits at 1 Gbit/s.
    assert_eq!(switch.next_departure(1), Some(50 + 992));
    assert!(switch.dequeue(1, 50 + 991).is_none());
    assert!(switch.dequeue(1, 50 + 992).is_some());
    assert_eq!(switch.next_departure(1), Some(50 + 2 * 992));
}

#[test]
fn short_packets_on_fast_links_do_not_round() {
    let mut switch = to_queue().switch();
    let fast = QueueRate::BitsPerSecond { rate: 400_000_000_000, overhead_octets_per_packet: 24 };
    switch.set_port(1, PortConfig { rate: fast, queue_packets: 2000, queue_octets: None });
    for _ in 0..1001 {
        switch.ingress(0, packet(0, 0, 56), 0);
    }
    let mut now = 0;
    for _ in 0..1000 {
        now = switch.next_departure(1).unwrap();
        assert!(switch.dequeue(1, now).is_some());
    }
    // 1,000 packets of 88 octets at 400 Gbit/s take 1,760 ns; the last starts one packet earlier.
    assert_eq!(switch.next_departure(1), Some(1760));
    assert!(now < 1760);
}

#[test]
fn a_rate_in_packets_holds_for_every_queue_by_itself() {
    let mut switch = to_queue().switch();
    switch.set_port(1, PortConfig { rate: QueueRate::PacketsPerSecond(1000), ..PortConfig::default() });
    for queue in [0, 0, 7, 7] {
        switch.ingress(0, packet(queue, 0, 0), 10);
    }
    assert_eq!(drain(&mut switch, 10).len(), 2, "one of each queue at once");
    assert_eq!(switch.next_departure(1), Some(1_000_010));
    assert_eq!(drain(&mut switch, 1_000_010).len(), 2);
}

#[test]
fn a_priority_beyond_the_queues_drops_and_counts() {
    let config = SwitchConfig { priority_queues: 4, ..config() };
    let mut switch = Switch::new(to_queue().program(), config);
    switch.ingress(0, packet(4, 0, 0), 0);
    switch.ingress(0, packet(3, 0, 0), 0);
    assert_eq!(switch.stats().priority_drops, 1);
    assert_eq!(drain(&mut switch, 0).len(), 1);
}

#[test]
fn virtual_payload_counts_and_comes_out_again() {
    let mut switch = to_queue().switch();
    switch.ingress(0, Packet::with_virtual_payload(packet(0, 0, 4).head().to_vec(), 4000), 0);
    assert_eq!(switch.queue(1, 0).octets, 4012);
    let out = switch.dequeue(1, 0).unwrap().packet.unwrap();
    assert_eq!((out.len(), out.head().len()), (4012, 12));
}
