//! Packets per second through pcap files, `simple_switch_grpc` and softswitch beside it: the same program, entries and
//! packets.
//!
//! Both read a file whose packets have no time between them and write what leaves; the rate is that of the timestamps
//! in the written file, so that neither start nor set-up counts. Listed as absent where BMv2 isn't installed.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bmv2_tests::bmv2::{Bmv2, bench};
use bmv2_tests::cases::Bed;
use bmv2_tests::frames::Data;
use bmv2_tests::program::{CPU_PORT, Program};
use bmv2_tests::setup::Setup;
use bmv2_tests::target::{Presence, Target as _};
use nix::sched::{CloneFlags, unshare};
use pcap_file::pcap::{PcapPacket, PcapReader, PcapWriter};
use softswitch::runtime::Runtime;
use softswitch::{Packet, SwitchConfig};

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Packets of one file.
const PACKETS: usize = 100_000;
/// BMv2 gets as many as it can move in some seconds.
const BMV2_PACKETS: usize = 20_000;
/// Seconds that BMv2 waits before it reads the file, unless `SET_UP_S` in the environment says more: it is set up
/// meanwhile.
const SET_UP_S: u64 = 5;
/// How long BMv2 may take.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Fault> {
    println!("through pcap files, crn.json with the test bed's entries, packets per second");
    for octets in [64, 1500] {
        let soft = rate_of("softswitch", octets, PACKETS, softswitch)?;
        match Bmv2.presence() {
            Presence::Absent { reason } => {
                println!("  {octets} octets: softswitch {soft:.0}, {} ABSENT ({reason})", Bmv2.name());
            }
            Presence::Present { version } => {
                let bmv2 = rate_of("BMv2", octets, BMV2_PACKETS, simple_switch)?;
                let times = soft / bmv2;
                println!(
                    "  {octets} octets: softswitch {soft:.0}, BMv2 {version} {bmv2:.0}: {times:.1} times"
                );
            }
        }
    }
    Ok(())
}

/// The rate of a target that reads `h1_in.pcap` in a folder and writes `h2_out.pcap` there.
fn rate_of(
    name: &str,
    octets: usize,
    packets: usize,
    target: fn(&Path, usize) -> Result<(), Fault>,
) -> Result<f64, Fault> {
    let folder = tempfile::tempdir()?;
    let frame = Data::scheduled(octets).sent();
    for (file, count) in [("h1_in.pcap", packets), ("h2_in.pcap", 0)] {
        let mut writer = PcapWriter::new(BufWriter::new(File::create(folder.path().join(file))?))?;
        for _ in 0..count {
            let length = u32::try_from(frame.len())?;
            writer.write_packet(&PcapPacket::new(Duration::ZERO, length, &frame))?;
        }
    }
    target(folder.path(), packets)?;
    let times = times(&folder.path().join("h2_out.pcap"))?;
    let (Some(first), Some(last)) = (times.first(), times.last()) else {
        return Err(format!("{name}: nothing left").into());
    };
    if times.len() != packets {
        return Err(format!("{name}: {} of {packets} packets left", times.len()).into());
    }
    Ok((packets - 1) as f64 / last.saturating_sub(*first).as_secs_f64())
}

fn times(path: &Path) -> Result<Vec<Duration>, Fault> {
    let mut reader = PcapReader::new(BufReader::new(File::open(path)?))?;
    let mut times = Vec::new();
    while let Some(packet) = reader.next_packet() {
        times.push(packet?.timestamp);
    }
    Ok(times)
}

/// The test bed with queues that are never full.
fn setup() -> Setup {
    let mut setup = Bed { degrees: (1..=255).collect(), ..Bed::default() }.setup();
    for port in &mut setup.ports {
        port.rate_pps = None;
        port.depth_packets = 1_000_000;
    }
    setup
}

/// One thread: reads, switches, writes.
fn softswitch(folder: &Path, _packets: usize) -> Result<(), Fault> {
    let program = Program::load()?;
    let config = SwitchConfig { priority_queues: 8, cpu_port: Some(CPU_PORT), ..SwitchConfig::default() };
    let mut runtime =
        Runtime::with_pipeline(1, config, program.pipeline()).map_err(|status| status.message)?;
    runtime.apply(&setup().updates(&program)?).map_err(|status| status.message)?;
    let switch = runtime.switch_mut().ok_or("no pipeline")?;
    let mut reader = PcapReader::new(BufReader::new(File::open(folder.join("h1_in.pcap"))?))?;
    let mut writer = PcapWriter::new(BufWriter::new(File::create(folder.join("h2_out.pcap"))?))?;
    let began = Instant::now();
    while let Some(packet) = reader.next_packet() {
        let now_ns = 1_000_000_000 + u64::try_from(began.elapsed().as_nanos())?;
        switch.ingress(1, Packet::new(packet?.data.into_owned()), now_ns);
        while let Some(departure) = switch.dequeue(2, now_ns) {
            let Some(packet) = departure.packet else { continue };
            let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
            let octets = packet.to_octets();
            writer.write_packet(&PcapPacket::new(now, u32::try_from(octets.len())?, &octets))?;
            switch.recycle(packet);
        }
    }
    Ok(())
}

/// Ends the process with it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// In a namespace of its own, for its ports.
fn simple_switch(folder: &Path, packets: usize) -> Result<(), Fault> {
    thread::scope(|scope| {
        let run = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            in_namespace(folder, packets)
        });
        run.join().unwrap_or_else(|_| Err("the thread panicked".into()))
    })
}

fn in_namespace(folder: &Path, packets: usize) -> Result<(), Fault> {
    let set_up_s = std::env::var("SET_UP_S").ok().and_then(|s| s.parse().ok()).unwrap_or(SET_UP_S);
    Command::new("ip").args(["link", "set", "lo", "up"]).status()?;
    let files = ["--use-files", &set_up_s.to_string(), "-i", "1@h1", "-i", "2@h2"].map(str::to_owned);
    let child = Command::new(Bmv2.name())
        .args(bench::arguments())
        .args(files)
        .args(bench::target_arguments())
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let _running = Running(child);
    let program = Program::load()?;
    let setup = setup();
    let began = Instant::now();
    let controller = bench::set_up(&program, &setup)?;
    if began.elapsed() > Duration::from_secs(set_up_s) {
        return Err(format!("BMv2 wasn't set up within {set_up_s} s: give it more with SET_UP_S").into());
    }
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        // Packets are flushed one by one; the last may be half written.
        if times(&folder.join("h2_out.pcap")).is_ok_and(|times| times.len() >= packets) {
            drop(controller);
            return Ok(());
        }
        thread::sleep(Duration::from_millis(500));
    }
    Err("BMv2 didn't forward all packets".into())
}
