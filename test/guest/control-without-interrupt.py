#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# A device that answers control commands without an interrupt is heard all the same.
# kernels: 6.1 debug uml-debug uml-smp
# timeout: 30
from device import *

load()
with Device(BASIC | CONTROL | {MQ}, pairs=4) as device:
    interrupt = device.interrupt
    device.interrupt = lambda index: None if index == device.control else interrupt(index)
    name = device.up()
    for count in ("1", "4", "2"):
        run("ethtool", "-L", name, "combined", count)
    assert counters(name)["cq_timeouts"] == 0
unload()
