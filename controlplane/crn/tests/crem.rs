//! `crn agent crem` on real interfaces: two gateways as processes, and between them a path that loses packets. Needs root and
//! iproute2; without, it is listed as absent.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use agent::link::{Buffers, Link};
use libtest_mimic::{Arguments, Failed, Trial};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use wire::frame::{Datagram, Ecn, UdpChecksum};
use wire::roce::{Bth, Opcode, Psn, UDP_PORT, icrc};

const PORT: u16 = 52_101;
/// So many packets may be lost, and so many follow.
const LOSSY: u32 = 2800;
const AFTER: u32 = 200;
/// By then the flow must be set up.
const MOST: u32 = 1_000_000;
const PATIENCE: Duration = Duration::from_secs(60);

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// In a namespace of this thread: `h1` and `h2` are the hosts' ends, `g1` and `g2` the gateways' inside, `w1` and `w2` their outside,
/// and `p1` and `p2` the ends of the path.
fn network() {
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    ip("link set lo up");
    for (one, other) in [("h1", "g1"), ("w1", "p1"), ("p2", "w2"), ("g2", "h2")] {
        ip(&format!("link add {one} type veth peer name {other}"));
        for end in [one, other] {
            // The kernel says nothing of its own on these.
            let quiet = format!("/proc/sys/net/ipv6/conf/{end}/disable_ipv6");
            let _ = std::fs::write(quiet, "1");
            ip(&format!("link set {end} mtu 9000 up"));
        }
    }
}

fn frame(psn: u32) -> Vec<u8> {
    let datagram = Datagram {
        source_mac: [2, 0, 0, 0, 0, 1],
        destination_mac: [2, 0, 0, 0, 0, 2],
        source: Ipv4Addr::new(10, 1, 0, 1),
        destination: Ipv4Addr::new(10, 2, 0, 2),
        source_port: 49_300,
        destination_port: UDP_PORT,
        dscp: 26,
        ecn: Ecn::Ect0,
        time_to_live: 64,
        identification: 0,
    };
    let mut payload = Bth::new(Opcode::SEND_ONLY, 0x1234, Psn::new(psn)).to_octets().to_vec();
    payload.extend((0..1024u32).map(|octet| u8::try_from((octet * 7 + psn * 13) % 251).unwrap()));
    payload.extend_from_slice(&[0; 4]);
    let mut frame = datagram.frame(&payload, 0, UdpChecksum::Zero).unwrap();
    let end = frame.len() - 4;
    let crc = icrc(&frame[14..end], 0).unwrap();
    frame[end..].copy_from_slice(&crc);
    frame
}

/// The PSN of a `RoCEv2` frame.
fn psn(frame: &[u8]) -> Option<u32> {
    let port = u16::from_be_bytes(*frame.get(36..)?.first_chunk()?);
    (port == UDP_PORT).then(|| Bth::decode(&frame[42..]).unwrap().psn.value())
}

fn wait(links: &[&Link]) {
    let mut fds: Vec<PollFd<'_>> =
        links.iter().map(|link| PollFd::new(link.as_fd(), PollFlags::POLLIN)).collect();
    poll(&mut fds, PollTimeout::from(10u16)).unwrap();
}

fn receive(link: &Link, buffers: &mut Buffers) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while link.receive(buffers, Vec::new, |frame| frames.push(frame)).is_ok_and(|count| count > 0) {}
    frames
}

