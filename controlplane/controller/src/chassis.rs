//! A Tofino's chassis configuration, for Stratum: what P4Runtime can't say. Ports and their rates, a priority and a limit
//! for each queue, and where packets go that a queue has no room for.

use std::collections::BTreeSet;

use p4runtime::p4info::TextError;
use p4runtime::stratum::tofino_config::deflect_on_packet_drop_config::{DropTarget, drop_target};
use p4runtime::stratum::tofino_config::tofino_qos_config::queue_config::{PortType, QueueMapping};
use p4runtime::stratum::tofino_config::tofino_qos_config::{
    ApplicationPool, Baf, PoolConfig, QueueConfig, SchedulingPriority,
};
use p4runtime::stratum::tofino_config::{DeflectOnPacketDropConfig, TofinoQosConfig};
use p4runtime::stratum::{
    AdminState, Chassis, ChassisConfig, Node, Platform, PortConfigParams, SingletonPort, TofinoConfig,
    VendorConfig, chassis_text,
};

use crate::topology::{Chip, Origin, Problem, Switch, Tofino, Topology};

/// A port's number has its pipe above these bits.
const PORTS_OF_A_PIPE_LOG2: u32 = 7;
/// Stratum has one chip in a chassis of one slot.
const SLOT: i32 = 1;

/// The chassis configuration of a switch, in protobuf's text format.
///
/// # Errors
/// It isn't a Tofino, or a port isn't said to be plugged in anywhere: each at its place in the file.
pub fn text(topology: &Topology, name: &str) -> Result<String, Vec<Problem>> {
    let config = config(topology, name)?;
    chassis_text(&config).map_err(|error: TextError| {
        vec![
            Problem::error("topology::chassis", error.to_string())
                .hint("a fault of the build: build `crn` anew"),
        ]
    })
}

/// As [`text`], as a message.
///
/// # Errors
/// As [`text`].
pub fn config(topology: &Topology, name: &str) -> Result<ChassisConfig, Vec<Problem>> {
    let problem = |message: &str, origin: &Origin, hint: &str| {
        topology.problem("topology::chassis", message, origin, hint)
    };
    let Some(switch) = topology.switches.get(name) else {
        let known: Vec<&str> = topology.switches.keys().map(String::as_str).collect();
        let message = format!("there is no switch `{name}` in {}", topology.file());
        let hint = format!("there are: {}", known.join(", "));
        return Err(vec![Problem::error("topology::chassis", message).hint(hint)]);
    };
    let of_switch = Origin::Switch(name.to_owned());
    let Some(tofino) = &switch.tofino else {
        let message = format!("`{name}` is no Tofino: it has no chassis to configure");
        return Err(vec![problem(&message, &of_switch, "make it `target: tofino`")]);
    };
    let mut missing = Vec::new();
    let mut singleton_ports = Vec::new();
    for (port, peer) in &switch.ports {
        let Some(place) = tofino.front_panel.get(port) else {
            let message = format!("nothing says where port {port} of `{name}` is plugged in");
            let hint = format!(
                "add `tofino: {{ front_panel: {{ {port}: 1/0 }} }}` to it: front panel port and lane"
            );
            missing.push(problem(&message, &Origin::Link(peer.link), &hint));
            continue;
        };
        let rate_bps = topology.links.get(peer.link).map_or(0, |link| link.rate_bps);
        singleton_ports.push(SingletonPort {
            // Stratum's own schema for numbers.
            id: match place.channel {
                0 => u32::from(place.port),
                channel => u32::from(place.port) * 100 + u32::from(channel),
            },
            name: place.to_string(),
            slot: SLOT,
            port: i32::from(place.port),
            channel: i32::from(place.channel),
            speed_bps: rate_bps,
            config_params: Some(PortConfigParams { admin_state: AdminState::Enabled.into() }),
            node: switch.device_id,
        });
    }
    if !missing.is_empty() {
        return Err(missing);
    }
    let node = Node { id: switch.device_id, name: name.to_owned(), slot: SLOT, index: 1 };
    let mut tofino_config = TofinoConfig::default();
    if topology.domain.reports.path_interval_ns.is_some() {
        let deflections = DeflectOnPacketDropConfig { drop_targets: drop_targets(switch) };
        tofino_config.node_id_to_deflect_on_drop_configs.insert(switch.device_id, deflections);
    }
    tofino_config.node_id_to_qos_config.insert(switch.device_id, queues(topology, name, switch, tofino));
    Ok(ChassisConfig {
        description: format!("{} of {}", name, topology.name),
        chassis: Some(Chassis {
            platform: match tofino.chip {
                Chip::Tofino => Platform::PltGenericBarefootTofino.into(),
                Chip::Tofino2 => Platform::PltGenericBarefootTofino2.into(),
            },
            name: name.to_owned(),
        }),
        nodes: vec![node],
        singleton_ports,
        vendor_config: Some(VendorConfig { tofino_config: Some(tofino_config) }),
    })
}

/// The recirculation port of every pipe that has a port in use: a packet can be deflected only within its pipe.
fn drop_targets(switch: &Switch) -> Vec<DropTarget> {
    let within = switch.clone_port & ((1 << PORTS_OF_A_PIPE_LOG2) - 1);
    let pipes: BTreeSet<u16> = switch.ports.keys().map(|port| port >> PORTS_OF_A_PIPE_LOG2).collect();
    let target = |pipe: u16| DropTarget {
        port_type: Some(drop_target::PortType::SdkPort(u32::from(pipe << PORTS_OF_A_PIPE_LOG2 | within))),
        queue: 0,
    };
    pipes.into_iter().map(target).collect()
}

/// `Q_max` of every queue, in cells, as a limit that doesn't move with the buffer's filling; strict priority by number.
fn queues(topology: &Topology, name: &str, switch: &Switch, tofino: &Tofino) -> TofinoQosConfig {
    let cells = |octets: u64| u32::try_from(octets / tofino.chip.cell_octets()).unwrap_or(u32::MAX);
    let numbers = topology.queues();
    let of_port = |port: u16| {
        let mapping = |queue: &u8| {
            let profile = topology.profile(name, port, *queue)?;
            Some(QueueMapping {
                queue_id: i32::from(*queue),
                priority: priority(*queue).into(),
                weight: 1,
                minimum_guaranteed_cells: 0,
                pool: ApplicationPool::EgressAppPool0.into(),
                base_use_limit: cells(profile.q_max),
                baf: Baf::DisableBaf.into(),
                hysteresis: 0,
            })
        };
        QueueConfig {
            port_type: Some(PortType::SdkPort(port.into())),
            queue_mapping: numbers.iter().filter_map(mapping).collect(),
        }
    };
    let pool =
        |octets: u64| PoolConfig { pool: ApplicationPool::EgressAppPool0.into(), pool_size: cells(octets) };
    TofinoQosConfig {
        pool_configs: tofino.buffer.map(pool).into_iter().collect(),
        queue_configs: switch.ports.keys().map(|port| of_port(*port)).collect(),
    }
}

fn priority(queue: u8) -> SchedulingPriority {
    match queue {
        0 => SchedulingPriority::Prio0,
        1 => SchedulingPriority::Prio1,
        2 => SchedulingPriority::Prio2,
        3 => SchedulingPriority::Prio3,
        4 => SchedulingPriority::Prio4,
        5 => SchedulingPriority::Prio5,
        6 => SchedulingPriority::Prio6,
        _ => SchedulingPriority::Prio7,
    }
}
