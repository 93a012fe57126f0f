"""Holds RoCEv2 packets against scapy's layer, and gives some that scapy built.

Reads a JSON object a line: `packet`, an IP packet in hexadecimal, and `fields`, what it should hold by scapy's names.
Prints `ok NAME` for each, then `built HEX` for packets of scapy's own, then `done`.
"""

import json
import sys

from scapy.contrib.roce import AETH, BTH, cnp
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Raw, raw

for line in sys.stdin:
    vector = json.loads(line)
    octets = bytes.fromhex(vector["packet"])
    layer = IP if octets[0] >> 4 == 4 else IPv6
    packet = layer(octets)
    bth = packet[BTH]
    for name, value in vector["fields"].items():
        found = bth.getfieldval(name)
        assert found == value, f"{vector['name']}: {name} is {found}, not {value}"
    assert bth.pack_icrc(bth.icrc)[::-1] == octets[-4:], vector["name"]
    computed = bth.compute_icrc(b"")
    assert computed == octets[-4:], f"{vector['name']}: ICRC {computed.hex()}, not {octets[-4:].hex()}"
    print("ok", vector["name"])

ip = IP(src="10.0.0.1", dst="10.0.0.2", ttl=7, tos=0x6A, id=77)
ipv6 = IPv6(src="2001:db8::1", dst="2001:db8::2", hlim=9, tc=0x6A, fl=0x12345)
for network in (ip, ipv6):
    udp = UDP(sport=49152, dport=4791, chksum=0)
    print("built", raw(network / udp / cnp(0x123456)).hex())
    ack = BTH(opcode=0x11, dqpn=0x20, psn=0xFFFFFE, resv6=5) / AETH(syndrome=0x1F, msn=3)
    print("built", raw(network / udp / ack).hex())
    send = BTH(opcode=0x04, dqpn=0x20, psn=9, padcount=1, ackreq=1, migreq=1) / Raw(b"abcdefg\0")
    print("built", raw(network / udp / send).hex())
print("done")
