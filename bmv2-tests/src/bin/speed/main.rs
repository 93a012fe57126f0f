//! Packets per second through pcap files, `simple_switch_grpc` and softswitch beside it: the same program, entries and
//! packets.
//!
//! Both read packets that have no time between them and write what leaves, which must be what a router makes of them. Two
//! rates: by the timestamps in the written file, and by the time that the target's threads had a processor for, which is what
//! one core gives and is little changed by other work on the machine. The targets take turns, and the best of each counts.
//! Neither start nor set-up is in it. Listed as absent where BMv2 isn't installed.

mod files;
mod real;
mod soft;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use bmv2_tests::bmv2::{self, Bmv2};
use bmv2_tests::cases::Bed;
use bmv2_tests::frames::Data;
use bmv2_tests::setup::Setup;
use bmv2_tests::target::{Presence, Target as _};
use clap::Parser;

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Packets per second of softswitch and BMv2 through pcap files, in one run.
#[derive(Debug, Parser)]
struct Options {
    /// A build of BMv2, for example one without logging; may be repeated [default: the one on PATH]
    #[arg(long, value_name = "SIMPLE_SWITCH_GRPC")]
    bmv2: Vec<PathBuf>,
    /// Packets that BMv2 gets each time; softswitch gets ten times as many
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(2..))]
    packets: u32,
    /// How often each is measured
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    times: u32,
}

/// What is sent through a target, and with which entries.
struct Load {
    setup: Setup,
    sent: Vec<u8>,
    forwarded: Vec<u8>,
    packets: usize,
}

/// How fast a target was, packets per second.
#[derive(Clone, Copy, Default)]
struct Rate {
    /// By the clock.
    clock: f64,
    /// Of the time that its threads had a processor for.
    processor: f64,
}

impl Rate {
    fn best(self, other: Rate) -> Rate {
        Rate { clock: self.clock.max(other.clock), processor: self.processor.max(other.processor) }
    }
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Fault> {
    println!("crn.json through pcap files, packets/s by the clock (and of processor time)");
    let builds = builds(options);
    for plain in [false, true] {
        for octets in [64, 1500] {
            let entries = if plain { "plain router" } else { "normal entries" };
            println!("  {entries}, {octets} octets");
            compare(options, &builds, plain, octets)?;
        }
    }
    Ok(())
}

/// The builds of BMv2 to measure; none where it can't run.
fn builds(options: &Options) -> Vec<PathBuf> {
    match Bmv2.presence() {
        Presence::Present { .. } if options.bmv2.is_empty() => vec![PathBuf::from(bmv2::NAME)],
        Presence::Present { .. } => options.bmv2.clone(),
        Presence::Absent { reason } => {
            println!("  {}: ABSENT ({reason})", bmv2::NAME);
            Vec::new()
        }
    }
}

fn compare(options: &Options, builds: &[PathBuf], plain: bool, octets: usize) -> Result<(), Fault> {
    let packets = options.packets as usize;
    let load = |packets| {
        let data = Data::scheduled(octets);
        Load { setup: setup(plain), sent: data.sent(), forwarded: data.forwarded(), packets }
    };
    let (few, many) = (load(packets), load(10 * packets));
    let mut soft = Rate::default();
    let mut bmv2 = vec![Rate::default(); builds.len()];
    for _ in 0..options.times {
        soft = soft.best(soft::measure(&many).map_err(|error| format!("softswitch: {error}"))?);
        for (build, rate) in builds.iter().zip(&mut bmv2) {
            let measured = real::measure(build, &few);
            *rate = rate.best(measured.map_err(|error| format!("{}: {error}", build.display()))?);
        }
    }
    println!("    softswitch: {:.0} ({:.0})", soft.clock, soft.processor);
    for (build, rate) in builds.iter().zip(bmv2) {
        let times = [soft.clock / rate.clock, soft.processor / rate.processor];
        println!(
            "    {}: {:.0} ({:.0}), softswitch {:.1} ({:.1}) times as fast",
            build.display(),
            rate.clock,
            rate.processor,
            times[0],
            times[1]
        );
    }
    Ok(())
}

/// The test bed with ports of no rate, and with thresholds that no queue reaches: a target that is served late, on a machine
/// that does other things too, has a queue. `crn.json` refuses what is beyond `q_max`, which holds all that is in
/// flight at once ([`real::WINDOW`]) five times.
fn setup(plain: bool) -> Setup {
    let (b_th, q_max) = (15_000_000, 16_000_000);
    let bed = Bed { b_th, q_max, degrees: (1..=255).collect(), plain, ..Bed::default() };
    let mut setup = bed.setup();
    for port in &mut setup.ports {
        port.rate_pps = None;
        port.depth_packets = 1_000_000;
    }
    setup
}

/// The rate by the clock of what a target has written; an error if it isn't all, or not what it should be.
fn by_clock(path: &Path, load: &Load) -> Result<f64, Fault> {
    let times = files::read(path, &load.forwarded)?;
    match (times.first(), times.last()) {
        (Some(first), Some(last)) if times.len() == load.packets => {
            // Of so few packets that all have left in the same microsecond.
            let took = last.saturating_sub(*first).max(Duration::from_micros(1));
            Ok((load.packets - 1) as f64 / took.as_secs_f64())
        }
        _ => Err(format!("{} of {} packets left", times.len(), load.packets).into()),
    }
}
