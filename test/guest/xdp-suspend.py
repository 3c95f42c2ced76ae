#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# An XDP program and its transmit queues are there again after a suspend, receive offloads off.
# kernels: 6.1 6.12 debug
# quick: 6.12 debug
# timeout: 30
from device import *
import xdp

CPUS = int(read("/sys/devices/system/cpu/possible").rpartition("-")[2]) + 1
load("queue_pairs=1")
with Device(BASIC | CONTROL | {MRG_RXBUF, MQ, GUEST_OFFLOADS, GUEST_CSUM, GUEST_TSO4}, pairs=1 + CPUS) as device:
    name = device.up()
    xdp.attach(name, xdp.verdict(xdp.TX))
    for number in range(5):
        good = frame(b"%d".ljust(60) % number)
        device.deliver(good)
        wait_for("the frame sent back", lambda: any(good in device.sent_frames(q) for q in range(1, 1 + CPUS)))
        device.freeze()
        with device.lock:
            device.commands.clear()
        device.restore()
        assert (4, 0, struct.pack("<H", 1 + CPUS)) in device.commands, device.commands
        assert (5, 0, struct.pack("<Q", 0)) in device.commands, device.commands
    # Detached while it sleeps.
    device.freeze()
    xdp.detach(name)
    device.restore()
    listener = Listener(name)
    device.deliver(frame())
    listener.until(frame())
    run("ip", "link", "set", name, "down")
unload()
