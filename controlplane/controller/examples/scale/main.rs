//! Speed of the controller at scale, against softswitch's P4Runtime servers on the loopback address, all in one
//! process: `cargo run --release -p controller --example scale`. Figures, not tests: nothing here fails for being slow.
//! Beside them p4runtime-shell on the same switch, where it can be had, and how much memory the controller takes.

#![allow(clippy::expect_used, reason = "a figure that can't be taken ends the run")]

mod memory;
mod shell;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use controller::client::GrpcClient;
use controller::machine::{Controller, ControllerEvent, settle};
use controller::pipeline::Pipeline;
use controller::topology::{self, Topology};
use p4runtime::client::Options;
use softswitch::SwitchConfig;
use softswitch::runtime::{Programs, Runtime};
use softswitch::server::Server;
use tokio::net::TcpListener;
use wire::units::Nanos;

const HEAD: &str = "\
name: scale
domain:
  ports: { rdcc: 52100, crem: 52101, scone: 52102 }
  dscp: [{ dscp: 26, role: scheduled, queue: 0 }, { dscp: 48, role: control, queue: 7 }]
defaults: { link: { rate: 100Gbps, delay: 1us }, profile: p, control_profile: c }
profiles:
  p: { ecn_threshold: 100kB, q_max: 1MB, report_interval: 10us }
  c: { ecn_threshold: 900kB, q_max: 1MB, report_interval: 10us }
";

fn parse(generate: &str) -> Topology {
    parse_text(&format!("{HEAD}generate: {generate}\n"))
}

fn parse_text(text: &str) -> Topology {
    topology::parse("scale", text).unwrap_or_else(|errors| panic!("{}", errors.render(100, false)))
}

/// A thousand nodes written out: parsed and checked, several times.
fn validation() {
    use std::fmt::Write as _;
    let mut text = HEAD.to_owned() + "switches:\n";
    for switch in 1..=20 {
        writeln!(text, "  s{switch}: {{ target: soft, device_id: {switch}, reporter_id: {switch}, address: 10.255.0.{switch} }}")
            .expect("writes");
    }
    let (mut hosts, mut links) = (String::from("hosts:\n"), String::from("links:\n"));
    for host in 0..980 {
        writeln!(hosts, "  h{host}: {{ address: 10.0.{}.{} }}", host / 200, host % 200 + 1).expect("writes");
        writeln!(links, "  - {{ endpoints: [\"s{}:{}\", h{host}] }}", host % 19 + 2, host / 19 + 1)
            .expect("writes");
    }
    for switch in 2..=20 {
        writeln!(links, "  - {{ endpoints: [\"s1:{switch}\", \"s{switch}:200\"] }}").expect("writes");
    }
    let text = text + &hosts + &links;
    let best = (0..10)
        .map(|_| {
            let start = Instant::now();
            topology::parse("scale", &text).unwrap_or_else(|errors| panic!("{}", errors.render(100, false)));
            start.elapsed()
        })
        .min();
    println!("validate 1,000 nodes, {} lines: {:?}", text.lines().count(), best.unwrap_or_default());
}

/// A star of switches around the first, with hosts on each, and policies that every switch holds.
fn fabric(switches: u32, hosts: u32, queue_pairs: u32, sources: u32) -> String {
    use std::fmt::Write as _;
    let mut text = HEAD.to_owned() + "switches:\n";
    let (mut all, mut links) = (String::from("hosts:\n"), String::from("links:\n"));
    for switch in 1..=switches {
        writeln!(text, "  s{switch}: {{ target: soft, device_id: {switch}, reporter_id: {switch}, address: 10.255.0.{switch} }}")
            .expect("writes");
        for host in 1..=hosts {
            let (name, high, low) = (switch * 1000 + host, host / 200, host % 200 + 1);
            writeln!(all, "  h{name}: {{ address: 10.{}.{high}.{low} }}", switch - 1).expect("writes");
            writeln!(links, "  - {{ endpoints: [\"s{switch}:{host}\", h{name}] }}").expect("writes");
        }
        if switch > 1 {
            writeln!(links, "  - {{ endpoints: [\"s1:{}\", \"s{switch}:{}\"] }}", 500 - switch, hosts + 1)
                .expect("writes");
        }
    }
    text += &(all + &links + "policies:\n  queue_pair_rates:\n");
    for qp in 0..queue_pairs {
        writeln!(text, "    - {{ to: 10.0.0.{}, qp: {qp}, rate: 1Gbps }}", qp % 200 + 1).expect("writes");
    }
    text += "  source_rates:\n";
    for source in 0..sources {
        let (high, low) = (100 + source / 250, source % 250);
        writeln!(text, "    - {{ from: 10.{high}.{low}.0/24, rate: 1Gbps, class: 0 }}").expect("writes");
    }
    text
}

