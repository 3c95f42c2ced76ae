#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# What the network device is to let through the device is told: promiscuous and all-multicast mode, unicast and
# multicast addresses, VLANs; and again after a suspend.
# kernels: 6.1 debug uml-debug uml-smp
# timeout: 40
from device import *

PROMISC, ALLMULTI, TABLE, ADDRESS, VLAN_ADD, VLAN_DEL = (0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)
UNICAST, GROUP = "52:54:00:00:00:33", "33:33:00:12:34:56"


def raw(address):
    return bytes.fromhex(address.replace(":", ""))


def commands(*kinds):
    return [(kind, number, data) for kind, number, data in device.commands if (kind, number) in kinds]


def told(kind, data):
    wait_for(f"{kind} {data!r}", lambda: commands(kind) and device.last(kind) == data)


def tables():
    """Unicast and multicast addresses of the last table that the device got."""
    data, lists = device.last(TABLE), []
    for _ in range(2):
        entries = struct.unpack_from("<I", data)[0]
        lists.append({data[4 + 6 * i:10 + 6 * i] for i in range(entries)})
        assert len(lists[-1]) == entries
        data = data[4 + 6 * entries:]
    assert not data, "there is more than two tables"
    return lists


def vlans():
    """Those that the device lets through by now."""
    through = set()
    for _, number, data in commands(VLAN_ADD, VLAN_DEL):
        vid = struct.unpack("<H", data)[0]
        assert (vid in through) == bool(number), f"VLAN {vid}: command {number} again"
        (through.discard if number else through.add)(vid)
    return through


load()
run("modprobe", "8021q")
with Device(BASIC | CONTROL) as device:
    name = device.up()
    told(PROMISC, b"\0")
    told(ALLMULTI, b"\0")
    for flag, kind in (("promisc", PROMISC), ("allmulticast", ALLMULTI)):
        run("ip", "link", "set", name, flag, "on")
        told(kind, b"\1")
        run("ip", "link", "set", name, flag, "off")
        told(kind, b"\0")

    run("bridge", "fdb", "add", UNICAST, "dev", name, "self")
    wait_for("the unicast address", lambda: tables()[0] == {raw(UNICAST)})
    run("ip", "maddr", "add", GROUP, "dev", name)
    wait_for("the group", lambda: raw(GROUP) in tables()[1])
    assert tables()[0] == {raw(UNICAST)}

    before = vlans()
    for vid in (7, 4094):
        run("ip", "link", "add", "link", name, "name", f"v{vid}", "type", "vlan", "id", str(vid))
    wait_for("the VLANs", lambda: vlans() == before | {7, 4094})
    run("ip", "link", "del", "v7")
    wait_for("the VLAN's end", lambda: vlans() == before | {4094})
    run("ip", "link", "set", name, "address", "52:54:00:00:00:07")

    run("ip", "link", "set", name, "promisc", "on")
    told(PROMISC, b"\1")
    device.commands.clear()
    if device.suspend_and_resume():
        told(PROMISC, b"\1")
        told(ALLMULTI, b"\0")
        wait_for("the table", lambda: commands(TABLE))
        assert tables()[0] == {raw(UNICAST)} and raw(GROUP) in tables()[1]
        assert vlans() == before | {4094}, f"VLANs {vlans()}"
        assert device.last(ADDRESS) == raw("52:54:00:00:00:07")
    else:
        run("ip", "link", "set", name, "promisc", "off")
        told(PROMISC, b"\0")

    run("bridge", "fdb", "del", UNICAST, "dev", name, "self")
    run("ip", "maddr", "del", GROUP, "dev", name)
    wait_for("empty tables", lambda: not tables()[0] and raw(GROUP) not in tables()[1])
    run("ip", "link", "del", "v4094")
unload()
