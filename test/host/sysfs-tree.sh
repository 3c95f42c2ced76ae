#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The tree below mq/ is what the ABI text says, no more and no less.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

# shellcheck disable=SC2119
host_load
pairs_start 2
pairs tx 0 >/dev/null
pairs tx 1 >/dev/null

sed -n 's,^What:[[:space:]]*/sys/class/misc/vhost-net/mq/,,p' \
	Documentation/ABI/testing/sysfs-class-misc-vhost-net-mq | sort >"$work/text"
(cd $mq && find . -mindepth 1 \( -type d -printf '%P/\n' -o -printf '%P\n' \)) |
	sed "s,^$owner-tap0/,<group>/,; s,/worker[0-9]*/,/worker<k>/,; s,/queue[0-9]*/,/queue<i>/," |
	grep -v '/worker<k>/stats/$' | sort -u >"$work/tree"
diff "$work/text" "$work/tree"

is "$group/owner_pid" "$owner"
is "$group/netdev" tap0
for i in 0 1 2 3; do
	is "$group/queue$i/index" $((i / 2))
	is "$group/queue$i/kind" "$([ $((i % 2)) = 0 ] && echo rx || echo tx)"
	is "$group/queue$i/enabled" 1
done
[ ! -e "$group/queue4" ]
is "$group/queue1/worker" 0

pairs stop 1 >/dev/null
is "$group/queue2/enabled" 0
is "$group/queue3/enabled" 0
pairs start 1 >/dev/null
is "$group/queue3/enabled" 1
pairs tx 1 >/dev/null

# A pair that goes takes its queues along; the group goes with the last.
pairs close 0 >/dev/null
[ ! -e "$group/queue0" ] && [ ! -e "$group/queue1" ] && [ -e "$group/queue3" ]
pairs close 1 >/dev/null
[ ! -e "$group" ]
pairs_end
