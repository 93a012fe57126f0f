#!/usr/bin/env python3
"""A topology file of crn as a Mininet network.

The same YAML that `crn sim`, `crn apply` and `crn up` read: its switches as `crn switch` or as BMv2's
`simple_switch_grpc`, its hosts with the addresses and MACs of the file, the controller's entries put into the switches.
Needs root, Mininet (Debian's package `mininet`, which comes for the system's own Python: /usr/bin/python3) and `crn`.

    sudo /usr/bin/python3 topologies/mininet_run.py topologies/incast-8to1.yaml --cli
    sudo /usr/bin/python3 topologies/mininet_run.py topologies/incast-8to1.yaml --pingall --target bmv2
"""

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

try:
    from mininet.cli import CLI
    from mininet.log import setLogLevel
    from mininet.net import Mininet
    from mininet.node import Host, Switch
except ImportError:
    sys.exit("no Mininet for this Python: apt-get install mininet, then run this with /usr/bin/python3")

# What hosts take for their router; the switch behind their port takes frames to any address.
ROUTER = "169.254.0.1"
# Longest frame, L2 headers left out: a payload of 4,096 octets and its headers fit.
MTU = 9000
FIRST_P4RUNTIME_PORT = 50051
FIRST_THRIFT_PORT = 9090
# Seconds that a switch may take to listen.
PATIENCE = 60
# Queues of BMv2, unless something else is asked for: packets per second and packets.
QUEUE_RATE = 1000
QUEUE_DEPTH = 20000


class DomainHost(Host):
    """A host of the file: its address alone, everything else behind its switch, nothing left to ARP."""

    def config(self, address=None, router_mac=None, **params):
        result = super().config(**params)
        name = self.defaultIntf().name
        self.cmd(f"ip link set {name} mtu {MTU}")
        # The switch can't finish checksums that a host leaves to its interface.
        self.cmd(f"ethtool -K {name} tx off")
        self.cmd("sysctl -qw net.ipv6.conf.all.disable_ipv6=1")
        self.cmd(f"ip address flush dev {name}; ip address add {address}/32 dev {name}")
        self.cmd(f"ip neighbour replace {ROUTER} lladdr {router_mac} dev {name} nud permanent")
        self.cmd(f"ip route replace default via {ROUTER} dev {name} onlink")
        return result


class P4Switch(Switch):
    """A switch with P4Runtime; what listens and how its line reads is the subclasses'."""

    program = None

    def __init__(self, name, device_id=1, offset=0, folder=".", queue_rate=None, **params):
        self.device_id = device_id
        self.p4runtime = FIRST_P4RUNTIME_PORT + offset
        self.thrift = FIRST_THRIFT_PORT + offset
        self.log = os.path.join(folder, f"{name}.log")
        self.queue_rate = queue_rate
        self.process = None
        # Mininet's way with switches: their interfaces are the machine's, and P4Runtime on its loopback.
        params["inNamespace"] = False
        super().__init__(name, dpid=f"{device_id:x}", **params)

    def attached(self):
        """Port numbers and interfaces, the loopback left out."""
        return sorted((port, intf.name) for port, intf in self.intfs.items() if intf.name != "lo")

    def line(self):
        raise NotImplementedError

    def start(self, controllers):
        for _, name in self.attached():
            self.cmd(f"ip link set {name} mtu {MTU} up")
            self.cmd(f"sysctl -qw net.ipv6.conf.{name}.disable_ipv6=1")
        with open(self.log, "w", encoding="utf-8") as log:
            # A process group of its own: Ctrl-C in Mininet's prompt is for what runs there.
            self.process = subprocess.Popen(
                self.line(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        begin = time.monotonic()
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.p4runtime)) == 0:
                    return
            if self.process.poll() is not None or time.monotonic() - begin > PATIENCE:
                with open(self.log, encoding="utf-8") as log:
                    raise RuntimeError(f"{self.name} doesn't serve P4Runtime:\n{log.read().strip()}")
            time.sleep(0.05)

    def configured(self):
        """Called when program and entries are in it."""

    def stop(self, deleteIntfs=True):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        super().stop(deleteIntfs)


class CrnSwitch(P4Switch):
    """`crn switch`, softswitch as a process."""

    crn = "crn"

    def line(self):
        line = [self.crn, "switch", "--no-p4", "--device-id", str(self.device_id)]
        line += ["--grpc-server-addr", f"127.0.0.1:{self.p4runtime}"]
        if self.queue_rate:
            line += ["--queue-rate", str(self.queue_rate), "--queue-depth", str(QUEUE_DEPTH)]
        for port, name in self.attached():
            line += ["-i", f"{port}@{name}"]
        return line


class Bmv2Switch(P4Switch):
    """BMv2's `simple_switch_grpc`."""

    def line(self):
        line = ["simple_switch_grpc", "--no-p4", "--device-id", str(self.device_id), "--log-console", "-L", "warn"]
        line += ["--thrift-port", str(self.thrift)]
        for port, name in self.attached():
            line += ["-i", f"{port}@{name}"]
        return line + ["--", "--grpc-server-addr", f"127.0.0.1:{self.p4runtime}", "--priority-queues", "8"]

    def configured(self):
        if not self.queue_rate:
            return
        lines = ""
        for port, _ in self.attached():
            lines += f"set_queue_depth {QUEUE_DEPTH} {port}\nset_queue_rate {self.queue_rate} {port}\n"
        line = ["simple_switch_CLI", "--thrift-port", str(self.thrift)]
        done = subprocess.run(line, input=lines, capture_output=True, text=True, check=False)
        if done.returncode != 0 or "Error" in done.stdout:
            raise RuntimeError(f"{self.name}: its queues' rate and depth: {done.stdout}{done.stderr}")


