#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# No queue is kicked before DRIVER_OK, and the device hears of the queue pairs before anyone can open it.
# kernels: 6.1 debug uml-debug uml-smp
# timeout: 30
from device import *

load("queue_pairs=4")
with Device(BASIC | CONTROL | {MQ}, pairs=4) as device:
    name = device.up()
    ready = next(i for i, (kind, _, value) in enumerate(device.log)
                 if kind == STATUS_EV and value & DRIVER_OK)
    kicks = [i for i, (kind, _, _) in enumerate(device.log) if kind == KICK]
    assert kicks and kicks[0] > ready, "kicked before DRIVER_OK"
    assert device.log[kicks[0]][1] == device.control, "a packet queue was kicked first"
    assert device.commands[0] == (4, 0, struct.pack("<H", 4)), device.commands[0]
unload()
