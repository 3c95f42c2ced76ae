#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# A device that claims to have written more than the buffer holds, or less than a frame, loses that
# frame and no other, in each layout of receive buffers.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 40
from device import *

LAYOUTS = {
    "small": BASIC | {GUEST_CSUM},
    "big": BASIC | {GUEST_CSUM, GUEST_TSO4},
    "big, indirect": BASIC | {GUEST_CSUM, GUEST_TSO4, INDIRECT},
    "mergeable": BASIC | {GUEST_CSUM, GUEST_TSO4, MRG_RXBUF},
}

load()
for layout, features in LAYOUTS.items():
    with Device(features) as device:
        name = device.up()
        listener = Listener(name)
        device.deliver(frame())
        listener.until(frame())
        for _ in range(3):
            drops_of(device, name, listener, "length_errors", [
                (f"{layout}: room + 1", lambda: device.deliver(frame(), used=lambda room, n: room + 1)),
                (f"{layout}: 2^32 - 1", lambda: device.deliver(frame(), used=lambda *_: 0xFFFFFFFF)),
                (f"{layout}: nothing", lambda: device.deliver(frame(), used=lambda *_: 0)),
                (f"{layout}: header alone",
                 lambda: device.deliver(frame(), used=lambda *_: device.hdr_len)),
                (f"{layout}: 13 bytes",
                 lambda: device.deliver(frame(), used=lambda *_: device.hdr_len + 13)),
            ])
unload()