/// One switch with 500 hosts and enough policies for 10,000 entries.
fn ten_thousand() -> Topology {
    parse_text(&fabric(1, 480, 4000, 2200))
}

async fn serve(topology: &Topology, names: &[String]) -> BTreeMap<String, (String, u64)> {
    let mut addresses = BTreeMap::new();
    // A fabric's switches compile side by side, each with a processor of its own; here all would do the same one after the other.
    let programs = Programs::default();
    for name in names {
        let device_id = topology.switches[name].device_id;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound").to_string();
        let server = Server::new(Arc::new(Mutex::new(Runtime::new(device_id, SwitchConfig::default()))))
            .sharing(programs.clone());
        tokio::spawn(async move { server.serve(listener, std::future::pending()).await });
        addresses.insert(name.clone(), (address, device_id));
    }
    addresses
}

/// Applies, and gives how many entries there are and were written.
async fn apply(
    pipeline: &Arc<Pipeline>,
    topology: &Topology,
    addresses: &BTreeMap<String, (String, u64)>,
) -> (usize, Duration) {
    let start = Instant::now();
    let mut controller = Controller::new(Arc::clone(pipeline), topology, 1).expect("fits");
    controller.retain(|name| addresses.contains_key(name));
    let client = |(name, (address, device_id)): (&String, &(String, u64))| {
        let timeout = Duration::from_secs(60);
        let options = Options { device_id: *device_id, timeout, ..Options::default() };
        (name.clone(), GrpcClient::spawn(address.clone(), options))
    };
    let mut clients: BTreeMap<String, GrpcClient> = addresses.iter().map(client).collect();
    controller.start(Nanos(0));
    settle(&mut controller, &mut clients, || Nanos(0)).await;
    let mut total = 0;
    while let Some(event) = controller.poll_event() {
        match event {
            ControllerEvent::Ready { written, .. } => total += written,
            other => panic!("{other:?}"),
        }
    }
    (total, start.elapsed())
}

/// What this process, switches and controller, has used of the processors, in seconds: other work on the machine doesn't
/// change it.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    // The command's name, in parentheses, may hold spaces; utime and stime are the 14th and 15th field of all.
    let fields: Vec<&str> =
        stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
    // Linux counts them in hundredths for every program.
    (ticks(11) + ticks(12)) / 100.0
}

/// Makes a topology, so that making it can be timed.
type Shape = fn() -> Topology;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, file, addresses @ ..] = arguments.as_slice()
        && mode == memory::MODE
    {
        return memory::child(file, addresses).await;
    }
    validation();
    let pipeline = Arc::new(Pipeline::v1model().expect("usable"));
    let shapes: [(&str, Shape); 2] = [
        ("one switch", ten_thousand),
        ("200 switches", || parse("{ shape: leaf-spine, leaves: 196, spines: 4, hosts_per_leaf: 1 }")),
    ];
    for (what, topology) in shapes {
        let start = Instant::now();
        let topology = topology();
        println!("{what}: parsed and checked in {:?}", start.elapsed());
        let names: Vec<String> = topology.switches.keys().cloned().collect();
        let addresses = serve(&topology, &names).await;
        for pass in ["applied (program pushed)", "applied again"] {
            let before = processor_time();
            let (written, took) = apply(&pipeline, &topology, &addresses).await;
            let rate = written as f64 / took.as_secs_f64();
            let used = processor_time() - before;
            println!(
                "  {pass}: {written} entries written in {took:?} ({rate:.0}/s), {used:.2} s of processor time"
            );
        }
    }
    shell::compare(&pipeline).await;
    memory::measure().await;
}
