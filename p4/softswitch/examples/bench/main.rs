//! Packets per second of switches in memory, one core: `cargo run --release -p softswitch --example bench`.
//!
//! The project's program with a plain router's entries and with its normal ones, packets of 64 and 1,500 octets; look-ups
//! in tables that grow; hundreds of switches in one process. Time is what this thread had a processor for, so that other
//! work on the machine counts little. `ROUNDS` in the environment sets the packets of each
//! measurement; the argument `profile` leaves only the 64-octet packets with normal entries, for a profiler, through native
//! code or, with `interpreter` behind it, without.

mod crn;
mod lookups;
mod many;

use crn::{Crn, packet, pass};
use softswitch::{Engine, Switch};

type Fault = Box<dyn std::error::Error>;

/// Packets of one measurement.
fn rounds() -> u32 {
    std::env::var("ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(1_000_000)
}

/// How long this thread has run on a processor, seconds.
fn on_processor() -> Result<f64, Fault> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(statistics.split(' ').next().ok_or("no schedstat")?.parse::<f64>()? / 1e9)
}

/// Millions of packets per second through ingress and egress, each packet the next of `packets`: the best of three
/// measurements, because the machine does other things too.
fn measure(switch: &mut Switch, packets: &[Vec<u8>]) -> Result<f64, Fault> {
    let (mut buffer, mut now_ns, mut best) = (Vec::new(), 0, 0f64);
    for _ in 0..3 {
        let start = on_processor()?;
        for template in packets.iter().cycle().take(rounds() as usize / 3) {
            now_ns += 1000;
            if !pass(switch, &mut buffer, template, now_ns) {
                return Err(format!("a packet didn't leave: {:?}", switch.stats()).into());
            }
        }
        best = best.max(f64::from(rounds() / 3) / (on_processor()? - start) / 1e6);
    }
    Ok(best)
}

fn main() -> Result<(), Fault> {
    let argument = |n: usize| std::env::args().nth(n);
    if argument(1).as_deref() == Some("profile") {
        let interpreted = argument(2).as_deref() == Some("interpreter");
        let engine = if interpreted { Engine::Interpreter } else { Engine::Native };
        let mut switch = Crn::load(engine)?.normal()?;
        println!("normal entries: {:.2} Mpps", measure(&mut switch, &[packet(64)?])?);
        return Ok(());
    }
    println!("crn.json, Mpps");
    for engine in [Engine::Interpreter, Engine::Native] {
        let crn = Crn::load(engine)?;
        for octets in [64, 1500] {
            let packets = [packet(octets)?];
            println!(
                "  {engine:?}, plain router, {octets} octets: {:.2}",
                measure(&mut crn.router()?, &packets)?
            );
            println!(
                "  {engine:?}, normal entries, {octets} octets: {:.2}",
                measure(&mut crn.normal()?, &packets)?
            );
        }
    }
    lookups::bench()?;
    many::bench(&Crn::load(Engine::Native)?)
}
