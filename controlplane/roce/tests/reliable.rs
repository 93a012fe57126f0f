//! What a reliable connection promises, over a channel that loses and repeats: every post completes once, in order, and
//! every octet is taken in once, in order.

mod channel;

use channel::{A, B, Channel, Fate};
use proptest::prelude::*;
use roce::{
    AckRequests, Endpoint, PacketError, PostError, QpConfig, QpConfigError, TxContent, TxPacket, WcStatus,
};
use wire::roce::{Bth, Opcode, Psn, Reth};
use wire::units::Nanos;

const NOW: Nanos = Nanos(0);

fn config(mtu: u16) -> QpConfig {
    // Tests lose what they like.
    QpConfig { mtu, retransmit_timeout: Nanos(10_000), retry_limit: None, ..QpConfig::new(0x11, 0x22, B) }
}

fn lossless(_: usize, _: &TxPacket) -> Fate {
    Fate::Deliver
}

fn bth(packet: &TxPacket) -> Bth {
    Bth::decode(&packet.head).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn messages_are_cut_into_packets_with_the_opcodes_of_their_places() {
    let mut channel = Channel::new(&[config(1024)], lossless);
    for (wr_id, octets) in [(1, 0), (2, 1), (3, 1024), (4, 1025), (5, 3000)] {
        assert_eq!(channel.ends[0].post(0x11, wr_id, octets, 26, NOW), Ok(u32::try_from(wr_id).unwrap()));
    }
    assert!(channel.run(1000));
    let seen: Vec<_> = channel
        .sent
        .iter()
        .map(|packet| {
            let bth = bth(packet);
            assert_eq!((packet.dscp, bth.destination_qp, packet.destination), (26, 0x22, B));
            assert_eq!(packet.udp_payload_octets() % 4, 0, "padded");
            (bth.psn.value(), bth.opcode, packet.payload_octets, bth.pad_count, bth.ack_request)
        })
        .collect();
    let expected = [
        (0, Opcode::WRITE_ONLY, 0, 0, true),
        (1, Opcode::WRITE_ONLY, 1, 3, true),
        (2, Opcode::WRITE_ONLY, 1024, 0, true),
        (3, Opcode::WRITE_FIRST, 1024, 0, false),
        (4, Opcode::WRITE_LAST, 1, 3, true),
        (5, Opcode::WRITE_FIRST, 1024, 0, false),
        (6, Opcode::WRITE_MIDDLE, 1024, 0, false),
        (7, Opcode::WRITE_LAST, 952, 0, true),
    ];
    assert_eq!(seen, expected);
    assert_eq!(Reth::decode(&channel.sent[5].head[12..]).unwrap().dma_length, 3000);
    let taken: Vec<_> = channel.received.iter().map(|r| (r.msn, r.octets, r.first, r.last)).collect();
    let whole = [(1, 0, true, true), (2, 1, true, true), (3, 1024, true, true), (4, 1024, true, false)];
    let parts = [(4, 1, false, true), (5, 1024, true, false), (5, 1024, false, false), (5, 952, false, true)];
    assert_eq!(taken, [whole, parts].concat());
    let done: Vec<_> = channel.completions.iter().map(|done| (done.wr_id, done.octets)).collect();
    assert_eq!(done, [(1, 0), (2, 1), (3, 1024), (4, 1025), (5, 3000)]);
}

#[test]
fn acknowledgements_are_coalesced_as_configured() {
    let acks = |ack_requests, messages, octets| {
        let mut channel = Channel::new(&[QpConfig { ack_requests, ..config(256) }], lossless);
        for wr_id in 0..messages {
            channel.ends[0].post(0x11, wr_id, octets, 0, NOW).unwrap();
        }
        assert!(channel.run(10_000));
        assert_eq!(channel.completions.len() as u64, messages);
        channel.ends[1].stats().acks_sent
    };
    assert_eq!(acks(AckRequests { every_message: true, packets: 64 }, 10, 512), 10);
    assert_eq!(acks(AckRequests { every_message: false, packets: 64 }, 10, 512), 1, "only the last at hand");
    assert_eq!(acks(AckRequests { every_message: true, packets: 8 }, 1, 256 * 32), 4);
}

#[test]
fn one_gap_is_refused_once_and_the_sender_goes_back_to_it() {
    let mut lost = false;
    let mut channel = Channel::new(&[config(256)], move |end, packet| {
        let psn = bth(packet).psn;
        if end == 0 && psn == Psn::new(3) && !lost {
            lost = true;
            return Fate::Lose;
        }
        Fate::Deliver
    });
    channel.ends[0].post(0x11, 7, 256 * 100, 0, NOW).unwrap();
    assert!(channel.run(10_000));
    let (sender, receiver) = (channel.ends[0].stats(), channel.ends[1].stats());
    assert_eq!((receiver.naks_sent, sender.naks_received, sender.timeouts), (1, 1, 0));
    assert_eq!(sender.data_packets, 100);
    // From the lost packet to the one that left when the refusal arrived: a round trip, 20 ticks and some.
    assert!((20..=24).contains(&sender.retransmitted_packets), "{sender:?}");
    assert_eq!(channel.received.len(), 100);
    assert_eq!(channel.completions.len(), 1);
}

#[test]
fn a_lost_tail_and_a_lost_acknowledgement_are_found_by_the_timer() {
    for losing in [0, 1] {
        let mut lost = false;
        let mut channel = Channel::new(&[config(256)], move |end, packet| {
            if end == losing && !lost && (end == 1 || bth(packet).psn == Psn::new(1)) {
                lost = true;
                return Fate::Lose;
            }
            Fate::Deliver
        });
        channel.ends[0].post(0x11, 7, 512, 0, NOW).unwrap();
        assert!(channel.run(10_000));
        assert_eq!(channel.ends[0].stats().timeouts, 1);
        assert_eq!(channel.completions.len(), 1);
        assert_eq!(channel.received.len(), 2, "a duplicate is acknowledged, not taken in");
    }
}

#[test]
fn retries_end_after_the_limit_with_the_status_of_ibverbs_and_flush_the_rest() {
    let limited = QpConfig { retry_limit: Some(3), ..config(256) };
    let mut channel = Channel::new(&[limited], |_, _: &TxPacket| Fate::Lose);
    channel.ends[0].post(0x11, 1, 100, 0, NOW).unwrap();
    channel.ends[0].post(0x11, 2, 100, 0, NOW).unwrap();
    assert!(channel.run(10_000));
    channel.ends[0].post(0x11, 3, 100, 0, NOW).unwrap();
    channel.tick();
    let ended: Vec<_> = channel.completions.iter().map(|done| (done.wr_id, done.status.name())).collect();
    let flushed = "IBV_WC_WR_FLUSH_ERR";
    assert_eq!(ended, [(1, "IBV_WC_RETRY_EXC_ERR"), (2, flushed), (3, flushed)]);
    assert_eq!(channel.ends[0].stats().timeouts, 4, "three retries, then the end");
    assert_eq!(channel.sent.len(), 8);
}

#[test]
fn without_a_limit_a_sender_retries_for_as_long_as_it_takes() {
    let mut packets = 0;
    let mut channel = Channel::new(&[config(256)], move |_, _: &TxPacket| {
        packets += 1;
        if packets <= 50 { Fate::Lose } else { Fate::Deliver }
    });
    channel.ends[0].post(0x11, 1, 100, 0, NOW).unwrap();
    assert!(channel.run(100_000));
    assert_eq!(channel.completions[0].status, WcStatus::Success);
}

#[test]
fn the_window_bounds_what_is_unacknowledged() {
    let window = QpConfig { window_packets: Some(5), ..config(256) };
    let mut endpoint = Endpoint::new();
    endpoint.create_qp(window).unwrap();
    endpoint.post(0x11, 1, 256 * 20, 0, NOW).unwrap();
    let mut sent = Vec::new();
    while let Some(packet) = endpoint.poll_transmit(NOW) {
        sent.push(packet);
    }
    assert_eq!(sent.len(), 5);
    assert!(bth(&sent[4]).ack_request, "the packet that fills the window asks");

    let mut channel = Channel::new(&[window], lossless);
    channel.ends[0].post(0x11, 1, 256 * 20, 0, NOW).unwrap();
    assert!(channel.run(1000));
    assert_eq!((channel.completions.len(), channel.ends[0].stats().timeouts), (1, 0));
}

#[test]
fn packet_numbers_wrap() {
    let near = QpConfig { first_psn: Psn::new(0x00ff_fff0), ..config(256) };
    let mut count = 0u32;
    let mut channel = Channel::new(&[near], move |_, _: &TxPacket| {
        count += 1;
        if count.is_multiple_of(7) { Fate::Lose } else { Fate::Deliver }
    });
    for wr_id in 0..40 {
        channel.ends[0].post(0x11, wr_id, 1000, 0, NOW).unwrap();
    }
    assert!(channel.run(100_000));
    assert_eq!(channel.completions.len(), 40);
    assert_eq!(channel.received.len(), 160);
    assert!(channel.sent.iter().any(|packet| bth(packet).psn == Psn::new(0x8f)));
}

#[test]
fn twenty_million_packets_in_one_connection() {
    let mut ends = [Endpoint::new(), Endpoint::new()];
    ends[0].create_qp(QpConfig { remote: B, ..config(256) }).unwrap();
    ends[1].create_qp(QpConfig { local_qp: 0x22, remote_qp: 0x11, remote: A, ..config(256) }).unwrap();
    let packets = 20_000_000u64;
    // All the messages of a connection may wait at once.
    for wr_id in 0..packets / 1000 {
        ends[0].post(0x11, wr_id, 256_000, 0, NOW).unwrap();
    }
    let [a, b] = &mut ends;
    let (mut completed, mut received) = (0, 0);
    for time in 0.. {
        let now = Nanos(time);
        let Some(packet) = a.poll_transmit(now) else { break };
        b.handle_packet(A, &packet.head, packet.udp_payload_octets(), false, now).unwrap();
        while b.poll_receive().is_some() {
            received += 1;
        }
        while let Some(ack) = b.poll_transmit(now) {
            a.handle_packet(B, &ack.head, ack.udp_payload_octets(), false, now).unwrap();
        }
        while let Some(done) = a.poll_completion() {
            assert_eq!((done.wr_id, done.status), (completed, WcStatus::Success));
            completed += 1;
        }
    }
    assert_eq!((received, completed), (packets, packets / 1000));
    assert_eq!(a.stats().retransmitted_packets, 0);
    assert_eq!(a.poll_timeout(), None);
}

#[test]
fn queue_pairs_take_turns_and_answers_go_first() {
    let mut endpoint = Endpoint::new();
    for number in 1..=3 {
        let config = QpConfig { local_qp: number, remote_qp: 0x100 + number, ..config(1024) };
        endpoint.create_qp(config).unwrap();
        endpoint.post(number, 0, 10_000, 0, NOW).unwrap();
    }
    let first: Vec<_> = (0..6).map(|_| endpoint.poll_transmit(NOW).unwrap().qp).collect();
    assert_eq!(first, [1, 2, 3, 1, 2, 3]);

    let mut peer = Endpoint::new();
    peer.create_qp(QpConfig { local_qp: 0x102, remote_qp: 2, remote: A, ..config(1024) }).unwrap();
    peer.post(0x102, 0, 10, 0, NOW).unwrap();
    let packet = peer.poll_transmit(NOW).unwrap();
    endpoint.handle_packet(B, &packet.head, packet.udp_payload_octets(), true, NOW).unwrap();
    let received = endpoint.poll_receive().unwrap();
    assert_eq!((received.qp, received.from, received.ce), (2, B, true));
    let answer = endpoint.poll_transmit(NOW).unwrap();
    assert_eq!((answer.content, answer.qp), (TxContent::Ack, 2));
    assert_eq!(endpoint.poll_transmit(NOW).unwrap().qp, 1);
}

#[test]
fn an_invalid_request_is_refused_and_ends_the_connection() {
    let mut channel = Channel::new(&[config(1024)], lossless);
    channel.ends[0].post(0x11, 1, 1024, 0, NOW).unwrap();
    let packet = channel.ends[0].poll_transmit(NOW).unwrap();
    // One octet less than the RETH announces.
    channel.ends[1].handle_packet(A, &packet.head, packet.udp_payload_octets() - 4, false, NOW).unwrap();
    channel.run(100);
    assert_eq!(channel.received, []);
    assert_eq!(channel.completions[0].status, WcStatus::RemInvReqErr);
}

#[test]
fn strangers_and_fragments_are_refused_without_effect() {
    let mut endpoint = Endpoint::new();
    endpoint.create_qp(config(1024)).unwrap();
    assert_eq!(endpoint.create_qp(config(1024)), Err(QpConfigError::InUse(0x11)));
    assert_eq!(endpoint.create_qp(config(1000)), Err(QpConfigError::Mtu(1000)));
    assert_eq!(endpoint.post(0x12, 0, 1, 0, NOW), Err(PostError::UnknownQp(0x12)));
    let write = Bth::new(Opcode::WRITE_MIDDLE, 0x11, Psn::new(0)).to_octets();
    let mut handle = |from, head: &[u8], octets| endpoint.handle_packet(from, head, octets, false, NOW);
    assert!(matches!(handle(B, &write[..11], 1040), Err(PacketError::Header(_))));
    assert_eq!(handle(B, &write, 15), Err(PacketError::TooShort { octets: 15, needed: 16 }));
    assert_eq!(handle(A, &write, 1040), Err(PacketError::WrongSource { qp: 0x11, from: A, expected: B }));
    let unknown = Bth::new(Opcode::WRITE_MIDDLE, 0x13, Psn::new(0)).to_octets();
    assert_eq!(handle(B, &unknown, 1040), Err(PacketError::UnknownQp(0x13)));
    let atomic = Bth::new(Opcode::FETCH_ADD, 0x11, Psn::new(0)).to_octets();
    assert_eq!(handle(B, &atomic, 44), Err(PacketError::Unsupported(Opcode::FETCH_ADD)));
    assert_eq!(endpoint.poll_transmit(NOW), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_post_completes_once_and_in_order_and_every_octet_arrives_once(
        messages in prop::collection::vec((0usize..3, 0u32..6000), 1..40),
        fates in prop::collection::vec(0u8..100, 1..200),
        loss in 0u8..40, repeats in 0u8..20, apart in 0u64..30,
        first_psn in prop_oneof![any::<u32>(), 0x00ff_ff00u32..0x0100_0000],
        window in prop::option::of(1u32..64), every_message in any::<bool>(), packets in 0u32..20,
    ) {
        let configs: Vec<_> = (0..3u32).map(|number| QpConfig {
            local_qp: number,
            remote_qp: 0x100 + number,
            first_psn: Psn::new(first_psn),
            window_packets: window,
            ack_requests: AckRequests { every_message, packets },
            ..config(256)
        }).collect();
        // A prime stride, so that the pattern doesn't lock in with the retransmissions; at last nothing is lost.
        let mut count = 0;
        let mut channel = Channel::new(&configs, |_, _: &TxPacket| {
            count += 1;
            let fate = fates[count * 7919 % fates.len()];
            if count > 20_000 || fate >= loss + repeats {
                Fate::Deliver
            } else if fate < loss {
                Fate::Lose
            } else {
                Fate::Repeat(apart)
            }
        });
        for (wr_id, &(qp, octets)) in messages.iter().enumerate() {
            channel.ends[0].post(u32::try_from(qp).unwrap(), wr_id as u64, octets, 0, NOW).unwrap();
        }
        prop_assert!(channel.run(3_000_000), "came to rest");
        for qp in 0..3u32 {
            let posted: Vec<_> = messages.iter().enumerate()
                .filter(|(_, message)| message.0 == qp as usize)
                .map(|(wr_id, message)| (wr_id as u64, message.1, WcStatus::Success)).collect();
            let completed: Vec<_> = channel.completions.iter().filter(|done| done.qp == qp)
                .map(|done| (done.wr_id, done.octets, done.status)).collect();
            prop_assert_eq!(&completed, &posted);

            let mut arrived = Vec::new();
            for received in channel.received.iter().filter(|received| received.qp == 0x100 + qp) {
                if received.first {
                    arrived.push(0);
                }
                *arrived.last_mut().unwrap() += received.octets;
                prop_assert_eq!(received.msn as usize, arrived.len());
            }
            let sizes: Vec<_> = posted.iter().map(|&(_, octets, _)| octets).collect();
            prop_assert_eq!(arrived, sizes);
        }
    }

    #[test]
    fn no_packet_panics(octets in prop::collection::vec(any::<u8>(), 0..40), opcode in 0u8..0x15, length in 0usize..5000) {
        let mut endpoint = Endpoint::new();
        endpoint.create_qp(config(1024)).unwrap();
        endpoint.post(0x11, 1, 5000, 0, NOW).unwrap();
        endpoint.poll_transmit(NOW);
        let mut head = Bth::new(Opcode(opcode), 0x11, Psn::new(0)).to_octets().to_vec();
        head.extend(&octets);
        let _ = endpoint.handle_packet(B, &head, length, false, NOW);
        let _ = endpoint.handle_packet(B, &octets, length, true, NOW);
        while endpoint.poll_transmit(NOW).is_some() {}
        endpoint.handle_timeout(Nanos(1_000_000));
    }
}
