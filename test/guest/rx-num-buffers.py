#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# A device that lies about the number of buffers of a frame loses that frame; the ring stays usable,
# and frames of several buffers arrive whole.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 40
from device import *

PAYLOAD = bytes(i % 251 for i in range(60000))


def claim(num):
    return lambda: device.deliver(frame(), num_buffers=num)


def second_is(length):
    return lambda: device.deliver(frame(PAYLOAD[:3000]),
                                  used=lambda room, n: n if n == room else length(room))


load()
with Device(BASIC | {GUEST_CSUM, GUEST_TSO4, MRG_RXBUF}) as device:
    name = device.up()
    listener = Listener(name)

    for _ in range(3):
        drops_of(device, name, listener, "buffer_errors", [
            ("no buffer at all", claim(0)),
            ("65535 buffers", claim(65535)),
            ("one more than the ring has", claim(257)),
        ])
        drops_of(device, name, listener, "length_errors", [
            ("second buffer too long", second_is(lambda room: room + 1)),
            ("second buffer empty", second_is(lambda room: 0)),
        ])

    # Four buffers, of which two come: what follows much later is no part of them.
    for _ in range(3):
        before = counters(name)
        device.deliver(frame(PAYLOAD[:3000]), num_buffers=4, buffers=2)
        wait_for("the drop", lambda: counters(name)["rx_buffer_errors"] > before["rx_buffer_errors"])
        device.deliver(frame(b"after".ljust(60)))
        assert not listener.until(frame(b"after".ljust(60))), "half a frame got through"

    # Honest again; the buffers grow with the frames.
    took = []
    for _ in range(200):
        took.append(device.deliver(frame(PAYLOAD)))
        assert not listener.until(frame(PAYLOAD))
    assert took[0] > took[-1], f"{took[0]} buffers at first, {took[-1]} at last"
unload()
