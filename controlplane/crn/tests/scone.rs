//! `crn agent scone` and `crn agent scone-gateway` as processes: on loopback over IPv4 and IPv6, and in network namespaces,
//! where `tc` keeps the caps. What needs root or iproute2 is listed as absent without.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod living;

use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Trial};
use living::{Network, Running, ip, page, unbroken};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use wire::scone::RateAdvice;
use wire::units::MbitPerSec;

const PORT: &str = "52103";
const SWITCH: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 255, 0, 1));

fn loopback(third: u8, fourth: u8) -> IpAddr {
    Ipv4Addr::new(127, 79, third, fourth).into()
}

fn advise(from: &UdpSocket, to: SocketAddr, rate: u32, source: IpAddr) {
    from.send_to(&RateAdvice { rate: MbitPerSec(rate), source }.to_octets(), to).unwrap();
}

/// A port that nothing listens at.
fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// `crn agent scone` for `address`, one step to the advised rate and none of the rise afterwards.
fn host(address: IpAddr, element: IpAddr, more: &[&str]) -> Vec<String> {
    let (address, element) = (address.to_string(), element.to_string());
    let line = ["agent", "scone", "--address", &address, "--element", &element, "--link-rate", "1Gbps"];
    let fixed = ["--port", PORT, "--json", "--step-percent", "100", "--release-percent", "0"];
    line.iter().chain(&fixed).chain(more).map(|&word| word.to_owned()).collect()
}

fn start(arguments: &[String]) -> Running {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Running::crn(&arguments)
}

/// Without a topology file: a cap is printed, exported, and gone when its time is over; strangers change nothing.
fn caps_are_printed_exported_and_released(address: IpAddr, element: IpAddr, stranger: Option<IpAddr>) {
    let listen = free_port();
    let host = start(&host(address, element, &["--expiry", "2s", "--listen", &listen.to_string()]));
    let started = host.event("started", |_| true);
    assert_eq!((&started["address"], &started["port"]), (&address.to_string().into(), &52_103.into()));
    let at = SocketAddr::new(address, 52_103);
    if let Some(stranger) = stranger {
        advise(&UdpSocket::bind((stranger, 0)).unwrap(), at, 50, address);
        let discarded = host.event("discarded", |_| true);
        assert!(discarded["reason"].as_str().unwrap().contains("no network element"), "{discarded}");
    }
    let switch = UdpSocket::bind((element, 0)).unwrap();
    advise(&switch, at, 250, address);
    let cap = host.event("cap", |_| true);
    assert_eq!(cap["source"], address.to_string());
    assert_eq!((&cap["advised"], &cap["bound"]), (&250_000_000.into(), &250_000_000.into()));
    let metrics = page(listen, "/metrics");
    let exported = format!("crn_scone_host_rate_bits_per_second{{address=\"{address}\"}} 250000000");
    assert!(metrics.contains(&exported) && metrics.contains("crn_scone_host_advice_total 1"), "{metrics}");
    assert_eq!(host.event("released", |_| true)["source"], address.to_string());
    assert!(!page(listen, "/metrics").contains(&exported));
    host.signal(Signal::SIGINT);
    let (code, said, error) = host.wait();
    assert_eq!(code, Some(0), "{error}");
    assert!(said.contains("stopping"), "{said}");
}

/// For people: a line a change.
fn people_read_lines() {
    let (address, element) = (loopback(3, 1), loopback(3, 2));
    let mut line = host(address, element, &["--expiry", "10s"]);
    line.retain(|word| word != "--json");
    let host = start(&line);
    assert!(host.line().ends_with("s  rate advice comes to 127.79.3.1 port 52103\n"));
    let switch = UdpSocket::bind((element, 0)).unwrap();
    advise(&switch, SocketAddr::new(address, 52_103), 400, address);
    assert!(host.line().ends_with("s  127.79.3.2 advises 127.79.3.1 400 Mbit/s\n"));
    assert!(host.line().ends_with("s  cap of 127.79.3.1: 400.000 Mbit/s, on its way to 400.000\n"));
    host.signal(Signal::SIGTERM);
    assert_eq!(host.wait().0, Some(0));
}

