//! Every verb in both modes of recovery, over a link that loses, repeats and reorders, with real payloads: what was posted is
//! what arrives, once, in order, where it belongs.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod hosts;

use hosts::{B, BASE, Fate, KEY, Link};
use proptest::prelude::*;
use roce::{
    Endpoint, Operation, QpConfig, ReceiveRequest, Recovery, RemoteMemory, TxPacket, WcStatus, WorkRequest,
};
use wire::roce::{BTH_OCTETS, Headers, Opcode, Psn, Syndrome};
use wire::scone::{DecodeError, RateSignal, Unreadable};
use wire::units::{MbitPerSec, Nanos};

const MODES: [Recovery; 2] = [Recovery::GoBackN, Recovery::SelectiveRepeat { reorder_packets: 256 }];

fn config(mtu: u16, recovery: Recovery) -> QpConfig {
    QpConfig {
        mtu,
        recovery,
        retransmit_timeout: Nanos(20_000),
        // Tests lose what they like.
        retry_limit: None,
        rnr_timer: 1,
        ..QpConfig::new(0x11, 0x22, B)
    }
}

fn lossless(_: usize, _: &TxPacket) -> Fate {
    Fate::Deliver(0)
}

fn at(offset: u64) -> RemoteMemory {
    RemoteMemory { address: BASE + offset, key: KEY }
}

fn work(wr_id: u64, operation: Operation, octets: u32) -> WorkRequest {
    WorkRequest { wr_id, operation, octets, dscp: 0 }
}

fn content(seed: u64, octets: u32) -> Vec<u8> {
    (0..octets).map(|index| u8::try_from((u64::from(index) * 31 + seed * 17 + 1) % 251).unwrap()).collect()
}

#[test]
fn every_verb_has_its_opcodes_and_headers() {
    let mut seen = Vec::new();
    let mut link = Link::new(&[config(256, Recovery::GoBackN)], 4096, |end, packet: &TxPacket| {
        let (headers, _) = Headers::decode(&packet.head).unwrap();
        let Headers { bth, reth, aeth, immediate, .. } = headers;
        let dma = reth.map(|reth| (reth.virtual_address - BASE, reth.dma_length));
        let acked = aeth.map(|aeth| aeth.msn);
        let immediate = immediate.map(|immediate| immediate.0);
        seen.push((end, bth.opcode, bth.psn.value(), packet.payload_octets, dma, acked, immediate));
        Fate::Deliver(0)
    });
    for wr_id in 0..3 {
        link.hosts[1].later.push_back((0x22, ReceiveRequest { wr_id, octets: 1000 }));
    }
    let a = &mut link.hosts[0];
    let send = |immediate| Operation::Send { immediate };
    let write = |immediate| Operation::Write { to: at(0), immediate };
    a.submit(0x11, work(0, send(None), 600), &content(0, 600), 0);
    a.submit(0x11, work(1, send(Some(5)), 10), &content(1, 10), 0);
    a.submit(0x11, work(2, write(Some(6)), 300), &content(2, 300), 0);
    a.submit(0x11, work(3, Operation::Read { from: at(100) }, 700), &[], 0);
    a.submit(0x11, work(4, Operation::Read { from: at(0) }, 0), &[], 0);
    assert!(link.run(1000));
    let [a, b] = &link.hosts;
    let requests: Vec<_> =
        seen.iter().filter(|seen| seen.0 == 0).map(|&(_, o, p, n, d, _, i)| (o, p, n, d, i)).collect();
    let expected = [
        (Opcode::SEND_FIRST, 0, 256, None, None),
        (Opcode::SEND_MIDDLE, 1, 256, None, None),
        (Opcode::SEND_LAST, 2, 88, None, None),
        (Opcode::SEND_ONLY_IMMEDIATE, 3, 10, None, Some(5)),
        (Opcode::WRITE_FIRST, 4, 256, Some((0, 300)), None),
        (Opcode::WRITE_LAST_IMMEDIATE, 5, 44, None, Some(6)),
        (Opcode::READ_REQUEST, 6, 0, Some((100, 700)), None),
        (Opcode::READ_REQUEST, 9, 0, Some((0, 0)), None),
    ];
    assert_eq!(requests, expected);
    let answers: Vec<_> =
        seen.iter().filter(|seen| seen.0 == 1).map(|&(_, o, p, n, _, m, _)| (o, p, n, m)).collect();
    let expected = [
        (Opcode::ACKNOWLEDGE, 2, 0, Some(1)),
        (Opcode::ACKNOWLEDGE, 3, 0, Some(2)),
        (Opcode::ACKNOWLEDGE, 5, 0, Some(3)),
        (Opcode::READ_RESPONSE_FIRST, 6, 256, Some(4)),
        (Opcode::READ_RESPONSE_MIDDLE, 7, 256, None),
        (Opcode::READ_RESPONSE_LAST, 8, 188, Some(4)),
        (Opcode::READ_RESPONSE_ONLY, 9, 0, Some(5)),
    ];
    assert_eq!(answers, expected);
    let done: Vec<_> = a.completions.iter().map(|done| (done.wr_id, done.status)).collect();
    assert_eq!(done, (0..5).map(|wr_id| (wr_id, WcStatus::Success)).collect::<Vec<_>>());
    let done: Vec<_> = b.receive_completions.iter().map(|d| (d.wr_id, d.octets, d.immediate)).collect();
    assert_eq!(done, [(0, 600, None), (1, 10, Some(5)), (2, 300, Some(6))]);
    assert_eq!(b.receives[&(0x22, 0)][..600], content(0, 600));
    assert_eq!(b.memory[..300], content(2, 300));
    assert_eq!(a.reads[&(0x11, 3)], b.memory[100..800]);
}

