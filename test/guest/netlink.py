# SPDX-License-Identifier: GPL-2.0-only
"""Attributes of netlink messages."""

import struct


def attribute(kind, value):
    return struct.pack("<HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def attributes(data):
    """The values, as bytes, by kind."""
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("<HH", data)
        found[kind & 0x3FFF] = data[4:length]
        data = data[(length + 3) & ~3:]
    return found
