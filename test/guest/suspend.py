#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# Suspended and resumed under traffic the device carries it again, with as many pairs; one that does not come
# back can be removed.
# kernels: 6.1 6.12 debug
# quick: 6.1 6.12 debug
# timeout: 60
from device import *

ROUNDS = 4 if os.environ["LAB_KERNEL"] == "debug" else 10
end = threading.Event()


def send_always(name, cpu):
    os.sched_setaffinity(0, {cpu})
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((name, 0))
    while not end.wait(0.002):
        try:
            for _ in range(20):
                sock.send(PEER_MAC + OUR_MAC + b"\x88\xb5" + b"always".ljust(60))
        except OSError:
            pass


def pairs_in_use(device):
    return [struct.unpack("<H", data)[0] for kind, _, data in device.commands if kind == 4][-1]


def works(device, name, number):
    """A frame of each queue out, a frame in."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((name, 0))
    for cpu in (0, 1):
        mark = b"%d %d".ljust(60) % (cpu, number)
        os.sched_setaffinity(0, {cpu})

        def arrived():
            # What is sent to a busy queue may be dropped by its qdisc.
            sock.send(PEER_MAC + OUR_MAC + b"\x88\xb5" + mark)
            return any(mark in f for f in device.sent_frames(cpu))

        wait_for(f"a frame of queue {cpu}", arrived)
    os.sched_setaffinity(0, {0, 1})
    listener = Listener(name)
    good = frame(b"in %d".ljust(60) % number)
    device.deliver(good)
    listener.until(good)
    listener.socket.close()
    sock.close()


for napi in (1, 0):
    load("queue_pairs=2", f"napi_tx={napi}")
    with Device(BASIC | CONTROL | {MQ}, pairs=2, ring=16) as device:
        name = device.up()
        end.clear()
        senders = [threading.Thread(target=send_always, args=(name, cpu)) for cpu in (0, 1)]
        for sender in senders:
            sender.start()
        for number in range(ROUNDS):
            works(device, name, number)
            device.freeze()
            with device.lock:
                device.sent = [[] for _ in range(device.pairs)]
            device.restore()
            assert pairs_in_use(device) == 2
        works(device, name, ROUNDS)
        end.set()
        for sender in senders:
            sender.join()

        device.freeze()
        device.on_event = lambda event: -5 if event[0] == FIND_VQS else 0
        try:
            device.restore()
            raise AssertionError("it came back")
        except OSError:
            pass
    unload()
