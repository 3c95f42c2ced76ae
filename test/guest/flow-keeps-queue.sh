#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A connection whose program is moved from CPU to CPU stays on one pair, in both directions, so
# that its packets do not overtake one another.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1
# timeout: 60
set -eu
tmp=$(mktemp -d)
trap 'test/lab/loop down || :; rm -rf "$tmp"' EXIT
test/lab/loop up --pairs 4

cat >"$tmp/both.py" <<'END'
import os, socket, sys

PORT, TOTAL, STEP = 5001, 32 << 20, 1 << 18
if sys.argv[1] == "send":
    listener = socket.create_server(("10.9.0.1", PORT))
    print("ready", flush=True)
    connection = listener.accept()[0]
    for _ in range(TOTAL // STEP):
        connection.sendall(bytes(STEP))
else:
    connection = socket.create_connection(("10.9.0.1", PORT))
    cpus = sorted(os.sched_getaffinity(0))
    got = 0
    while data := connection.recv(STEP):
        os.sched_setaffinity(0, {cpus[got // STEP % len(cpus)]})
        got += len(data)
    sys.exit(got != TOTAL)
END

# direction: packets of each queue
packets() {
	ip netns exec vm ethtool -S eth0 | sed -n "s/^ *$1[0-9][0-9]*_packets: //p"
}

# direction: the share in percent of the queue with the most packets since the start
share() {
	packets "$1" | paste "$tmp/$1" - | awk '
		{ n = $2 - $1; sum += n; if (n > most) most = n }
		END { print int(100 * most / sum) }'
}

mkfifo "$tmp/ready"
ip netns exec host python3 "$tmp/both.py" send >"$tmp/ready" &
read -r _ <"$tmp/ready"
packets rx >"$tmp/rx"
packets tx >"$tmp/tx"
ip netns exec vm python3 "$tmp/both.py" receive
wait

rx=$(share rx) tx=$(share tx)
echo "one pair had $rx % of what was received and $tx % of what was sent"
[ "$rx" -ge 95 ]
[ "$tx" -ge 95 ]
