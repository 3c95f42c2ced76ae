# SPDX-License-Identifier: GPL-2.0-only
"""A virtio network device made of Python, through the test module vmq_loop: what a
device may say to the guest driver, and what it must not, is a few lines here."""

import ctypes
import errno
import fcntl
import glob
import mmap
import os
import resource
import select
import socket
import struct
import subprocess
import threading
import time

# Features, by bit number (virtio 1.2, 5.1.3 and 6)
CSUM, GUEST_CSUM, GUEST_OFFLOADS, MTU, MAC = 0, 1, 2, 3, 5
GUEST_TSO4, GUEST_TSO6, GUEST_ECN, GUEST_UFO = 7, 8, 9, 10
HOST_TSO4, HOST_TSO6, MRG_RXBUF, STATUS = 11, 12, 15, 16
CTRL_VQ, CTRL_RX, CTRL_VLAN, ANNOUNCE, MQ, CTRL_MAC = 17, 18, 19, 21, 22, 23
INDIRECT, VERSION_1, GUEST_USO4, GUEST_USO6, RING_RESET = 28, 32, 54, 55, 40
VQ_NOTF_COAL, NOTF_COAL, HASH_REPORT, RSS, STANDBY = 52, 53, 57, 60, 62
BASIC = {MAC, STATUS, VERSION_1}
CONTROL = {CTRL_VQ, CTRL_RX, CTRL_VLAN, CTRL_MAC}
LINK_UP, LINK_ANNOUNCE = 1, 2
# Classes and numbers of control commands (virtio 1.2, 5.1.6.5)
SET_PAIRS, SET_RSS, SET_HASH = (4, 0), (4, 1), (4, 2)
COAL_TX, COAL_RX, COAL_VQ = (6, 0), (6, 1), (6, 2)
OK, ERR = 0, 1

REGISTERED, RESET, STATUS_EV, FIND_VQS, DEL_VQS, Q_RESET, Q_ENABLE, KICK, GONE = range(1, 10)
DRIVER_OK = 4
OUR_MAC = bytes.fromhex("525400090002")
PEER_MAC = bytes.fromhex("525400090001")
WAIT = 30


def _ioc(direction, nr, size):
    return direction << 30 | size << 16 | 0xB7 << 8 | nr


VLOOP_CREATE = _ioc(1, 0, 168)
VLOOP_DESTROY = _ioc(0, 1, 0)
VLOOP_GET_VRING = _ioc(3, 2, 32)
VLOOP_INTERRUPT = _ioc(1, 5, 4)
VLOOP_SET_CONFIG = _ioc(1, 6, 144)
VLOOP_FREEZE = _ioc(0, 9, 0)
VLOOP_RESTORE = _ioc(0, 10, 0)


