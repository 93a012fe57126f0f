//! The controller against softswitch, in virtual time and over gRPC: the program is pushed, the entries are
//! written and read back, and a second controller finds nothing to do.

#![allow(clippy::expect_used, reason = "clippy knows test functions, not the helpers beside them")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use controller::client::{GrpcClient, InProcessClient, Programs, RequestError, SwitchClient as _};
use controller::machine::{Controller, ControllerEvent, State, pump, settle};
use controller::pipeline::Pipeline;
use controller::topology::{self, Topology};
use p4runtime::client::Options;
use softswitch::SwitchConfig;
use softswitch::runtime::Runtime;
use softswitch::server::Server;
use tokio::net::TcpListener;
use wire::units::Nanos;

fn example(name: &str) -> Topology {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies").join(name);
    topology::load(&path).unwrap_or_else(|errors| panic!("{}", errors.render(100, false)))
}

fn pipeline() -> Arc<Pipeline> {
    Arc::new(Pipeline::v1model().expect("usable"))
}

fn runtimes(topology: &Topology) -> BTreeMap<String, Runtime> {
    let runtime = |(name, switch): (&String, &topology::Switch)| {
        (name.clone(), Runtime::new(switch.device_id, SwitchConfig::default()))
    };
    topology.switches.iter().map(runtime).collect()
}

/// Runs a new controller against the switches until nothing is under way.
fn apply(
    topology: &Topology,
    runtimes: &mut BTreeMap<String, Runtime>,
    election_id: u128,
) -> Vec<ControllerEvent> {
    let programs = Programs::default();
    let client = |(name, switch): (&String, &topology::Switch)| {
        (name.clone(), InProcessClient::new(switch.device_id, Nanos(10_000), programs.clone()))
    };
    let mut clients: BTreeMap<String, InProcessClient> = topology.switches.iter().map(client).collect();
    let mut controller = Controller::new(pipeline(), topology, election_id).expect("fits");
    let mut now = Nanos(0);
    controller.start(now);
    loop {
        pump(&mut controller, &mut clients, now);
        let times = clients.values().flat_map(|client| [client.next_service(), client.poll_timeout()]);
        let Some(next) = times.flatten().min() else { break };
        now = next;
        for (name, client) in &mut clients {
            client.serve(runtimes.get_mut(name).expect("there"), now);
        }
    }
    std::iter::from_fn(|| controller.poll_event()).collect()
}

#[test]
fn both_topologies_are_applied_and_a_second_apply_writes_nothing() {
    for name in ["incast-8to1.yaml", "uplink.yaml"] {
        let topology = example(name);
        let mut runtimes = runtimes(&topology);
        let told = apply(&topology, &mut runtimes, 1);
        assert_eq!(told.len(), topology.switches.len(), "{told:?}");
        for event in &told {
            assert!(
                matches!(event, ControllerEvent::Ready { pushed: true, written, .. } if *written > 600),
                "{event:?}"
            );
        }
        for event in apply(&topology, &mut runtimes, 2) {
            assert!(matches!(&event, ControllerEvent::Ready { pushed: false, written: 0, .. }), "{event:?}");
        }
    }
}

/// Starts a server for each switch on a free port of the loopback address.
async fn serve(topology: &Topology) -> BTreeMap<String, (String, u64)> {
    let mut addresses = BTreeMap::new();
    for (name, runtime) in runtimes(topology) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound").to_string();
        let server = Server::new(Arc::new(Mutex::new(runtime)));
        tokio::spawn(async move { server.serve(listener, std::future::pending()).await });
        addresses.insert(name.clone(), (address, topology.switches[&name].device_id));
    }
    addresses
}

async fn apply_over_grpc(
    topology: &Topology,
    addresses: &BTreeMap<String, (String, u64)>,
    election_id: u128,
) -> Vec<ControllerEvent> {
    let client = |(name, (address, device_id)): (&String, &(String, u64))| {
        let timeout = Duration::from_secs(20);
        let options = Options { device_id: *device_id, timeout, ..Options::default() };
        (name.clone(), GrpcClient::spawn(address.clone(), options))
    };
    let mut clients: BTreeMap<String, GrpcClient> = addresses.iter().map(client).collect();
    let mut controller = Controller::new(pipeline(), topology, election_id).expect("fits");
    controller.start(Nanos(0));
    settle(&mut controller, &mut clients, || Nanos(0)).await;
    std::iter::from_fn(|| controller.poll_event()).collect()
}

#[tokio::test]
async fn over_grpc_the_same_is_applied_and_a_second_apply_writes_nothing() {
    let topology = example("uplink.yaml");
    let addresses = serve(&topology).await;
    let told = apply_over_grpc(&topology, &addresses, 1).await;
    assert_eq!(told.len(), 2, "{told:?}");
    for event in &told {
        assert!(matches!(event, ControllerEvent::Ready { pushed: true, .. }), "{event:?}");
    }
    for event in apply_over_grpc(&topology, &addresses, 2).await {
        assert!(matches!(event, ControllerEvent::Ready { pushed: false, written: 0, .. }), "{event:?}");
    }
}

#[tokio::test]
async fn a_switch_that_is_not_there_or_has_another_device_id_fails_with_the_reason() {
    let topology = example("uplink.yaml");
    let mut addresses = serve(&topology).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let nobody = listener.local_addr().expect("bound").to_string();
    drop(listener);
    addresses.get_mut("leaf1").expect("there").0 = nobody;
    addresses.get_mut("leaf2").expect("there").1 = 77;
    let told = apply_over_grpc(&topology, &addresses, 1).await;
    let reason = |wanted: &str| {
        told.iter().find_map(|event| match event {
            ControllerEvent::Failed { switch, state: State::Arbitrating, error } if switch == wanted => {
                Some(error)
            }
            _ => None,
        })
    };
    let Some(RequestError::Unreachable(unreachable)) = reason("leaf1") else { panic!("{told:?}") };
    assert!(unreachable.contains("can't connect to the switch at 127.0.0.1"), "{unreachable}");
    let Some(RequestError::Refused { code: 5, message }) = reason("leaf2") else { panic!("{told:?}") };
    assert!(message.contains("77"), "NOT_FOUND names the id: {message}");
}