/// One packet of a message is lost, once. Gives what went again, and how many ticks it took.
fn after_losing(lost: &[u32], recovery: Recovery, operation: Operation, end: usize) -> (u64, u64) {
    let mut missing: Vec<u32> = lost.to_vec();
    let mut link = Link::new(&[config(256, recovery)], 40_000, move |from, packet: &TxPacket| {
        let (headers, _) = Headers::decode(&packet.head).unwrap();
        let found = missing.iter().position(|&psn| psn == headers.bth.psn.value());
        match found {
            Some(found) if from == end && packet.payload_octets > 0 => {
                missing.remove(found);
                Fate::Lose
            }
            _ => Fate::Deliver(0),
        }
    });
    link.hosts[1].memory = content(9, 40_000);
    link.hosts[1].later.push_back((0x22, ReceiveRequest { wr_id: 0, octets: 40_000 }));
    link.hosts[0].submit(0x11, work(0, operation, 25_600), &content(1, 25_600), 0);
    assert!(link.run(10_000));
    let [a, b] = &link.hosts;
    assert_eq!(a.completions[0].status, WcStatus::Success);
    let timeouts = (a.endpoint.stats().timeouts, b.endpoint.stats().timeouts);
    assert_eq!(timeouts, (0, 0), "{lost:?} {recovery:?} {operation:?} {:?}", a.endpoint.stats());
    match operation {
        Operation::Read { .. } => assert_eq!(a.reads[&(0x11, 0)], content(9, 25_600)),
        Operation::Write { .. } => assert_eq!(b.memory[..25_600], content(1, 25_600)),
        Operation::Send { .. } => assert_eq!(b.receives[&(0x22, 0)][..25_600], content(1, 25_600)),
    }
    let again = a.endpoint.stats().retransmitted_packets;
    let answers = b.endpoint.stats().read_response_packets;
    (if end == 0 { again } else { answers - 100 }, link.now / hosts::TICK)
}

#[test]
fn selective_repeat_sends_what_is_missing_and_go_back_n_everything_from_there() {
    let [go_back, selective] = MODES;
    let operations =
        [(Operation::Send { immediate: Some(1) }, 0), (Operation::Write { to: at(0), immediate: None }, 0)];
    for (operation, end) in operations {
        assert_eq!(after_losing(&[30], selective, operation, end).0, 1);
        assert_eq!(after_losing(&[30, 60], selective, operation, end).0, 2);
        // A round trip of 20 ticks is in flight.
        assert!((20..25).contains(&after_losing(&[30], go_back, operation, end).0));
        // Of a burst, the first is named; then two, four, eight go at a time.
        let burst: Vec<u32> = (30..45).collect();
        let (again, ticks) = after_losing(&burst, selective, operation, end);
        assert_eq!(again, 15);
        assert!(ticks < 100 + 20 + 5 * 22, "five round trips, not fifteen: {ticks}");
    }
    let read = Operation::Read { from: at(0) };
    assert_eq!(after_losing(&[30], selective, read, 1).0, 1);
    assert_eq!(after_losing(&[30, 31, 32, 60], selective, read, 1).0, 4, "the gap is known");
    assert!((20..25).contains(&after_losing(&[30], go_back, read, 1).0));
}

