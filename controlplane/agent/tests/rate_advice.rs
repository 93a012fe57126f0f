//! The agents of SCONE on real sockets, and rate limits that `tc` keeps, in a namespace of the test's own.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use agent::scone::{Advised, Event, GatewayAgent, Shaper, ShaperError, Shared, run};
use libtest_mimic::{Arguments, Trial};
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket,
};
use scone::bound::Approach;
use scone::gateway::{GatewayConfig, Remote, Site};
use scone::sender::SenderConfig;
use tokio::sync::oneshot;
use wire::scone::RateAdvice;
use wire::units::{BitPerSec, MbitPerSec, Nanos};

const SELF: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// More than a loaded machine takes for any of this.
const PATIENCE: Duration = Duration::from_secs(20);

fn advice(rate: u32, source: Ipv4Addr) -> Vec<u8> {
    RateAdvice { rate: MbitPerSec(rate), source: source.into() }.to_octets()
}

/// An agent in a thread, which is of the namespace of the one that starts it.
struct Agent {
    at: SocketAddr,
    events: Receiver<Event>,
    shared: Shared,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Agent {
    fn start<M: agent::driver::Machine>(
        address: impl Into<SocketAddr>,
        make: impl FnOnce(agent::scone::Observer, Shared) -> M + Send + 'static,
    ) -> Self {
        let address = address.into();
        let (told, events) = channel();
        let (bound, at) = channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let shared = Shared::default();
        let others = Shared::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let observe = Box::new(move |_, event: &Event| drop(told.send(event.clone())));
            let mut machine = make(observe, others);
            let bound = |local| bound.send(local).unwrap();
            let stop = async { drop(stopped.await) };
            runtime.block_on(run(address, &mut machine, bound, stop)).map(|_| ()).unwrap();
        });
        let at = at.recv_timeout(PATIENCE).unwrap();
        Self { at, events, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// The first event that `wanted` takes.
    fn wait<T>(&self, wanted: impl Fn(&Event) -> Option<T>) -> T {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let event = self.events.recv_timeout(left).unwrap();
            if let Some(found) = wanted(&event) {
                return found;
            }
        }
    }