def mac_of_switch(address):
    """The address that the controller gives switches: 02:01 and the IPv4 address."""
    return ":".join(f"{octet:02x}" for octet in [2, 1, *map(int, address.split("."))])


def find_crn(given):
    """`crn` as given, on the path, or as cargo leaves it."""
    here = os.path.dirname(os.path.abspath(__file__))
    built = [os.path.join(here, "..", "target", kind, "crn") for kind in ("release", "debug")]
    for candidate in [given] if given else [shutil.which("crn"), *built]:
        if candidate and os.access(candidate, os.X_OK):
            return os.path.abspath(candidate)
    sys.exit("no crn: build it with `cargo build --release -p crn`, or give --crn PATH")


def build(topology, args, folder):
    """The network, not yet started."""
    kind = {"soft": CrnSwitch, "bmv2": Bmv2Switch}[args.target]
    net = Mininet(switch=kind, host=DomainHost, controller=None, build=False, autoSetMacs=False)
    switches = {switch["name"]: switch for switch in topology["switches"]}
    for offset, (name, switch) in enumerate(switches.items()):
        net.addSwitch(
            name, device_id=switch["device_id"], offset=offset, folder=folder, queue_rate=args.queue_rate
        )
    for host in topology["hosts"]:
        router = switches[host["port"].rsplit(":", 1)[0]]
        net.addHost(
            host["name"],
            mac=host["mac"],
            ip=f"{host['address']}/32",
            address=host["address"],
            router_mac=mac_of_switch(router["address"]),
        )
    for name, switch in switches.items():
        for port in switch["ports"]:
            peer, _, far = port["peer"].partition(":")
            # A link between switches is in the list of both.
            if far and (peer, int(far)) < (name, port["port"]):
                continue
            options = {"port2": int(far)} if far else {}
            net.addLink(net[name], net[peer], port1=port["port"], **options)
    net.build()
    return net


def execute(net, line):
    """Runs a line in a host; gives 0 if it ended well, else 1."""
    name, _, command = line.partition(" ")
    if name not in net:
        print(f"there is no node {name}; there are: {', '.join(sorted(net.keys()))}", file=sys.stderr)
        return 1
    sys.stdout.flush()
    # A session of its own (mnexec -d): with us, everything that it started ends.
    process = net[name].popen(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=None, stderr=None)
    try:
        return 1 if process.wait() else 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def run(topology, args, folder):
    """Starts everything, does what was asked for, and takes it down; gives the exit code."""
    net = build(topology, args, folder)
    try:
        net.start()
        apply = [args.crn, "apply", args.topology]
        for switch in net.switches:
            apply += ["--at", f"{switch.name}=127.0.0.1:{switch.p4runtime}"]
        if subprocess.run(apply, check=False).returncode != 0:
            return 1
        for switch in net.switches:
            switch.configured()
        code = 0
        if args.pingall and net.pingAll(timeout="2") > 0:
            code = 1
        for line in args.command:
            code = code or execute(net, line)
        if args.cli:
            CLI(net)
        return code
    finally:
        net.stop()


def main():
    parser = argparse.ArgumentParser(description="A topology file of crn as a Mininet network.")
    parser.add_argument("topology", metavar="TOPOLOGY")
    parser.add_argument("--target", choices=["soft", "bmv2"], default="soft", help="what the switches are")
    parser.add_argument("--cli", action="store_true", help="Mininet's prompt, until `exit`")
    parser.add_argument("--pingall", action="store_true", help="every host pings every other; exit code 1 if one is lost")
    parser.add_argument(
        "--command", metavar="'HOST LINE'", action="append", default=[], help="run a line in a host; may be repeated"
    )
    parser.add_argument(
        "--queue-rate",
        metavar="PACKETS",
        type=int,
        default=QUEUE_RATE,
        help="packets per second of each queue; without a rate queues never stand; 0: none (default: %(default)s)",
    )
    parser.add_argument("--crn", metavar="PATH", help="the crn to use [default: on the path, else as cargo built it]")
    args = parser.parse_args()
    args.crn = find_crn(args.crn)
    CrnSwitch.crn = args.crn
    inspected = subprocess.run([args.crn, "inspect", args.topology, "--json"], stdout=subprocess.PIPE, check=False)
    if inspected.returncode != 0:
        sys.exit(inspected.returncode)
    if os.geteuid() != 0:
        sys.exit("Mininet makes network namespaces and interfaces: run it as root, with sudo")
    wanted = ["ip", "ethtool", "ifconfig"] + (["ping"] if args.pingall else [])
    wanted += ["simple_switch_grpc", "simple_switch_CLI"] if args.target == "bmv2" else []
    missing = [name for name in wanted if shutil.which(name) is None]
    if missing:
        sys.exit(f"not found: {', '.join(missing)} (Debian: iproute2, ethtool, net-tools, iputils-ping; BMv2 is p4lang's)")
    setLogLevel("info" if args.cli else "output")
    # SIGTERM takes everything down as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="crn-mininet-") as folder:
        try:
            sys.exit(run(json.loads(inspected.stdout), args, folder))
        except RuntimeError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