#[test]
fn a_receiver_that_is_not_ready_is_waited_for_and_not_for_ever() {
    for operation in [Operation::Send { immediate: None }, Operation::Write { to: at(0), immediate: Some(3) }]
    {
        for (limit, expected) in [(None, "IBV_WC_SUCCESS"), (Some(2), "IBV_WC_RNR_RETRY_EXC_ERR")] {
            let mut not_ready = Vec::new();
            let config = QpConfig { rnr_retry_limit: limit, ..config(256, Recovery::GoBackN) };
            let mut link = Link::new(&[config], 4096, |_, packet: &TxPacket| {
                let (headers, _) = Headers::decode(&packet.head).unwrap();
                if let Some(Syndrome::RnrNak { timer }) = headers.aeth.map(|aeth| aeth.syndrome) {
                    not_ready.push(timer);
                }
                Fate::Deliver(0)
            });
            link.hosts[0].submit(0x11, work(0, operation, 600), &content(1, 600), 0);
            let write = Operation::Write { to: at(0), immediate: None };
            link.hosts[0].submit(0x11, work(1, write, 1), &[1], 0);
            // 50 us; each wait is 10 us.
            link.run(500);
            assert!(link.hosts[0].completions.is_empty() || limit.is_some());
            link.hosts[1].later.push_back((0x22, ReceiveRequest { wr_id: 0, octets: 1000 }));
            assert!(link.run(10_000));
            let statuses: Vec<_> = link.hosts[0].completions.iter().map(|done| done.status.name()).collect();
            let after = if limit.is_some() { "IBV_WC_WR_FLUSH_ERR" } else { "IBV_WC_SUCCESS" };
            assert_eq!(statuses, [expected, after]);
            assert!(not_ready.len() >= 3 && not_ready.iter().all(|&timer| timer == 1), "{not_ready:?}");
        }
    }
}

#[test]
fn a_message_longer_than_its_receive_ends_both_sides() {
    let mut link = Link::new(&[config(256, Recovery::GoBackN)], 4096, lossless);
    for wr_id in 0..2 {
        link.hosts[1].later.push_back((0x22, ReceiveRequest { wr_id, octets: 599 }));
    }
    for wr_id in 0..2 {
        let send = Operation::Send { immediate: None };
        link.hosts[0].submit(0x11, work(wr_id, send, 600), &content(1, 600), 0);
    }
    assert!(link.run(1000));
    let [a, b] = &link.hosts;
    let sent: Vec<_> = a.completions.iter().map(|done| done.status.name()).collect();
    assert_eq!(sent, ["IBV_WC_REM_INV_REQ_ERR", "IBV_WC_WR_FLUSH_ERR"]);
    let received: Vec<_> =
        b.receive_completions.iter().map(|done| (done.wr_id, done.status.name())).collect();
    assert_eq!(received, [(0, "IBV_WC_LOC_LEN_ERR"), (1, "IBV_WC_WR_FLUSH_ERR")]);
}

