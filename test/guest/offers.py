#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# Features without what they depend on are declined, values that cannot be are not believed, and the
# network device works.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
from device import *


def config(mac=OUR_MAC, pairs=1, mtu=1500):
    return mac + struct.pack("<HHHIB", LINK_UP, pairs, mtu, 10000, 1)


def max_combined(name):
    return int([line for line in run("ethtool", "-l", name).splitlines() if "Combined" in line][0].split()[1])


def works(device):
    name = device.up()
    listener = Listener(name)
    device.deliver(frame())
    listener.until(frame())
    return name


load()
# Everything that needs a control queue, and none.
with Device(BASIC | {MQ, ANNOUNCE, CTRL_RX, CTRL_VLAN, CTRL_MAC, GUEST_OFFLOADS, GUEST_CSUM, GUEST_TSO4}, pairs=4) as device:
    name = works(device)
    for bit in (MQ, ANNOUNCE, CTRL_RX, CTRL_VLAN, CTRL_MAC, GUEST_OFFLOADS):
        assert not device.accepts(bit), f"feature {bit} was accepted"
    assert max_combined(name) == 1
    # Turns LRO off everywhere, which needs the device's help if anything does.
    run("sysctl", "-qw", "net.ipv4.ip_forward=1")
    run("sysctl", "-qw", "net.ipv4.ip_forward=0")
    run("ethtool", "-K", name, "lro", "off", check=False)
    run("ip", "link", "set", name, "promisc", "on")
    run("ip", "link", "set", name, "address", "52:54:00:00:00:09")

# Offloads without checksums.
with Device(BASIC | {GUEST_TSO4, GUEST_TSO6, GUEST_ECN, GUEST_UFO, HOST_TSO4, HOST_TSO6}) as device:
    works(device)
    for bit in (GUEST_TSO4, GUEST_TSO6, GUEST_ECN, GUEST_UFO, HOST_TSO4, HOST_TSO6):
        assert not device.accepts(bit), f"feature {bit} was accepted"

for pairs in (0, 32769, 65535):
    with Device(BASIC | CONTROL | {MQ}, config=config(pairs=pairs)) as device:
        assert max_combined(works(device)) == 1

for mtu, accepted in ((0, False), (67, False), (68, True), (9000, True)):
    with Device(BASIC | {MTU}, config=config(mtu=mtu)) as device:
        name = works(device)
        assert device.accepts(MTU) == accepted, f"MTU {mtu}"
        assert int(read(f"/sys/class/net/{name}/mtu")) == (mtu if accepted else 1500)
        if accepted:
            assert subprocess.run(["ip", "link", "set", name, "mtu", str(mtu + 1)], stderr=subprocess.DEVNULL,
                                  check=False).returncode, "more than the device's MTU"

# An address that no station has, and none at all: a random one, which the device hears of if it listens.
with Device(BASIC, config=config(mac=bytes.fromhex("010000000001"))) as device:
    assert read(f"/sys/class/net/{device.up()}/addr_assign_type") == "1"
with Device((BASIC | CONTROL) - {MAC}) as device:
    name = device.up()
    address = read(f"/sys/class/net/{name}/address")
    assert read(f"/sys/class/net/{name}/addr_assign_type") == "1"
    assert (1, 1, bytes.fromhex(address.replace(":", ""))) in device.commands
unload()
