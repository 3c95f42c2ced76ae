#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# `ethtool -G` takes no receive ring that could not hold the longest frame: in the buffers of an XDP program, or
# at all. With the smallest that it takes, such frames arrive while the program's buffers are there yet.
# kernels: 6.12 7.3 debug uml-debug uml-smp
# timeout: 60
from device import *
import xdp

OFFLOADS = {GUEST_OFFLOADS, GUEST_CSUM, GUEST_TSO4}
longest = frame(bytes(65500))


def takes(name, size):
    return not subprocess.run(["ethtool", "-G", name, "rx", str(size)], stderr=subprocess.DEVNULL,
                              check=False).returncode


load()
with Device(BASIC | CONTROL | OFFLOADS | {MRG_RXBUF, RING_RESET}) as device:
    name = device.up()
    listener = Listener(name)
    for size in (1, 2):
        assert not takes(name, size), f"{size}"
    assert takes(name, 4)
    device.deliver(longest)
    assert not listener.until(longest)
    assert takes(name, 256)
    xdp.attach(name, xdp.verdict(xdp.PASS))
    for size in (4, 16):
        assert not takes(name, size), f"{size} with a program"
    assert takes(name, 32)
    device.deliver(frame())
    listener.until(frame())
    xdp.detach(name)
    for _ in range(40):
        device.deliver(longest)
        assert not listener.until(longest)
    assert takes(name, 16)
    device.deliver(longest)
    assert not listener.until(longest)
unload()
