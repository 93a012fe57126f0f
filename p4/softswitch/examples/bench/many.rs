//! Hundreds of switches in one process: their state doesn't fit into the cache.

use softswitch::Switch;

use super::crn::{Crn, packet, pass};
use super::{Fault, on_processor, rounds};

const SWITCHES: usize = 500;

pub fn bench(crn: &Crn) -> Result<(), Fault> {
    let before = resident()?;
    let mut switches = (0..SWITCHES).map(|_| crn.normal()).collect::<Result<Vec<Switch>, _>>()?;
    let idle = resident()?;
    let template = packet(64)?;
    let mut buffer = Vec::new();
    let start = on_processor()?;
    let passes = rounds() / 500;
    for round in 0..u64::from(passes) {
        for switch in &mut switches {
            if !pass(switch, &mut buffer, &template, round * 1_000_000) {
                return Err(format!("a packet didn't leave: {:?}", switch.stats()).into());
            }
        }
    }
    let mpps = f64::from(passes) * 500.0 / (on_processor()? - start) / 1e6;
    println!("{SWITCHES} switches with normal entries by turns, 64 octets: {mpps:.2} Mpps");
    let each = |octets: usize| octets.saturating_sub(before) / SWITCHES / 1024;
    println!("  memory of each, KiB: {} with its entries, {} after packets", each(idle), each(resident()?));
    Ok(())
}

/// Octets of this process that are in memory.
fn resident() -> Result<usize, Fault> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: usize = line.ok_or("no VmRSS")?.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024)
}