/// As with ibverbs: whichever half fails, everything posted on the queue pair ends.
#[test]
fn a_queue_pair_fails_as_a_whole() {
    let send = Operation::Send { immediate: None };
    let write = Operation::Write { to: RemoteMemory { address: BASE, key: KEY + 1 }, immediate: None };
    // What B answers is lost: A's requests fail at B for its memory, or at A for want of answers.
    for (lost, ends_b) in [(false, true), (true, false)] {
        let config =
            QpConfig { retry_limit: Some(2), rnr_retry_limit: None, ..config(256, Recovery::GoBackN) };
        let fate = move |_, _: &TxPacket| if lost { Fate::Lose } else { Fate::Deliver(0) };
        let mut link = Link::new(&[config], 4096, fate);
        for (end, qp) in [(0, 0x11), (1, 0x22)] {
            for wr_id in 0..2 {
                let receive = ReceiveRequest { wr_id, octets: 1000 };
                link.hosts[end].endpoint.post_receive(qp, receive).unwrap();
            }
        }
        link.hosts[0].submit(0x11, work(0, write, 600), &content(1, 600), 0);
        // It waits for a receive of A's longer than all this takes: both are used by what comes before.
        for wr_id in 0..3 {
            link.hosts[1].submit(0x22, work(wr_id, send, 0), &[], 0);
        }
        assert!(link.run(10_000), "nothing goes on for ever");
        let flushed = "IBV_WC_WR_FLUSH_ERR";
        let failed = if lost { "IBV_WC_RETRY_EXC_ERR" } else { "IBV_WC_REM_ACCESS_ERR" };
        let [a, b] = &link.hosts;
        assert_eq!(a.completions.iter().map(|done| done.status.name()).collect::<Vec<_>>(), [failed]);
        assert_eq!((a.receive_completions.len(), b.receive_completions.len()), (2, 2));
        assert_eq!(b.completions.len(), 3);
        let last = b.completions.last().map(|done| done.status.name());
        assert_eq!(last, Some(flushed), "{:?}", b.completions);
        if ends_b {
            assert!(b.receive_completions.iter().all(|done| done.status.name() == flushed));
        }
        for (host, qp) in [(0, 0x11), (1, 0x22)] {
            let endpoint = &mut link.hosts[host].endpoint;
            endpoint.submit(qp, work(9, send, 1), Nanos(link.now)).unwrap();
            assert_eq!(endpoint.poll_completion().map(|done| done.status.name()), Some(flushed));
            endpoint.post_receive(qp, ReceiveRequest { wr_id: 9, octets: 1 }).unwrap();
            assert_eq!(endpoint.poll_receive_completion().map(|done| done.status.name()), Some(flushed));
        }
    }
}

/// A responder that failed says so once, and is silent like one in ibverbs' error state: the retries end it.
#[test]
fn a_lost_refusal_ends_the_requester_by_its_retries() {
    let default = QpConfig::new(0x11, 0x22, B);
    assert_eq!((default.retry_limit, default.rnr_retry_limit), (Some(7), None), "as ibverbs' 7 and 7");
    let config = QpConfig { retry_limit: default.retry_limit, ..config(256, Recovery::GoBackN) };
    let mut link = Link::new(&[config], 4096, |_, packet: &TxPacket| {
        let (headers, _) = Headers::decode(&packet.head).unwrap();
        let refusal = headers.aeth.is_some_and(|aeth| matches!(aeth.syndrome, Syndrome::Nak(_)));
        if refusal { Fate::Lose } else { Fate::Deliver(0) }
    });
    let write = Operation::Write { to: RemoteMemory { address: BASE, key: KEY + 1 }, immediate: None };
    link.hosts[0].submit(0x11, work(0, write, 1), &[1], 0);
    assert!(link.run(10_000));
    let [a, b] = &link.hosts;
    assert_eq!(a.completions[0].status.name(), "IBV_WC_RETRY_EXC_ERR");
    assert_eq!((a.endpoint.stats().timeouts, b.endpoint.stats().naks_sent), (8, 1));
}

#[test]
fn memory_is_accessed_only_where_it_may_be() {
    let cases = [
        (at(0), 4096, true),
        (at(1), 4096, false),
        (at(4096), 1, false),
        (at(4096), 0, true),
        (RemoteMemory { address: BASE - 1, key: KEY }, 2, false),
        (RemoteMemory { address: u64::MAX, key: KEY }, 2, false),
        (RemoteMemory { address: BASE, key: KEY + 1 }, 1, false),
        (RemoteMemory { address: 0, key: KEY + 1 }, 0, true),
    ];
    for (memory, octets, allowed) in cases {
        for operation in [Operation::Write { to: memory, immediate: None }, Operation::Read { from: memory }]
        {
            let mut link = Link::new(&[config(1024, Recovery::GoBackN)], 4096, lossless);
            link.hosts[0].submit(0x11, work(0, operation, octets), &content(0, octets), 0);
            assert!(link.run(1000));
            let expected = if allowed { "IBV_WC_SUCCESS" } else { "IBV_WC_REM_ACCESS_ERR" };
            assert_eq!(link.hosts[0].completions[0].status.name(), expected, "{operation:?} {octets}");
        }
    }
}

