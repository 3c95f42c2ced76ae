#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# A device that returns a buffer which it never got breaks that transmit queue: what is sent there, and what
# waits for room in its ring, is dropped and counted, the other queues carry on, nothing spins, and the
# device goes away.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1
# timeout: 60
from device import *

for parameter, full, limited in (("napi_tx=1", False, False), ("napi_tx=0", False, False), ("napi_tx=1", True, False),
                                 ("napi_tx=0", True, False), ("napi_tx=1", False, True)):
    load("queue_pairs=2", parameter)
    with Device(BASIC | CONTROL | {MQ}, pairs=2, ring=64) as device:
        name = device.up()
        listener = Listener(name)
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sock.bind((name, 0))

        def send(queue, number):
            # Each CPU has a queue of its own.
            os.sched_setaffinity(0, {queue})
            sock.send(PEER_MAC + OUR_MAC + b"\x88\xb5" + bytes([queue, number]).ljust(60))

        def arrived(queue, number):
            return any(f[12:16] == b"\x88\xb5" + bytes([queue, number]) for f in device.sent_frames(queue))

        # What the stack keeps back beyond a byte queue limit waits, too.
        limited = limit_bytes(name, 0, 100 if limited else 1000000) and limited
        send(0, 0)
        wait_for("a frame", lambda: arrived(0, 0))
        device.stalled.add(0)
        for number in range(1, 100 if full else 5):
            send(0, number)
        if full:
            wait_for("a full ring", lambda: counters(name)["tx0_stop"] > counters(name)["tx0_wake"])
        with device.lock:
            for head in (1000, 0, 1, 2):
                device.rings[1].push(head, 0)
            device.interrupt(1)
        # Both ways, past the polls that look at that queue, too.
        for number in range(1, 100):
            send(1, number)
            device.deliver(frame(bytes([number]).ljust(60)))
            listener.until(frame(bytes([number]).ljust(60)))
        wait_for("frames of the other queue", lambda: arrived(1, 99))
        for number in range(5, 10):
            send(0, number)
        if full:
            # 64 at most are in the ring.
            wait_for("the drops", lambda: counters(name)["tx0_ring_errors"] >= 99 - 64 + 5)
        else:
            # 2 of the 9 are within the limit.
            drops = 7 if limited else 5
            wait_for("the drops", lambda: counters(name)["tx0_ring_errors"] == drops)
        now = counters(name)
        assert now["tx0_ring_errors"] == now["tx_drops"], (now["tx0_ring_errors"], now["tx_drops"])
    unload()