/// The path: moves frames between `p1` and `p2`, and of the packets from `first` on, [`LOSSY`] of them, loses two of thirty.
struct Path {
    stop: Arc<AtomicBool>,
    first: Arc<AtomicU64>,
    /// PSNs of what was lost, once each.
    lost: Arc<Mutex<BTreeSet<u32>>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Path {
    fn start() -> Self {
        let (stop, lost) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(BTreeSet::new())));
        let first = Arc::new(AtomicU64::new(u64::MAX));
        let ends = ["p1", "p2"].map(|name| Link::open(name).unwrap());
        let thread = thread::spawn({
            let (stop, lost, first) = (Arc::clone(&stop), Arc::clone(&lost), Arc::clone(&first));
            move || {
                let mut buffers = Buffers::new();
                while !stop.load(Ordering::Acquire) {
                    wait(&[&ends[0], &ends[1]]);
                    for (from, to) in [(0, 1), (1, 0)] {
                        let mut frames = receive(&ends[from], &mut buffers);
                        let first = first.load(Ordering::Acquire);
                        let lossy = first..first.saturating_add(LOSSY.into());
                        let mut lost = lost.lock().unwrap();
                        frames.retain(|frame| {
                            let lossy =
                                psn(frame).filter(|psn| lossy.contains(&u64::from(*psn)) && psn % 30 < 2);
                            !lossy.is_some_and(|psn| lost.insert(psn))
                        });
                        drop(lost);
                        assert_eq!(ends[to].send(&mut buffers, &frames).failed, 0);
                    }
                }
            }
        });
        Self { stop, first, lost, thread: Some(thread) }
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        let _ = self.thread.take().unwrap().join();
    }
}

/// A gateway; killed with this value.
struct Gateway {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    metrics: String,
}

impl Gateway {
    fn start(inside: &str, outside: &str, metrics: u16) -> Self {
        let metrics = format!("127.0.0.1:{metrics}");
        let sides = ["--inside", inside, "--outside", outside, "--mtu", "1024", "--initial-rtt", "20ms"];
        let port = PORT.to_string();
        let mut child = Command::new(env!("CARGO_BIN_EXE_crn"))
            .args([
                "agent",
                "crem",
                "--crem-port",
                &port,
                "--json",
                "--listen",
                &metrics,
                "--prior-loss",
                "0.07",
            ])
            .args(sides)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let started: Value = serde_json::from_str(&line).unwrap_or_else(|_| {
            let mut error = String::new();
            child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
            panic!("it doesn't start: {error}");
        });
        assert_eq!((&started["event"], &started["crem_port"]), (&"started".into(), &PORT.into()));
        Self { child, stdout, metrics }
    }

