#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# A ring of any size carries frames of any length, without indirect descriptors, too, and a control queue that
# is too small is done without; a ring that cannot hold a single buffer is refused with a line that says so.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1 6.12
# timeout: 60
from device import *

PORT = 4444


def traffic(device):
    name = device.up()
    listener = Listener(name)
    for length in (60, 1514):
        good = frame(b"r" * (length - 14))
        device.deliver(good)
        listener.until(good)
    run("ip", "addr", "add", "10.9.9.2/24", "dev", name)
    run("ip", "neigh", "add", "10.9.9.1", "lladdr", "52:54:00:09:00:01", "dev", name)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for length in (10, 1400, 1472):
        sock.sendto(b"t" * length, ("10.9.9.1", PORT))
        wait_for(f"{length} bytes", lambda: any(f.endswith(b"t" * length) and len(f) == length + 42
                                                for f in device.sent_frames()))
    assert counters(name)["tx_drops"] == 0


load()
for ring in (1, 2, 4, 16):
    for more in (set(), {CSUM}, {MRG_RXBUF, CSUM}, CONTROL):
        with Device(BASIC | more, ring=ring) as device:
            traffic(device)
for ring in (2, 16):
    with Device((BASIC - {VERSION_1}) | {CSUM}, ring=ring) as device:
        traffic(device)
BIG = {CSUM, GUEST_CSUM, GUEST_TSO4}
with Device(BASIC | BIG, ring=32) as device:
    traffic(device)

for features, ring, text in ((BASIC - {VERSION_1}, 1, "queue output.0 has a ring of 1, and a buffer takes 2"),
                             (BASIC | BIG, 16, "queue input.0 has a ring of 16, and a buffer takes 17")):
    with Device(features, ring=ring) as device:
        wait_for("the refusal", lambda: text in run("dmesg"))
        assert not glob.glob(f"/sys/bus/virtio/devices/virtio{device.number}/net/*")
unload()
