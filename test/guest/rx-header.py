#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# A header that does not fit its frame costs that frame; one that does, is honoured.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
import itertools
import random

from device import *

NEEDS_CSUM, DATA_VALID = 1, 2
TCP4, UDP, TCP6, USO, ECN = 1, 3, 4, 5, 0x80


def tcp_frame(size):
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 40 + size, 1, 0, 64, 6, 0, 0x0A090001, 0x0A090002)
    tcp = struct.pack(">HHIIBBHHH", 5201, 5201, 1, 1, 0x50, 0x10, 1000, 0, 0)
    return frame(ip + tcp + bytes(size), 0x0800)


def bad(what, **fields):
    return what, lambda: device.deliver(tcp_frame(3000), **fields)


BAD = [
    bad("checksum behind the end", flags=NEEDS_CSUM, start=65535, offset=16),
    bad("checksum in the Ethernet header", flags=NEEDS_CSUM, start=0, offset=4),
    bad("checksum over the end", flags=NEEDS_CSUM, start=3052, offset=2),
    bad("unknown segmentation", flags=NEEDS_CSUM, start=34, offset=16, gso_type=2, gso_size=1000),
    bad("ECN alone", flags=NEEDS_CSUM, start=34, offset=16, gso_type=ECN, gso_size=1000),
    bad("segments of nothing", flags=NEEDS_CSUM, start=34, offset=16, gso_type=TCP4),
    bad("segments of 65535", flags=NEEDS_CSUM, start=34, offset=16, gso_type=TCP4, gso_size=65535),
    bad("TCP checksum elsewhere", flags=NEEDS_CSUM, start=34, offset=6, gso_type=TCP4, gso_size=1000),
    bad("TCP over IPv6 that is not", flags=DATA_VALID, gso_type=TCP6, gso_size=1000),
    bad("UDP that is TCP", gso_type=UDP, gso_size=1000),
    bad("UDP segments without checksum", gso_type=USO, gso_size=1000),
    bad("UDP segments, too many", flags=NEEDS_CSUM, start=34, offset=6, gso_type=USO, gso_size=8),
    bad("UDP segments with ECN", flags=NEEDS_CSUM, start=34, offset=6, gso_type=USO | ECN, gso_size=1000),
]
GOOD = [
    {"flags": DATA_VALID},
    {"flags": NEEDS_CSUM, "start": 34, "offset": 16},
    {"flags": NEEDS_CSUM, "start": 34, "offset": 16, "gso_type": TCP4, "gso_size": 1448},
    {"flags": NEEDS_CSUM, "start": 34, "offset": 16, "gso_type": TCP4 | ECN, "gso_size": 8},
    {"flags": DATA_VALID, "gso_type": TCP4, "gso_size": 1448},
]

load()
for more in ({MRG_RXBUF}, set()):
    with Device(BASIC | {GUEST_CSUM, GUEST_TSO4, GUEST_TSO6, GUEST_ECN, GUEST_UFO, GUEST_USO4} | more) as device:
        name = device.up()
        listener = Listener(name)
        drops_of(device, name, listener, "header_errors", BAD)
        for fields in GOOD:
            device.deliver(tcp_frame(3000), **fields)
            assert not listener.until(tcp_frame(3000)), fields

        # Anything at all: the stack behind the driver survives it.
        random.seed(1)
        for size in (0, 1, 20, 100, 1400, 9000):
            for flags, gso in itertools.product((0, 1, 2, 3, 0xFF), (0, 1, 3, 4, 5, 0x81, 0x85, 0xFF)):
                device.deliver(tcp_frame(size), flags=flags, gso_type=gso,
                               gso_size=random.choice((0, 1, 8, 500, 1448, 65535)),
                               start=random.choice((0, 10, 14, 34, size + 53, 65535)),
                               offset=random.choice((0, 6, 16, 65535)),
                               hdr_len=random.choice((0, 54, 65535)))
        device.deliver(frame(b"the end".ljust(60)))
        listener.until(frame(b"the end".ljust(60)))
unload()
