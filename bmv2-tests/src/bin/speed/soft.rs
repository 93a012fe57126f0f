//! softswitch: one thread reads, switches, writes.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bmv2_tests::program::{CPU_PORT, Program};
use pcap_file::pcap::{PcapPacket, PcapReader, PcapWriter};
use softswitch::runtime::Runtime;
use softswitch::{Engine, Packet, SwitchConfig};

use crate::{Fault, Load, Rate, by_clock, files};

/// Native code from the first packet on: what a switch that has run for a second has.
pub fn measure(load: &Load) -> Result<Rate, Fault> {
    let folder = tempfile::tempdir()?;
    let [read, written] = ["in", "out"].map(|name| folder.path().join(name));
    files::write(&read, &load.sent, load.packets)?;
    let program = Program::load()?;
    let config = SwitchConfig {
        priority_queues: 8,
        cpu_port: Some(CPU_PORT),
        engine: Engine::Native,
        ..SwitchConfig::default()
    };
    let mut runtime =
        Runtime::with_pipeline(1, config, program.pipeline()).map_err(|status| status.message)?;
    runtime.apply(&load.setup.updates(&program)?).map_err(|status| status.message)?;
    let switch = runtime.switch_mut().ok_or("no pipeline")?;
    let mut reader = PcapReader::new(BufReader::new(File::open(read)?))?;
    let mut writer = PcapWriter::new(BufWriter::new(File::create(&written)?))?;
    let (began, before) = (Instant::now(), on_processor()?);
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
    writer.into_writer().flush()?;
    let took = on_processor()?.saturating_sub(before);
    Ok(Rate { clock: by_clock(&written, load)?, processor: load.packets as f64 / took.as_secs_f64() })
}

/// Of this thread.
fn on_processor() -> Result<Duration, Fault> {
    files::on_processor(std::iter::once(PathBuf::from("/proc/thread-self/schedstat")))
}
