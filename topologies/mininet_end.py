"""How a network of `mininet_run.py` ends: when it is asked to, at any moment, and with nothing left."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
import uuid

# Seconds that a process may take to end when asked.
FAREWELL = 10
# Seconds that a command in a node's shell may take to end when interrupted.
INTERRUPTED = 2
# Seconds between two looks at what is to end.
LOOK = 0.05
# Everything that a network starts has this in its environment, with a value of the network's own: so it is found at the end.
MARK = "CRN_MININET"


def mark():
    """Marks all that is started from now on as this network's."""
    os.environ[MARK] = uuid.uuid4().hex


class Ending:
    """Requests to end: Ctrl-C, SIGTERM, SIGHUP. They may come at any moment, in the middle of what Mininet does too, so they
    are noted, and taken up where nothing is half done; while a prompt or a ping waits, at once."""

    def __init__(self):
        self.code = None
        self.waits = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.heard)

    def heard(self, number, _frame):
        # At Mininet's prompt Ctrl-C ends what a node does, and not the network.
        if number == signal.SIGINT and self.waits:
            raise KeyboardInterrupt
        self.code = self.code or 128 + number
        if self.waits:
            self.waits = False
            self.check()

    def check(self):
        """Ends the program, if that was asked for."""
        if self.code:
            raise SystemExit(self.code)

    @contextlib.contextmanager
    def at_once(self):
        """Within, requests are taken up at once; what they leave half done, `take_down` knows of."""
        self.check()
        self.waits = True
        try:
            yield
        finally:
            self.waits = False


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


def take_down(net, controller, agents):
    """Ends and removes everything, whatever state it is in: one step that fails doesn't keep the others from being done."""
    # Interfaces in hosts go with their namespaces; those of switches are the machine's.
    interfaces = [intf.name for switch in net.switches for intf in switch.intfList() if intf.name != "lo"]
    for step in (
        agents.stop,
        lambda: end(controller),
        lambda: quieten(net),
        net.stop,
        lambda: remove(interfaces),
        lambda: end_marked(os.environ[MARK]),
    ):
        try:
            step()
        except Exception as error:  # pylint: disable=broad-except
            print(f"while taking down: {type(error).__name__}: {error}", file=sys.stderr)


def quieten(net):
    """Has commands end that nodes still wait for: a node that waits takes no other."""
    for node in net.values():
        if not node.shell or not node.waiting:
            continue
        # A shell that has ended can't be spoken to any more.
        with contextlib.suppress(OSError):
            node.sendInt()
            hear(node)
            kill_children(node.shell.pid)
            hear(node)
        # The end of the last command may have been read when the request came, and not yet been noted.
        node.waiting = False


def hear(node):
    """Takes in what a node says, until its command has ended, which its shell says with this character. (Mininet's own `monitor`
    takes a terminal that can be written to for one that can be read.)"""
    readable = select.poll()
    readable.register(node.stdout, select.POLLIN)
    since = time.monotonic()
    while node.waiting and time.monotonic() - since < INTERRUPTED:
        if readable.poll(50) and os.read(node.stdout.fileno(), 1024).endswith(b"\x7f"):
            node.waiting = False


def kill_children(pid):
    """Ends what a shell has started."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = file.read().split()
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(child), signal.SIGKILL)


def remove(interfaces):
    """Removes what is still there of these; the other end of each goes with it."""
    for name in interfaces:
        if os.path.exists(f"/sys/class/net/{name}"):
            subprocess.run(["ip", "link", "delete", name], check=False, capture_output=True)


def marked(value):
    """The processes, but for this one, that have the mark in their environment."""
    wanted = f"{MARK}={value}".encode()
    for name in filter(str.isdigit, os.listdir("/proc")):
        # It may end meanwhile.
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/environ", "rb") as file:
                if wanted in file.read().split(b"\0") and int(name) != os.getpid():
                    yield int(name)


def end_marked(value):
    """Ends what hosts' commands have left in the background, beyond their shells."""
    since = time.monotonic()
    while (found := list(marked(value))) and time.monotonic() - since < FAREWELL:
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(LOOK)
