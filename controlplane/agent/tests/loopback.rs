//! Agents on real sockets of the loopback interface, whose addresses stand for hosts.

#![allow(clippy::unwrap_used, reason = "tests")]

mod domain;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::rc::Rc;
use std::time::Duration;

use agent::rdcc::settings::Carrier;
use agent::rdcc::{Event, Given, Role, Settings, Summary, Workload};
use agent::socket::{Buffers, Socket};
use controller::topology::Topology;
use domain::{Events, PORT, address, agent, in_a_runtime, report, send, settings, workload};
use tokio::sync::oneshot;
use wire::rdcc::Direction;
use wire::units::{MbitPerSec, Octets};

/// Senders to one receiver, which ends after them; the receiver's figures are the last.
async fn incast(
    test: u8,
    carrier: Carrier,
    senders: u8,
    load: &[(u64, bool)],
    change: fn(&mut Given),
) -> Vec<Summary> {
    let receiver = address(test, 1);
    let (stop, stopped) = oneshot::channel();
    let receiving = agent(
        settings(receiver, carrier, change),
        Role::Receiver,
        Workload::default(),
        Events::default(),
        stopped,
    );
    let sending = async {
        let mut running = Vec::new();
        let local = tokio::task::LocalSet::new();
        for n in 2..2 + senders {
            let load = workload(&[receiver], load, 2);
            let settings = settings(address(test, n), carrier, |_| {});
            running.push(local.spawn_local(async move {
                let (_never, stop) = oneshot::channel();
                agent(settings, Role::Sender, load, Events::default(), stop).await
            }));
        }
        let mut summaries = Vec::new();
        local
            .run_until(async {
                for sender in running {
                    summaries.push(sender.await.unwrap());
                }
            })
            .await;
        stop.send(()).unwrap();
        summaries
    };
    let (last, mut summaries) = tokio::join!(receiving, sending);
    summaries.push(last);
    summaries
}

fn check_incast(summaries: &[Summary], senders: u64, load: &[(u64, bool)]) {
    let (receiver, sending) = summaries.split_last().unwrap();
    let octets = 2 * load.iter().map(|&(octets, _)| octets).sum::<u64>();
    for summary in sending {
        let messages = summary.messages.unwrap();
        assert_eq!((messages.done, messages.aborted), (2 * load.len() as u64, 0), "{summary:#?}");
        assert_eq!(messages.octets, octets);
        let counters = summary.sender.as_ref().unwrap();
        assert_eq!(counters.get("invariant_violations"), Some(0));
        let sent = ["scheduled_octets", "unscheduled_octets"].map(|name| counters.get(name).unwrap());
        assert_eq!(sent.iter().sum::<u64>(), octets);
        assert!(load.iter().all(|&(_, unscheduled)| !unscheduled) || sent[1] > 0, "{summary:#?}");
        assert_eq!(summary.datagrams.get("refused"), Some(0));
    }
    let counters = receiver.receiver.as_ref().unwrap();
    let wanted = [("invariant_violations", 0), ("excess_octets", 0), ("outstanding", 0)];
    for (name, value) in wanted {
        assert_eq!(counters.get(name), Some(value), "{name}: {receiver:#?}");
    }
    assert_eq!(counters.get("messages_completed"), Some(senders * 2 * load.len() as u64));
    assert!(counters.get("outstanding_peak") <= counters.get("budget"));
    assert_eq!(receiver.transport.get("received_octets"), Some(senders * octets));
    assert_eq!(receiver.transport.get("refused_packets"), Some(0), "{receiver:#?}");
}

const LOAD: [(u64, bool); 3] = [(300_000, false), (5_000, true), (70_001, false)];

/// Binding Kind 1, with the ICRC of every packet checked.
#[test]
fn an_incast_over_rocev2() {
    in_a_runtime(async {
        check_incast(&incast(1, Carrier::RoceV2, 3, &LOAD, |_| {}).await, 3, &LOAD);
    });
}

#[test]
fn an_incast_over_the_opaque_transport() {
    in_a_runtime(async {
        check_incast(&incast(2, Carrier::Opaque { port: 52_200 }, 3, &LOAD, |_| {}).await, 3, &LOAD);
    });
}

#[test]
fn an_incast_with_pool_grants() {
    in_a_runtime(async {
        let load = [(150_000, false), (90_000, false)];
        let summaries = incast(3, Carrier::RoceV2, 2, &load, |given| given.pool_grants = true).await;
        check_incast(&summaries, 2, &load);
        assert!(summaries.last().unwrap().receiver.as_ref().unwrap().get("pool_grants") > Some(0));
    });
}

