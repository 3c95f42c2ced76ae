#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# Byte queue limits: a queue holds what its limit allows, the rest waits in the stack, and the bytes in flight
# are those of frames of the stack in the ring and 0 when it is empty: under load, after `ethtool -L` and -G,
# down and up, suspend, a change between transmit with and without NAPI, and beside XDP's frames.
# kernels: 6.1 6.12 7.3 debug uml-debug uml-smp
# quick: 6.1
# timeout: 60
from device import *
import xdp

SIZE, LIMIT = 1000, 3000
FULL = 4 * SIZE     # one frame may reach beyond the limit
number = 0


def path(queue, file):
    return f"/sys/class/net/{name}/queues/tx-{queue}/byte_queue_limits/{file}"


def inflight(queue=0):
    return int(read(path(queue, "inflight")))


def send(count=1, queue=0):
    """Numbers of frames that were sent."""
    global number
    # Each CPU has a queue of its own.
    os.sched_setaffinity(0, {queue})
    first = number + 1
    for number in range(first, first + count):
        sock.send((PEER_MAC + OUR_MAC + b"\x88\xb5" + struct.pack(">I", number)).ljust(SIZE))
    return range(first, number + 1)


def arrived(queue=0):
    return {struct.unpack(">I", f[14:18])[0] for f in device.sent_frames(queue) if f[12:14] == b"\x88\xb5"}


def fine(queue=0):
    """Frames pass, and none is in flight then."""
    sent = send(2, queue)
    wait_for("frames", lambda: set(sent) <= arrived(queue))
    wait_for("nothing in flight", lambda: inflight(queue) == 0)


def hold(count, queue=0):
    """The device does not serve the queue, and the driver got as many frames."""
    device.stalled.add(queue)
    sent = send(count, queue)
    wait_for("bytes in flight", lambda: inflight(queue) == min(count * SIZE, FULL))
    return sent


def serve_again(event):
    """It serves what it got after a reset."""
    if event[0] in (Q_RESET, RESET):
        device.stalled.clear()


def link(state):
    run("ip", "link", "set", name, state)
    if state == "up":
        wait_for("the carrier", lambda: read(f"/sys/class/net/{name}/carrier") == "1")


load("queue_pairs=2")
with Device(BASIC | CONTROL | {MQ, MRG_RXBUF, RING_RESET}, pairs=2, ring=64) as device:
    device.on_event = serve_again
    name = device.up()
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((name, 0))
    assert int(read(path(0, "limit"))) == 0
    fine()
    assert int(read(path(0, "limit"))) > 0
    for pair in (0, 1):
        limit_bytes(name, pair, LIMIT)
        fine(pair)

    # Beyond the limit the stack keeps them.
    waiting = hold(20)
    device.resume(0)
    wait_for("all frames", lambda: set(waiting) <= arrived())
    fine()

    # A new ring: what was in the old one is lost, what the stack kept goes on.
    for count in (2, 20):
        waiting = hold(count)
        run("ethtool", "-G", name, "tx", "32" if count == 2 else "64")
        wait_for("what was kept", lambda: set(waiting[4:]) <= arrived())
        wait_for("nothing in flight", lambda: inflight() == 0)
        assert not set(waiting[:4]) & arrived()
        fine()

    # While the device is closed nothing is taken out of the ring.
    for count in (2, 20):
        hold(count)
        link("down")
        assert inflight() == min(count * SIZE, FULL)
        if count == 2:
            link("up")
            device.resume(0)
            wait_for("nothing in flight", lambda: inflight() == 0)
        else:
            device.resume(0)
            link("up")
        fine()

    # A pair that goes, and comes back.
    for count in (2, 20):
        hold(count, 1)
        run("ethtool", "-L", name, "combined", "1")
        fine()
        device.resume(1)
        run("ethtool", "-L", name, "combined", "2")
        fine(1)

    # XDP sends on the stack's queues, and is not counted.
    assert "shares" in xdp.attach(name, xdp.verdict(xdp.TX))
    hold(2)
    os.sched_setaffinity(0, {0})
    for _ in range(5):
        device.deliver(frame(b"back".ljust(60)))
    wait_for("frames sent back", lambda: counters(name)["tx0_xdp_tx"] + counters(name)["tx1_xdp_tx"] == 5)
    assert inflight() == 2 * SIZE and inflight(1) == 0
    device.resume(0)
    fine()
    xdp.detach(name)

    # Without NAPI nothing is counted, and what was sent before or with NAPI is what it was.
    held = hold(2)
    link("down")
    run("ethtool", "-C", name, "tx-frames", "0")
    link("up")
    held = [*held, *send(3)]
    assert inflight() == 2 * SIZE
    device.resume(0)
    send()
    wait_for("nothing in flight", lambda: send() and inflight() == 0)
    assert set(held) <= arrived()
    device.stalled.add(0)
    held = send(10)
    assert inflight() == 0
    link("down")
    run("ethtool", "-C", name, "tx-frames", "1")
    link("up")
    device.resume(0)
    wait_for("what was held", lambda: set(held) <= arrived())
    fine()

    hold(20)
    if device.suspend_and_resume():
        wait_for("nothing in flight", lambda: inflight() == 0)
        fine()
unload()
