//! Byte-window admission in front of an agent's posts, driven by real datagrams.

#![allow(clippy::unwrap_used, reason = "tests")]

mod domain;

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::rc::Rc;
use std::time::Duration;

use admission::{Config, Mode};
use agent::rdcc::settings::Carrier;
use agent::rdcc::{Event, Given, Role, Settings, Summary, Workload};
use agent::sealed::Seal;
use agent::socket::Socket;
use domain::{Events, PORT, address, agent, in_a_runtime, report, send, settings, workload};
use roce::{PacketHead, TxContent, TxPacket};
use tokio::sync::oneshot;
use wire::crem::{Cause, HopEntry, Method, PathReport};
use wire::rdcc::{Direction, FlowAddresses};
use wire::roce::{Bth, Opcode, Psn, UDP_PORT};
use wire::scone::RateAdvice;
use wire::units::{MbitPerSec, Nanos, Octets};

const CREM: u16 = 52_101;
const SCONE: u16 = 52_102;

fn enforce() -> Config {
    Config { mode: Mode::Enforce, ..Config::default() }
}

/// What happens beside a transfer: until `done` is seen, then the receiver ends.
async fn transfer(
    test: u8,
    octets: u64,
    change: impl Fn(&mut Given),
    beside: impl AsyncFnOnce(&Events),
) -> (Summary, Summary, Events) {
    let (receiver, sender) = (address(test, 1), address(test, 2));
    let (stop, stopped) = oneshot::channel();
    let receiving = Box::pin(agent(
        settings(receiver, Carrier::RoceV2, |given| {
            change(given);
            given.admission = None;
        }),
        Role::Receiver,
        Workload::default(),
        Events::default(),
        stopped,
    ));
    let events = Events::default();
    let sending = async {
        let (_never, stop) = oneshot::channel();
        let load = workload(&[receiver], &[(octets, false)], 1);
        let settings = settings(sender, Carrier::RoceV2, &change);
        Box::pin(agent(settings, Role::Sender, load, Rc::clone(&events), stop)).await
    };
    let both = async {
        let (summary, ()) = tokio::join!(sending, beside(&events));
        stop.send(()).unwrap();
        summary
    };
    let (received, sent) = tokio::join!(receiving, both);
    assert_eq!(sent.messages.unwrap().done, 1, "{sent:#?}");
    assert_eq!(received.receiver.as_ref().unwrap().get("excess_octets"), Some(0));
    (sent, received, events)
}