/// Two hosts that send to each other: both machines share one port.
#[test]
fn both_ways_at_once() {
    in_a_runtime(async {
        let hosts = [address(4, 1), address(4, 2)];
        let run = |n: usize| {
            let (stop, stopped) = oneshot::channel();
            let settings = settings(hosts[n], Carrier::RoceV2, |_| {});
            let load = workload(&[hosts[1 - n]], &[(200_000, false)], 2);
            let events = Events::default();
            let ended = Rc::clone(&events);
            let running = agent(settings, Role::Both, load, events, stopped);
            (stop, ended, running)
        };
        let (first, second) = (run(0), run(1));
        let both_done = async {
            let done = |events: &Events| {
                let events = events.borrow();
                // Two messages sent, two received.
                events.iter().filter(|event| matches!(event, Event::MessageDone { .. })).count() >= 4
            };
            while !(done(&first.1) && done(&second.1)) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            first.0.send(()).unwrap();
            second.0.send(()).unwrap();
        };
        let (one, other, ()) = tokio::join!(first.2, second.2, both_done);
        for summary in [one, other] {
            assert_eq!(summary.messages.unwrap().done, 2);
            assert_eq!(summary.receiver.unwrap().get("messages_completed"), Some(2));
        }
    });
}

/// A sender that starts again, under the same address, begins with new queue pairs; so does the receiver's side.
#[test]
fn a_sender_comes_back() {
    in_a_runtime(async {
        let hosts = [address(5, 1), address(5, 2)];
        let (stop, stopped) = oneshot::channel();
        let receiver = settings(hosts[0], Carrier::RoceV2, |_| {});
        let receiving = agent(receiver, Role::Receiver, Workload::default(), Events::default(), stopped);
        let sending = async {
            for _ in 0..2 {
                let (_never, stop) = oneshot::channel();
                let settings = settings(hosts[1], Carrier::RoceV2, |_| {});
                let load = workload(&hosts[..1], &[(100_000, false), (3000, true)], 1);
                let summary = agent(settings, Role::Sender, load, Events::default(), stop).await;
                assert_eq!(summary.messages.unwrap().done, 2);
            }
            stop.send(()).unwrap();
        };
        let (summary, ()) = tokio::join!(receiving, sending);
        assert_eq!(summary.receiver.unwrap().get("messages_completed"), Some(4));
    });
}

/// A receiver that starts again knows no associations: its senders associate again, and their messages start over.
#[test]
fn a_receiver_comes_back() {
    in_a_runtime(async {
        let hosts = [address(6, 1), address(6, 2)];
        let receive = |stop| {
            let settings = settings(hosts[0], Carrier::RoceV2, |_| {});
            agent(settings, Role::Receiver, Workload::default(), Events::default(), stop)
        };
        let events = Events::default();
        let (_never, stop) = oneshot::channel();
        let load = workload(&hosts[..1], &[(3_000_000, false), (20_000, false)], 1);
        let sender = settings(hosts[1], Carrier::RoceV2, |_| {});
        let sending = agent(sender, Role::Sender, load, Rc::clone(&events), stop);
        let receiving = async {
            let (stop, stopped) = oneshot::channel();
            let until_granted = async {
                while !events.borrow().iter().any(|event| matches!(event, Event::Grant { .. })) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                stop.send(()).unwrap();
            };
            tokio::join!(receive(stopped), until_granted);
            let (stop, stopped) = oneshot::channel();
            let until_done = async {
                let is_done = |event: &Event| matches!(event, Event::BatchDone { .. });
                while !events.borrow().iter().any(is_done) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                stop.send(()).unwrap();
            };
            tokio::join!(receive(stopped), until_done).0
        };
        let (sent, received) = tokio::join!(sending, receiving);
        assert_eq!(sent.messages.unwrap().done, 2, "{sent:#?}");
        assert_eq!(received.receiver.unwrap().get("messages_completed"), Some(2));
        assert!(events.borrow().iter().any(|event| matches!(event, Event::AssociationLost { .. })));
    });
}

/// RDCC, Association Establishment: eight attempts, then the messages are the application's again.
#[test]
fn nobody_answers() {
    in_a_runtime(async {
        let events = Events::default();
        let (_never, stop) = oneshot::channel();
        let load = workload(&[address(7, 1)], &[(1000, false)], 1);
        let sender = settings(address(7, 2), Carrier::RoceV2, |_| {});
        let summary = agent(sender, Role::Sender, load, Rc::clone(&events), stop).await;
        let messages = summary.messages.unwrap();
        assert_eq!((messages.done, messages.aborted, messages.without_rdcc), (0, 1, 1));
        let failed = |event: &Event| matches!(event, Event::AssociationFailed { refused: false, .. });
        assert!(events.borrow().iter().any(failed));
    });
}

