#!/usr/bin/env python3
"""A topology file of crn as a Mininet network.

The same YAML that `crn sim`, `crn apply` and `crn up` read: its switches as `crn switch` or as BMv2's
`simple_switch_grpc`, its hosts with the addresses and MACs of the file, `crn controller` beside them, and with --agents the
file's workload in the hosts. What runs where, with rates scaled as `crn up` does, is `crn up --plan`'s to say.
Needs root, Mininet (Debian's package `mininet`, which comes for the system's own Python: /usr/bin/python3) and `crn`.

    sudo /usr/bin/python3 topologies/mininet_run.py topologies/incast-8to1.yaml --cli
    sudo /usr/bin/python3 topologies/mininet_run.py topologies/incast-8to1.yaml --pingall --agents --target bmv2
"""

import signal

# Until something is made, Ctrl-C just ends it.
signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse
import json
import os
import shutil
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

from mininet_end import Ending, end, mark, take_down

# What hosts take for their router; the switch behind their port takes frames to any address.
ROUTER = "169.254.0.1"
# Longest frame, L2 headers left out: a payload of 4,096 octets and its headers fit.
MTU = 9000
# Seconds that a switch, the controller or an agent may take to begin.
PATIENCE = 60
# Seconds between two looks at what is waited for.
LOOK = 0.05


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

    def __init__(self, name, plan=None, folder=".", ending=None, **params):
        self.plan = plan
        self.ending = ending
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

        wait_for(self.name, self.process, self.log, listens, self.ending)

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


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def enter(node, line, **options):
    """Starts a process in a node, in a session of its own from its first moment, so that all of it can be ended together. That
    is Python's doing; mnexec's own session (-d) is there only when mnexec has had its turn on a processor."""
    mncmd = ["mnexec", "-a", str(node.pid)]
    return node.popen(line, mncmd=mncmd, stdin=subprocess.DEVNULL, start_new_session=True, **options)


def wait_for(name, process, log, ready, ending):
    """Waits until something has begun; a RuntimeError says why it hasn't."""
    since = time.monotonic()
    while not ready():
        if process.poll() is not None or time.monotonic() - since > PATIENCE:
            raise RuntimeError(f"{name} doesn't begin:\n{read(log).strip()}")
        ending.check()
        time.sleep(LOOK)


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


def build(net, topology, plan, folder, ending):
    """Makes the network; it isn't started yet."""
    switches = {switch["name"]: switch for switch in topology["switches"]}
    for name, switch in switches.items():
        net.addSwitch(name, plan=plan["switches"][name], folder=folder, ending=ending, dpid=f"{switch['device_id']:x}")
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


def execute(net, line, ending):
    """Runs a line in a host; gives 0 if it ended well, else 1."""
    name, _, command = line.partition(" ")
    if name not in net:
        print(f"there is no node {name}; there are: {', '.join(sorted(net.keys()))}", file=sys.stderr)
        return 1
    sys.stdout.flush()
    process = enter(net[name], ["sh", "-c", command], stdout=None, stderr=None)
    try:
        while process.poll() is None:
            ending.check()
            time.sleep(LOOK)
        return 1 if process.returncode else 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Agents:
    """The workload: an agent in each host that has a part in it."""

    def __init__(self, net, plan, folder, ending):
        self.folder = folder
        self.ending = ending
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
                    self.processes[name] = enter(
                        self.net[name], self.of[name]["line"], stdout=file, stderr=file, cwd=self.folder
                    )
            for name in names:
                begun = lambda name=name: any(event.get("event") == "started" for event in events(self.log(name)))
                wait_for(f"the agent of {name}", self.processes[name], self.log(name), begun, self.ending)
        print(f"{len(self.of)} agents started")

    def wait(self):
        """Until all that was to be sent has ended."""
        for name, agent in self.of.items():
            while agent["batches"] and self.processes[name].poll() is None:
                ended = sum(event.get("event") == "batch_done" for event in events(self.log(name)))
                if ended >= agent["batches"]:
                    break
                self.ending.check()
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


def run(topology, plan, args, folder, ending):
    """Starts everything, does what was asked for, and takes it down; gives the exit code."""
    net = Mininet(switch=P4Switch, host=DomainHost, controller=None, build=False, autoSetMacs=False)
    controller, agents = None, Agents(net, plan, folder, ending)
    try:
        build(net, topology, plan, folder, ending)
        ending.check()
        net.start()
        log = os.path.join(folder, "controller.log")
        controller = begin(plan["controller"], log)

        def ready():
            found = {event["switch"] for event in events(log) if "pushed" in event}
            return found >= set(plan["switches"])

        wait_for("the controller", controller, log, ready, ending)
        for switch in net.switches:
            switch.configured()
        print(f"controller: {len(net.switches)} switches ready", flush=True)
        if args.agents:
            agents.start()
        code = 0
        if args.pingall:
            with ending.at_once():
                code = 1 if net.pingAll(timeout="2") > 0 else 0
        for line in args.command:
            ending.check()
            code = code or execute(net, line, ending)
        if args.cli:
            with ending.at_once():
                CLI(net)
        elif args.agents:
            agents.wait()
        ending.check()
        agents.stop()
        if args.agents and agents.figures() and not args.cli:
            code = 1
        return code
    except KeyboardInterrupt:
        # Ctrl-C where Mininet waits, and doesn't take it for what a node does.
        return 128 + signal.SIGINT
    finally:
        ending.waits = False
        take_down(net, controller, agents)


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
    ending = Ending()
    args.crn = find_crn(args.crn)
    plan = ["up", args.topology, "--plan", "--target", args.target]
    plan += ["--rate", args.rate] if args.rate else []
    plan += ["--batches", args.batches] if args.batches else []
    asked = []
    for line in (["inspect", args.topology, "--json"], plan):
        done = subprocess.run([args.crn, *line], stdout=subprocess.PIPE, check=False)
        ending.check()
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
    mark()
    with tempfile.TemporaryDirectory(prefix="crn-mininet-") as folder:
        try:
            sys.exit(run(topology, plan, args, folder, ending))
        except RuntimeError as error:
            ending.check()
            sys.exit(str(error))
        except Exception:
            # Ctrl-C ends what Mininet has just started as well, and that is what it complains of.
            ending.check()
            raise


if __name__ == "__main__":
    main()
