#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# Each action of an XDP program does what it says, in small and in mergeable buffers, over one and several
# buffers a frame, and is counted under its name.
# kernels: 6.1 6.12 7.3 debug uml-smp uml-debug
# timeout: 120
from device import *
import xdp

LONG = bytes(i % 251 for i in range(2900))
COUNTS = ("rx_xdp_packets", "rx_xdp_drops", "rx_xdp_tx", "rx_xdp_redirects", "rx_drops", "tx_xdp_tx", "tx_xdp_tx_drops")


def all_sent(device):
    return [f for queue in range(device.pairs) for f in device.sent_frames(queue)]


def counted(name, do, **expected):
    """@do changes the counters like that, and no others of COUNTS."""
    before = counters(name)
    do()

    def delta():
        after = counters(name)
        return {key: after[key] - before[key] for key in COUNTS if after[key] != before[key]}

    try:
        wait_for("counters", lambda: delta() == expected, 10)
    except AssertionError:
        raise AssertionError(f"{delta()} instead of {expected}") from None


def each_action(device, name, listener, payload, frags):
    xdp.attach(name, xdp.told(), frags)

    def tell(action):
        data = frame(bytes([action]) + payload)
        device.deliver(data)
        return data

    for _ in range(40):
        counted(name, lambda: listener.until(tell(xdp.PASS)), rx_xdp_packets=1)
    for action in (xdp.DROP, xdp.ABORTED, 77):
        counted(name, lambda: tell(action), rx_xdp_packets=1, rx_xdp_drops=1, rx_drops=1)

    def back():
        data = tell(xdp.TX)
        wait_for("the frame sent back", lambda: data in all_sent(device))

    counted(name, back, rx_xdp_packets=1, rx_xdp_tx=1, tx_xdp_tx=1)
    # Nobody said where to.
    counted(name, lambda: tell(xdp.REDIRECT), rx_xdp_packets=1, rx_xdp_drops=1, rx_drops=1)
    # Many of all kinds in one interrupt or two.
    with device.lock:
        device.sent = [[] for _ in range(device.pairs)]
        for number in range(60):
            tell(number % 4)
    wait_for("those sent back", lambda: all_sent(device).count(frame(bytes([xdp.TX]) + payload)) == 15)
    last = frame(b"\x02last".ljust(60))
    device.deliver(last)
    assert listener.until(last) == [frame(bytes([xdp.PASS]) + payload)] * 15


def headroom(device, name, listener):
    """A program finds 192 bytes in front, also for metadata, and sends back what it has lengthened."""
    good = frame(b"headroom".ljust(60))
    # Until no buffer is left that was meant for no program.
    for _ in range(256):
        seen = frame(b"\x02".ljust(60))
        device.deliver(seen)
        listener.until(seen)
    xdp.attach(name, xdp.adjust(44, -192, xdp.TX))
    device.deliver(good)
    wait_for("it", lambda: any(len(f) == len(good) + 192 and f.endswith(good) for f in all_sent(device)))
    # All that there is: the virtio header has no place left.
    xdp.attach(name, xdp.adjust(44, -(256 + device.hdr_len - 40), xdp.TX))
    counted(name, lambda: device.deliver(good), rx_xdp_packets=1, rx_xdp_tx=1, tx_xdp_tx=1, tx_xdp_tx_drops=1)
    xdp.attach(name, xdp.adjust(54, -32, xdp.PASS))
    device.deliver(good)
    listener.until(good)
    xdp.attach(name, xdp.adjust(65, -10, xdp.PASS))
    device.deliver(good)
    listener.until(good[:-10])
    xdp.attach(name, xdp.adjust(65, 64, xdp.TX))
    device.deliver(good)
    wait_for("it", lambda: any(len(f) == len(good) + 64 and f.startswith(good) for f in all_sent(device)))


def fragments(device, name, listener):
    """Whole frames in one piece for programs that know no other, pieces for those that do."""
    data = frame(b"\x02" + LONG)
    xdp.attach(name, xdp.linear(len(data), xdp.PASS))
    for _ in range(40):
        device.deliver(data)
        assert not listener.until(data)
    xdp.attach(name, xdp.verdict(xdp.PASS), True)
    for _ in range(40):
        device.deliver(data)
        assert not listener.until(data)
    # The whole last fragment goes, and part of the one before.
    xdp.attach(name, xdp.adjust(65, -2000, xdp.PASS), True)
    device.deliver(data)
    listener.until(data[:-2000])
    xdp.attach(name, xdp.verdict(xdp.TX), True)
    device.deliver(data)
    wait_for("it", lambda: data in all_sent(device))
    xdp.attach(name, xdp.verdict(xdp.DROP), True)
    counted(name, lambda: device.deliver(data), rx_xdp_packets=1, rx_xdp_drops=1, rx_drops=1)
    run("ip", "link", "set", name, "mtu", "16000")
    jumbo = frame((LONG * 6)[:15900])
    xdp.attach(name, xdp.verdict(xdp.TX), True)
    # The short buffers that the ring still has, first.
    for _ in range(60):
        device.deliver(jumbo)
    wait_for("jumbo frames", lambda: all_sent(device).count(jumbo) > 30)
    run("ip", "link", "set", name, "mtu", "1500")


for napi in (1, 0):
    load(f"napi_tx={napi}")
    for features in (BASIC, BASIC | {MRG_RXBUF}, BASIC | {MRG_RXBUF, INDIRECT}):
        with Device(features | CONTROL | {GUEST_CSUM, GUEST_OFFLOADS}) as device, \
                Device(BASIC) as other:
            name, other_name = device.up(), other.up()
            listener = Listener(name)
            payload = b"y" * 90
            each_action(device, name, listener, payload, False)
            each_action(device, name, listener, payload, True)
            headroom(device, name, listener)
            if MRG_RXBUF in features:
                each_action(device, name, listener, LONG, False)
                each_action(device, name, listener, LONG, True)
                fragments(device, name, listener)

            # To another of our devices, which has no program, and to one that is down.
            xdp.attach(name, xdp.redirect(socket.if_nametoindex(other_name)), True)
            good = frame(b"redirected".ljust(60))
            counted(name, lambda: [device.deliver(good) for _ in range(100)], rx_xdp_packets=100, rx_xdp_redirects=100)
            wait_for("redirected frames", lambda: all_sent(other).count(good) == 100)
            assert counters(other_name)["tx_xdp_tx"] == 100
            run("ip", "link", "set", other_name, "down")
            counted(name, lambda: device.deliver(good), rx_xdp_packets=1, rx_xdp_drops=1, rx_drops=1)

            # And everything as before.
            xdp.detach(name)
            for payload in (b"z" * 90, LONG if MRG_RXBUF in features else b"z" * 1400):
                for _ in range(300):
                    data = frame(payload)
                    device.deliver(data)
                    assert not listener.until(data)
    unload()
