#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# A transmit queue that the device stops to serve is reported, and runs again by itself when the device
# does; the other queues carry on meanwhile.
# kernels: 6.1 debug uml-debug uml-smp
# timeout: 90
from device import *


def reports():
    return run("dmesg").count("queue output.0 stands still")


def stalled_and_served(device, limit):
    name = device.up()
    has_limits = limit_bytes(name, 0, limit)
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((name, 0))
    sock.setsockopt(socket.SOL_SOCKET, 32, 1 << 22)  # SO_SNDBUFFORCE: all of it fits

    def send(queue, number):
        # Each CPU has a queue of its own.
        os.sched_setaffinity(0, {queue})
        sock.send(PEER_MAC + OUR_MAC + b"\x88\xb5" + bytes([queue, number]).ljust(60))

    def arrived(queue, count):
        return sum(f[12:15] == b"\x88\xb5" + bytes([queue]) for f in device.sent_frames(queue)) == count

    # The limit takes effect with this one.
    send(0, 0)
    wait_for("a frame", lambda: arrived(0, 1))
    device.stalled.add(0)
    for number in range(149):
        send(0, number)
    wait_for("the watchdog", lambda: counters(name)["tx0_tx_timeouts"])
    assert arrived(0, 1)
    by_ring = not has_limits or limit > 64 * 74
    assert (counters(name)["tx0_stop"] > counters(name)["tx0_wake"]) == by_ring
    for number in range(150):
        send(1, number)
    wait_for("frames of the other queue", lambda: arrived(1, 150))

    device.resume(0)
    wait_for("frames of the queue that stood", lambda: arrived(0, 150))
    if has_limits:
        inflight = f"/sys/class/net/{name}/queues/tx-0/byte_queue_limits/inflight"
        wait_for("nothing in flight", lambda: read(inflight) == "0")
    now = counters(name)
    assert now["tx_drops"] == 0, now["tx_drops"]
    assert now["tx0_stop"] == now["tx0_wake"]


load("queue_pairs=2")
# Held by the ring, by its byte queue limit.
for bytes_in_flight in (1000000, 1000):
    before = reports()
    with Device(BASIC | CONTROL | {MQ}, pairs=2, ring=64) as device:
        stalled_and_served(device, bytes_in_flight)
    assert reports() > before
unload()
