"""Drives a switch with finsy: every call a user of it would make on this project's program.

Arguments: ADDRESS DEVICE_ID P4INFO PROGRAM
"""

import asyncio
import sys
from pathlib import Path

import finsy as fy

address, device, p4info, program = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
CPU_PORT = 509
PATIENCE = 30


def check(what, got, wanted):
    if got != wanted:
        raise SystemExit(f"{what}: {got!r}, not {wanted!r}")
    print(f"ok {what}")


async def refused(what, code, call):
    try:
        await call
    except fy.P4ClientError as error:
        details = [detail.canonical_code for detail in error.details.values()] or [error.code]
        check(what, details, [code])
    else:
        raise SystemExit(f"{what}: not refused")


def options(election_id):
    return fy.SwitchOptions(
        p4info=p4info, p4blob=program, device_id=device, initial_election_id=election_id
    )


async def read(switch, entity):
    return [found async for found in switch.read(entity)]


def dscp(traffic_class):
    action = fy.P4TableAction("set_class", traffic_class=traffic_class, role=1, queue=0)
    return fy.P4TableEntry("dscp_map", match=fy.P4TableMatch(dscp=46), action=action)


async def tables(switch):
    code = fy.GRPCStatusCode
    await switch.insert([dscp(5)])
    await refused("insert twice", code.ALREADY_EXISTS, switch.insert([dscp(5)]))
    check("read", [e.action.args["traffic_class"] for e in await read(switch, fy.P4TableEntry("dscp_map"))], [5])
    await switch.modify([dscp(6)])
    check("modify", [e.action.args["traffic_class"] for e in await read(switch, fy.P4TableEntry("dscp_map"))], [6])
    await switch.delete([dscp(6)])
    check("delete", await read(switch, fy.P4TableEntry("dscp_map")), [])
    await refused("delete twice", code.NOT_FOUND, switch.delete([dscp(6)]))

    def forward(port):
        return fy.P4TableAction("forward", port=port, dst_mac=0x020000000000 + port)

    await switch.insert(
        [
            fy.P4ActionProfileMember("ecmp", member_id=1, action=forward(1)),
            fy.P4ActionProfileMember("ecmp", member_id=2, action=forward(2)),
            fy.P4ActionProfileGroup(
                "ecmp",
                group_id=1,
                max_size=4,
                members=[fy.P4Member(1, weight=1), fy.P4Member(2, weight=2)],
            ),
            fy.P4TableEntry(
                "ipv4_route",
                match=fy.P4TableMatch(dst_addr="10.0.0.0/8"),
                action=fy.P4IndirectAction(group_id=1),
            ),
            fy.P4TableEntry(
                "ipv4_route", match=fy.P4TableMatch(dst_addr="11.0.0.0/8"), action=forward(3)
            ),
        ]
    )
    check("groups", len(await read(switch, fy.P4ActionProfileGroup("ecmp"))), 1)
    check("routes", len(await read(switch, fy.P4TableEntry("ipv4_route"))), 2)


async def externs(switch):
    data = fy.P4CounterData(byte_count=500, packet_count=5)
    await switch.modify([fy.P4CounterEntry("drops", index=3, data=data)])
    found = await read(switch, fy.P4CounterEntry("drops", index=3))
    check("counter", [(c.packet_count, c.byte_count) for c in found], [(5, 500)])
    check("all cells", sum(c.packet_count for c in await read(switch, fy.P4CounterEntry("drops"))), 5)

    config = fy.P4MeterConfig(cir=10, cburst=20, pir=30, pburst=40)
    await switch.modify([fy.P4MeterEntry("report_meter", index=1, config=config)])
    found = await read(switch, fy.P4MeterEntry("report_meter", index=1))
    check("meter", [m.config for m in found], [config])

    clone = fy.P4CloneSessionEntry(1, packet_length_bytes=128, replicas=[(510, 1)])
    await switch.insert([clone])
    found = await read(switch, fy.P4CloneSessionEntry())
    check("clone session", [(c.session_id, c.packet_length_bytes, len(c.replicas)) for c in found], [(1, 128, 1)])
    await switch.insert([fy.P4MulticastGroupEntry(5, replicas=[(1, 1), (2, 1)])])
    check("multicast group", [len(m.replicas) for m in await read(switch, fy.P4MulticastGroupEntry(5))], [2])


async def packets(switch):
    payload = bytes.fromhex("020000000001" "020000000002" "88b5") + bytes(50)

    async def first():
        async for packet in switch.read_packets():
            return packet

    waiting = asyncio.create_task(first())
    # The reader's queue exists once it has begun to wait.
    await asyncio.sleep(0)
    await switch.write([fy.P4PacketOut(payload, egress_port=CPU_PORT, pad=0)])
    packet = await asyncio.wait_for(waiting, PATIENCE)
    check("packet-in", packet.payload, payload)
    check("its port", packet["ingress_port"], CPU_PORT)


async def arbitration(switch):
    """A second client with a higher election id takes over, and the first one knows."""
    lost = switch.ee.event_future(fy.SwitchEvent.BECOME_BACKUP)
    async with fy.Switch("second", address, options(20)) as second:
        check("the second is primary", second.is_primary, True)
        await asyncio.wait_for(lost, PATIENCE)
        check("the first is not", (switch.is_primary, switch.primary_id), (False, 20))
        await refused("no longer primary", fy.GRPCStatusCode.PERMISSION_DENIED, switch.insert([dscp(1)]))
        await second.insert([dscp(7)])
        check("the first reads", [e.action.args["traffic_class"] for e in await read(switch, fy.P4TableEntry("dscp_map"))], [7])


async def main():
    async with fy.Switch("first", address, options(10)) as switch:
        check("primary", switch.is_primary, True)
        await tables(switch)
        await externs(switch)
        await packets(switch)
        await arbitration(switch)
    # A controller that comes back finds its program and clears what is left.
    async with fy.Switch("again", address, options(30)) as switch:
        await switch.delete_all()
        check("cleared", await read(switch, fy.P4TableEntry()), [])
    print("done")


asyncio.run(main())
