#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# A device that lies about lengths and numbers of buffers while there is an XDP program loses those frames and no
# others: dropped, counted and freed once.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
from device import *
import xdp

LONG = bytes(i % 251 for i in range(60000))


def length(value):
    return lambda: device.deliver(frame(), used=lambda room, n: value(room))


def claim(num):
    return lambda: device.deliver(frame(), num_buffers=num)


def later_is(value, number=1):
    """Of a frame's buffers one is too long or short."""
    def used(room, n):
        count[0] += 1
        return value(room) if count[0] == number + 1 else n

    def lie():
        count[0] = 0
        device.deliver(frame(LONG[:9000]), used=used)
    count = [0]
    return lie


load()
for features in (BASIC, BASIC | {MRG_RXBUF}):
    with Device(features | CONTROL | {GUEST_CSUM, GUEST_OFFLOADS}) as device:
        name = device.up()
        listener = Listener(name)
        for frags in (False, True):
            # The frames that the ring's buffers take were meant for no program, then for one.
            xdp.detach(name)
            for number in range(300):
                device.deliver(frame(b"%d".ljust(60) % number))
                listener.until(frame(b"%d".ljust(60) % number))
            xdp.attach(name, xdp.verdict(xdp.PASS), frags)
            for _ in range(3):
                drops_of(device, name, listener, "length_errors", [
                    ("longer than the buffer", length(lambda room: room + 1)),
                    ("absurdly long", length(lambda room: 0xFFFFFFFF)),
                    ("shorter than an Ethernet header", length(lambda room: device.hdr_len + 13)),
                    ("nothing", length(lambda room: 0)),
                ])
                if MRG_RXBUF not in features:
                    continue
                drops_of(device, name, listener, "length_errors", [
                    ("second buffer too long", later_is(lambda room: room + 1)),
                    ("second buffer empty", later_is(lambda room: 0)),
                ] + frags * [("third buffer too long", later_is(lambda room: room + 1, 2))])
                drops_of(device, name, listener, "buffer_errors", [
                    ("no buffer at all", claim(0)),
                    ("65535 buffers", claim(65535)),
                    ("one more than the ring has", claim(257)),
                ])
            if MRG_RXBUF not in features:
                continue
            # Half a frame, and one that no program could take.
            before = counters(name)
            device.deliver(frame(LONG[:4500]), num_buffers=4, buffers=2)
            wait_for("the drop", lambda: counters(name)["rx_buffer_errors"] > before["rx_buffer_errors"])
            device.deliver(frame(b"after".ljust(60)))
            assert not listener.until(frame(b"after".ljust(60))), "half a frame got through"
            drops_of(device, name, listener, "xdp_drops",
                     [("more pieces than a frame may have", lambda: device.deliver(frame(LONG)))])
unload()