/// The transport passes over an extension, and tells of it whatever it is: who records signals counts those that are none.
#[test]
fn extensions_are_told_of_as_they_came() {
    let ours = RateSignal { extension_type: 0xe5, rate: MbitPerSec(0) };
    for (rate_signal, octet, value) in
        [(Some(ours), 11, 0), (Some(ours), 0, 0xe6), (Some(ours), 9, 2), (None, 11, 0)]
    {
        let mut sender = Endpoint::new();
        let signalling = QpConfig { rate_signal: Some(ours), ..config(256, Recovery::GoBackN) };
        sender.create_qp(signalling).unwrap();
        sender.post(0x11, 1, 100, 0, Nanos(0)).unwrap();
        let mut packet = sender.poll_transmit(Nanos(0)).unwrap();
        // Within the extension; 11 is behind it.
        if octet < 10 {
            packet.head[BTH_OCTETS + octet] = value;
        }
        let mut receiver = Endpoint::new();
        let config = QpConfig { rate_signal, ..QpConfig::new(0x22, 0x11, hosts::A) };
        receiver.create_qp(QpConfig { mtu: 256, ..config }).unwrap();
        let octets = packet.udp_payload_octets();
        receiver.handle_packet(hosts::A, &packet.head, octets, false, Nanos(0)).unwrap();
        let received = receiver.poll_receive().unwrap();
        assert_eq!(received.octets, 100);
        match (rate_signal, octet) {
            (None, _) => assert_eq!(received.rate_signal, None),
            (_, 9) => {
                let unreadable = received.rate_signal.unwrap().unwrap_err();
                let error = DecodeError::UnknownVersion { offset: 6, version: 2 };
                assert_eq!(unreadable, Unreadable { extension_type: 0xe5, length: 10, error });
            }
            (_, 0) => {
                let foreign = RateSignal { extension_type: 0xe6, ..ours };
                assert_eq!(received.rate_signal, Some(Ok(foreign)));
            }
            _ => assert_eq!(received.rate_signal, Some(Ok(ours))),
        }
    }
}

#[test]
fn reads_outstanding_keep_the_agreed_depth() {
    for depth in [1, 2, 16] {
        let (mut outstanding, mut most) = (0i32, 0);
        let config = QpConfig { read_depth: depth, ..config(256, Recovery::GoBackN) };
        let mut link = Link::new(&[config], 4096, |_, packet: &TxPacket| {
            let (headers, _) = Headers::decode(&packet.head).unwrap();
            match headers.bth.opcode {
                Opcode::READ_REQUEST => outstanding += 1,
                Opcode::READ_RESPONSE_LAST | Opcode::READ_RESPONSE_ONLY => outstanding -= 1,
                _ => {}
            }
            most = most.max(outstanding);
            Fate::Deliver(0)
        });
        for wr_id in 0..40 {
            link.hosts[0].submit(0x11, work(wr_id, Operation::Read { from: at(0) }, 4000), &[], 0);
        }
        assert!(link.run(10_000));
        assert_eq!((link.hosts[0].completions.len(), most), (40, i32::from(depth)));
    }
}

