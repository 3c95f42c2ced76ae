#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# Speed and duplex are those of the device, read again when its link comes back; where it tells none, those that
# `ethtool -s` has set, as far as they mean something.
# kernels: 6.1 debug uml-debug uml-smp
# timeout: 30
from device import *

SPEED_DUPLEX = 63
SPEED_AT = 12


def settings():
    lines = dict(line.strip().split(": ", 1) for line in run("ethtool", name).splitlines() if ": " in line)
    return lines["Speed"], lines["Duplex"]


def sets(*values):
    return subprocess.run(["ethtool", "-s", name, *values], capture_output=True, check=False).returncode == 0


load()
with Device(BASIC | {SPEED_DUPLEX}) as device:
    name = device.up()
    assert settings() == ("10000Mb/s", "Full"), settings()
    assert "Port: Other" in run("ethtool", name)
    for speed, duplex, shown in ((25000, 1, ("25000Mb/s", "Full")), (1000, 0, ("1000Mb/s", "Half")),
                                 # Values that mean nothing change nothing.
                                 (1 << 31, 7, ("1000Mb/s", "Half"))):
        device.set_status(0)
        wait_for("no carrier", lambda: read(f"/sys/class/net/{name}/carrier") == "0")
        device.set_config(SPEED_AT, struct.pack("<IB", speed, duplex), False)
        device.set_status(LINK_UP)
        wait_for("the carrier", lambda: read(f"/sys/class/net/{name}/carrier") == "1")
        assert settings() == shown, settings()
    assert sets("speed", "2500", "duplex", "full")
    assert settings() == ("2500Mb/s", "Full")

with Device(BASIC) as device:
    name = device.up()
    assert settings()[0].startswith("Unknown") and settings()[1].startswith("Unknown"), settings()
    assert sets("speed", "10", "duplex", "half")
    assert settings() == ("10Mb/s", "Half")
    for bad in (("autoneg", "on"), ("speed", "4294967294"), ("port", "tp"), ("duplex", "full", "port", "fibre")):
        assert not sets(*bad), f"{bad} was taken"
        assert settings() == ("10Mb/s", "Half")
unload()
