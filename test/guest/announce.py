#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# A device that asks for an announcement while the driver probes, opens or closes blocks nothing; the
# neighbours hear of the address, and the device that they did.
# kernels: 6.1 debug uml-debug uml-smp
# timeout: 40
from device import *

ACK = (3, 0, b"")


def command(*what):
    if what == ACK:
        device.set_status(device.status & ~LINK_ANNOUNCE)
    return OK


def ask_in_probe(event):
    # The first event of a probe comes before DRIVER_OK.
    if event[0] in (FIND_VQS, STATUS_EV):
        device.set_status(LINK_UP | LINK_ANNOUNCE)


def acks():
    return sum(c == ACK for c in device.commands)


def neighbours_heard():
    return any(f[12:14] == b"\x08\x06" and f[28:32] == f[38:42] for f in device.sent_frames())


load()
with Device(BASIC | CONTROL | {ANNOUNCE}, command=command,
            status=LINK_UP | LINK_ANNOUNCE) as device:
    device.on_event = ask_in_probe
    name = device.net()
    device.on_event = lambda event: None
    assert not acks(), "announced before it was open"
    run("sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=1", check=False)
    run("ip", "address", "add", "10.9.0.2/24", "dev", name)
    device.set_status(LINK_UP | LINK_ANNOUNCE)
    run("ip", "link", "set", name, "up")
    wait_for("the acknowledgement", acks)

    device.set_status(LINK_UP | LINK_ANNOUNCE)
    wait_for("another one", lambda: acks() >= 2)
    wait_for("a gratuitous ARP", neighbours_heard)

    # Asked for all the time, while it opens and closes.
    for _ in range(20):
        device.set_status(LINK_UP | LINK_ANNOUNCE)
        run("ip", "link", "set", name, "down")
        device.set_status(LINK_UP | LINK_ANNOUNCE)
        run("ip", "link", "set", name, "up")

    wait_for("the last acknowledgement", lambda: not device.status & LINK_ANNOUNCE)

    # The link goes, and comes back.
    carrier = f"/sys/class/net/{name}/carrier"
    device.set_status(0)
    wait_for("no carrier", lambda: read(carrier) == "0")
    device.set_status(LINK_UP)
    wait_for("a carrier", lambda: read(carrier) == "1")
unload()