/// (verb, octets)
fn message() -> impl Strategy<Value = (u8, u32)> {
    (0u8..5, prop_oneof![0u32..700, 0u32..9000])
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..ProptestConfig::with_cases(200) })]
    #[test]
    fn what_is_posted_arrives_once_in_order_where_it_belongs(
        posts in prop::collection::vec((0usize..2, 0u32..2, message()), 1..30),
        fates in prop::collection::vec(0u8..100, 1..200),
        (loss, repeats, late, by) in (0u8..25, 0u8..15, 0u8..25, 1u64..40),
        mtu in prop::sample::select(vec![256u16, 512, 1024, 2048, 4096]),
        modes in (0usize..2, 0usize..2),
        first_psn in prop_oneof![any::<u32>(), 0x00ff_ff00u32..0x0100_0000],
        window in prop::option::of(1u32..64),
        read_depth in 1u8..4,
        receive_every in 1u64..400,
    ) {
        let configs: Vec<_> = (0..2u32).map(|number| QpConfig {
            local_qp: number,
            remote_qp: 0x100 + number,
            first_psn: Psn::new(first_psn),
            first_remote_psn: Psn::new(first_psn.wrapping_mul(3)),
            window_packets: window,
            read_depth,
            ..config(mtu, MODES[[modes.0, modes.1][number as usize]])
        }).collect();
        let mut count = 0;
        let slot = 9000;
        let mut link = Link::new(&configs, posts.len() * slot + slot, |_, _: &TxPacket| {
            count += 1;
            let fate = fates[count * 7919 % fates.len()];
            if count > 3000 || fate >= loss + repeats + late {
                Fate::Deliver(0)
            } else if fate < loss {
                Fate::Lose
            } else if fate < loss + repeats {
                Fate::Repeat(by)
            } else {
                Fate::Deliver(by)
            }
        });
        link.receive_every = receive_every;
        // The last slot is read, the others are written to.
        let readable = posts.len() * slot;
        for host in &mut link.hosts {
            host.memory[readable..].copy_from_slice(&content(99, 9000));
        }
        let mut immediates = [Vec::new(), Vec::new()];
        for (index, &(end, qp, (verb, octets))) in posts.iter().enumerate() {
            let id = index as u64;
            let to = at((index * slot) as u64);
            let immediate = Some(u32::try_from(index).unwrap());
            let operation = match verb {
                0 => Operation::Send { immediate: None },
                1 => Operation::Send { immediate },
                2 => Operation::Write { to, immediate: None },
                3 => Operation::Write { to, immediate },
                _ => Operation::Read { from: at(readable as u64) },
            };
            let number = qp + 0x100 * u32::try_from(end).unwrap();
            link.hosts[end].submit(number, work(id, operation, octets), &content(id, octets), 0);
            if matches!(verb, 0 | 1 | 3) {
                let other = qp + 0x100 * u32::try_from(1 - end).unwrap();
                link.hosts[1 - end].later.push_back((other, ReceiveRequest { wr_id: id, octets: 9000 }));
                immediates[1 - end].push((other, id, octets, immediate.filter(|_| verb != 0)));
            }
        }
        prop_assert!(link.run(2_000_000), "came to rest");
        for (end, (host, immediates)) in link.hosts.iter().zip(&immediates).enumerate() {
            for qp in 0..2u32 {
                let number = qp + 0x100 * u32::try_from(end).unwrap();
                let posted: Vec<_> = posts.iter().enumerate()
                    .filter(|(_, post)| post.0 == end && post.1 == qp)
                    .map(|(id, post)| (id as u64, post.2.1, WcStatus::Success)).collect();
                let completed: Vec<_> = host.completions.iter().filter(|done| done.qp == number)
                    .map(|done| (done.wr_id, done.octets, done.status)).collect();
                prop_assert_eq!(completed, posted);
                let expected: Vec<_> =
                    immediates.iter().filter(|(other, ..)| *other == number).copied().collect();
                let received: Vec<_> = host.receive_completions.iter().filter(|done| done.qp == number)
                    .map(|done| (done.qp, done.wr_id, done.octets, done.immediate)).collect();
                prop_assert_eq!(received, expected);
            }
        }
        for (index, &(end, qp, (verb, octets))) in posts.iter().enumerate() {
            let (id, octets_len) = (index as u64, octets as usize);
            let [here, there] = [end, 1 - end].map(|end| u32::try_from(end).unwrap() * 0x100 + qp);
            let expected = content(id, octets);
            match verb {
                0 | 1 => prop_assert_eq!(&link.hosts[1 - end].receives[&(there, id)][..octets_len], expected),
                2 | 3 => {
                    let memory = &link.hosts[1 - end].memory[index * slot..];
                    prop_assert_eq!(&memory[..octets_len], expected);
                }
                _ => prop_assert_eq!(&link.hosts[end].reads[&(here, id)], &content(99, octets)),
            }
        }
    }
}
