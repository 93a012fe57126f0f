//! The same over real gRPC on the loopback, with this project's client.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use p4runtime::client::{Client, ClientError, Event, Options, WriteError};
use p4runtime::p4::v1::{
    ActionProfileMember, CounterEntry, TableEntry, entity::Entity as Kind,
    get_forwarding_pipeline_config_request::ResponseType, set_forwarding_pipeline_config_request::Action,
    update::Type,
};
use p4runtime::status::Code;
use softswitch::Packet;
use softswitch::runtime::Runtime;
use softswitch::server::Server;
use tokio::net::TcpListener;

use crate::support::{CPU_PORT, DEVICE, action, config, dscp, entity, index, pipeline, update};

pub struct Served {
    pub address: String,
    pub server: Server,
    pub runtime: Arc<Mutex<Runtime>>,
}

pub async fn serve() -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let runtime = Arc::new(Mutex::new(Runtime::new(DEVICE, config())));
    let server = Server::new(runtime.clone());
    let serving = server.clone();
    tokio::spawn(async move { serving.serve(listener, std::future::pending()).await });
    Served { address, server, runtime }
}

fn options(election_id: u128) -> Options {
    Options { device_id: DEVICE, election_id, timeout: Duration::from_secs(20), ..Options::default() }
}

async fn connect(served: &Served, election_id: u128) -> Client {
    Client::connect(&served.address, options(election_id)).await.unwrap()
}

pub async fn ready(served: &Served) -> Client {
    let mut client = connect(served, 1).await;
    client.set_pipeline(Action::VerifyAndCommit, Some(pipeline())).await.unwrap();
    client
}

#[tokio::test]
async fn push_write_read_modify_delete() {
    let served = serve().await;
    let mut client = connect(&served, 1).await;
    assert!(client.is_primary(), "the client waits for the answer");
    assert_eq!(client.capabilities().await.unwrap(), p4runtime::API_VERSION);
    assert_eq!(client.get_pipeline(ResponseType::All).await.unwrap(), None);
    client.set_pipeline(Action::VerifyAndCommit, Some(pipeline())).await.unwrap();
    assert_eq!(client.get_pipeline(ResponseType::All).await.unwrap(), Some(pipeline()));

    let all = || vec![entity(Kind::TableEntry(TableEntry::default()))];
    client.write(vec![update(Type::Insert, Kind::TableEntry(dscp(46, 5)))]).await.unwrap();
    assert_eq!(client.read(all()).await.unwrap(), [entity(Kind::TableEntry(dscp(46, 5)))]);
    client.write(vec![update(Type::Modify, Kind::TableEntry(dscp(46, 6)))]).await.unwrap();
    assert_eq!(client.read(all()).await.unwrap(), [entity(Kind::TableEntry(dscp(46, 6)))]);
    client.write(vec![update(Type::Delete, Kind::TableEntry(dscp(46, 6)))]).await.unwrap();
    assert_eq!(client.read(all()).await.unwrap(), []);
}

#[tokio::test]
async fn a_large_read_comes_whole() {
    let served = serve().await;
    let mut client = ready(&served).await;
    let index = index();
    let counter = index.counters.find("drops").unwrap();
    let wanted = CounterEntry { counter_id: counter.id, ..CounterEntry::default() };
    let found = client.read(vec![entity(Kind::CounterEntry(wanted))]).await.unwrap();
    assert_eq!(found.len(), counter.size);
}

#[tokio::test]
async fn each_failed_update_is_named() {
    let served = serve().await;
    let mut client = ready(&served).await;
    let batch = [dscp(1, 1), dscp(64, 1), dscp(2, 8)];
    let batch = batch.map(|entry| update(Type::Insert, Kind::TableEntry(entry))).to_vec();
    let error = client.write(batch).await.unwrap_err();
    let WriteError::Updates { failed, of } = &error else { panic!("{error}") };
    assert_eq!((failed.len(), *of), (2, 3));
    assert_eq!((failed[0].index, Code::from(failed[0].code)), (1, Code::OutOfRange));
    let text = error.to_string();
    assert!(text.contains("dscp_map") && text.contains("OUT_OF_RANGE"), "{text}");
}

/// Long Writes are made in parts; outcomes keep their places.
#[tokio::test]
async fn a_long_write_names_each_failed_update_by_its_place() {
    let served = serve().await;
    let mut client = ready(&served).await;
    let profile = index().action_profiles.find("ecmp").unwrap().id;
    let member = |member_id: u32| {
        update(
            Type::Insert,
            Kind::ActionProfileMember(ActionProfileMember {
                action_profile_id: profile,
                member_id,
                action: Some(action("forward", &[1, u128::from(member_id)])),
            }),
        )
    };
    let mut batch: Vec<_> = (1..=700).map(member).collect();
    batch[300] = member(1);
    batch[699] = member(2);
    let error = client.write(batch).await.unwrap_err();
    let WriteError::Updates { failed, of } = &error else { panic!("{error}") };
    assert_eq!(*of, 700);
    let found: Vec<_> = failed.iter().map(|failed| (failed.index, Code::from(failed.code))).collect();
    assert_eq!(found, [(300, Code::AlreadyExists), (699, Code::AlreadyExists)]);
    let all = entity(Kind::ActionProfileMember(ActionProfileMember::default()));
    assert_eq!(client.read(vec![all]).await.unwrap().len(), 698, "the others were made");
    // Refused whole: by the first part.
    let mut second = connect(&served, 2).await;
    let WriteError::Call(error) = client.write((1..=700).map(member).collect()).await.unwrap_err() else {
        panic!("not refused whole")
    };
    assert_eq!(error.code(), Some(Code::PermissionDenied));
    second.write(Vec::new()).await.unwrap();
}

