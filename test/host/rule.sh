#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# One busy transmit queue stays with worker 0; two spread over workers of their own, and gather again.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1 6.12
# timeout: 60
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

# shellcheck disable=SC2119
host_load
pairs_start 4
# Longer than the case takes: a minute and more.
echo 60000 >"$group/window_jiffies"

is "$group/mode" gathered
is "$group/active_txqs" 0
pairs tx 2 100 >/dev/null
is "$group/mode" gathered
is "$group/active_txqs" 1
is "$group/queue5/worker" 0
is "$group/queue5/stats/moves" 0
is "$group/worker1/pid" 0

pairs tx 3 >/dev/null
is "$group/mode" spread
is "$group/active_txqs" 2
# The threads come with the first that is meant for them.
on_worker() {
	pairs tx "$1" >/dev/null
	[ "$(cat "$group/queue$((2 * $1 + 1))/worker")" = "$2" ]
}
soon on_worker 2 2
soon on_worker 3 3
pairs rx 50 >/dev/null


# With a window of this jiffy alone, one queue alone is soon alone.
echo 0 >"$group/window_jiffies"
gathered() {
	[ "$(cat "$group/mode")" = gathered ]
}
soon gathered
pairs tx 3 >/dev/null
is "$group/queue7/worker" 0

echo 60000 >"$group/window_jiffies"
for policy in pair single; do
	echo $policy >"$group/policy"
	for i in 0 1 2 3; do
		[ $policy = pair ] && want=$i || want=0
		soon on_worker $i "$want"
	done
done
is "$group/mode" gathered

# A queue that is switched off is not used any more.
echo recent >"$group/policy"
pairs tx 0 >/dev/null
pairs tx 1 >/dev/null
is "$group/active_txqs" 2
for i in 1 2 3; do pairs stop $i >/dev/null; done
is "$group/active_txqs" 1
is "$group/mode" gathered
pairs_end
