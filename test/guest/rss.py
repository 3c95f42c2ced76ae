#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# RSS: table, key and hash fields that ethtool sets are those that the device has; the table follows the
# number of pairs until a user sets one; all of it survives suspend; what the device refuses or
# answers late changes neither side.
# kernels: 6.1 6.12 7.3 debug uml-debug uml-smp
# quick: 6.1
# timeout: 90
from device import *

IP4, TCP4, UDP4, IP6, TCP6, UDP6 = (1 << bit for bit in range(6))
ALL = 0x3F
answer = OK


def command(*_):
    return answer


def config():
    """The last RSS command, taken apart."""
    data = device.last(SET_RSS)
    types, mask, unclassified = struct.unpack_from("<IHH", data)
    table = struct.unpack_from(f"<{mask + 1}H", data, 8)
    pairs, length = struct.unpack_from("<HB", data, 8 + 2 * len(table))
    key = data[8 + 2 * len(table) + 3:]
    assert (unclassified, length) == (0, len(key))
    return types, list(table), pairs, key


def shown():
    """`ethtool -x`: the table and the key."""
    lines = run("ethtool", "-x", name).splitlines()
    table = []
    for line in lines:
        at, colon, row = line.partition(":")
        if at.strip().isdigit() and row.startswith(" "):
            table += [int(word) for word in row.split()]
    key = [line for line in lines if line.count(":") > 5]
    return table, bytes.fromhex(key[0].strip().replace(":", ""))


def same():
    """Both sides agree."""
    _, table, pairs, key = config()
    assert shown() == (table, key), f"ethtool shows {shown()}, the device has {table}, {key.hex()}"
    assert pairs == int(run("ethtool", "-l", name).split()[-1])
    return table


def spread(pairs):
    return [i % pairs for i in range(128)]


