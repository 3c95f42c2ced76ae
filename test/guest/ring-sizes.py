#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# `ethtool -G` gives every ring of the device its size, those of pairs that are out of use, too, and of a device
# that is down; all of them carry frames then.
# kernels: 6.1 debug uml-debug uml-smp
# timeout: 30
from device import *


def sizes():
    return [device.rings[index].num for index in range(2 * device.pairs)]


def works():
    listener = Listener(name)
    for queue in range(device.pairs):
        mark = frame(b"for %d".ljust(60) % queue)
        device.deliver(mark, queue=queue)
        listener.until(mark)
    listener.socket.close()


load("queue_pairs=2")
with Device(BASIC | CONTROL | {MQ, RING_RESET}, pairs=4) as device:
    name = device.up()
    assert sizes() == 8 * [256], sizes()
    run("ethtool", "-G", name, "rx", "64", "tx", "32")
    assert sizes() == 4 * [64, 32], sizes()
    run("ethtool", "-L", name, "combined", "4")
    works()
    run("ip", "link", "set", name, "down")
    run("ethtool", "-G", name, "rx", "16", "tx", "128")
    assert sizes() == 4 * [16, 128], sizes()
    device.up()
    works()
unload()
