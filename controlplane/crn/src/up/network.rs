//! Network namespaces, the pairs of interfaces between them, and what a host needs to talk.
//!
//! All switches are in one namespace, each host has its own. Pairs are made within the namespaces, so that nothing of a
//! run is ever seen outside, and everything goes when the namespaces go.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use controller::topology::{End, Host, PortRef, Topology};
use miette::{IntoDiagnostic as _, Result, WrapErr as _, miette};

use super::process::{self, MARK};

/// Longest frame, L2 headers left out: a payload of 4,096 octets and its headers fit.
const MTU: u32 = 9000;

/// What hosts take for their router; the switch behind their port takes frames to any address.
const ROUTER: &str = "169.254.0.1";
const ROUTER_V6: &str = "fe80::1";

/// Longest name of an interface.
const NAME_OCTETS: usize = 15;

/// A host's interface.
pub const HOST_INTERFACE: &str = "eth0";

/// Names of a run's namespaces and interfaces.
#[derive(Debug)]
pub struct Network {
    run: String,
    interfaces: BTreeMap<PortRef, String>,
}

impl Network {
    /// The names for a topology.
    pub fn new(run: &str, topology: &Topology) -> Self {
        let ports = || {
            topology.switches.iter().flat_map(|(name, switch)| {
                switch.ports.keys().map(move |&port| PortRef { switch: name.clone(), port })
            })
        };
        let named = |port: &PortRef| format!("{}-eth{}", port.switch, port.port);
        let fits = ports().all(|port| named(&port).len() <= NAME_OCTETS);
        let numbers: BTreeMap<&String, usize> = topology.switches.keys().zip(1..).collect();
        let interfaces = ports().map(|port| {
            let number = numbers.get(&port.switch).copied().unwrap_or_default();
            let name = if fits { named(&port) } else { format!("s{number}-eth{}", port.port) };
            (port, name)
        });
        Self { run: run.to_owned(), interfaces: interfaces.collect() }
    }

    /// The run's id.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The namespace of the switches.
    pub fn switches(&self) -> String {
        format!("crn-{}", self.run)
    }

    /// The namespace of a host.
    pub fn host(&self, name: &str) -> String {
        format!("crn-{}-{name}", self.run)
    }

    /// Name of the interface of a switch port.
    pub fn interface(&self, port: &PortRef) -> &str {
        self.interfaces.get(port).map_or("", String::as_str)
    }

    /// Names of all switches' interfaces.
    pub fn interfaces(&self) -> impl Iterator<Item = &str> {
        self.interfaces.values().map(String::as_str)
    }

    /// Every namespace.
    pub fn namespaces(&self, topology: &Topology) -> Vec<String> {
        let hosts = topology.hosts.keys().map(|name| self.host(name));
        std::iter::once(self.switches()).chain(hosts).collect()
    }

    /// Makes everything.
    pub fn make(&self, topology: &Topology) -> Result<()> {
        let mut all = String::new();
        for namespace in self.namespaces(topology) {
            let _ = writeln!(all, "netns add {namespace}");
        }
        for link in &topology.links {
            let [one, other] = &link.ends;
            let (one, other) = (self.end(topology, one), self.end(topology, other));
            let _ = writeln!(all, "link add {one} type veth peer name {other}");
        }
        self.ip(&[], &all)?;
        let switches = self.switches();
        process::within(&switches, without_ipv6)?;
        let up = |name: &String| format!("link set {name} up\n");
        let ups: String = self.interfaces.values().map(up).collect();
        self.ip(&["-n", &switches], &format!("link set lo up\n{ups}"))?;
        topology.hosts.iter().try_for_each(|(name, host)| self.prepare(topology, name, host))
    }

    /// Takes the cable at a switch port out, or puts it in.
    pub fn set_link(&self, port: &PortRef, up: bool) -> Result<()> {
        let state = if up { "up" } else { "down" };
        self.ip(&["-n", &self.switches()], &format!("link set {} {state}\n", self.interface(port)))
    }

    /// One end of a pair, as `ip link add` takes it.
    fn end(&self, topology: &Topology, end: &End) -> String {
        match end {
            End::Port(port) => format!("{} mtu {MTU} netns {}", self.interface(port), self.switches()),
            End::Host(name) => {
                let mac = topology.hosts.get(name).map(|host| mac(host.mac)).unwrap_or_default();
                format!("{HOST_INTERFACE} mtu {MTU} address {mac} netns {}", self.host(name))
            }
        }
    }

