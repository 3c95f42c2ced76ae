#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# An owner that is stopped holds up nobody else, whatever it or an administrator was about to do.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.12
# timeout: 60
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

# shellcheck disable=SC2119
host_load

# While it opens and closes its devices.
"$LAB_BIN/vhost-stopped"

# While its number of threads is lowered: who reads does not wait for that, nor do others.
pairs_start 4
echo 60000 >"$group/window_jiffies"
spread() {
	for i in 0 1 2 3; do
		pairs tx $i >/dev/null
	done
	[ "$(cat "$group/worker3/pid")" -ne 0 ]
}
soon spread
kill -STOP "$owner"
echo 1 >"$group/threads" &
writer=$!
lowered() {
	[ "$(cat "$group/threads")" = 1 ]
}
soon lowered
is "$group/mode" gathered
"$LAB_BIN/vhost-stopped" 1
kill -CONT "$owner"
wait $writer
[ ! -e "$group/worker3" ] || fail "worker3 is still there"
pairs tx 3 10 >/dev/null
pairs_end