    fn end(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

fn config(element: Ipv4Addr, address: Ipv4Addr, expiry: Nanos) -> SenderConfig {
    let approach =
        Approach { step_interval: Nanos(1_000_000), step_percent: 100, expiry, release_percent: None };
    SenderConfig {
        elements: [element.into()].into(),
        addresses: [address.into()].into(),
        approach,
        ..SenderConfig::new(BitPerSec(1_000_000_000))
    }
}

fn advice_becomes_a_cap_that_is_told_of_exported_and_released() {
    let mut agent = Agent::start(SocketAddrV4::new(SELF, 0), |observe, shared| {
        Advised::new(config(SELF, SELF, Nanos(2_000_000_000)), None, observe, shared).unwrap()
    });
    let switch = UdpSocket::bind((SELF, 0)).unwrap();
    switch.send_to(&advice(250, SELF), agent.at).unwrap();
    let cap = agent.wait(|event| match *event {
        Event::Cap { source, advised, bound, expired: false } => Some((source, advised, bound)),
        _ => None,
    });
    assert_eq!(cap, (IpAddr::V4(SELF), 250_000_000, 250_000_000));
    // From elsewhere, for another, below the floor, and no message at all.
    let stranger = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).unwrap();
    stranger.send_to(&advice(100, SELF), agent.at).unwrap();
    let reason = agent.wait(|event| match event {
        Event::Discarded { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    assert!(reason.contains("127.0.0.2, which is no network element"), "{reason}");
    let snapshot = agent.shared.lock().unwrap().clone();
    assert_eq!(snapshot.rates, [(IpAddr::V4(SELF), 250_000_000)]);
    assert!(snapshot.counters.contains(&("advice", 1)));
    switch.send_to(&advice(100, Ipv4Addr::new(127, 0, 0, 9)), agent.at).unwrap();
    switch.send_to(&advice(9, SELF), agent.at).unwrap();
    switch.send_to(&[0; 3], agent.at).unwrap();
    // Longer than what is taken whole.
    switch.send_to(&[0; 9300], agent.at).unwrap();
    agent.wait(|event| matches!(event, Event::Released { .. }).then_some(()));
    agent.end();
    let snapshot = agent.shared.lock().unwrap().clone();
    assert_eq!(snapshot.rates, []);
    for (name, count) in [("untrusted", 1), ("not_ours", 1), ("below_floor", 1), ("malformed", 2)] {
        assert!(snapshot.counters.contains(&(name, count)), "{:?}", snapshot.counters);
    }
}

/// The same rate again is told of once a second at most; a cap that rises after its advice's expiry is told of as such.
fn what_is_said_again_is_told_of_when_it_changes_and_the_rise_as_such() {
    let mut agent = Agent::start(SocketAddrV4::new(SELF, 0), |observe, shared| {
        let mut config = config(SELF, SELF, Nanos(1_000_000_000));
        config.approach.step_interval = Nanos(50_000_000);
        config.approach.release_percent = Some(100);
        Advised::new(config, None, observe, shared).unwrap()
    });
    let switch = UdpSocket::bind((SELF, 0)).unwrap();
    for rate in [250; 100].into_iter().chain([240]) {
        switch.send_to(&advice(rate, SELF), agent.at).unwrap();
    }
    let told = std::cell::Cell::new(0);
    agent.wait(|event| match *event {
        Event::Advice { rate: 250, .. } => {
            told.set(told.get() + 1);
            None
        }
        Event::Advice { .. } => Some(()),
        _ => None,
    });
    // A loaded machine may take seconds for them.
    assert!((1..10).contains(&told.get()), "{} lines for 100 times the same", told.get());
    let rise = agent.wait(|event| match *event {
        Event::Cap { bound, expired: true, advised, .. } => Some((bound, advised)),
        _ => None,
    });
    assert_eq!(rise, (480_000_000, 240_000_000));
    agent.wait(|event| matches!(event, Event::Released { .. }).then_some(()));
    agent.end();
    let snapshot = agent.shared.lock().unwrap().clone();
    assert!(snapshot.counters.contains(&("advice", 101)), "{:?}", snapshot.counters);
}

fn a_gateway_turns_backpressure_into_advice_and_advice_into_backpressure() {
    let loopback = |third, fourth| Ipv4Addr::new(127, 0, third, fourth);
    let (peer, element) = (loopback(0, 3), loopback(0, 9));
    // The domain's port is the same everywhere: here that of the peer, wherever that found one free.
    let remote_gateway = UdpSocket::bind((peer, 0)).unwrap();
    let port = remote_gateway.local_addr().unwrap().port();
    let senders = [1, 2].map(|host| UdpSocket::bind((loopback(1, host), port)).unwrap());
    for socket in senders.iter().chain([&remote_gateway]) {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    let site = |third: u8| Site {
        prefix: format!("127.0.{third}.0/24").parse().unwrap(),
        senders: [1, 2].map(|host| IpAddr::V4(loopback(third, host))).into(),
    };
    let config = GatewayConfig {
        elements: [element.into()].into(),
        served: vec![site(1)],
        remote: vec![Remote { site: site(2), gateway: peer.into() }],
        expiry: Nanos(200_000_000),
        repeat: Nanos(50_000_000),
        ..GatewayConfig::new(loopback(0, 1).into(), port)
    };
    let mut agent = Agent::start(SocketAddrV4::new(loopback(0, 1), port), |observe, shared| {
        GatewayAgent::new(config, 48, observe, shared).unwrap()
    });
    let received = |socket: &UdpSocket| {
        let mut octets = [0; 64];
        let (length, from) = socket.recv_from(&mut octets).unwrap();
        assert_eq!(from.ip(), IpAddr::V4(loopback(0, 1)));
        RateAdvice::decode(&octets[..length]).unwrap()
    };
    remote_gateway.send_to(&advice(800, loopback(1, 0)), agent.at).unwrap();
    for (host, socket) in (1..).zip(&senders) {
        let expected = RateAdvice { rate: MbitPerSec(400), source: loopback(1, host).into() };
        assert_eq!(received(socket), expected);
        assert_eq!(received(socket), expected, "repeated");
    }
    agent.wait(|event| matches!(event, Event::Advised { rate: None, .. }).then_some(()));
    let switch = UdpSocket::bind((element, 0)).unwrap();
    switch.send_to(&advice(100, loopback(2, 2)), agent.at).unwrap();
    let expected = RateAdvice { rate: MbitPerSec(200), source: loopback(2, 0).into() };
    assert_eq!(received(&remote_gateway), expected);
    agent.end();
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split_whitespace()).status().unwrap();
    assert!(status.success(), "ip {arguments}");
}

fn tc(arguments: &str) -> String {
    let output = Command::new("tc").args(arguments.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "tc {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Octets that came through the wire.
fn arrived() -> u64 {
    let output = Command::new("ip").args(["-j", "-s", "link", "show", "w1"]).output().unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    shown[0]["stats64"]["rx"]["bytes"].as_u64().unwrap()
}

/// What `source` gets through in half a second or so, in octets per second.
fn throughput(source: Ipv4Addr) -> f64 {
    let socket = UdpSocket::bind((source, 0)).unwrap();
    let (begun, before) = (Instant::now(), arrived());
    while begun.elapsed() < Duration::from_millis(500) {
        socket.send_to(&[0; 1200], (Ipv4Addr::new(10, 9, 0, 9), 9)).unwrap();
    }
    (arrived() - before) as f64 / begun.elapsed().as_secs_f64()
}

/// In a network namespace of its own, with a wire w0 to w1 that nobody answers on.
fn the_kernel_keeps_the_cap_and_the_interface_is_restored() {
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    let (limited, free) = (Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2));
    ip("link set lo up");
    ip("link add w0 type veth peer name w1");
    ip("link set w0 up");
    ip("link set w1 up");
    ip("address add 10.9.0.1/24 dev w0");
    ip("address add 10.9.0.2/24 dev w0");
    ip("neighbour add 10.9.0.9 lladdr 02:00:00:00:00:09 dev w0 nud permanent");
    let before = tc("qdisc show dev w0");

    let shaper = Shaper::start("w0").unwrap();
    let mut agent = Agent::start(SocketAddrV4::new(limited, 0), move |observe, shared| {
        let config = config(limited, limited, Nanos(10_000_000_000));
        Advised::new(config, Some(shaper), observe, shared).unwrap()
    });
    let switch = UdpSocket::bind((limited, 0)).unwrap();
    switch.send_to(&advice(16, limited), agent.at).unwrap();
    agent.wait(|event| matches!(event, Event::Cap { .. }).then_some(()));
    let until = Instant::now() + PATIENCE;
    while !tc("filter show dev w0").contains("0a090001") {
        assert!(Instant::now() < until, "no limit: {}", tc("class show dev w0"));
    }
    assert!(tc("class show dev w0").contains("rate 16Mbit"), "{}", tc("class show dev w0"));
    // 2 MB a second and the burst; the other address is only bounded by this machine.
    let (slow, fast) = (throughput(limited), throughput(free));
    assert!(slow < 2_500_000.0, "{slow} octets a second at 16 Mbit/s");
    assert!(fast > slow, "{fast} and {slow} octets a second");
    // The advice expires; with it the limit.
    agent.wait(|event| matches!(event, Event::Released { .. }).then_some(()));
    let until = Instant::now() + PATIENCE;
    while !tc("class show dev w0").is_empty() {
        assert!(Instant::now() < until, "{}", tc("class show dev w0"));
    }
    agent.end();
    assert_eq!(tc("qdisc show dev w0"), before);

    // What a killed agent left is taken over; what somebody chose is not.
    tc("qdisc add dev w0 root handle 5c0e: htb");
    drop(Shaper::start("w0").unwrap());
    assert_eq!(tc("qdisc show dev w0"), before);
    tc("qdisc add dev w0 root handle 1: tbf rate 1mbit burst 10kb latency 50ms");
    let refused = Shaper::start("w0").unwrap_err();
    assert!(matches!(refused, ShaperError::InUse { .. }), "{refused}");
    assert!(refused.to_string().contains("tbf 1:"), "{refused}");
    assert!(tc("qdisc show dev w0").contains("tbf 1:"));
    assert!(matches!(Shaper::start("nothing").unwrap_err(), ShaperError::NoInterface(_)));
}

/// In a namespace of its own, with a wire w0 to w1.
fn wired() {
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    ip("link set lo up");
    ip("link add w0 type veth peer name w1");
    ip("link set w0 up");
    ip("link set w1 up");
}

fn until(what: &str, wanted: impl Fn(&str) -> bool) {
    let until = Instant::now() + PATIENCE;
    while !wanted(&tc(what)) {
        assert!(Instant::now() < until, "{what}: {}", tc(what));
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn an_interface_has_one_shaper_in_its_namespace() {
    wired();
    let first = Shaper::start("w0").unwrap();
    first.set(Ipv4Addr::new(10, 9, 0, 1).into(), Some(BitPerSec(16_000_000)));
    until("class show dev w0", |shown| shown.contains("rate 16Mbit"));
    let refused = Shaper::start("w0").unwrap_err();
    assert!(matches!(refused, ShaperError::Held { .. }), "{refused}");
    let said = format!("w0 is limited by process {} already", std::process::id());
    assert!(refused.to_string().contains(&said), "{refused}");
    assert!(tc("class show dev w0").contains("rate 16Mbit"), "the first one's limit stays");
    // Another interface, and one of the same name and number elsewhere, are others.
    drop(Shaper::start("w1").unwrap());
    let elsewhere = std::thread::spawn(|| {
        wired();
        drop(Shaper::start("w0").unwrap());
    });
    elsewhere.join().unwrap();
    assert_eq!(first.end(), None);
    drop(Shaper::start("w0").unwrap());
}

fn limits_that_somebody_takes_away_are_set_again_and_what_fails_is_told() {
    wired();
    let before = tc("qdisc show dev w0");
    let [first, second] = [1, 2].map(|host| IpAddr::V4(Ipv4Addr::new(10, 9, 0, host)));
    let shaper = Shaper::start("w0").unwrap();
    shaper.set(first, Some(BitPerSec(16_000_000)));
    shaper.set(second, Some(BitPerSec(32_000_000)));
    let all = |second: &'static str| {
        until("class show dev w0", |shown| shown.contains("rate 16Mbit") && shown.contains(second));
        // Filters come last.
        until("filter show dev w0", |shown| shown.contains("0a090001") && shown.contains("0a090002"));
    };
    all("rate 32Mbit");
    // With the next change of any limit, and, where none changes, within a second or so.
    tc("qdisc del dev w0 root");
    shaper.set(second, Some(BitPerSec(33_000_000)));
    all("rate 33Mbit");
    tc("qdisc del dev w0 root");
    all("rate 33Mbit");
    assert_eq!(shaper.failure(), None);
    // Another qdisc in its place: told of, and left alone.
    tc("qdisc replace dev w0 root handle 7: pfifo");
    shaper.set(second, Some(BitPerSec(34_000_000)));
    let until = Instant::now() + PATIENCE;
    let told = loop {
        if let Some(told) = shaper.failure() {
            break told;
        }
        assert!(Instant::now() < until, "nothing was told");
    };
    assert!(told.contains("w0 has the qdisc pfifo 7:"), "{told}");
    assert_eq!(shaper.end(), None, "what lasts is told of once");
    assert!(tc("qdisc show dev w0").contains("pfifo 7:"), "somebody's choice stays");
    tc("qdisc del dev w0 root");
    assert_eq!(tc("qdisc show dev w0"), before);
    // An interface that can't be as it was.
    let shaper = Shaper::start("w0").unwrap();
    ip("link del w0");
    assert!(shaper.end().unwrap().contains("w0"));
}

/// Legal in UDP, from one who wants no answer.
fn advice_from_port_0_counts() {
    wired();
    let mut agent = Agent::start(SocketAddrV4::new(SELF, 0), |observe, shared| {
        Advised::new(config(SELF, SELF, Nanos(2_000_000_000)), None, observe, shared).unwrap()
    });
    let raw = socket(AddressFamily::Inet, SockType::Raw, SockFlag::empty(), SockProtocol::Udp).unwrap();
    let payload = advice(250, SELF);
    let length = u16::try_from(8 + payload.len()).unwrap().to_be_bytes();
    let port = agent.at.port().to_be_bytes();
    let packet = [&[0, 0][..], &port, &length, &[0, 0], &payload].concat();
    sendto(raw.as_raw_fd(), &packet, &SockaddrIn::new(127, 0, 0, 1, 0), MsgFlags::empty()).unwrap();
    agent.wait(|event| matches!(event, Event::Cap { bound: 250_000_000, .. }).then_some(()));
    agent.end();
}

/// A sender that there is no way to: told of, and counted as refused and not as sent.
fn what_a_gateway_can_not_send_is_told_of() {
    wired();
    let (own, element) = (Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 9));
    let sender = Ipv4Addr::new(10, 1, 0, 1);
    let site = Site { prefix: "10.1.0.0/16".parse().unwrap(), senders: [sender.into()].into() };
    let config = GatewayConfig {
        elements: [element.into()].into(),
        served: vec![site],
        expiry: Nanos(2_000_000_000),
        repeat: Nanos(100_000_000),
        ..GatewayConfig::new(own.into(), 52_103)
    };
    let mut agent = Agent::start(SocketAddrV4::new(own, 52_103), |observe, shared| {
        GatewayAgent::new(config, 48, observe, shared).unwrap()
    });
    let switch = UdpSocket::bind((element, 0)).unwrap();
    switch.send_to(&advice(100, sender), agent.at).unwrap();
    let (to, count) = agent.wait(|event| match *event {
        Event::Refused { to, count, .. } => Some((to, count)),
        _ => None,
    });
    assert_eq!((to, count), (SocketAddr::new(sender.into(), 52_103), 1));
    // The same again is told of a second later, with how many there were.
    let more = agent.wait(|event| match *event {
        Event::Refused { count, .. } => Some(count),
        _ => None,
    });
    assert!(more > 1, "{more}");
    agent.end();
    let snapshot = agent.shared.lock().unwrap().clone();
    let count = |name| snapshot.counters.iter().find(|counter| counter.0 == name).unwrap().1;
    assert!(count("refused") > more && count("sent") == 0, "{:?}", snapshot.counters);
}

/// Whether a namespace can be made and its interfaces shaped.
fn can_shape() -> bool {
    let script = "ip link add w type veth peer name v && tc qdisc add dev w root htb";
    Command::new("unshare")
        .args(["--net", "sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn main() {
    let arguments = Arguments::from_args();
    let shapes = can_shape();
    let test = |name: &str, body: fn()| {
        // A namespace belongs to a thread.
        let run = move || std::thread::spawn(body).join().map_err(|_| "panicked".into());
        Trial::test(name, run)
    };
    let absent = if shapes { "" } else { " (absent: root, iproute2)" };
    let trials = vec![
        test(
            "advice_becomes_a_cap_that_is_told_of_exported_and_released",
            advice_becomes_a_cap_that_is_told_of_exported_and_released,
        ),
        test(
            "a_gateway_turns_backpressure_into_advice_and_advice_into_backpressure",
            a_gateway_turns_backpressure_into_advice_and_advice_into_backpressure,
        ),
        test(
            &format!("the_kernel_keeps_the_cap_and_the_interface_is_restored{absent}"),
            the_kernel_keeps_the_cap_and_the_interface_is_restored,
        )
        .with_ignored_flag(!shapes),
        test(
            "what_is_said_again_is_told_of_when_it_changes_and_the_rise_as_such",
            what_is_said_again_is_told_of_when_it_changes_and_the_rise_as_such,
        ),
    ];
    let in_namespaces: [(&str, fn()); 4] = [
        ("an_interface_has_one_shaper_in_its_namespace", an_interface_has_one_shaper_in_its_namespace),
        (
            "limits_that_somebody_takes_away_are_set_again_and_what_fails_is_told",
            limits_that_somebody_takes_away_are_set_again_and_what_fails_is_told,
        ),
        ("advice_from_port_0_counts", advice_from_port_0_counts),
        ("what_a_gateway_can_not_send_is_told_of", what_a_gateway_can_not_send_is_told_of),
    ];
    let in_namespaces =
        in_namespaces.map(|(name, body)| test(&format!("{name}{absent}"), body).with_ignored_flag(!shapes));
    let trials = trials.into_iter().chain(in_namespaces).collect();
    libtest_mimic::run(&arguments, trials).exit();
}