/// A congestion report from a configured node lowers the rate of the flow that it names; from another it doesn't.
#[test]
fn a_report_lowers_the_grants() {
    in_a_runtime(async {
        let (receiver, sender, node) = (address(8, 1), address(8, 2), address(8, 250));
        let told = Events::default();
        let (stop, stopped) = oneshot::channel();
        let with_node = settings(receiver, Carrier::RoceV2, |given| given.crn_addresses = vec![node]);
        let receiving = agent(with_node, Role::Receiver, Workload::default(), Rc::clone(&told), stopped);
        let sending = async {
            let (_never, stop) = oneshot::channel();
            let load = workload(&[receiver], &[(4_000_000, false)], 1);
            let settings = settings(sender, Carrier::RoceV2, |_| {});
            agent(settings, Role::Sender, load, Events::default(), stop).await
        };
        let reporting = async {
            let rates = || -> Vec<u32> {
                let rate = |event: &Event| match event {
                    Event::Grant { rate, .. } => Some(*rate),
                    _ => None,
                };
                told.borrow().iter().filter_map(rate).collect()
            };
            while rates().len() < 3 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let before = *rates().last().unwrap();
            for from in [address(8, 251), node] {
                send(from, (receiver, PORT), &report(Direction::TO_RECEIVER, sender, receiver, 0)).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            while !told.borrow().iter().any(|event| matches!(event, Event::Report { heard: true, .. })) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let after = *rates().last().unwrap();
            assert!(after <= before / 2 + 1, "{before} {after}");
            let ignored = |event: &Event| matches!(event, Event::Report { heard: false, .. });
            assert_eq!(told.borrow().iter().filter(|event| ignored(event)).count(), 1);
        };
        let both = async {
            let (summary, ()) = tokio::join!(sending, reporting);
            stop.send(()).unwrap();
            summary
        };
        let (received, sent) = tokio::join!(receiving, both);
        assert_eq!(sent.messages.unwrap().done, 1);
        let counters = received.receiver.unwrap();
        assert_eq!((counters.get("reports_heard"), counters.get("reports_ignored")), (Some(1), Some(1)));
    });
}

//~ RDCC, Operational Considerations: ed7a99d6
/// Control datagrams carry the control codepoint, so that they are not delayed behind the data that they schedule.
#[test]
fn control_datagrams_are_marked() {
    in_a_runtime(async {
        let hosts = [address(9, 1), address(9, 2)];
        let played = Socket::bind(SocketAddrV4::new(hosts[0], PORT)).unwrap();
        let (_never, stop) = oneshot::channel();
        let load = workload(&hosts[..1], &[(1000, false)], 1);
        let sender = settings(hosts[1], Carrier::RoceV2, |_| {});
        let sending = agent(sender, Role::Sender, load, Events::default(), stop);
        let seen = async {
            let mut buffers = Buffers::default();
            let mut marks = Vec::new();
            while marks.is_empty() {
                std::future::poll_fn(|context| played.poll_readable(context)).await;
                buffers.receive(0, &played, |arrived, _| marks.push((arrived.tos, arrived.from))).unwrap();
            }
            marks
        };
        let (_, marks) = tokio::join!(sending, seen);
        assert_eq!(marks[0], (48 << 2, SocketAddrV4::new(hosts[1], PORT).into()));
    });
}

/// Parameters follow the topology; given one of those that they depend on, the document's guidance.
#[test]
fn settings_come_from_the_topology_and_from_values() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies/incast-8to1.yaml");
    let topology: Topology = controller::topology::load(&path).unwrap();
    let given = Given::default();
    let of = |given: &Given| Settings::new(Some((&topology, "r")), given, Carrier::RoceV2).unwrap();
    let file = of(&given);
    assert_eq!((file.address, file.rdcc_port), (Ipv4Addr::new(10, 0, 0, 9), 52_100));
    assert_eq!((file.receiver.budget, file.receiver.unscheduled_limit), (Octets(200_000), Octets(6250)));
    assert_eq!(file.receiver.crn_addresses, [std::net::IpAddr::from([10, 255, 0, 1])]);
    assert_eq!((file.dscp.scheduled[3], file.dscp.unscheduled, file.dscp.control), (26, 28, 48));
    let slower = of(&Given { link_rate: Some(MbitPerSec(1000)), ..given.clone() });
    assert_eq!(slower.receiver.budget, Octets(2 * 1000 * 8 / 8));
    let smaller = of(&Given { budget: Some(Octets(40_000)), ..given.clone() });
    assert_eq!(
        (smaller.receiver.budget, smaller.receiver.unscheduled_budget),
        (Octets(40_000), Octets(10_000))
    );
    let unknown = Settings::new(Some((&topology, "nobody")), &given, Carrier::RoceV2).unwrap_err();
    assert!(unknown.to_string().contains("a1, a2"), "{unknown}");
    let nothing = Settings::new(None, &given, Carrier::RoceV2).unwrap_err();
    assert!(nothing.to_string().contains("--address"), "{nothing}");
}
