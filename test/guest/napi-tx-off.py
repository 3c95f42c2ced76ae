#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# With napi_tx=0 what is sent leaves its socket at once, also when it had to be made fit a small ring; an
# interrupt that is lost is made up for.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
import termios

from device import *

load("napi_tx=0")
with Device(BASIC | {CSUM}, ring=2) as device:
    name = device.up()
    run("ip", "link", "set", name, "mtu", "65535")
    run("ip", "addr", "add", "10.9.9.2/24", "dev", name)
    run("ip", "neigh", "add", "10.9.9.1", "lladdr", "52:54:00:09:00:01", "dev", name)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(("10.9.9.1", 4444))
    # Of the second the data lie in more pieces than the ring has descriptors.
    for length in (100, 40000):
        sock.send(b"o" * length)
        wait_for(f"{length} bytes", lambda: any(len(f) == length + 42 for f in device.sent_frames()))
        held = bytearray(4)
        fcntl.ioctl(sock, termios.TIOCOUTQ, held)
        assert not any(held), f"{struct.unpack('i', held)[0]} bytes stay with the socket"

with Device(BASIC, ring=64) as device:
    name = device.up()
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((name, 0))
    sock.setsockopt(socket.SOL_SOCKET, 32, 1 << 22)  # SO_SNDBUFFORCE: all of it fits
    device.stalled.add(0)
    for number in range(100):
        sock.send(PEER_MAC + OUR_MAC + b"\x88\xb5" + bytes([number]).ljust(60))
    wait_for("a full ring", lambda: counters(name)["tx0_stop"] > counters(name)["tx0_wake"])
    interrupt = device.interrupt
    device.interrupt = lambda index: None
    device.resume(0)
    wait_for("the watchdog", lambda: counters(name)["tx0_tx_timeouts"])
    device.interrupt = interrupt
    wait_for("all frames", lambda: sum(f[12:14] == b"\x88\xb5" for f in device.sent_frames()) == 100)
unload()