def run(*command, check=True):
    """Run a command; its output, which a failure shows."""
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if check and done.returncode:
        raise AssertionError(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return done.stdout


def wait_for(what, condition, seconds=WAIT):
    """Poll until @condition holds, for things that nothing tells of; its value."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} seconds")
        select.select([], [], [], 0.01)
    return value


# Each mapped page has a file of its own in Python.
resource.setrlimit(resource.RLIMIT_NOFILE, (65536, 65536))


class Memory:
    """The kernel's memory by physical address."""

    def __init__(self, fd):
        self.fd = fd
        self.pages = {}

    def close(self):
        for page in self.pages.values():
            page.close()
        self.pages.clear()

    def _parts(self, addr, length):
        while length:
            page, offset = addr & ~4095, addr & 4095
            part = min(length, 4096 - offset)
            if page not in self.pages:
                self.pages[page] = mmap.mmap(self.fd, 4096, mmap.MAP_SHARED,
                                             mmap.PROT_READ | mmap.PROT_WRITE, offset=page)
            yield self.pages[page], offset, part
            addr += part
            length -= part

    def read(self, addr, length):
        return b"".join(page[at:at + n] for page, at, n in self._parts(addr, length))

    def write(self, addr, data):
        done = 0
        for page, at, n in self._parts(addr, len(data)):
            page[at:at + n] = data[done:done + n]
            done += n

    def read16(self, addr):
        page, at, _ = next(self._parts(addr, 2))
        return ctypes.c_uint16.from_buffer(page, at).value

    def write16(self, addr, value):
        page, at, _ = next(self._parts(addr, 2))
        ctypes.c_uint16.from_buffer(page, at).value = value


class Chain:
    """A buffer that the driver made available."""

    def __init__(self, memory, head, parts):
        self.memory = memory
        self.head = head
        self.out = [(addr, n) for addr, n, write in parts if not write]
        self.into = [(addr, n) for addr, n, write in parts if write]
        self.room = sum(n for _, n in self.into)

    def read(self):
        return b"".join(self.memory.read(addr, n) for addr, n in self.out)

    def write(self, data):
        for addr, n in self.into:
            self.memory.write(addr, data[:n])
            data = data[n:]


class Ring:
    """The device's side of a split ring."""

    def __init__(self, memory, num, desc, avail, used):
        self.memory, self.num = memory, num
        self.desc, self.avail, self.used = desc, avail, used
        self.next = 0
        self.done = 0

    def pop(self):
        """The next available buffer, or None."""
        if self.memory.read16(self.avail + 2) == self.next & 0xFFFF:
            return None
        head = self.memory.read16(self.avail + 4 + 2 * (self.next % self.num))
        self.next += 1
        parts, table, index = [], self.desc, head
        while True:
            addr, n, flags, link = struct.unpack("<QIHH", self.memory.read(table + 16 * index, 16))
            if flags & 4:
                table, index = addr, 0
                continue
            parts.append((addr, n, bool(flags & 2)))
            if not flags & 1:
                return Chain(self.memory, head, parts)
            index = link

    def push(self, head, length):
        """Return a buffer, saying that @length bytes were written."""
        self.push_all([(head, length)])

    def push_all(self, buffers):
        """Return those of one frame, which the driver may see together only."""
        for head, length in buffers:
            at = self.used + 4 + 8 * (self.done % self.num)
            self.memory.write(at, struct.pack("<II", head, length & 0xFFFFFFFF))
            self.done += 1
        self.memory.write16(self.used + 2, self.done & 0xFFFF)


class Device:
    """
    One device. Control commands are answered by @command(class, number, data), which returns OK,
    ERR, or None to leave the command unanswered; frames that the driver sends are collected in
    .sent, by queue, unless the queue is in .stalled.
    """

    def __init__(self, features, pairs=1, ring=256, config=None, command=None, mtu=1500,
                 status=LINK_UP, limit_ms=60000):
        self.features = sum(1 << bit for bit in features)
        self.pairs, self.ring_size = pairs, ring
        self.command = command or (lambda *_: OK)
        self.commands, self.unanswered = [], []
        self.sent = [[] for _ in range(pairs)]
        self.stalled = set()
        self.log = []
        self.rings = {}
        self.ready = False
        self.on_event = lambda event: None
        self.accepted = 0
        self.number = None
        self.status = status
        self.lock = threading.RLock()
        self.error = None
        if config is None:
            config = OUR_MAC + struct.pack("<HHHIB", status, pairs, mtu, 10000, 1) + rss_limits()
        self.config = config
        self.fd = os.open("/dev/vmq_loop", os.O_RDWR | os.O_CLOEXEC)
        self.memory = Memory(self.fd)
        self.control = None
        create = struct.pack("<IIIIQQII128s", 1, 2 * pairs + 1, ring, limit_ms, self.features, 0,
                             len(config), 0, config)
        self.gone = threading.Event()
        fcntl.ioctl(self.fd, VLOOP_CREATE, create)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Unplug it, as far as that has not happened yet."""
        if not self.gone.is_set():
            fcntl.ioctl(self.fd, VLOOP_DESTROY)
            if not self.gone.wait(WAIT):
                raise AssertionError("the device does not go away")
        self.thread.join()
        self.memory.close()
        os.close(self.fd)
        if self.error:
            raise self.error

    # What the driver does

    def _serve(self):
        try:
            while self._event(os.read(self.fd, 40)):
                pass
        except Exception as error:  # pylint: disable=broad-except
            self.error = error
        self.gone.set()

    def _event(self, data):
        number, kind, index, value, features, _ = struct.unpack("<QIIqQQ", data)
        with self.lock:
            self.log.append((kind, index, value))
            answer = self.on_event((kind, index, value)) or 0
            if kind == GONE:
                return False
            if kind == REGISTERED:
                self.number = value
                return True
            if kind in (RESET, DEL_VQS):
                self.ready = False
                self.rings = {}
            elif kind == STATUS_EV and value & DRIVER_OK and not self.ready:
                self.accepted = features
                self._start()
            elif kind == Q_ENABLE:
                self._open(index)
            elif kind == Q_RESET:
                self.rings.pop(index, None)
            elif kind == KICK and self.ready:
                self._kicked(index)
        os.write(self.fd, struct.pack("<QiI", number, answer, 0))
        return True

    def accepts(self, bit):
        return bool(self.accepted >> bit & 1)

    def _open(self, index):
        ring = bytearray(struct.pack("<IIQQQ", index, 0, 0, 0, 0))
        fcntl.ioctl(self.fd, VLOOP_GET_VRING, ring)
        _, num, desc, avail, used = struct.unpack("<IIQQQ", ring)
        self.rings[index] = Ring(self.memory, num, desc, avail, used)

    def _start(self):
        pairs = self.pairs if self.accepts(MQ) or self.accepts(RSS) else 1
        for index in range(2 * pairs):
            self._open(index)
        self.control = None
        if self.accepts(CTRL_VQ):
            self.control = 2 * pairs
            self._open(self.control)
        self.ready = True

    def _kicked(self, index):
        if index == self.control:
            self._serve_control()
        elif index & 1 and index // 2 not in self.stalled:
            self._serve_tx(index // 2)

    def _serve_control(self):
        ring = self.rings[self.control]
        answered = False
        while chain := ring.pop():
            data = chain.read()
            self.commands.append((data[0], data[1], data[2:]))
            status = self.command(data[0], data[1], data[2:])
            if status is None:
                self.unanswered.append(chain)
                continue
            chain.write(bytes([status]))
            ring.push(chain.head, 1)
            answered = True
        if answered:
            self.interrupt(self.control)

    def answer(self, chain, status=OK):
        """Answer a command that was left alone."""
        with self.lock:
            chain.write(bytes([status]))
            self.rings[self.control].push(chain.head, 1)
            self.interrupt(self.control)

    def _serve_tx(self, queue):
        ring = self.rings[2 * queue + 1]
        served = False
        while chain := ring.pop():
            self.sent[queue].append(chain.read())
            ring.push(chain.head, 0)
            served = True
        if served:
            self.interrupt(2 * queue + 1)

    def resume(self, queue):
        """Serve a queue that was stalled."""
        with self.lock:
            self.stalled.discard(queue)
            self._serve_tx(queue)

    # What the device does

    def interrupt(self, index):
        fcntl.ioctl(self.fd, VLOOP_INTERRUPT, struct.pack("<I", index))

    def set_config(self, offset, data, notify=True):
        fcntl.ioctl(self.fd, VLOOP_SET_CONFIG,
                    struct.pack("<IIII128s", offset, len(data), notify, 0, data))

    def freeze(self):
        """Suspend it."""
        fcntl.ioctl(self.fd, VLOOP_FREEZE)

    def restore(self):
        """Resume it."""
        fcntl.ioctl(self.fd, VLOOP_RESTORE)

    def suspend_and_resume(self):
        """False with a kernel that cannot."""
        try:
            self.freeze()
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                raise
            return False
        self.restore()
        return True

    def set_status(self, status, notify=True):
        self.status = status
        self.set_config(6, struct.pack("<H", status), notify)

    @property
    def hdr_len(self):
        if self.accepts(HASH_REPORT):
            return 20
        return 12 if self.accepts(VERSION_1) or self.accepts(MRG_RXBUF) else 10

    def header(self, num_buffers=1, flags=0, gso_type=0, hdr_len=0, gso_size=0, start=0, offset=0,
               flow_hash=0, report=0):
        return struct.pack("<BBHHHHHIHH", flags, gso_type, hdr_len, gso_size, start, offset,
                           num_buffers, flow_hash, report, 0)[:self.hdr_len]

    def last(self, kind):
        """Data of the last command of that class and number."""
        return [data for a, b, data in self.commands if (a, b) == kind][-1]

    def deliver(self, frame, used=None, buffers=None, queue=0, **fields):
        """
        Put @frame into receive buffers of @queue, as many as it takes, and interrupt. @used(room, n) is what
        the device claims to have written of n bytes into a buffer of that room; @buffers is how many it
        returns; @fields are those of the header. Returns the number of buffers it took.
        """
        with self.lock:
            ring = self.rings[2 * queue]
            length = self.hdr_len + len(frame)
            chains = []
            while sum(chain.room for chain in chains) < length:
                chains.append(wait_for("a receive buffer", ring.pop))
            while len(chains) < (buffers or 0):
                chains.append(wait_for("a receive buffer", ring.pop))
            fields.setdefault("num_buffers", len(chains))
            data = self.header(**fields) + frame
            written = []
            for chain in chains[:buffers]:
                n = min(len(data), chain.room)
                chain.write(data[:n])
                data = data[n:]
                written.append((chain.head, used(chain.room, n) if used else n))
            ring.push_all(written)
            self.interrupt(2 * queue)
            # The others are not lost: what comes next gets them.
            ring.next -= len(chains[buffers:]) if buffers else 0
            return len(chains)

    # The network device that the driver made of it

    def net(self):
        """Its name, once it is there."""
        wait_for("the device's number", lambda: self.number is not None)
        found = wait_for("the network device",
                         lambda: glob.glob(f"/sys/bus/virtio/devices/virtio{self.number}/net/*"))
        return os.path.basename(found[0])

    def up(self):
        """Set the network device up, without addresses; its name."""
        name = self.net()
        run("sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=1", check=False)
        run("ip", "link", "set", name, "up")
        wait_for("the carrier", lambda: read(f"/sys/class/net/{name}/carrier") == "1")
        return name

    def sent_frames(self, queue=0):
        with self.lock:
            return [frame[self.hdr_len:] for frame in self.sent[queue]]


def rss_limits(key=40, table=128, types=0x3f):
    """What follows in the configuration: the limits of RSS."""
    return struct.pack("<BHI", key, table, types)


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def counters(name):
    """`ethtool -S`."""
    lines = run("ethtool", "-S", name).splitlines()
    return {key.strip(): int(value) for key, _, value in (line.rpartition(":") for line in lines)
            if value.strip().isdigit()}


def limit_bytes(name, queue, limit):
    """The byte queue limit of a transmit queue, from its next completion on; False with a kernel without."""
    try:
        for file in ("limit_min", "limit_max"):
            with open(f"/sys/class/net/{name}/queues/tx-{queue}/byte_queue_limits/{file}", "w", encoding="ascii") as f:
                f.write(str(limit))
    except FileNotFoundError:
        return False
    return True


def frame(payload=b"x" * 50, proto=0x88B5):
    return OUR_MAC + PEER_MAC + struct.pack(">H", proto) + payload


class Listener:
    """Frames that the stack got from a network device."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((name, 0))
        self.socket.settimeout(WAIT)

    def until(self, wanted):
        """All frames up to @wanted."""
        seen = []
        while True:
            data, address = self.socket.recvfrom(70000)
            if address[2] == socket.PACKET_OUTGOING:
                continue
            if data == wanted:
                return seen
            seen.append(data)


def drops_of(device, name, listener, reason, lies):
    """Each of @lies makes the driver drop one frame, under the name @reason; frames after it arrive."""
    for what, lie in lies:
        before = counters(name)
        lie()
        good = frame(what.encode().ljust(60, b"."))
        device.deliver(good)
        through = listener.until(good)
        after = counters(name)
        assert not through, f"{what}: the stack got {len(through)} frames"
        for key in ("rx_drops", f"rx_{reason}"):
            assert after[key] == before[key] + 1, \
                f"{what}: {key} went from {before[key]} to {after[key]}"


def load(*parameters):
    run("modprobe", "-r", "virtio_net", "virtio_net_mq", check=False)
    run("modprobe", "virtio_net_mq", *parameters)
    run("modprobe", "vmq_loop")


def unload():
    run("modprobe", "-r", "vmq_loop")
    run("modprobe", "-r", "virtio_net_mq")
