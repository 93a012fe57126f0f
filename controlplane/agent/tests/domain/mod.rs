//! Agents in one thread, and what others send them.

#![allow(dead_code, reason = "each test file uses its part")]

use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::rc::Rc;
use std::time::Duration;

use agent::rdcc::settings::Carrier;
use agent::rdcc::{Event, Given, MessageShape, Role, Settings, Shared, Summary, Workload, run};
use agent::socket::{Buffers, Outbox, Socket, tos};
use tokio::sync::oneshot;
use wire::rdcc::{
    AssociationId, CongestionReport, Direction, Epoch, Flags, FlowAddresses, Header, Message, SequenceNumber,
};
use wire::units::{MbitPerSec, Nanos, Octets32};

pub const PORT: u16 = 52_100;
/// Generous: on a machine with much else to do a process waits for milliseconds.
const RTT: Nanos = Nanos(30_000_000);
const PATIENCE: Duration = Duration::from_secs(120);

/// Host `n` of a test; every test has a network of its own.
pub fn address(test: u8, n: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 77, test, n)
}

pub fn settings(address: Ipv4Addr, carrier: Carrier, change: impl FnOnce(&mut Given)) -> Settings {
    let mut given = Given {
        address: Some(address),
        rdcc_port: Some(PORT),
        link_rate: Some(MbitPerSec(400)),
        base_rtt: Some(RTT),
        dscp: Some((26, 28, 48)),
        ..Given::default()
    };
    change(&mut given);
    Settings::new(None, &given, carrier).unwrap()
}

pub fn workload(to: &[Ipv4Addr], sizes: &[(u64, bool)], batches: u32) -> Workload {
    let messages =
        sizes.iter().map(|&(octets, unscheduled)| MessageShape { unscheduled, ..MessageShape::new(octets) });
    Workload { to: to.to_vec(), messages: messages.collect(), batches, gap: Nanos(0) }
}

pub type Events = Rc<RefCell<Vec<Event>>>;

/// An agent that runs until it has finished or its stop is dropped or used.
pub async fn agent(
    settings: Settings,
    role: Role,
    workload: Workload,
    events: Events,
    stop: oneshot::Receiver<()>,
) -> Summary {
    let observe = Box::new(move |_, event: &Event| events.borrow_mut().push(event.clone()));
    let stop = async { drop(stop.await) };
    run(settings, role, workload, observe, Shared::default(), stop).await.unwrap()
}

pub fn in_a_runtime(body: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, body).await.unwrap() });
}

/// A `CONGESTION_REPORT` about data from `source` to `destination`.
pub fn report(direction: Direction, source: Ipv4Addr, destination: Ipv4Addr, suggested_rate: u32) -> Vec<u8> {
    let report = Message::CongestionReport(CongestionReport {
        reporter_id: 1,
        queue_depth: Octets32(200_000),
        queue_threshold: Octets32(100_000),
        congestion_degree: 255,
        direction,
        protocol: 17,
        source_port: 49_152,
        destination_port: 4791,
        suggested_rate: MbitPerSec(suggested_rate),
        flow: FlowAddresses::V4 { source, destination },
    });
    let header = Header {
        association_id: AssociationId(0),
        epoch: Epoch(0),
        flags: Flags::NONE,
        sequence_number: SequenceNumber(1),
    };
    report.to_octets(&header)
}

/// Sends a datagram from an address of its own.
pub async fn send(from: Ipv4Addr, (to, port): (Ipv4Addr, u16), octets: &[u8]) {
    let socket = [Socket::bind(SocketAddrV4::new(from, 0)).unwrap()];
    let (mut buffers, mut outbox) = (Buffers::default(), Outbox::default());
    outbox.push(0, SocketAddrV4::new(to, port), tos(48), |out| out.extend_from_slice(octets));
    while outbox.flush(&socket, &mut buffers).is_some() {
        socket[0].writable().await.unwrap();
    }
    assert_eq!((outbox.sent(), outbox.refused()), (1, 0));
}
