#!/usr/bin/env python3
"""A topology file of crn as a Mininet network.

The same YAML that `crn sim`, `crn apply` and `crn up` read: its switches as `crn switch` or as BMv2's
`simple_switch_grpc`, its hosts with the addresses and MACs of the file, `crn controller` beside them, and with --agents the
file's workload in the hosts. What runs where, with rates scaled as `crn up` does, is `crn up --plan`'s to say.
Needs root, Mininet (Debian's package `mininet`, which comes for the system's own Python: /usr/bin/python3) and `crn`.

    sudo /usr/bin/python3 topologies/mininet_run.py topologies/incast-8to1.yaml --cli
    sudo /usr/bin/python3 topologies/mininet_run.py topologies/incast-8to1.yaml --pingall --agents --target bmv2
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
# Seconds that a switch, the controller or an agent may take to begin.
PATIENCE = 60
# Seconds that an agent may take to end when asked.
FAREWELL = 10


class DomainHost(Host):
    """A host of the file: its address alone, everything else behind its switch, nothing left to ARP."""

    def config(self, address=None, router_mac=None, shape=None, **params):
        result = super().config(**params)
        name = self.defaultIntf().name
        self.cmd(f"ip link set {name} mtu {MTU}")
        # The switch can't finish checksums that a host leaves to its interface.
        self.cmd(f"ethtool -K {name} tx off")
        self.cmd("sysctl -qw net.ipv6.conf.all.disable_ipv6=1")
        self.cmd(f"ip address flush dev {name}; ip address add {address}/32 dev {name}")
        self.cmd(f"ip neighbour replace {ROUTER} lladdr {router_mac} dev {name} nud permanent")
        self.cmd(f"ip route replace default via {ROUTER} dev {name} onlink")
        if shape and "Error" in (said := self.cmd(f"tc qdisc replace dev {name} root {shape}")):
            print(f"{self.name} sends as fast as it can: {said.strip()}", file=sys.stderr)
        return result


class P4Switch(Switch):
    """`crn switch`, or BMv2's `simple_switch_grpc`: the process that the plan gives its line."""

    def __init__(self, name, plan=None, folder=".", **params):
        self.plan = plan
        host, port = plan["p4runtime"].rsplit(":", 1)
        self.address = (host, int(port))
        self.log = os.path.join(folder, f"{name}.log")
        self.process = None
        # Mininet's way with switches: their interfaces are the machine's, and P4Runtime on its loopback.
        params["inNamespace"] = False
        super().__init__(name, **params)

    def start(self, controllers):
        for intf in self.intfList():
            if intf.name != "lo":
                self.cmd(f"ip link set {intf.name} mtu {MTU} up")
                self.cmd(f"sysctl -qw net.ipv6.conf.{intf.name}.disable_ipv6=1")
        self.process = begin(self.plan["line"], self.log)

        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(self.address) == 0

        wait_for(self.name, self.process, self.log, listens)

    def configured(self):
        """Called when program and entries are in it: BMv2 takes rate and depth of its queues over Thrift only."""
        if not self.plan["queues"]:
            return
        line = ["simple_switch_CLI", "--thrift-port", str(self.plan["thrift"])]
        done = subprocess.run(line, input=self.plan["queues"], capture_output=True, text=True, check=False)
        if done.returncode != 0 or "Error" in done.stdout:
            raise RuntimeError(f"{self.name}: its queues' rate and depth: {done.stdout}{done.stderr}")

    def stop(self, deleteIntfs=True):
        end(self.process)
        super().stop(deleteIntfs)


def begin(line, log):
    """Starts a process with what it says in a file."""
    with open(log, "w", encoding="utf-8") as file:
        # A session of its own: Ctrl-C in Mininet's prompt is for what runs there.
        return subprocess.Popen(
            line, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True, cwd=os.path.dirname(log)
        )


def end(process):
    """Asks a process to end, and after a while doesn't ask any more."""
    if process is None or process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(FAREWELL)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def wait_for(name, process, log, ready):
    """Waits until something has begun; a RuntimeError says why it hasn't."""
    since = time.monotonic()
    while not ready():
        if process.poll() is not None or time.monotonic() - since > PATIENCE:
            raise RuntimeError(f"{name} doesn't begin:\n{read(log).strip()}")
        time.sleep(0.05)


def events(log):
    """The JSON objects in a file, one a line; what isn't whole yet is left out."""
    for line in read(log).splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            pass


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


