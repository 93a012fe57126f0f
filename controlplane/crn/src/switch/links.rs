//! The interfaces' links: whether each is up, for groups that watch a port.

use std::collections::BTreeMap;
use std::time::Duration;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use softswitch::server::Server;

use super::values::Interface;

/// How soon a change is noticed.
const PERIOD: Duration = Duration::from_millis(50);

/// Tells the switch of changes, for ever.
pub async fn watch(server: Server, interfaces: Vec<Interface>) {
    let mut known: BTreeMap<u16, bool> = interfaces.iter().map(|interface| (interface.port, true)).collect();
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // If the kernel can't tell, everything stays as it was.
        let Ok(found) = getifaddrs() else { continue };
        let running = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
        let up: Vec<String> =
            found.filter(|found| found.flags.contains(running)).map(|found| found.interface_name).collect();
        for Interface { port, name } in &interfaces {
            let is_up = up.contains(name);
            if known.insert(*port, is_up) != Some(is_up) {
                server.runtime().set_port_up(*port, is_up);
            }
        }
    }
}
