#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# Interrupt coalescing: `ethtool -C`, for all queues and for single ones, tells the device, and what it shows is
# what the device has, after a refusal, a late answer, `ethtool -L` and -G and suspend, too. Adaptive
# receive changes the numbers under traffic. Without the device's help tx-frames switches NAPI.
# kernels: 6.1 6.12 7.3 debug uml-debug uml-smp
# quick: 6.1
# timeout: 90
from device import *

answer = OK
# What the device has: frames and microseconds of each queue.
has = {}


def forget():
    has.update({index: (0, 0) for index in range(8)})


def command(kind, number, data):
    if kind != 6 or answer is not OK:
        return answer
    obey((kind, number), data)
    return OK


def obey(kind, data):
    if kind == COAL_VQ:
        index, _, frames, usecs = struct.unpack("<HHII", data)
        has[index] = frames, usecs
    else:
        for index in range(kind == COAL_TX, 8, 2):
            has[index] = struct.unpack("<II", data)


def shown(queue=None):
    """rx and tx: frames and microseconds, and whether receive is adaptive."""
    text = run("ethtool", *(["--per-queue", name, "queue_mask", hex(1 << queue), "--show-coalesce"]
                            if queue is not None else ["-c", name]))
    words = {key.strip(): value.strip() for key, _, value in
             (line.partition(":") for line in text.splitlines())}
    numbers = [int(words[key]) for key in ("rx-frames", "rx-usecs", "tx-frames", "tx-usecs")]
    adaptive = [line.split()[2] for line in text.splitlines() if line.startswith("Adaptive")][0]
    return tuple(numbers[:2]), tuple(numbers[2:]), adaptive == "on"


def same():
    """Both sides agree, queue by queue; a device that was told nothing gathers nothing."""
    for queue in range(4):
        rx, tx, _ = shown(queue)
        assert has[2 * queue] == rx, f"queue {queue}: {has[2 * queue]}, shown {rx}"
        assert has[2 * queue + 1] == tx or (has[2 * queue + 1], tx) == ((0, 0), (1, 0)), \
            f"queue {queue}: {has[2 * queue + 1]}, shown {tx}"


