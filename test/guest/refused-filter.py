#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# A part of the receive filter that the device refuses keeps none of the others from it.
# kernels: 6.1 6.12 7.3 debug uml-debug uml-smp
# timeout: 60
from device import *

GROUP = "33:33:00:12:34:56"
PROMISC, ALLMULTI, TABLE = (0, 0), (0, 1), (1, 0)

load()
for part in (PROMISC, ALLMULTI, TABLE):
    refuses = [part]
    with Device(BASIC | CONTROL, command=lambda *c: ERR if c[:2] in refuses else OK) as device:
        name = device.up()
        run("ip", "link", "set", name, "promisc", "on", "allmulticast", "on")
        run("ip", "maddr", "add", GROUP, "dev", name)
        wait_for("the group", lambda: any(c[:2] == TABLE and bytes.fromhex(GROUP.replace(":", "")) in c[2]
                                          for c in device.commands))
        assert device.last(PROMISC) == b"\x01" and device.last(ALLMULTI) == b"\x01"
        # It is asked again with the next change.
        refuses.clear()
        device.commands.clear()
        run("ip", "maddr", "del", GROUP, "dev", name)
        wait_for("all of it", lambda: {PROMISC, ALLMULTI, TABLE} <= {c[:2] for c in device.commands})
unload()