def fails(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    # `ethtool -N` says so and succeeds all the same.
    assert done.returncode or done.stderr, f"{argv} works"


def changes_nothing(*changes):
    """What the device refuses, or answers after the driver gave up, changes nothing on either side."""
    global answer
    before, there = (shown(), run("ethtool", "-l", name)), config()
    for answer in (ERR, None):
        for change in changes:
            seen = len(device.commands)
            fails("ethtool", *change.split())
            assert len(device.commands) > seen, f"{change} never reached the device"
            assert (shown(), run("ethtool", "-l", name)) == before, f"{change} failed and is shown"
            assert answer or config() == there, f"{change}: the device may go on with that"
    answer = OK
    for chain in device.unanswered:
        device.answer(chain)
    device.unanswered.clear()


load("queue_pairs=4")
FEATURES = BASIC | CONTROL | {MQ, RSS, MRG_RXBUF}
with Device(FEATURES, pairs=4, command=command) as device:
    name = device.up()
    assert config()[0] == ALL
    assert same() == spread(4)
    assert not [c for c in device.commands if c[:2] == SET_PAIRS], "a command that turns RSS off"
    run("ethtool", "-L", name, "combined", "3")
    assert same() == spread(3)

    run("ethtool", "-X", name, "equal", "2")
    assert same() == spread(2)
    run("ethtool", "-X", name, "weight", "1", "0", "3")
    assert set(same()) == {0, 2}
    mine = same()
    key = ":".join(f"{byte:02x}" for byte in range(100, 140))
    run("ethtool", "-X", name, "hkey", key)
    assert same() == mine and config()[3] == bytes(range(100, 140))
    # Set by a user it stays: with more pairs, and not with fewer than it names.
    run("ethtool", "-L", name, "combined", "4")
    assert same() == mine
    fails("ethtool", "-L", name, "combined", "2")
    assert same() == mine

    changes_nothing(f"-X {name} equal 4", f"-X {name} hkey {key.replace('64', '65')}",
                    f"-L {name} combined 3", f"-N {name} rx-flow-hash tcp4 sd")
    fails("ethtool", "-X", name, "equal", "5")
    fails("ethtool", "-X", name, "hfunc", "xor")
    fails("ethtool", "-X", name, "hkey", "01:02")

    seen = len(device.commands)
    if device.suspend_and_resume():
        assert SET_RSS in [c[:2] for c in device.commands[seen:]]
    assert same() == mine and config()[3] == bytes(range(100, 140))

    run("ethtool", "-X", name, "default")
    assert same() == spread(4)
    run("ethtool", "-L", name, "combined", "1")
    assert same() == spread(1)
    run("ethtool", "-L", name, "combined", "4")
    assert same() == spread(4)

    # What is hashed.
    assert "L4 bytes 0 & 1" in run("ethtool", "-n", name, "rx-flow-hash", "tcp4")
    for flow, fields, types in (("tcp4", "sd", ALL & ~TCP4), ("udp6", "sd", ALL & ~TCP4 & ~UDP6),
                                ("tcp4", "sdfn", ALL & ~UDP6), ("udp6", "r", ALL & ~UDP6 & ~IP6),
                                ("udp6", "sd", ALL & ~UDP6), ("udp6", "sdfn", ALL),
                                ("udp4", "r", ALL & ~IP4 & ~UDP4), ("udp4", "sdfn", ALL)):
        run("ethtool", "-N", name, "rx-flow-hash", flow, fields)
        assert config()[0] == types, f"{flow} {fields}: {config()[0]:#x}, not {types:#x}"
        assert ("L4 bytes" in run("ethtool", "-n", name, "rx-flow-hash", flow)) == ("f" in fields)
    for flow, fields in (("tcp4", "s"), ("tcp4", "sdf"), ("sctp4", "sd"), ("ah4", "sd")):
        fails("ethtool", "-N", name, "rx-flow-hash", flow, fields)
    assert config()[0] == ALL

# A device that refuses at the start is used without, with pairs all the same.
answer = ERR
with Device(FEATURES, pairs=4, command=lambda *what: answer if what[:2] == SET_RSS else OK) as device:
    name = device.up()
    assert device.commands[[c[:2] for c in device.commands].index(SET_PAIRS)][2] == struct.pack("<H", 4)
    fails("ethtool", "-X", name, "equal", "2")
    run("ethtool", "-L", name, "combined", "2")
    assert device.last(SET_PAIRS) == struct.pack("<H", 2)
# And one that has no other way to use more pairs uses one.
with Device(FEATURES - {MQ}, pairs=4, command=lambda *what: answer if what[:2] == SET_RSS else OK) as device:
    name = device.up()
    assert run("ethtool", "-l", name).split()[-1] == "1"
    fails("ethtool", "-L", name, "combined", "2")
answer = OK
with Device(FEATURES - {MQ}, pairs=4, command=command) as device:
    name = device.up()
    assert same() == spread(4)


def limits(key=40, table=128, types=ALL):
    return OUR_MAC + struct.pack("<HHHIB", LINK_UP, 4, 1500, 10000, 1) + rss_limits(key, table, types)


# Limits that cannot be, and odd ones.
for bad in ({"key": 0}, {"key": 39}, {"table": 0}, {"types": 0}, {"types": 0x1C0}):
    with Device(FEATURES | {HASH_REPORT}, pairs=4, config=limits(**bad), command=command) as device:
        name = device.up()
        assert not device.accepts(RSS) and not device.accepts(HASH_REPORT), f"{bad} was believed"
        assert device.last(SET_PAIRS) == struct.pack("<H", 4)
        fails("ethtool", "-X", name, "equal", "2")
for odd, entries, length in (({"key": 255}, 128, None), ({"table": 1}, 1, 40), ({"table": 100}, 64, 40),
                             ({"table": 65535}, 4096, 40), ({"types": IP4 | 0x1C0}, 128, 40)):
    with Device(FEATURES, pairs=4, config=limits(**odd), command=command) as device:
        name = device.up()
        types, table, _, key = config()
        assert len(table) == entries, f"{odd}: {len(table)} entries"
        assert len(key) in ((length,) if length else (52, 255)), f"{odd}: a key of {len(key)} bytes"
        assert shown() == (table, key)
        assert types == odd.get("types", ALL) & ALL
        if "types" in odd:
            fails("ethtool", "-N", name, "rx-flow-hash", "tcp4", "sdfn")
unload()