#[tokio::test]
async fn two_clients_and_one_primary() {
    let served = serve().await;
    let mut first = ready(&served).await;
    let mut second = connect(&served, 2).await;
    assert!(second.is_primary());
    // The first hears of it; that it was primary came before.
    loop {
        match first.event().await.expect("the stream goes on") {
            Event::Arbitration(arbitration) if arbitration.election_id == 2 => {
                assert!(!arbitration.primary && arbitration.primary_exists);
                break;
            }
            _ => {}
        }
    }
    let write = || vec![update(Type::Insert, Kind::TableEntry(dscp(1, 1)))];
    let WriteError::Call(error) = first.write(write()).await.unwrap_err() else {
        panic!("not refused whole")
    };
    assert_eq!(error.code(), Some(Code::PermissionDenied));
    second.write(write()).await.unwrap();
    // The primary goes: nobody is promoted, but whoever asks with an id that is high enough becomes primary.
    drop(second);
    loop {
        match first.event().await.expect("the stream goes on") {
            Event::Arbitration(arbitration) if !arbitration.primary_exists => break,
            _ => {}
        }
    }
    assert!(!first.is_primary());
    assert!(first.arbitrate(3).await.unwrap().primary);
    first.write(vec![update(Type::Delete, Kind::TableEntry(dscp(1, 1)))]).await.unwrap();
}

#[tokio::test]
async fn a_wrong_device_id_and_a_taken_election_id_end_the_stream() {
    let served = serve().await;
    let wrong = Options { device_id: 99, ..options(1) };
    let error = Client::connect(&served.address, wrong).await.unwrap_err();
    assert_eq!(error.code(), Some(Code::NotFound));
    assert!(error.to_string().contains("99") && error.to_string().contains('7'), "{error}");
    let _first = connect(&served, 1).await;
    let error = Client::connect(&served.address, options(1)).await.unwrap_err();
    assert_eq!(error.code(), Some(Code::InvalidArgument), "{error}");
}

#[tokio::test]
async fn nobody_at_the_address() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    let error = Client::connect(&free, options(1)).await.unwrap_err();
    assert!(matches!(error, ClientError::Connect { .. }), "{error}");
    assert!(error.to_string().contains(&free), "{error}");
}

#[tokio::test]
async fn a_refused_packet_out_is_answered_on_the_stream() {
    let served = serve().await;
    let mut client = ready(&served).await;
    client.packet_out(p4runtime::p4::v1::PacketOut::default()).await.unwrap();
    loop {
        match client.event().await.expect("the stream goes on") {
            Event::Error(error) => {
                assert_eq!(Code::from(error.canonical_code), Code::InvalidArgument);
                break;
            }
            Event::Arbitration(_) => {}
            other => panic!("unexpected: {other:?}"),
        }
    }
}

#[tokio::test]
async fn forwarding_needs_no_controller_and_delivering_never_waits() {
    let served = serve().await;
    let mut client = ready(&served).await;
    // The packet side: a short lock, then delivery.
    served.runtime.lock().unwrap().advance(1_000_000);
    served.server.deliver();
    client.write(vec![update(Type::Insert, Kind::TableEntry(dscp(3, 1)))]).await.unwrap();
}

/// Packets for a controller that doesn't take them are dropped and counted; arbitration still reaches it.
#[tokio::test]
async fn what_a_slow_controller_does_not_take_is_counted() {
    const PACKETS: u64 = 5000;
    let served = serve().await;
    let mut client = ready(&served).await;
    let mut octets = (CPU_PORT << 7).to_be_bytes().to_vec();
    octets.resize(62, 0xaa);
    // Nothing is awaited: the server's tasks don't run, and the stream takes nothing.
    for _ in 0..PACKETS {
        let mut runtime = served.runtime.lock().unwrap();
        runtime.switch_mut().unwrap().ingress(CPU_PORT, Packet::new(octets.clone()), 1000);
        runtime.advance(1000);
        drop(runtime);
        served.server.deliver();
    }
    let lost = served.server.undelivered();
    assert!(lost > 0 && lost < PACKETS, "{lost}");
    let second = connect(&served, 2).await;
    let mut packets = 0;
    loop {
        match client.event().await.expect("the stream goes on") {
            Event::PacketIn(_) => packets += 1,
            Event::Arbitration(arbitration) if !arbitration.primary => break,
            Event::Arbitration(_) => {}
            other => panic!("unexpected: {other:?}"),
        }
    }
    assert_eq!(packets, PACKETS - lost);
    assert_eq!(served.server.undelivered(), lost);
    drop(second);
}