async fn until(events: &Events, wanted: impl Fn(&Event) -> bool) {
    while !events.borrow().iter().any(&wanted) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn granted(event: &Event) -> bool {
    matches!(event, Event::Grant { .. })
}

fn path_report(source: Ipv4Addr, destination: Ipv4Addr, cause: Cause) -> Vec<u8> {
    let entry = HopEntry { node_id: 1, period: 0, lost: 1, delay_change: 0, cause, psns: Vec::new() };
    let flow = FlowAddresses::V4 { source, destination };
    let report = PathReport { method: Method(3), flow, flow_label: 0x11, entries: vec![entry] };
    let header = wire::crem::Header { flags: wire::crem::Flags::NONE, flow_id: wire::crem::FlowId(0) };
    wire::crem::Message::PathReport(report).to_octets(&header)
}

fn heard(sent: &Summary, name: &str) -> u64 {
    sent.admission.as_ref().unwrap().counters.get(name).unwrap()
}

/// Reports of a switch of the domain count, each at its port; those of others, and about others, are counted and change nothing.
#[test]
fn reports_of_the_domains_switches_move_windows() {
    in_a_runtime(async {
        let test = 20;
        let (receiver, sender, node, stranger) =
            (address(test, 1), address(test, 2), address(test, 250), address(test, 251));
        let change = |given: &mut Given| {
            given.admission = Some(enforce());
            (given.crem_port, given.scone_port) = (Some(CREM), Some(SCONE));
            given.crn_addresses = vec![node];
        };
        let (sent, _, events) = transfer(test, 6_000_000, change, async |events| {
            until(events, granted).await;
            let advice = RateAdvice { rate: MbitPerSec(100), source: sender.into() }.to_octets();
            for from in [stranger, node] {
                let about = report(Direction::TO_SENDER, sender, receiver, 200);
                send(from, (sender, PORT), &about).await;
                send(from, (sender, SCONE), &advice).await;
                send(from, (sender, CREM), &path_report(sender, receiver, Cause::CONGESTION)).await;
                // Neither says anything of congestion.
                send(from, (sender, CREM), &path_report(sender, receiver, Cause(2))).await;
                send(from, (sender, SCONE), &[0; 3]).await;
            }
            // About a host that nothing is sent to.
            let other = report(Direction::TO_SENDER, sender, address(test, 9), 200);
            send(node, (sender, PORT), &other).await;
        })
        .await;
        let counts = ["congestion_reports", "rate_advice", "path_reports", "cnps", "ignored"];
        assert_eq!(counts.map(|name| heard(&sent, name)), [1, 1, 1, 0, 4], "{sent:#?}");
        let view = sent.admission.unwrap();
        assert_eq!(view.mode, "enforce");
        let device = view.device.unwrap();
        assert_eq!((view.routes.len(), view.routes[0].peer), (1, Some(receiver.into())));
        for domain in [&device, &view.routes[0]] {
            assert_eq!((domain.in_flight, domain.completed), (0, 6_000_000), "{domain:#?}");
        }
        assert_eq!(view.tasks, [], "every message is over");
        let saw = |event: &Event| matches!(event, Event::TaskState(task) if task.state == "NORMAL" && task.resolved);
        assert!(events.borrow().iter().any(saw), "{:#?}", events.borrow());
    });
}

/// A CNP for a queue pair of ours, with DCQCN on; one whose ICRC is wrong is none.
#[test]
fn cnps_move_windows() {
    in_a_runtime(async {
        let test = 21;
        let (receiver, sender) = (address(test, 1), address(test, 2));
        let change = |given: &mut Given| {
            given.admission = Some(enforce());
            given.dcqcn = true;
        };
        let (sent, _, _) = transfer(test, 4_000_000, change, async |events| {
            until(events, granted).await;
            let socket = Socket::bind(SocketAddrV4::new(receiver, 0)).unwrap();
            let SocketAddr::V4(from) = socket.local() else { panic!("IPv4") };
            // Of scheduled data to the receiver.
            let qp = (u32::from(receiver) & 0x003f_ffff) << 2;
            let bth = Bth { becn: true, ..Bth::new(Opcode::CNP, qp, Psn::new(0)) };
            let packet = TxPacket {
                qp: 0,
                destination: sender.into(),
                source_port: from.port(),
                dscp: 0,
                head: PacketHead::cnp(&bth),
                payload_octets: 0,
                content: TxContent::Cnp,
            };
            let to = SocketAddrV4::new(sender, UDP_PORT);
            let mut octets = Vec::new();
            Seal::default().write((from, to), &packet, |_| {}, &mut octets);
            let plain = std::net::UdpSocket::bind((receiver, 0)).unwrap();
            plain.send_to(&octets, to).unwrap();
            drop(socket);
            let from = std::net::UdpSocket::bind(from).unwrap();
            from.send_to(&octets, to).unwrap();
        })
        .await;
        assert_eq!(heard(&sent, "cnps"), 1, "{sent:#?}");
        assert_eq!(sent.transport.get("cnps_received"), Some(1));
        assert_eq!(sent.transport.get("refused_packets"), Some(1), "another port, so another ICRC");
    });
}

/// A report to the receiver makes it lower its grants, and that presses on the sender's route; the device is spared.
#[test]
fn lower_grants_move_the_routes_window_only() {
    in_a_runtime(async {
        let test = 22;
        let (receiver, sender, node) = (address(test, 1), address(test, 2), address(test, 250));
        let change = |given: &mut Given| {
            given.admission = Some(enforce());
            given.crn_addresses = vec![node];
        };
        let (sent, received, _) = transfer(test, 6_000_000, change, async |events| {
            until(events, granted).await;
            for _ in 0..3 {
                send(node, (receiver, PORT), &report(Direction::TO_RECEIVER, sender, receiver, 0)).await;
                tokio::time::sleep(Duration::from_millis(40)).await;
            }
        })
        .await;
        assert!(received.receiver.unwrap().get("reports_heard") > Some(0));
        assert!(heard(&sent, "lower_grants") > 0, "{sent:#?}");
    });
}

/// A window of two slices: the rest waits, every octet arrives all the same, and the message's task can say why.
#[test]
fn slices_beyond_the_window_wait_in_order() {
    in_a_runtime(async {
        let small = Config {
            min_window: Octets(8192),
            max_window: Octets(8192),
            probe_window: Some(Octets(4096)),
            ..enforce()
        };
        // A link so fast that pacing never spreads the slices: only the window does.
        let change = |given: &mut Given| {
            given.admission = Some(small);
            given.link_rate = Some(MbitPerSec(100_000));
        };
        let (sent, received, events) = transfer(23, 1_000_001, change, async |_| {}).await;
        let view = sent.admission.as_ref().unwrap();
        assert!(view.routes[0].deferred > 0, "{view:#?}");
        assert_eq!((view.routes[0].window, view.routes[0].completed), (8192, 1_000_001));
        assert_eq!(received.transport.get("received_octets"), Some(1_000_001));
        let saw = |event: &Event| match event {
            Event::TaskState(task) => task.reason == Some("BYTE_WINDOW") && task.window == Some(8192),
            _ => false,
        };
        assert!(events.borrow().iter().any(saw), "{:#?}", events.borrow());
    });
}

/// Observe computes the same and holds nothing back; off there is no admission at all.
#[test]
fn observe_holds_nothing_back_and_off_is_none() {
    in_a_runtime(async {
        let small = Config {
            mode: Mode::Observe,
            min_window: Octets(4096),
            max_window: Octets(4096),
            probe_window: Some(Octets(4096)),
            ..Config::default()
        };
        let with = |config| move |given: &mut Given| given.admission = Some(config);
        let (sent, _, events) = transfer(24, 500_000, with(small), async |_| {}).await;
        let view = sent.admission.unwrap();
        assert_eq!((view.mode, view.counters.get("waiting_slices")), ("observe", Some(0)));
        assert!(view.routes[0].deferred > 0, "{view:#?}");
        let told =
            |event: &Event| matches!(event, Event::TaskState(task) if task.reason == Some("BYTE_WINDOW"));
        assert!(!events.borrow().iter().any(told));
        let (sent, _, _) = transfer(25, 100_000, with(Config::default()), async |_| {}).await;
        assert_eq!(sent.admission, None);
    });
}

/// What has no queue pairs can have neither; a configuration that can't be ends the agent at its start.
#[test]
fn what_can_not_be_is_refused() {
    let refused = |change: fn(&mut Given)| {
        let mut given = Given {
            address: Some(address(26, 1)),
            rdcc_port: Some(PORT),
            link_rate: Some(MbitPerSec(400)),
            base_rtt: Some(Nanos(1_000_000)),
            ..Given::default()
        };
        change(&mut given);
        Settings::new(None, &given, Carrier::Opaque { port: 52_200 }).unwrap_err().to_string()
    };
    assert!(refused(|given| given.dcqcn = true).contains("DCQCN needs queue pairs"));
    assert!(refused(|given| given.admission = Some(enforce())).contains("admission needs queue pairs"));
    in_a_runtime(async {
        let wrong = Config { min_window: Octets(2), max_window: Octets(1), ..enforce() };
        let settings = settings(address(26, 1), Carrier::RoceV2, |given| given.admission = Some(wrong));
        let (_never, stop) = oneshot::channel::<()>();
        let load = workload(&[address(26, 2)], &[(1, false)], 1);
        let stop = async { drop(stop.await) };
        let observe = Box::new(|_, _: &Event| {});
        let shared = agent::rdcc::Shared::default();
        let error = agent::rdcc::run(settings, Role::Sender, load, observe, shared, stop).await.unwrap_err();
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert!(why.contains("minimum window"), "{error}: {why}");
    });
}
