#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# A device that carries out control commands long after they were given up ends up with what the driver uses:
# number of pairs, MAC address, offloads, receive filter. A control queue that was full of such commands
# is used again, without an interrupt, too.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 120
from device import *

GROUP = "33:33:00:12:34:56"
silent = False


def command(*_):
    return None if silent else OK


def last(kind, number):
    """Data of the last command of that kind that the device got."""
    return [data for k, n, data in device.commands if (k, n) == (kind, number)][-1]


def refused(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode, f"{argv} works without an answer"
    return done.stderr


def has_group():
    return any(bytes.fromhex(GROUP.replace(":", "")) in data
               for kind, number, data in device.commands if (kind, number) == (1, 0))


load("queue_pairs=4")
FEATURES = BASIC | CONTROL | {MQ, MRG_RXBUF, CSUM, GUEST_CSUM, GUEST_TSO4, GUEST_OFFLOADS}
with Device(FEATURES, pairs=4, command=command) as device:
    name = device.up()
    wait_for("the receive filter", lambda: any(c[:2] == (1, 0) for c in device.commands))
    mac = read(f"/sys/class/net/{name}/address")

    silent = True
    refused("ethtool", "-L", name, "combined", "2")
    assert last(4, 0) == struct.pack("<H", 4), "it may go on with 2 pairs"
    refused("ip", "link", "set", name, "address", "52:54:00:00:00:05")
    assert last(1, 1) == bytes.fromhex(mac.replace(":", "")), "it may go on with another address"
    before = counters(name)["cq_commands"]
    subprocess.run(["ethtool", "-K", name, "rx-gro-hw", "off"], capture_output=True, check=False)
    assert counters(name)["cq_commands"] > before
    on = "rx-gro-hw: on" in run("ethtool", "-k", name)
    assert bool(struct.unpack("<Q", last(5, 0))[0] & 1 << GUEST_TSO4) == on, "it may go on with other offloads"

    wait_for("a busy queue", lambda: "busy" in refused("ip", "link", "set", name, "address",
                                                       "52:54:00:00:00:06").lower())
    # A group that is joined now needs no second request.
    before = counters(name)["cq_commands"]
    run("ip", "maddr", "add", GROUP, "dev", name)
    wait_for("its command", lambda: counters(name)["cq_commands"] > before)
    assert not has_group()
    silent = False
    interrupt = device.interrupt
    device.interrupt = lambda index: None
    for chain in device.unanswered:
        device.answer(chain)
    device.unanswered.clear()
    run("ip", "link", "set", name, "address", "52:54:00:00:00:07")
    device.interrupt = interrupt
    wait_for("the group", has_group)
    run("ethtool", "-L", name, "combined", "2")
    assert last(4, 0) == struct.pack("<H", 2)

# Nor does one that is slow from the start have more pairs in use than the driver.
silent = True
with Device(BASIC | CONTROL | {MQ}, pairs=4, command=command) as device:
    name = device.net()
    wait_for("the decision", lambda: run("ethtool", "-l", name).split()[-1] == "1")
    assert last(4, 0) == struct.pack("<H", 1), "it may go on with 4 pairs"
unload()
