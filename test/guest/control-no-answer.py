#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# A device that does not answer on its control queue keeps nobody for long: the wait ends by itself or by a
# signal, what was asked for fails, the old answer is no answer to the next command, and the device
# can be taken away.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 90
import signal

from device import *

silent = False


def command(*_):
    return None if silent else OK


def combined():
    return int(run("ethtool", "-l", name).split()[-1])


def mac():
    return read(f"/sys/class/net/{name}/address")


def failing(*argv):
    started = time.monotonic()
    done = subprocess.run(argv, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    took = time.monotonic() - started
    assert done.returncode, f"{argv} works without an answer"
    assert took < 20, f"{argv} took {took:.1f} seconds"
    return took


load("queue_pairs=4")
with Device(BASIC | CONTROL | {MQ}, pairs=4, command=command) as device:
    name = device.up()
    assert combined() == 4
    wait_for("the receive filter", lambda: any(c[:2] == (1, 0) for c in device.commands))
    old = mac()

    silent = True
    first = failing("ethtool", "-L", name, "combined", "2")
    assert combined() == 4
    # A device that let one command pass gets less time for the next.
    assert failing("ip", "link", "set", name, "address", "52:54:00:00:00:05") < first + 1
    assert mac() == old
    assert counters(name)["cq_timeouts"] >= 2

    # Late answers: nobody takes them for those of the commands that follow.
    silent = False
    assert len(device.unanswered) >= 2
    for chain in device.unanswered:
        device.answer(chain, ERR)
    device.unanswered.clear()
    wait_for("the late answers", lambda: counters(name)["cq_late_answers"] >= 2)
    run("ethtool", "-L", name, "combined", "2")
    assert combined() == 2
    run("ip", "link", "set", name, "address", "52:54:00:00:00:05")
    assert device.commands[-1] == (1, 1, bytes.fromhex("525400000005"))

    # An answer that comes together with the next command's.
    silent = True
    failing("ip", "link", "set", name, "address", "52:54:00:00:00:06")
    late = device.unanswered.pop()

    def refuse_late(*_):
        device.command = command
        late.write(bytes([ERR]))
        device.rings[device.control].push(late.head, 1)
        return OK

    silent = False
    device.command = refuse_late
    run("ip", "link", "set", name, "address", "52:54:00:00:00:07")
    assert mac() == "52:54:00:00:00:07"

    # A killed caller does not wait.
    silent = True
    seen = len(device.commands)
    process = subprocess.Popen(["ethtool", "-L", name, "combined", "1"], stdin=subprocess.DEVNULL)
    wait_for("the command", lambda: len(device.commands) > seen)
    started = time.monotonic()
    process.send_signal(signal.SIGKILL)
    process.wait(WAIT)
    assert time.monotonic() - started < 2, "the killed caller went on waiting"

    # Traffic does not mind.
    listener = Listener(name)
    device.deliver(frame())
    listener.until(frame())
unload()
