# SPDX-License-Identifier: GPL-2.0-only
"""XDP programs of a few instructions, and how they come to a network device. As a program:
xdp.py attach NETDEV pass|drop|tx [frags], xdp.py detach NETDEV."""

import ctypes
import os
import socket
import struct
import sys
from netlink import attribute, attributes

ABORTED, DROP, PASS, TX, REDIRECT = range(5)
EXIT = struct.pack("<BBhi", 0x95, 0, 0, 0)
DATA, DATA_END, IFINDEX = 0, 4, 12
HAS_FRAGS = 1 << 5


def _insn(code, dst=0, src=0, off=0, imm=0):
    return struct.pack("<BBhi", code, dst | src << 4, off, imm)


def mov(reg, value):
    return _insn(0xB7, reg, imm=value)


def call(function):
    return _insn(0x85, imm=function)


def verdict(value):
    """The same for each frame."""
    return mov(0, value) + EXIT


def told():
    """What the first byte behind the Ethernet header says."""
    return (_insn(0x61, 2, 1, DATA) + _insn(0x61, 3, 1, DATA_END)
            + _insn(0xBF, 4, 2) + _insn(0x07, 4, imm=15)
            + _insn(0x2D, 4, 3, off=2)              # beyond the end: abort
            + _insn(0x71, 0, 2, off=14) + EXIT
            + verdict(ABORTED))


def linear(length, yes, no=ABORTED):
    """@yes when the frame's linear part has that length."""
    return (_insn(0x61, 2, 1, DATA_END) + _insn(0x61, 3, 1, DATA) + _insn(0x1F, 2, 3)
            + mov(0, yes) + _insn(0x15, 2, off=1, imm=length) + mov(0, no) + EXIT)


def adjust(function, by, then):
    """bpf_xdp_adjust_head (44), _meta (54) or _tail (65), abort when that fails."""
    return (mov(2, by) + call(function) + _insn(0x15, 0, off=2, imm=0) + verdict(ABORTED)
            + verdict(then))


def redirect(ifindex):
    return mov(1, ifindex) + mov(2, 0) + call(23) + EXIT


def load_program(insns, frags=False):
    """The program's file descriptor."""
    code = ctypes.create_string_buffer(insns, len(insns))
    text = ctypes.create_string_buffer(b"GPL")
    log = ctypes.create_string_buffer(65536)
    attr = struct.pack("<IIQQIIQII16sII", 6, len(insns) // 8, ctypes.addressof(code), ctypes.addressof(text),
                       1, len(log), ctypes.addressof(log), 0, HAS_FRAGS if frags else 0, b"test", 0, 0)
    attr = ctypes.create_string_buffer(attr, len(attr))
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(321, 5, attr, len(attr))
    if fd < 0:
        raise OSError(ctypes.get_errno(), "bpf: " + log.value.decode())
    return fd


def _set(name, fd):
    """Returns errno (0: it worked) and the kernel's message."""
    nest = attribute(43 | 1 << 15, attribute(1, struct.pack("<i", fd)) + attribute(3, struct.pack("<I", 1 << 2)))
    body = struct.pack("<BBHiII", 0, 0, 0, socket.if_nametoindex(name), 0, 0) + nest
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        for option in (10, 11):     # short acknowledgements, with a message
            sock.setsockopt(270, option, 1)
        sock.send(struct.pack("<IHHII", 16 + len(body), 19, 5, 1, 0) + body)
        answer = sock.recv(65536)
    length, kind, flags, _, _, error = struct.unpack("<IHHIIi", answer[:20])
    assert kind == 2, kind
    text = attributes(answer[36:length]).get(1, b"") if flags & 0x200 else b""
    return -error, text.rstrip(b"\0").decode()


def try_attach(name, insns, frags=False):
    """As _set()."""
    fd = load_program(insns, frags)
    try:
        return _set(name, fd)
    finally:
        os.close(fd)


def attach(name, insns, frags=False):
    """Returns what the kernel remarks."""
    error, text = try_attach(name, insns, frags)
    assert not error, f"{os.strerror(error)}: {text}"
    return text


def detach(name):
    error, text = _set(name, -1)
    assert not error, f"{os.strerror(error)}: {text}"


if __name__ == "__main__":
    if sys.argv[1] == "attach":
        print(attach(sys.argv[2], verdict({"pass": PASS, "drop": DROP, "tx": TX}[sys.argv[3]]),
                     "frags" in sys.argv[4:]))
    else:
        detach(sys.argv[2])