    /// A counter as the gateway exports it; none before the first figures.
    fn metric(&self, name: &str) -> Option<u64> {
        let mut stream = TcpStream::connect(&self.metrics).ok()?;
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).ok()?;
        let line = page.lines().find(|line| line.split(' ').next() == Some(&format!("crn_crem_{name}")))?;
        line.rsplit(' ').next()?.parse().ok()
    }

    /// Ends it; gives its figures.
    fn end(mut self) -> Value {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{rest}");
        serde_json::from_str(rest.lines().last().unwrap()).unwrap()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What `h2` gets is what `h1` sent, octet by octet, whatever the path loses; and what isn't `RoCEv2` passes.
fn a_lossy_path_loses_nothing() -> Result<(), Failed> {
    network();
    let path = Path::start();
    let (near, far) = (Gateway::start("g1", "w1", 9467), Gateway::start("g2", "w2", 9468));
    let (a, b) = (Link::open("h1")?, Link::open("h2")?);
    let mut buffers = Buffers::new();
    let arp = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 1, 8, 6], &[7; 46]].concat();
    assert_eq!(a.send(&mut buffers, std::slice::from_ref(&arp)).failed, 0);

    let deadline = Instant::now() + PATIENCE;
    let (mut order, mut came, mut others) = (Vec::new(), BTreeSet::new(), Vec::new());
    let (mut last_news, mut twice) = (Instant::now(), 0);
    // How many are to be sent is known once the flow is set up.
    let (mut sent, mut packets) = (0, MOST);
    while came.len() < packets as usize || others.is_empty() {
        assert!(
            Instant::now() < deadline,
            "{} of {packets} came, {sent} sent, {:?} restored",
            came.len(),
            far.metric("receiver_restored_total")
        );
        if packets == MOST && sent % 1000 == 0 && near.metric("sender_ordinary_total") > Some(0) {
            path.first.store(sent.into(), Ordering::Release);
            packets = sent + LOSSY + AFTER;
        }
        // No more on the way than the interfaces' queues hold.
        if sent < packets && sent as usize <= came.len() + 400 {
            let frames: Vec<_> = (sent..sent + 20).map(frame).collect();
            assert_eq!(a.send(&mut buffers, &frames).failed, 0);
            sent += 20;
        } else {
            wait(&[&b]);
        }
        for got in receive(&b, &mut buffers) {
            last_news = Instant::now();
            let Some(psn) = psn(&got) else {
                others.push(got);
                continue;
            };
            assert!(got == frame(psn), "packet {psn} came changed");
            // Held for too long on a busy machine, one goes on for the receiver's NAK, and again in its turn.
            if !came.insert(psn) {
                twice += 1;
                order.retain(|&before| before != psn);
            }
            order.push(psn);
        }
        // What a busy machine left to the transport, which this test has none of.
        if last_news.elapsed() > Duration::from_millis(500) {
            let missing: Vec<_> = (0..sent).filter(|psn| !came.contains(psn)).map(frame).collect();
            assert_eq!(a.send(&mut buffers, &missing).failed, 0);
            last_news = Instant::now();
        }
    }
    assert_eq!(others, [arp]);
    let lost = path.lost.lock().unwrap().clone();
    assert!(lost.len() > 150, "{}", lost.len());
    order.retain(|psn| !lost.contains(psn));
    assert!(order.is_sorted(), "nothing overtakes");
    let (near, far) = (near.end(), far.end());
    let restored = far["receiver"]["restored"].as_u64().ok_or("a count")?;
    let refusals = far["receiver"]["refusals"].as_u64().ok_or("a count")?;
    assert!(twice <= refusals, "{twice} packets came twice, {refusals} of them for a NAK");
    let lost = lost.len() as u64;
    assert!(restored <= lost && restored * 10 >= lost * 8, "{near} {far}");
    assert_eq!((&far["receiver"]["invalid"], &far["event"]), (&0.into(), &"summary".into()));
    assert_eq!(far["gateway"]["refused_inside"], 0);
    assert!(near["sender"]["ordinary"].as_u64() > Some(0), "{near}");
    drop(path);
    Ok(())
}

fn what_is_missing_is_named() {
    let cases: [(&[&str], i32, &str); 6] = [
        (&["--inside", "lo", "--outside", "lo"], 1, "no CREM port, which has no default"),
        (&["--inside", "lo", "--outside", "lo", "--crem-port", "52101"], 1, "can't be both sides"),
        (&["--inside", "nosuchif0", "--outside", "lo", "--crem-port", "52101"], 1, "no interface nosuchif0"),
        (&["--outside", "lo", "--crem-port", "52101"], 2, "--inside"),
        (&["--inside", "a", "--outside", "b", "--receiver", "10.0.0.0/8"], 2, "10.2.0.0/16=10.2.255.254"),
        (&["--inside", "a", "--outside", "b", "--prior-loss", "2"], 2, "0 to 0.5"),
    ];
    for (arguments, code, text) in cases {
        let output = Command::new(env!("CARGO_BIN_EXE_crn"))
            .args(["agent", "crem"])
            .args(arguments)
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.contains(text), "{arguments:?}: {error}");
    }
}

fn main() {
    let arguments = Arguments::from_args();
    let able = nix::unistd::geteuid().is_root() && Command::new("ip").arg("-V").output().is_ok();
    let live = "a lossy path loses nothing (needs root, iproute2)";
    let trials = vec![
        // A thread of its own: its namespace goes with it.
        Trial::test(live, || thread::spawn(a_lossy_path_loses_nothing).join().unwrap())
            .with_ignored_flag(!able),
        Trial::test("what is missing is named", || {
            what_is_missing_is_named();
            Ok(())
        }),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}
