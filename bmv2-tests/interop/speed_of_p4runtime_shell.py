"""How long p4runtime-shell takes for entries of `qp_rate_policy`: one call for each, then all in one batch.

Arguments: ADDRESS DEVICE_ID P4INFO COUNT. Prints two figures, in seconds. The switch must run the program, and holds none
of the entries before and after.
"""

import sys
import time

import p4runtime_sh.shell as sh
from p4.v1 import p4runtime_pb2

address, device, p4info, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])


def entry(number):
    made = sh.TableEntry("qp_rate_policy")(action="set_qp_rate")
    made.match["dst_addr"] = f"::ffff:10.0.0.{number % 200 + 1}"
    made.match["dest_qp"] = str(number)
    made.action["rate"] = "1000"
    return made


def batch(kind, entries):
    request = p4runtime_pb2.WriteRequest()
    request.device_id = device
    request.election_id.low = 1000
    for made in entries:
        update = request.updates.add()
        update.type = kind
        update.entity.table_entry.CopyFrom(made._entry)
    sh.client.stub.Write(request)


sh.setup(device_id=device, grpc_addr=address, election_id=(0, 1000), verbose=False)
start = time.monotonic()
for number in range(count):
    entry(number).insert()
one_by_one = time.monotonic() - start
entries = [entry(number) for number in range(count)]
for made in entries:
    made._update_msg()
batch(p4runtime_pb2.Update.DELETE, entries)
start = time.monotonic()
entries = [entry(number) for number in range(count)]
for made in entries:
    made._update_msg()
batch(p4runtime_pb2.Update.INSERT, entries)
together = time.monotonic() - start
batch(p4runtime_pb2.Update.DELETE, entries)
sh.teardown()
print(one_by_one, together)