/// SCONE, Deployment across Intelligent Computing Data Centers, as four processes: a switch's advice at B for senders at A goes
/// from gateway to gateway, and caps both senders. Addresses: gateways, senders, the switch at B.
fn backpressure_caps_senders_behind_two_gateways(
    run: &dyn Fn(&[String]) -> Running,
    socket: &dyn Fn(SocketAddr) -> UdpSocket,
    [a, b, first, second, element]: [IpAddr; 5],
    prefix: &str,
) {
    let gateway = |own: IpAddr, elements: &[IpAddr], more: &[String]| {
        let mut line: Vec<String> =
            ["agent", "scone-gateway", "--json", "--port", PORT, "--address"].map(str::to_owned).into();
        line.push(own.to_string());
        for element in elements {
            line.extend(["--element".to_owned(), element.to_string()]);
        }
        line.extend_from_slice(more);
        run(&line)
    };
    let site = format!("{prefix}={first},{second}");
    // A trusts no switch of its own here.
    let at_a = gateway(a, &[], &["--serve".to_owned(), site.clone(), format!("--remote={}", other(b))]);
    let at_b = gateway(b, &[element], &["--remote".to_owned(), format!("{site}@{a}")]);
    let hosts = [first, second].map(|address| run(&host(address, a, &["--expiry", "10s"])));
    for process in [&at_a, &at_b, &hosts[0], &hosts[1]] {
        process.event("started", |_| true);
    }
    let switch = socket(SocketAddr::new(element, 0));
    advise(&switch, SocketAddr::new(b, 52_103), 300, first);
    let pressed = at_a.event("backpressure", |_| true);
    assert_eq!((&pressed["from"], &pressed["rate"]), (&b.to_string().into(), &600.into()), "{pressed}");
    for (host, address) in hosts.iter().zip([first, second]) {
        let cap = host.event("cap", |_| true);
        assert_eq!((&cap["source"], &cap["bound"]), (&address.to_string().into(), &300_000_000.into()));
    }
    for process in [&at_a, &at_b, &hosts[0], &hosts[1]] {
        process.signal(Signal::SIGTERM);
    }
    for process in [at_a, at_b] {
        let (code, said, error) = process.wait();
        assert_eq!(code, Some(0), "{error}");
        assert!(said.contains("stopping"), "{said}");
    }
}

/// A prefix behind `gateway`, so that it is a remote gateway at all.
fn other(gateway: IpAddr) -> String {
    match gateway {
        IpAddr::V4(_) => format!("10.99.0.0/16=10.99.0.1@{gateway}"),
        IpAddr::V6(_) => format!("fd99::/64=fd99::1@{gateway}"),
    }
}

fn over_gateways_ipv4() {
    let addresses = [loopback(0, 1), loopback(0, 2), loopback(1, 1), loopback(1, 2), loopback(0, 9)];
    let socket = |address| UdpSocket::bind(address).unwrap();
    backpressure_caps_senders_behind_two_gateways(&start, &socket, addresses, "127.79.1.0/24");
}

/// A namespace, because loopback has one IPv6 address only.
fn over_gateways_ipv6() {
    let network = Network::new(0);
    let address = |number: u16| IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, number >> 8, 0, 0, 0, number & 0xff));
    let addresses = [1, 2, 0x101, 0x102, 9].map(address);
    for address in addresses {
        ip(&format!("-n {} addr add {address}/128 dev lo nodad", network.name(0)));
    }
    let run = |arguments: &[String]| {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        network.crn(0, &arguments)
    };
    let socket = |address| network.socket(0, address);
    backpressure_caps_senders_behind_two_gateways(&run, &socket, addresses, "fd00:0:0:1::/64");
}

/// A host and a switch in namespaces, over a wire.
struct Bed {
    network: Network,
    switch: UdpSocket,
}

const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const HOST_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1));

impl Bed {
    fn new() -> Bed {
        let network = Network::new(1);
        let [switch, host] = [0, 1].map(|n| network.name(n).to_owned());
        ip(&format!("-n {switch} addr add {SWITCH}/32 dev s1"));
        ip(&format!("-n {switch} route add {HOST}/32 dev s1"));
        ip(&format!("-n {switch} neigh add {HOST} lladdr 02:00:0a:00:00:01 dev s1"));
        ip(&format!("-n {host} addr add {HOST_V6}/128 dev h1 nodad"));
        let socket = network.socket(0, SocketAddr::new(SWITCH, 0));
        Bed { network, switch: socket }
    }

