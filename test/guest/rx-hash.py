#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# The hash that the device reports is that of the packet, with `ethtool -K rxhash on` and not without; every
# layout of receive buffers finds it; key and types can be set without RSS, too.
# kernels: 6.1 6.12 7.3 debug uml-debug uml-smp
# quick: 6.1
# timeout: 60
from device import *

TCP4, NONE, ODD = 2, 0, 0xFFFF
HASH = 0x89ABCDEF
# BPF: the first two words are the hash of the packet (0 for none).
SO_ATTACH_FILTER = 26


class HashListener(Listener):
    """Sees the frames whose hash is @value."""

    def __init__(self, name, value):
        super().__init__(name)
        code = [(0x20, 0, 0, 0xFFFFF000 + 32),      # ld rxhash
                (0x15, 0, 1, value),                # jeq
                (0x06, 0, 0, 0xFFFF), (0x06, 0, 0, 0)]
        self.code = b"".join(struct.pack("<HBBI", *line) for line in code)
        buffer = ctypes.create_string_buffer(self.code)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                               struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer)))


def seen(**fields):
    """Does the stack see the hash of such a frame?"""
    mark = frame(os.urandom(80))
    with_hash, every = HashListener(name, HASH), Listener(name)
    device.deliver(mark, flow_hash=HASH, **fields)
    every.until(mark)
    with_hash.socket.setblocking(False)
    try:
        return with_hash.socket.recv(2000) == mark
    except BlockingIOError:
        return False
    finally:
        with_hash.socket.close()
        every.socket.close()


load()
for more in ({MRG_RXBUF}, set(), {GUEST_CSUM, GUEST_TSO4}):
    with Device(BASIC | CONTROL | {HASH_REPORT} | more) as device:
        name = device.up()
        assert device.accepts(HASH_REPORT)
        assert not seen(report=TCP4)
        run("ethtool", "-K", name, "rxhash", "on")
        assert seen(report=TCP4), f"with features {more} the hash is lost"
        assert not seen(report=NONE) and not seen(report=ODD)
        run("ethtool", "-K", name, "rxhash", "off")
        assert not seen(report=TCP4)
        # A frame as it is sent has the longer header, too.
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        raw.bind((name, 0))
        raw.send(PEER_MAC + OUR_MAC + b"\x88\xb5" + b"y" * 60)
        wait_for("the frame", lambda: any(f.endswith(b"y" * 60) and f[:6] == PEER_MAC
                                          for f in device.sent_frames()))

        # Without RSS there is a key and no table.
        types, = struct.unpack_from("<I8x", device.last(SET_HASH))
        assert types == 0x3F and len(device.last(SET_HASH)) == 12 + 1 + 40
        key = bytes(range(7, 47))
        run("ethtool", "-X", name, "hkey", ":".join(f"{byte:02x}" for byte in key))
        assert device.last(SET_HASH)[13:] == key
        run("ethtool", "-N", name, "rx-flow-hash", "tcp4", "sd")
        assert device.last(SET_HASH)[0] == 0x3D
        assert subprocess.run(["ethtool", "-X", name, "equal", "1"], capture_output=True,
                              check=False).returncode
        count = len(device.commands)
        if device.suspend_and_resume():
            assert SET_HASH in [c[:2] for c in device.commands[count:]]
        assert device.last(SET_HASH)[0] == 0x3D and device.last(SET_HASH)[13:] == key

# A hash that the device does not report, or not as it is told.
with Device(BASIC | CONTROL) as device:
    name = device.up()
    assert subprocess.run(["ethtool", "-K", name, "rxhash", "on"], capture_output=True,
                          check=False).returncode
with Device(BASIC | CONTROL | {HASH_REPORT},
            command=lambda *what: ERR if what[:2] == SET_HASH else OK) as device:
    name = device.up()
    assert subprocess.run(["ethtool", "-K", name, "rxhash", "on"], capture_output=True,
                          check=False).returncode
    assert not seen(report=TCP4)
unload()
