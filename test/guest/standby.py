#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# A device that is to stand by for another (failover) has a network device above it, which carries its
# traffic, and goes with it; its address stays. One without a MAC address cannot stand by and works alone. (Not on debug: the
# kernel's net_failover has a lock there that it never initializes, and lockdep reports it.)
# kernels: 6.1 6.12 7.3 uml-smp
# timeout: 60
from device import *


def nets():
    return set(os.listdir("/sys/class/net"))


def port_name(net):
    try:
        return read(f"/sys/class/net/{net}/phys_port_name")
    except OSError:
        return None


load()
for again in range(2):
    before = nets()
    with Device(BASIC | CONTROL | {STANDBY}) as device:
        assert wait_for("two network devices", lambda: len(nets() - before) == 2)
        wait_for("its features", lambda: device.accepts(STANDBY))
        name, = (net for net in nets() - before if port_name(net) == "sby")
        above, = nets() - before - {name}
        wait_for("its standby", lambda: os.path.exists(f"/sys/class/net/{name}/upper_{above}"))
        device.net = lambda: name
        assert read(f"/sys/class/net/{above}/address") == read(f"/sys/class/net/{name}/address")
        done = subprocess.run(["ip", "link", "set", name, "address", "52:54:00:09:00:07"], capture_output=True,
                              text=True, check=False)
        assert done.returncode and "not supported" in done.stderr, done.stderr
        run("sysctl", "-qw", f"net.ipv6.conf.{above}.disable_ipv6=1", check=False)
        run("ip", "link", "set", above, "up")
        device.up()
        wait_for("its carrier", lambda: read(f"/sys/class/net/{above}/carrier") == "1")
        listener = Listener(above)
        device.deliver(frame())
        listener.until(frame())
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        raw.bind((above, 0))
        raw.send(PEER_MAC + OUR_MAC + b"\x88\xb5" + b"y" * 60)
        wait_for("the frame", lambda: any(f.endswith(b"y" * 60) for f in device.sent_frames()))
    assert nets() == before, f"{nets() - before} is left"

with Device((BASIC | CONTROL | {STANDBY}) - {MAC}) as device:
    device.up()
    assert not device.accepts(STANDBY)
unload()