    /// Gives a host its addresses and its way to all others.
    fn prepare(&self, topology: &Topology, name: &str, host: &Host) -> Result<()> {
        let namespace = self.host(name);
        let router = topology.switches.get(&host.attachment.switch);
        let [a, b, c, d] = router.map_or([0; 4], |switch| switch.address.octets());
        // The address that the controller gives switches.
        let router = mac([2, 1, a, b, c, d]);
        let mut lines = format!(
            "link set lo up\nlink set {HOST_INTERFACE} up\naddress add {}/32 dev {HOST_INTERFACE}\n\
             neighbour add {ROUTER} lladdr {router} dev {HOST_INTERFACE} nud permanent\n\
             route add default via {ROUTER} dev {HOST_INTERFACE} onlink\n",
            host.address
        );
        if let Some(address) = host.ipv6 {
            let _ = write!(
                lines,
                "address add {address}/128 dev {HOST_INTERFACE} nodad\n\
                 neighbour add {ROUTER_V6} lladdr {router} dev {HOST_INTERFACE} nud permanent\n\
                 route add default via {ROUTER_V6} dev {HOST_INTERFACE} onlink\n"
            );
        }
        let ipv6 = host.ipv6.is_some();
        process::within(&namespace, || {
            if !ipv6 {
                without_ipv6()?;
            }
            // The switch can't finish checksums that a host leaves to its interface.
            let program = process::find("ethtool").unwrap_or_else(|| "ethtool".into());
            execute(Command::new(program).args(["-K", HOST_INTERFACE, "tx", "off"]).env(MARK, &self.run), "")
        })?;
        self.ip(&["-n", &namespace], &lines)
    }

    /// Has `ip` do several things.
    fn ip(&self, options: &[&str], lines: &str) -> Result<()> {
        let program = process::find("ip").unwrap_or_else(|| "ip".into());
        execute(Command::new(program).args(options).args(["-batch", "-"]).env(MARK, &self.run), lines)
    }
}

/// The namespaces that have a run's name and are there.
pub fn namespaces_of(run: &str) -> Vec<String> {
    let entries = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let (switches, host) = (format!("crn-{run}"), format!("crn-{run}-"));
    names.filter(|name| *name == switches || name.starts_with(&host)).collect()
}

/// Removes a namespace, if it is there.
pub fn remove(namespace: &str) -> Result<()> {
    if !std::path::Path::new("/run/netns").join(namespace).exists() {
        return Ok(());
    }
    let program = process::find("ip").unwrap_or_else(|| "ip".into());
    execute(Command::new(program).args(["netns", "delete", namespace]), "")
}

/// Runs a program with something on its standard input, to its end.
pub fn execute(command: &mut Command, input: &str) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    // Ctrl-C is for us, and what was begun is done to its end.
    command.process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().into_diagnostic().wrap_err_with(|| name.clone())?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that ends early says why.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().into_diagnostic()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // `ip -batch` says with which line it failed.
    let number = said.split("-:").nth(1).and_then(|text| text.trim().parse::<usize>().ok());
    let line = number.and_then(|number| input.lines().nth(number.checked_sub(1)?)).unwrap_or_default();
    let arguments: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    Err(miette!("{name} {} {line}: {}", arguments.join(" "), said.trim()))
}

/// In the calling thread's namespace: no addresses that the system makes up, no solicitations to routers.
fn without_ipv6() -> Result<()> {
    for which in ["all", "default"] {
        match fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1") {
            // A kernel without IPv6, or a container that keeps it as it is: the noise is harmless.
            Err(error)
                if !matches!(
                    error.kind(),
                    io::ErrorKind::NotFound
                        | io::ErrorKind::PermissionDenied
                        | io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                return Err(error).into_diagnostic().wrap_err("disable_ipv6");
            }
            _ => {}
        }
    }
    Ok(())
}

fn mac(octets: [u8; 6]) -> String {
    octets.map(|octet| format!("{octet:02x}")).join(":")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn interfaces_have_the_switches_names_where_these_are_short_enough() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies/incast-8to1.yaml");
        let text = fs::read_to_string(&path).unwrap();
        for (name, right) in [
            ("s1", "s1-eth9"),
            ("switch-99", "switch-99-eth9"),
            ("switch-100", "switch-100-eth9"),
            ("switch-1000", "s1-eth9"),
        ] {
            let text = text.replace("s1:", &format!("{name}:"));
            let topology = controller::topology::parse_octets("a.yaml", text.as_bytes()).unwrap();
            let network = Network::new("a1", &topology);
            assert_eq!(network.interface(&PortRef { switch: name.to_owned(), port: 9 }), right);
            assert!(network.interfaces.values().all(|name| name.len() <= NAME_OCTETS));
        }
    }
}
