"""Drives a switch with p4runtime-shell: every call a user of it would make on this project's program.

Arguments: ADDRESS DEVICE_ID P4INFO PROGRAM
"""

import os
import sys
import traceback

import grpc
import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import P4RuntimeClient, P4RuntimeException, P4RuntimeWriteException

address, device, p4info, program = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
CPU_PORT = 509


def check(what, got, wanted):
    if got != wanted:
        raise SystemExit(f"{what}: {got!r}, not {wanted!r}")
    print(f"ok {what}")


def refused(what, code, call):
    try:
        call()
    except P4RuntimeWriteException as error:
        check(what, error.errors[0][1].canonical_code, code.value[0])
    except P4RuntimeException as error:
        check(what, error.grpc_error.code(), code)
    except grpc.RpcError as error:
        check(what, error.code(), code)
    else:
        raise SystemExit(f"{what}: not refused")


def number(octets):
    return int.from_bytes(octets, "big")


def main():
    sh.setup(
        device_id=device,
        grpc_addr=address,
        election_id=(0, 10),
        config=sh.FwdPipeConfig(p4info, program),
        verbose=False,
    )
    check("version", sh.APIVersion().startswith("1."), True)

    # Table write, read, modify, delete.
    entry = sh.TableEntry("dscp_map")(action="set_class")
    entry.match["dscp"] = "46"
    entry.action["traffic_class"] = "5"
    entry.action["role"] = "1"
    entry.action["queue"] = "0"
    entry.insert()
    refused("insert twice", grpc.StatusCode.ALREADY_EXISTS, entry.insert)


    def classes():
        return [number(e.action["traffic_class"].value) for e in sh.TableEntry("dscp_map").read()]


    check("read", classes(), [5])
    entry.action["traffic_class"] = "6"
    entry.modify()
    check("modify", classes(), [6])
    entry.delete()
    check("delete", classes(), [])
    refused("delete twice", grpc.StatusCode.NOT_FOUND, entry.delete)

    # Priorities and ranges.
    for low, high, degree, priority in [(0, 99, 1, 1), (50, 199, 2, 2)]:
        ranged = sh.TableEntry("congestion_degree")(action="set_degree")
        ranged.match["profile"] = "1"
        ranged.match["excess"] = f"{low}..{high}"
        ranged.action["degree"] = str(degree)
        ranged.priority = priority
        ranged.insert()
    check("ranges", sorted(e.priority for e in sh.TableEntry("congestion_degree").read()), [1, 2])

    # Members, groups, entries that use them.
    for port in (1, 2):
        member = sh.ActionProfileMember("ecmp")(member_id=port, action="forward")
        member.action["port"] = str(port)
        member.action["dst_mac"] = f"02:00:00:00:00:0{port}"
        member.insert()
    group = sh.ActionProfileGroup("ecmp")(group_id=1, max_size=4)
    group.add(1).add(2, 2)
    group.insert()
    route = sh.TableEntry("ipv4_route")(group_id=1)
    route.match["dst_addr"] = "10.0.0.0/8"
    route.insert()
    check("group", [g.members[1].weight for g in sh.ActionProfileGroup("ecmp").read()], [2])
    check("route", [r.group_id for r in sh.TableEntry("ipv4_route").read()], [1])
    oneshot = sh.TableEntry("ipv4_route")
    oneshot.match["dst_addr"] = "11.0.0.0/8"
    action = sh.Action("forward")
    action["port"] = "3"
    action["dst_mac"] = "02:00:00:00:00:03"
    oneshot.oneshot.add(action, 1)
    oneshot.insert()
    check("one shot", len(list(sh.TableEntry("ipv4_route").read())), 2)

    # The default action.
    default = sh.TableEntry("reporter")(action="set_reporter", is_default=True)
    for name, value in [
        ("reporter_id", "7"),
        ("ipv4_address", "10.255.0.1"),
        ("ipv6_address", "::1"),
        ("rdcc_port", "52100"),
        ("crem_port", "52101"),
        ("scone_port", "52102"),
    ]:
        default.action[name] = value
    default.modify()
    read = sh.TableEntry("reporter")
    read.is_default = True
    check("default action", [number(e.action["reporter_id"].value) for e in read.read()], [7])

    # Counters and meters: one cell, all cells.
    counter = sh.CounterEntry("drops")
    counter.index = 3
    counter.packet_count = 5
    counter.byte_count = 500
    counter.modify()
    counter = sh.CounterEntry("drops")
    counter.index = 3
    check("counter", [(c.packet_count, c.byte_count) for c in counter.read()], [(5, 500)])
    cells = list(sh.CounterEntry("drops").read())
    check("all cells", (len(cells) > 3, sum(c.packet_count for c in cells)), (True, 5))
    meter = sh.MeterEntry("report_meter")
    meter.index = 1
    meter.cir, meter.cburst, meter.pir, meter.pburst = 10, 20, 30, 40
    meter.modify()
    meter = sh.MeterEntry("report_meter")
    meter.index = 1
    check("meter", [(m.cir, m.cburst, m.pir, m.pburst) for m in meter.read()], [(10, 20, 30, 40)])

    # Clone session and multicast group.
    clone = sh.CloneSessionEntry(1)
    clone.packet_length_bytes = 128
    clone.add(510, 1)
    clone.insert()
    sessions = [(s.session_id, s.packet_length_bytes, len(s.replicas)) for s in sh.CloneSessionEntry().read()]
    check("clone session", sessions, [(1, 128, 1)])
    clone.delete()
    check("no clone session", list(sh.CloneSessionEntry().read()), [])
    multicast = sh.MulticastGroupEntry(5)
    multicast.add(1, 1).add(2, 1)
    multicast.insert()
    check("multicast group", [len(m.replicas) for m in sh.MulticastGroupEntry(5).read()], [2])

    # Packet-out and packet-in: sent to the CPU port, it comes back.
    packets = sh.PacketIn()
    payload = bytes.fromhex("020000000001" "020000000002" "88b5") + bytes(50)
    sh.PacketOut(payload, egress_port=str(CPU_PORT)).send()
    message = packets.packet_in_queue.get(timeout=30)
    check("packet-in", message.packet.payload, payload)
    ports = {m.metadata_id: number(m.value) for m in message.packet.metadata}
    check("its port", CPU_PORT in ports.values(), True)

    # Another client with a higher election id takes over.
    other = P4RuntimeClient(device, address, (0, 11))
    check("told", sh.client.get_stream_packet("arbitration", timeout=30) is not None, True)
    entry.match["dscp"] = "10"
    refused("no longer primary", grpc.StatusCode.PERMISSION_DENIED, entry.insert)
    check("reads go on", classes(), [])
    other.tear_down()
    sh.teardown()
    print("done")


# The shell's threads outlive a failure: the process must end all the same.
try:
    main()
except BaseException:
    traceback.print_exc()
    sys.stderr.flush()
    sys.stdout.flush()
    os._exit(1)
sys.stdout.flush()
os._exit(0)
