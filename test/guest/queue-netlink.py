#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# Over netlink each queue tells its counters, and which NAPI serves it while it runs; what the device as a
# whole counts holds pairs that are out of use, too.
# kernels: 6.12 7.3 debug uml-debug uml-smp
# timeout: 60
from device import *
from netlink import attribute, attributes

NLM_DUMP = 0x301
QUEUE_GET, QSTATS_GET = 10, 12
ID, IFINDEX, TYPE, NAPI = 1, 2, 3, 4
S_IFINDEX, S_TYPE, S_ID, S_SCOPE, RX_PACKETS, RX_BYTES, TX_PACKETS, TX_BYTES = 1, 2, 3, 4, 8, 9, 10, 11
RX, TX = 0, 1


def values(data):
    """Attributes by number; those with the length of a number are one."""
    return {kind: int.from_bytes(value, "little") if len(value) in (1, 2, 4, 8) else value
            for kind, value in attributes(data).items()}


def ask(family, command, *attrs):
    """What a dump of generic netlink says: attributes by number."""
    payload = struct.pack("<BBH", command, 1, 0) + b"".join(attrs)
    sock.send(struct.pack("<IHHII", 16 + len(payload), family, NLM_DUMP, 1, 0) + payload)
    answers = []
    while True:
        data = sock.recv(65536)
        while data:
            length, kind = struct.unpack_from("<IH", data)
            if kind == 2:
                raise OSError(-struct.unpack_from("<i", data, 16)[0], "netlink")
            if kind == 3:
                return answers
            answers.append(values(data[20:length]))
            data = data[(length + 3) & ~3:]


sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
sock.bind((0, 0))
netdev = [a[1] for a in ask(16, 3) if a[2] == b"netdev\0"][0]


def queues():
    """The NAPI of each queue, by (kind, number)."""
    index = struct.pack("<I", socket.if_nametoindex(name))
    return {(a[TYPE], a[ID]): a.get(NAPI) for a in ask(netdev, QUEUE_GET, attribute(IFINDEX, index))}


def stats(scope):
    index = struct.pack("<I", socket.if_nametoindex(name))
    found = ask(netdev, QSTATS_GET, attribute(S_IFINDEX, index), attribute(S_SCOPE, struct.pack("<I", scope)))
    return {(a.get(S_TYPE), a.get(S_ID)): a for a in found}


def send(text, cpu):
    os.sched_setaffinity(0, {cpu})
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.bind((name, 0))
    raw.send(PEER_MAC + OUR_MAC + b"\x88\xb5" + text.ljust(60))


load("queue_pairs=2")
with Device(BASIC | CONTROL | {MQ}, pairs=2) as device:
    name = device.up()
    napis = queues()
    assert set(napis) == {(kind, i) for kind in (RX, TX) for i in range(2)}
    # Those of transmit queues have no number: nobody polls them.
    assert napis[RX, 0] and napis[RX, 1] and napis[RX, 0] != napis[RX, 1], f"NAPIs {napis}"
    listener = Listener(name)
    for queue, count in ((0, 3), (1, 5)):
        for i in range(count):
            device.deliver(frame(), queue=queue)
            listener.until(frame())
    for cpu in (0, 1):
        send(b"from %d" % cpu, cpu)
    wait_for("both frames", lambda: sum(len(device.sent_frames(q)) for q in (0, 1)) >= 2)

    def arrived():
        now = stats(1)
        return now[RX, 0][RX_PACKETS] == 3 and now[RX, 1][RX_PACKETS] == 5

    wait_for("the counters", arrived)
    now = stats(1)
    assert now[RX, 1][RX_BYTES] == 5 * (len(frame()) - 14) or now[RX, 1][RX_BYTES] == 5 * len(frame())
    assert now[TX, 0][TX_PACKETS] + now[TX, 1][TX_PACKETS] >= 2
    assert stats(0)[None, None][RX_PACKETS] == 8
    run("ethtool", "-L", name, "combined", "1")
    assert set(stats(1)) == {(RX, 0), (TX, 0)} and set(queues()) == {(RX, 0), (TX, 0)}
    assert stats(0)[None, None][RX_PACKETS] == 8, "what the second pair received is lost"
    run("ip", "link", "set", name, "down")
    run("ip", "link", "set", name, "up")
    run("ethtool", "-L", name, "combined", "2")
    assert queues() == napis
    run("ip", "link", "set", name, "down")
    assert not any(queues().values()), "a NAPI that is off serves a queue"
unload()
