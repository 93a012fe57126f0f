//! The controller against softswitch, in virtual time and over gRPC: the program is pushed, the entries are
//! written and read back, and a second controller finds nothing to do.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use controller::client::{InProcessClient, Programs, SwitchClient as _};
use controller::machine::{Controller, ControllerEvent, pump};
use controller::pipeline::Pipeline;
use controller::topology::{self, Topology};
use softswitch::SwitchConfig;
use softswitch::runtime::Runtime;
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
            assert!(
                matches!(&event, ControllerEvent::Ready { pushed: false, written: 0, .. }),
                "{event:?}"
            );
        }
    }
}