def fails(text, *argv):
    done = subprocess.run(["ethtool", *argv], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    # With --per-queue it says so and succeeds all the same.
    assert (done.returncode or done.stderr) and text in done.stderr, f"{argv}: {done}"


def per_queue(queue, *what):
    return ["--per-queue", name, "queue_mask", hex(1 << queue), "--coalesce", *what]


forget()
load("queue_pairs=4")
FEATURES = BASIC | CONTROL | {MQ, MRG_RXBUF, NOTF_COAL, VQ_NOTF_COAL, RING_RESET}
with Device(FEATURES, pairs=4, command=command) as device:
    name = device.up()
    assert shown() == ((0, 0), (1, 0), False)
    assert not [c for c in device.commands if c[0] == 6]
    run("ethtool", "-C", name, "rx-frames", "16", "rx-usecs", "50", "tx-frames", "32", "tx-usecs", "70")
    assert shown() == ((16, 50), (32, 70), False)
    same()
    assert has[6] == (16, 50) and has[7] == (32, 70)
    run("ethtool", *per_queue(2, "rx-frames", "3", "tx-usecs", "9"))
    assert shown(2) == ((3, 50), (32, 9), False) and shown(1) == shown()
    same()
    run("ethtool", *per_queue(1, "rx-usecs", str(0x7FFFFFFF)))
    same()

    # Neither here nor there.
    before = [shown(queue) for queue in range(4)]
    for answer in (ERR, None):
        for argv in (["-C", name, "rx-usecs", "99"], ["-C", name, "tx-usecs", "99"],
                     per_queue(2, "rx-usecs", "98"), per_queue(2, "tx-usecs", "98")):
            seen = len(device.commands)
            fails("", *argv)
            assert len(device.commands) > seen, f"{argv} never reached the device"
            assert [shown(queue) for queue in range(4)] == before
    answer = OK
    for chain in device.unanswered:
        data = chain.read()
        obey((data[0], data[1]), data[2:])
        device.answer(chain)
    device.unanswered.clear()
    same()

    run("ethtool", "-L", name, "combined", "1")
    run("ethtool", "-L", name, "combined", "4")
    same()
    # A queue that was reset has what all were told, of which single ones differ.
    for index in range(8):
        has[index] = struct.unpack("<II", device.last(COAL_TX if index & 1 else COAL_RX))
    run("ethtool", "-G", name, "rx", "128", "tx", "64")
    assert [shown(queue) for queue in range(4)] == before
    same()
    forget()
    if device.suspend_and_resume():
        same()
        assert [shown(queue) for queue in range(4)] == before
    else:
        run("ethtool", "-C", name, "rx-usecs", "51", "tx-usecs", "71")

    # Adaptive: no numbers with it; under traffic it finds its own.
    fails("Invalid argument", "-C", name, "adaptive-rx", "on", "rx-usecs", "77")
    run("ethtool", "-C", name, "adaptive-rx", "on")
    assert shown()[2] and shown(3)[2]
    numbers = shown(0)[0]

    def changed():
        for _ in range(64):
            device.deliver(frame())
        return shown(0)[0] != numbers

    wait_for("other numbers", changed)
    same()
    run("ethtool", *per_queue(0, "adaptive-rx", "off", "rx-usecs", "12"))
    assert shown(0)[0][1] == 12 and not shown(0)[2] and shown(1)[2]
    for _ in range(20):
        for _ in range(64):
            device.deliver(frame())
    assert shown(0)[0][1] == 12
    same()
    run("ip", "link", "set", name, "down")
    run("ip", "link", "set", name, "up")
    run("ethtool", "-C", name, "adaptive-rx", "off", "rx-frames", "4", "rx-usecs", "5")
    assert not shown(0)[2] and not shown(1)[2] and shown(1)[0] == (4, 5)
    same()

    fails("busy", "-C", name, "tx-frames", "0")
    fails("unsupported", "-C", name, "adaptive-tx", "on")
    fails("", *per_queue(4, "rx-usecs", "1"))
    run("ip", "link", "set", name, "down")
    run("ethtool", "-C", name, "tx-frames", "0")
    name = device.up()
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.bind((name, 0))
    raw.send(PEER_MAC + OUR_MAC + b"\x88\xb5" + b"y" * 60)
    wait_for("the frame", lambda: any(f.endswith(b"y" * 60) for q in range(4) for f in device.sent_frames(q)))

# For all queues alone, and not at all.
for features in ({NOTF_COAL}, {VQ_NOTF_COAL}, set()):
    forget()
    with Device(BASIC | CONTROL | {MQ} | features, pairs=4, command=command) as device:
        name = device.up()
        if NOTF_COAL in features:
            run("ethtool", "-C", name, "rx-usecs", "5")
            assert has[6] == (0, 5) and shown() == ((0, 5), (1, 0), False)
        else:
            assert shown() == ((1, 0), (1, 0), False)
            fails("not supported", "-C", name, "rx-usecs", "5")
            fails("Invalid argument", "-C", name, "rx-frames", "5")
            fails("Invalid argument", "-C", name, "tx-frames", "2")
            fails("busy", "-C", name, "tx-frames", "0")
            run("ip", "link", "set", name, "down")
            run("ethtool", "-C", name, "tx-frames", "0")
            assert shown()[1] == (0, 0)
            run("ethtool", "-C", name, "tx-frames", "1")
            run("ip", "link", "set", name, "up")
        if VQ_NOTF_COAL in features:
            run("ethtool", *per_queue(1, "rx-usecs", "6"))
            assert has[2] == (0, 6) and has[0] == (0, 0)
        else:
            fails("not supported", *per_queue(1, "rx-usecs", "6"))
            fails("not supported", "-C", name, "adaptive-rx", "on")
unload()