    fn tc(&self, what: &str) -> String {
        let output = self.network.command(1, "tc", &[what, "show", "dev", "h1"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Waits until what `tc` shows is so.
    fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        let until = Instant::now() + Duration::from_secs(30);
        while !wanted(&self.tc(what)) {
            assert!(Instant::now() < until, "{what}: {}", self.tc(what));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The agent that limits h1, with a cap of its own and one of another address, IPv6, in force.
    fn limited(&self) -> Running {
        let more = ["--expiry", "60s", "--limit", "h1", "--source", &HOST_V6.to_string()];
        let line = host(HOST, SWITCH, &more);
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let agent = self.network.crn(1, &line);
        agent.event("started", |_| true);
        for (rate, source) in [(16, HOST), (32, HOST_V6)] {
            advise(&self.switch, SocketAddr::new(HOST, 52_103), rate, source);
            agent.event("cap", |cap| cap["source"] == source.to_string());
        }
        self.until("class", |shown| shown.contains("rate 16Mbit") && shown.contains("rate 32Mbit"));
        // The matches on 10.0.0.1 and on the parts of fd00::1.
        self.until("filter", |shown| {
            ["0a000001/ffffffff", "fd000000/ffffffff", "00000001/ffffffff"].iter().all(|m| shown.contains(m))
        });
        assert!(self.tc("qdisc").contains("htb 5c0e: root"));
        agent
    }
}

/// The interface is as it was when the agent ends on any signal that asks for it, and when advice expires; what a killed one left, the next
/// takes over.
fn the_limit_is_set_and_taken_away_however_the_agent_ends() {
    let bed = Bed::new();
    let before = bed.tc("qdisc");
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT] {
        let agent = bed.limited();
        agent.signal(signal);
        let (code, _, error) = agent.wait();
        assert_eq!(code, Some(0), "{error}");
        assert_eq!(bed.tc("qdisc"), before, "{signal}");
    }
    // A second agent is refused while the first has the interface, and the first one's limits stay.
    let first = bed.limited();
    let second = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let line = host(second, second, &["--limit", "h1"]);
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let (code, _, error) = bed.network.crn(1, &line).wait();
    assert_eq!(code, Some(1), "{error}");
    assert!(unbroken(&error).contains("h1 is limited by process"), "{error}");
    let shown = bed.tc("class");
    assert!(shown.contains("rate 16Mbit") && shown.contains("rate 32Mbit"), "{shown}");
    first.signal(Signal::SIGTERM);
    assert_eq!(first.wait().0, Some(0));
    assert_eq!(bed.tc("qdisc"), before);
    let killed = bed.limited();
    killed.signal(Signal::SIGKILL);
    killed.wait();
    assert!(bed.tc("qdisc").contains("htb 5c0e:"), "nobody restored it");
    let next = bed.limited();
    next.signal(Signal::SIGTERM);
    assert_eq!(next.wait().0, Some(0));
    assert_eq!(bed.tc("qdisc"), before);
}

/// An interface whose qdisc somebody chose, or that isn't there, is refused, and stays as it is; so is an address of others,
/// after which the interface is as it was.
fn what_can_not_be_limited_is_refused() {
    let bed = Bed::new();
    let run = |address: IpAddr, interface: &str| {
        let line = host(address, SWITCH, &["--limit", interface]);
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let (code, _, error) = bed.network.crn(1, &line).wait();
        assert_eq!(code, Some(1), "{error}");
        unbroken(&error)
    };
    assert!(run(HOST, "h9").contains("h9"));
    let before = bed.tc("qdisc");
    let elsewhere = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    assert!(run(elsewhere, "h1").contains("give an address of this host"));
    assert_eq!(bed.tc("qdisc"), before);
    let add = ["qdisc", "add", "dev", "h1", "root", "handle", "7:", "pfifo"];
    assert!(bed.network.command(1, "tc", &add).status().unwrap().success());
    let chosen = bed.tc("qdisc");
    assert!(run(HOST, "h1").contains("pfifo 7:"));
    assert_eq!(bed.tc("qdisc"), chosen);
}

//~ SCONE, UDP Encapsulation: 8be0094c
/// What is wrong is said with what would be right; exit code 2 for wrong usage, 1 for what can't be.
fn wrong_usage_is_refused() {
    let common = ["--address", "127.79.9.1", "--port", PORT];
    let element = ["--element", "10.255.0.1"];
    let with = |more: &[&'static str]| [&element[..], more].concat();
    let [slow, both, site, own] = [
        with(&["--link-rate", "1Gbps", "--step", "2s"]),
        with(&["--link-rate", "1Gbps", "--element", "::1"]),
        with(&[]),
        with(&["--serve", "127.79.9.0/24=127.79.9.1"]),
    ];
    let more: [(&str, &[&str], i32, &str); 8] = [
        ("scone", &slow, 1, "at most the expiry"),
        ("scone", &both, 1, "--element ::1"),
        ("scone-gateway", &site, 1, "--serve, --remote or both"),
        ("scone-gateway", &["--serve", "10.1.0.0/16=10.1.0.1"], 1, "--element"),
        ("scone-gateway", &["--remote", "10.1.0.0/16=10.1.0.1@10.1.9.9"], 1, "--element"),
        ("scone-gateway", &own, 1, "sender 127.79.9.1 is this gateway itself"),
        ("scone-gateway", &["--serve", "fd00::/64=fd00::1", "--element", "10.0.0.1"], 1, "IP version"),
        (
            "scone-gateway",
            &["--remote", "10.1.0.0/16=10.1.0.1@127.79.9.1", "--element", "10.0.0.1"],
            1,
            "itself",
        ),
    ];
    let cases: [(&str, &[&str], i32, &str); 6] = [
        ("scone", &["--link-rate", "1Gbps"], 2, "--element"),
        ("scone", &["--element", "10.255.0.1"], 2, "--link-rate"),
        ("scone", &["--element", "10.255.0.1", "--link-rate", "1"], 2, "Gbps"),
        ("scone", &["--element", "10.255.0.1", "--link-rate", "1Gbps", "--floor", "2Gbps"], 1, "floor"),
        ("scone-gateway", &["--element", "10.255.0.1", "--serve", "10.1.0.0/16"], 2, "10.1.0.0/16=10.1.0.1"),
        ("scone-gateway", &["--element", "10.255.0.1", "--serve", "10.1.0.0/16=10.2.0.1"], 1, "10.2.0.1"),
    ];
    let ports = [("4791", "RoCEv2"), ("53", "--allow-any-port"), ("49151", "49152 to 65535")];
    let rest = ["--element", "10.255.0.1", "--link-rate", "1Gbps"];
    let ports = ports.map(|(port, text)| (["--address", "127.79.9.1", "--port", port], &rest[..], text));
    let nobody = (["--address", "0.0.0.0", "--port", PORT], &rest[..], "--source");
    let hosts =
        ports.into_iter().chain([nobody]).map(|(common, more, text)| ("scone", common, more, 1, text));
    let gateway = ["--element", "10.255.0.1", "--serve", "10.1.0.0/16=10.1.0.1"];
    let anywhere = ("scone-gateway", ["--address", "::", "--port", PORT], &gateway[..], 1, "--address ::");
    let cases =
        cases.into_iter().chain(more).map(|(kind, more, code, text)| (kind, common, more, code, text));
    for (kind, common, more, code, text) in cases.chain(hosts).chain([anywhere]) {
        let output = Command::new(env!("CARGO_BIN_EXE_crn"))
            .args([&["agent", kind][..], &common, more].concat())
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        let error = unbroken(&String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{kind} {more:?}: {error}");
        assert!(error.contains(text), "{kind} {more:?}: {error}");
    }
}

/// Whoever reads the lines may pause: the agent goes on, limits end, `/metrics` answers, a signal ends it. What was lost is said
/// where it is missing.
fn a_reader_that_pauses_stops_nothing() {
    let listen = free_port();
    let (address, element) = (loopback(4, 1), loopback(4, 2));
    let arguments = host(address, element, &["--expiry", "1s", "--listen", &listen.to_string()]);
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crn"));
        command.args(&arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let metric = |name: &str| {
        let page = page(listen, "/metrics");
        let value = page.lines().find_map(|line| line.strip_prefix(&format!("crn_scone_host_{name} ")));
        value.map_or(0, |value| value.parse::<u64>().unwrap())
    };
    let until = |name: &str, wanted: &dyn Fn(u64) -> bool| {
        let until = Instant::now() + Duration::from_secs(60);
        while !wanted(metric(name)) {
            assert!(Instant::now() < until, "{name}: {}", page(listen, "/metrics"));
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let switch = UdpSocket::bind((element, 0)).unwrap();
    let at = SocketAddr::new(address, 52_103);
    let flood = || {
        until("lines_lost_total", &|lost| lost == 0);
        let mut rate = 0;
        while metric("lines_lost_total") == 0 {
            for _ in 0..100 {
                rate = rate % 100 + 100;
                advise(&switch, at, rate + 1, address);
                rate += 1;
            }
        }
        // The limit ends in time although nobody reads that it does.
        let bound = format!("rate_bits_per_second{{address=\"{address}\"}}");
        until(&bound, &|rate| rate == 0);
    };

    let mut agent = start();
    let mut lines = BufReader::new(agent.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("started"));
    flood();
    // The reader goes on, and finds out.
    let (told, lost) = channel();
    let reader = std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let event: serde_json::Value = serde_json::from_str(&line).unwrap();
            if event["event"] == "lines_lost" {
                told.send(event["count"].as_u64().unwrap()).unwrap();
            }
        }
    });
    let until_told = Instant::now() + Duration::from_secs(60);
    let count = loop {
        // Lines that come now have room, once the reader has taken what waited.
        advise(&switch, at, 300, address);
        advise(&switch, at, 301, address);
        if let Ok(count) = lost.recv_timeout(Duration::from_millis(20)) {
            break count;
        }
        assert!(Instant::now() < until_told, "nobody says that lines were lost");
    };
    assert!(count > 0);
    let signal =
        |agent: &Child| kill(Pid::from_raw(agent.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    signal(&agent);
    assert_eq!(agent.wait().unwrap().code(), Some(0));
    reader.join().unwrap();

    // Another pauses for ever.
    let mut agent = start();
    let mut lines = BufReader::new(agent.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("started"));
    flood();
    signal(&agent);
    assert_eq!(agent.wait().unwrap().code(), Some(0));
}

/// Started by one who had it ignore the terminal's end, it goes on after that.
fn nohup_is_respected() {
    let script = "trap '' HUP; exec \"$0\" \"$@\"";
    let arguments = host(loopback(5, 1), loopback(5, 2), &[]);
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_crn")]).args(&arguments);
    let agent = Running::start(command);
    agent.event("started", |_| true);
    agent.signal(Signal::SIGHUP);
    let switch = UdpSocket::bind((loopback(5, 2), 0)).unwrap();
    advise(&switch, SocketAddr::new(loopback(5, 1), 52_103), 400, loopback(5, 1));
    agent.event("cap", |_| true);
    agent.signal(Signal::SIGTERM);
    assert_eq!(agent.wait().0, Some(0));
}

/// Whether namespaces can be made and their interfaces shaped.
fn can_shape() -> bool {
    let script = "ip link add w type veth peer name v && tc qdisc add dev w root htb && ethtool --version";
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
    let able = nix::unistd::geteuid().is_root() && can_shape();
    let v6 = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    let plain = |name: &str, body: fn()| {
        Trial::test(name, move || {
            body();
            Ok(())
        })
    };
    let live = |name: &str, body: fn()| {
        let absent = if able { "" } else { " (absent: root, iproute2, ethtool)" };
        plain(&format!("{name}{absent}"), body).with_ignored_flag(!able)
    };
    let trials = vec![
        plain("caps are printed, exported and released over IPv4", || {
            caps_are_printed_exported_and_released(loopback(2, 1), loopback(2, 2), Some(loopback(2, 3)));
        }),
        plain("caps are printed, exported and released over IPv6", || {
            let own = Ipv6Addr::LOCALHOST.into();
            caps_are_printed_exported_and_released(own, own, None);
        })
        .with_ignored_flag(!v6),
        plain("people read lines", people_read_lines),
        plain("backpressure caps senders behind two gateways over IPv4", over_gateways_ipv4),
        live("backpressure caps senders behind two gateways over IPv6", over_gateways_ipv6),
        live(
            "the limit is set, and taken away however the agent ends",
            the_limit_is_set_and_taken_away_however_the_agent_ends,
        ),
        live("what can't be limited is refused", what_can_not_be_limited_is_refused),
        plain("wrong usage is refused", wrong_usage_is_refused),
        plain("a reader that pauses stops nothing", a_reader_that_pauses_stops_nothing),
        plain("nohup is respected", nohup_is_respected),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}
