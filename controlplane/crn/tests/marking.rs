//! The collector of Alternate Marking: `crn controller` reads real switches' counters through P4Runtime while marked traffic
//! goes through them, and a socket in the sender function's place gets its reports.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod served;

use std::net::{Ipv6Addr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use served::Served;
use softswitch::Packet;
use wire::crem::{Cause, Flags, Message, Method, PathReport, decode};
use wire::roce::{Bth, Opcode, Psn, UDP_PORT};

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(120);

const SENDER: Ipv6Addr = Ipv6Addr::new(0xfd01, 0, 0, 0, 0, 0, 0, 1);
const RECEIVER: Ipv6Addr = Ipv6Addr::new(0xfd02, 0, 0, 0, 0, 0, 0, 1);
const QP: u32 = 17;
const PERIOD: Duration = Duration::from_micros(262_144);

fn topology(crem: u16) -> String {
    format!(
        "\
name: marked
domain:
  ports: {{ rdcc: {}, crem: {crem}, scone: {} }}
  dscp: [{{ dscp: 48, role: control, class: 7, queue: 7 }}]
defaults: {{ link: {{ rate: 10Gbps, delay: 1us }}, profile: p, control_profile: p }}
profiles:
  p: {{ ecn_threshold: 100kB, q_max: 1MB, report_interval: 100us }}
switches:
  l1: {{ target: soft, device_id: 1, reporter_id: 11, address: 10.255.0.1 }}
  l2: {{ target: soft, device_id: 2, reporter_id: 22, address: 10.255.0.2 }}
  sp: {{ target: soft, device_id: 3, reporter_id: 33, address: 10.255.0.3 }}
hosts:
  a: {{ address: 10.0.1.1, ipv6: \"{SENDER}\" }}
  b: {{ address: 10.0.2.1, ipv6: \"{RECEIVER}\" }}
links:
  - {{ endpoints: [\"l1:1\", a] }}
  - {{ endpoints: [\"l2:1\", b] }}
  - {{ endpoints: [\"l1:2\", \"sp:1\"] }}
  - {{ endpoints: [\"sp:2\", \"l2:2\"] }}
policies: {{ report_to: [{{ sources: \"fd01::/64\", address: \"::1\" }}] }}
marking:
  period: 262144us
  collector: \"::1\"
  flows: [{{ name: bulk, from: a, to: b, protocol: udp, destination_port: 4791, queue_pair: {QP} }}]
",
        crem - 2,
        crem - 1
    )
}

/// A `RoCEv2` packet from host to host.
fn packet(psn: u32) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 0x86, 0xdd];
    let payload = [&Bth::new(Opcode::SEND_ONLY, QP, Psn::new(psn)).to_octets()[..], &[0x5a; 64]].concat();
    let udp = u16::try_from(payload.len() + 8).unwrap();
    frame.extend([0x60, 0, 0, 0]);
    frame.extend(udp.to_be_bytes());
    frame.extend([17, 64]);
    frame.extend(SENDER.octets());
    frame.extend(RECEIVER.octets());
    for field in [49_300, UDP_PORT, udp, 0] {
        frame.extend(field.to_be_bytes());
    }
    frame.extend(payload);
    frame
}

/// The switches' packets, moved by the test.
struct Fabric<'a> {
    served: &'a Served,
    began: Instant,
}

impl Fabric<'_> {
    /// What leaves a port of a switch that a packet enters.
    fn through(&self, switch: &str, port: u16, frame: Vec<u8>, exit: u16) -> Vec<Vec<u8>> {
        let mut runtime = self.served.switches[switch].lock().unwrap_or_else(PoisonError::into_inner);
        let switch = runtime.switch_mut().unwrap();
        let now = u64::try_from(self.began.elapsed().as_nanos()).unwrap();
        switch.ingress(port, Packet::new(frame), now);
        // A queue sends when its port is free, which is soon.
        let mut left = Vec::new();
        while let Some(at) = switch.next_departure(exit) {
            let departure = switch.dequeue(exit, now.max(at));
            left.extend(departure.and_then(|departure| departure.packet).map(|packet| packet.to_octets()));
        }
        left
    }

    /// Sends a packet from host to host; those of the first link may be lost. Gives what arrives.
    fn send(&self, psn: u32, lost: bool) -> Vec<Vec<u8>> {
        let marked = self.through("l1", 1, packet(psn), 2);
        assert_eq!(marked.len(), 1, "a route to the spine");
        assert_eq!(marked[0][14 + 6], 0, "Hop-by-Hop: it bears a mark");
        if lost {
            return Vec::new();
        }
        let forward = |frames: Vec<Vec<u8>>, switch: &str, exit| -> Vec<Vec<u8>> {
            let port = if switch == "sp" { 1 } else { 2 };
            frames.into_iter().flat_map(|frame| self.through(switch, port, frame, exit)).collect()
        };
        forward(forward(marked, "sp", 2), "l2", 1)
    }
}

/// A running controller; ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The sender function's socket, at a port below which two more are free to be named.
fn sender_function() -> (UdpSocket, u16) {
    let first = 50_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let socket =
        (0..2000).find_map(|step| UdpSocket::bind((Ipv6Addr::LOCALHOST, first + step)).ok()).unwrap();
    let port = socket.local_addr().unwrap().port();
    socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    (socket, port)
}

fn report(socket: &UdpSocket) -> Option<PathReport> {
    let mut buffer = [0; 2048];
    let (length, from) = socket.recv_from(&mut buffer).ok()?;
    assert_eq!(from.ip(), Ipv6Addr::LOCALHOST, "the collector's address");
    let (header, message) = decode(&buffer[..length]).unwrap();
    assert_eq!((header.flags, header.flow_id.0), (Flags::NONE, 0));
    let Message::PathReport(report) = message else { panic!("{message:?}") };
    Some(report)
}

#[test]
fn losses_between_real_switches_are_reported_to_the_sender() {
    let (socket, port) = sender_function();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("marked.yaml");
    std::fs::write(&path, topology(port)).unwrap();
    let served = Served::new(path.to_str().unwrap());
    let mut child = Command::new(env!("CARGO_BIN_EXE_crn"));
    child.args(served.args("controller", path.to_str().unwrap())).stdout(Stdio::null()).stderr(Stdio::null());
    let _running = Running(child.spawn().unwrap());

    let fabric = Fabric { served: &served, began: Instant::now() };
    let deadline = Instant::now() + PATIENCE;
    let ready = |fabric: &Fabric<'_>| {
        served.switches.values().all(|switch| {
            let runtime = switch.lock().unwrap_or_else(PoisonError::into_inner);
            runtime.switch().is_some()
        }) && {
            let frames = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| fabric.send(0, false)));
            frames.is_ok_and(|frames| frames.len() == 1)
        }
    };
    let silence = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    while !ready(&fabric) {
        assert!(Instant::now() < deadline, "the switches never got their entries");
        std::thread::yield_now();
    }
    std::panic::set_hook(silence);

    // Without losses, until the collector knows all switches in both colours; then with some, for several periods; then
    // without until it has told.
    let mut reports: Vec<PathReport> = Vec::new();
    let (mut psn, mut lost, mut loss_ends) = (1, 0, None);
    let told = |reports: &[PathReport]| -> u32 {
        reports.iter().flat_map(|report| &report.entries).map(|entry| entry.lost).sum()
    };
    while loss_ends.is_none_or(|at| Instant::now() < at) || told(&reports) < lost {
        assert!(
            Instant::now() < deadline,
            "{lost} lost, {} reports, the last {:?}",
            reports.len(),
            reports.last()
        );
        let whole = |reports: &[PathReport]| reports.iter().all(|report| report.entries.len() == 5);
        if loss_ends.is_none() && reports.len() >= 2 && whole(&reports[reports.len() - 2..]) {
            loss_ends = Some(Instant::now() + 6 * PERIOD);
        }
        for _ in 0..8 {
            psn += 1;
            let now_lost = psn % 10 == 0 && loss_ends.is_some_and(|at| Instant::now() < at);
            lost += u32::from(now_lost);
            let arrived = fabric.send(psn, now_lost);
            assert_eq!(arrived.len(), usize::from(!now_lost));
            for frame in arrived {
                assert_eq!(frame[14 + 6], 17, "the mark came off");
            }
        }
        reports.extend(report(&socket));
    }
    assert!(lost > 0);
    assert_eq!(told(&reports), lost, "every one, once");
    for report in &reports {
        assert_eq!(report.method, Method::ALTERNATE_MARKING);
        assert_eq!((report.flow.source(), report.flow.destination()), (SENDER.into(), RECEIVER.into()));
        assert_eq!(report.flow_label, QP);
        // On a busy machine a switch may not have been read in time for a period.
        if report.entries.len() < 5 {
            continue;
        }
        let nodes: Vec<u32> = report.entries.iter().map(|entry| entry.node_id).collect();
        assert_eq!(nodes, [11, 33, 33, 22, 22], "an entry for each measurement point");
        for (place, entry) in report.entries.iter().enumerate() {
            let cause = if entry.lost > 0 { Cause::CORRUPTION } else { Cause::UNKNOWN };
            assert_eq!((entry.lost > 0, entry.cause), (entry.lost > 0 && place == 1, cause), "{entry:?}");
        }
    }
    assert!(
        reports.iter().any(|report| report.entries.len() == 5 && report.entries[1].lost > 0),
        "{reports:?}"
    );
    let periods: Vec<u32> = reports.iter().map(|report| report.entries[0].period).collect();
    assert!(periods.windows(2).all(|pair| pair[1] > pair[0]), "{periods:?}");
}