def build(topology, plan, folder):
    """The network, not yet started."""
    net = Mininet(switch=P4Switch, host=DomainHost, controller=None, build=False, autoSetMacs=False)
    switches = {switch["name"]: switch for switch in topology["switches"]}
    for name, switch in switches.items():
        net.addSwitch(name, plan=plan["switches"][name], folder=folder, dpid=f"{switch['device_id']:x}")
    for host in topology["hosts"]:
        router = switches[host["port"].rsplit(":", 1)[0]]
        net.addHost(
            host["name"],
            mac=host["mac"],
            ip=f"{host['address']}/32",
            address=host["address"],
            router_mac=mac_of_switch(router["address"]),
            shape=plan["hosts"][host["name"]]["shape"],
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


class Agents:
    """The workload: an agent in each host that has a part in it."""

    def __init__(self, net, plan, folder):
        self.folder = folder
        self.of = {name: host["agent"] for name, host in plan["hosts"].items() if host["agent"]}
        self.net = net
        self.processes = {}

    def log(self, name):
        return os.path.join(self.folder, f"{name}.out")

    def start(self):
        """Those that receive first, so that nobody waits for an answer."""
        for sends in (False, True):
            names = [name for name, agent in self.of.items() if (agent["role"] == "rdcc-sender") == sends]
            for name in names:
                with open(self.log(name), "w", encoding="utf-8") as file:
                    self.processes[name] = self.net[name].popen(
                        self.of[name]["line"], stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=self.folder
                    )
            for name in names:
                begun = lambda name=name: any(event.get("event") == "started" for event in events(self.log(name)))
                wait_for(f"the agent of {name}", self.processes[name], self.log(name), begun)
        print(f"{len(self.of)} agents started")

    def wait(self):
        """Until all that was to be sent has ended."""
        for name, agent in self.of.items():
            while agent["batches"] and self.processes[name].poll() is None:
                ended = sum(event.get("event") == "batch_done" for event in events(self.log(name)))
                if ended >= agent["batches"]:
                    break
                time.sleep(0.2)

    def stop(self):
        """Ends them, senders first."""
        for name in sorted(self.processes, key=lambda name: self.of[name]["batches"] == 0):
            end(self.processes[name])

    def figures(self):
        """Prints what each told; gives how many messages weren't delivered."""
        lost = 0
        for name, agent in self.of.items():
            told = [event.get("event") for event in events(self.log(name))]
            done, aborted = told.count("message_done"), told.count("message_aborted")
            lost += aborted
            print(f"{name} ({agent['role']}): {done} done, {aborted} aborted, {told.count('report')} reports")
        return lost


def run(topology, plan, args, folder):
    """Starts everything, does what was asked for, and takes it down; gives the exit code."""
    net = build(topology, plan, folder)
    controller, agents = None, Agents(net, plan, folder)
    try:
        net.start()
        log = os.path.join(folder, "controller.log")
        controller = begin(plan["controller"], log)

        def ready():
            found = {event["switch"] for event in events(log) if "pushed" in event}
            return found >= set(plan["switches"])

        wait_for("the controller", controller, log, ready)
        for switch in net.switches:
            switch.configured()
        print(f"controller: {len(net.switches)} switches ready", flush=True)
        if args.agents:
            agents.start()
        code = 0
        if args.pingall and net.pingAll(timeout="2") > 0:
            code = 1
        for line in args.command:
            code = code or execute(net, line)
        if args.cli:
            CLI(net)
        elif args.agents:
            agents.wait()
        agents.stop()
        if args.agents and agents.figures() and not args.cli:
            code = 1
        return code
    finally:
        agents.stop()
        end(controller)
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
        "--agents", action="store_true", help="run the file's workload; exit code 1 if a message isn't delivered"
    )
    parser.add_argument("--batches", metavar="COUNT", help="how many batches each sender sends [default: the workload's]")
    parser.add_argument(
        "--rate", metavar="RATE", help="what the fastest link gets, all else scaled alike [default: as crn up has it]"
    )
    parser.add_argument("--crn", metavar="PATH", help="the crn to use [default: on the path, else as cargo built it]")
    args = parser.parse_args()
    args.crn = find_crn(args.crn)
    plan = ["up", args.topology, "--plan", "--target", args.target]
    plan += ["--rate", args.rate] if args.rate else []
    plan += ["--batches", args.batches] if args.batches else []
    asked = []
    for line in (["inspect", args.topology, "--json"], plan):
        done = subprocess.run([args.crn, *line], stdout=subprocess.PIPE, check=False)
        if done.returncode != 0:
            sys.exit(done.returncode)
        asked.append(json.loads(done.stdout))
    topology, plan = asked
    if os.geteuid() != 0:
        sys.exit("Mininet makes network namespaces and interfaces: run it as root, with sudo")
    wanted = ["ip", "ethtool", "ifconfig", "tc"] + (["ping"] if args.pingall else [])
    wanted += ["simple_switch_grpc", "simple_switch_CLI"] if args.target == "bmv2" else []
    missing = [name for name in wanted if shutil.which(name) is None]
    if missing:
        sys.exit(f"not found: {', '.join(missing)} (Debian: iproute2, ethtool, net-tools, iputils-ping; BMv2 is p4lang's)")
    setLogLevel("info" if args.cli else "output")
    for note in plan["notes"]:
        print(note)
    # SIGTERM takes everything down as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="crn-mininet-") as folder:
        try:
            sys.exit(run(topology, plan, args, folder))
        except RuntimeError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
