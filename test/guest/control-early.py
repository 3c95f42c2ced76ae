#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# Interrupts of every queue before the driver is ready for them do no harm.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
from device import *

load()
device = None
early = 0


def interrupt_all(event):
    global early
    if event[0] in (FIND_VQS, STATUS_EV) and device:
        for index in range(5):
            try:
                device.interrupt(index)
                early += 1
            except OSError:
                pass


for _ in range(5):
    # It is registered before it can be told to interrupt: unbind and bind it.
    with Device(BASIC | CONTROL | {MQ}, pairs=2) as device:
        name = device.up()
        device.on_event = interrupt_all
        path = f"/sys/bus/virtio/drivers/virtio_net/{{}}"
        for verb in ("unbind", "bind"):
            with open(path.format(verb), "w", encoding="ascii") as file:
                file.write(f"virtio{device.number}")
        name = device.up()
        run("ethtool", "-L", name, "combined", "1")
    device = None
assert early, "nothing interrupted early"
unload()
