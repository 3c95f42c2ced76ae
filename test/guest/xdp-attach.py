#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# An XDP program is attached where frames can be given to it, and refused with an error and a message where not;
# receive offloads go off for it and come back as they were; each CPU gets a transmit queue while there are enough.
# kernels: 6.1 6.12 7.3 debug uml-debug uml-smp
# quick: 6.1
# timeout: 60
import errno
from device import *
import xdp

PASS = xdp.verdict(xdp.PASS)
OFFLOADS = {GUEST_OFFLOADS, GUEST_CSUM, GUEST_TSO4, GUEST_TSO6}
ALL = sum(1 << bit for bit in OFFLOADS - {GUEST_OFFLOADS})
CPUS = int(read("/sys/devices/system/cpu/possible").rpartition("-")[2]) + 1


def refused(name, error, words, frags=False):
    got, text = xdp.try_attach(name, PASS, frags)
    assert got == error and words in text, f"{os.strerror(got)}: {text}"


def last(device, kind):
    return [data for group, _, data in device.commands if group == kind][-1:]


def offloads(device):
    return struct.unpack("<Q", last(device, 5)[0])[0]


def pairs(device):
    return struct.unpack("<H", last(device, 4)[0])[0]


def combined(name):
    return int([line for line in run("ethtool", "-l", name).splitlines() if "Combined" in line][1].split()[1])


def up_and_down(name):
    """While the device is closed, too."""
    yield
    run("ip", "link", "set", name, "down")
    yield
    run("ip", "link", "set", name, "up")


load("queue_pairs=2")
with Device(BASIC | CONTROL | {MRG_RXBUF, GUEST_CSUM}) as device:
    refused(device.up(), errno.EOPNOTSUPP, "offloads")
with Device(BASIC | CONTROL | OFFLOADS) as device:
    refused(device.up(), errno.EOPNOTSUPP, "mergeable")
with Device(BASIC | CONTROL | OFFLOADS | {MRG_RXBUF}, ring=16) as device:
    refused(device.up(), errno.EINVAL, "rings are too small")
# Nothing to switch off, nothing to switch it with.
with Device(BASIC | {MRG_RXBUF}) as device:
    name = device.up()
    assert "not enough queue pairs" in xdp.attach(name, PASS)

with Device(BASIC | CONTROL | OFFLOADS | {MRG_RXBUF}) as device:
    name = device.up()
    run("ip", "link", "set", name, "mtu", "3507")
    refused(name, errno.EINVAL, "MTU")
    xdp.attach(name, PASS, True)
    xdp.detach(name)
    run("ip", "link", "set", name, "mtu", "65535")
    refused(name, errno.EINVAL, "MTU", True)
    run("ip", "link", "set", name, "mtu", "3506")
    for _ in up_and_down(name):
        xdp.attach(name, PASS)
        assert offloads(device) == 0
        assert subprocess.run(["ip", "link", "set", name, "mtu", "3507"], stderr=subprocess.DEVNULL,
                              check=False).returncode, "an MTU beyond the program's"
        # A program for another, one for none.
        sent = len(device.commands)
        xdp.attach(name, PASS, True)
        run("ip", "link", "set", name, "mtu", "3507")
        refused(name, errno.EINVAL, "MTU")
        run("ip", "link", "set", name, "mtu", "3506")
        assert len(device.commands) == sent
        xdp.detach(name)
        assert offloads(device) == ALL
        run("ethtool", "-K", name, "rx-gro-hw", "off")
        assert offloads(device) == 1 << GUEST_CSUM
        xdp.attach(name, PASS)
        assert offloads(device) == 0
        xdp.detach(name)
        assert offloads(device) == 1 << GUEST_CSUM
        xdp.attach(name, PASS)
        run("ethtool", "-K", name, "rx-gro-hw", "on")
        assert offloads(device) == 0
        xdp.detach(name)
        assert offloads(device) == ALL

    # What the device sends in spite of that is dropped, and the device that refuses has no program.
    xdp.attach(name, PASS)
    listener = Listener(name)
    drops_of(device, name, listener, "xdp_drops", [
        ("no checksum", lambda: device.deliver(frame(), flags=1, start=34, offset=16)),
        ("merged", lambda: device.deliver(frame(), gso_type=1, gso_size=100)),
    ])
    xdp.detach(name)
    device.command = lambda group, *_: ERR if group == 5 else OK
    refused(name, errno.EINVAL, "offloads")
    device.deliver(frame())
    listener.until(frame())
    assert counters(name)["rx_xdp_packets"] == 2

# Transmit queues: two pairs are in use.
for most, own in ((2 + CPUS, CPUS), (1 + CPUS, 0)):
    with Device(BASIC | CONTROL | {MRG_RXBUF, MQ}, pairs=most) as device:
        name = device.up()
        assert pairs(device) == 2
        sent = len(device.commands)
        for _ in up_and_down(name):
            xdp.detach(name)
            assert pairs(device) == 2
            text = xdp.attach(name, xdp.verdict(xdp.TX))
            assert text == "" if own else "not enough queue pairs" in text, text
            assert pairs(device) == 2 + own and combined(name) == 2
        for queue in range(2 + own):
            for _ in range(20):
                device.deliver(frame(bytes([queue]).ljust(60)), queue=queue)
        back = lambda: sum(len(device.sent_frames(queue)) for queue in range(most))
        wait_for("frames sent back", lambda: back() == (2 + own) * 20)
        if own:
            assert not device.sent_frames(0) and not device.sent_frames(1), "on a queue of the stack"
        run("ethtool", "-L", name, "combined", "1")
        assert pairs(device) == 1 + CPUS and combined(name) == 1
        run("ethtool", "-L", name, "combined", str(most))
        assert pairs(device) == most and combined(name) == most
        device.deliver(frame(b"shared".ljust(60)))
        wait_for("a frame sent back", lambda: back() == (2 + own) * 20 + 1)
        run("ethtool", "-L", name, "combined", "2")
        assert pairs(device) == 2 + own
        xdp.detach(name)
        assert pairs(device) == 2 and combined(name) == 2

        # A device that has fewer than it says: as if it had said so.
        device.command = lambda group, _, data: ERR if group == 4 and data[0] > 2 else OK
        xdp.attach(name, PASS)
        assert combined(name) == 2
        device.command = lambda *_: OK
        # It goes with its program.
    # With the queues that the program has, too.
    with Device(BASIC | CONTROL | {MRG_RXBUF, MQ}, pairs=most) as device:
        name = device.up()
        xdp.attach(name, PASS)
unload()
