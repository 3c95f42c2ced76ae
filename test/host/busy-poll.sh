#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Busy polling spares kicks and wake-ups, delays no other queue, ends on time and when it is to.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1
# timeout: 60
# cpus: 4
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

long=1000000000

# The worker has a CPU for itself, so that nobody wants it but who is meant to.
start() {
	pairs_start "$@"
	taskset -pc 0-2 "$owner" >/dev/null
	echo 3 >"$group/cpulist"
}

counter() {
	cat "$group/stats/$1"
}

state() {
	IFS= read -r line <"/proc/$(cat "$group/worker0/pid")/stat"
	line=${line##*) }
	echo "${line%% *}"
}

asleep() {
	[ "$(state)" = S ]
}

# It polls unless something else wanted its CPU since.
awake() {
	pairs tx 0 >/dev/null
	[ "$(state)" = R ]
}

host_load threads=1 policy=single

# One at a time, with a pause between that no worker without polling stays awake for.
start 1
pairs poll 0 $long >/dev/null
for direction in tx rx; do
	[ $direction = tx ] && order='tx 0' wake=kicks || order='rx 1' wake=socket_wakeups
	before=$(counter "$wake") hits=$(counter busy_poll_hits) i=0
	while [ $i -lt 50 ]; do
		pairs "$order" >/dev/null
		i=$((i + 1))
	done
	wakes=$(($(counter "$wake") - before)) hits=$(($(counter busy_poll_hits) - hits))
	echo "$direction: $wakes $wake, $hits hits"
	[ $wakes -lt 25 ] || fail "$wakes $wake for 50 frames"
	[ $hits -gt 25 ] || fail "$hits hits for 50 frames"
done

# As long as is set, changed at any time.
soon awake
pairs poll 0 0 >/dev/null
soon asleep
pairs poll 0 100000 >/dev/null
polled_long() {
	before=$(cat "$group/worker0/stats/busy_ns")
	pairs tx 0 >/dev/null
	soon asleep
	polled=$(($(cat "$group/worker0/stats/busy_ns") - before))
	[ $polled -lt 1000000000 ] || fail "polled $polled ns, not 100 ms"
	[ $polled -gt 50000000 ]
}
soon polled_long

# A stop does not wait for it, nor does the end.
pairs poll 0 $long >/dev/null
soon awake
pairs stop 0 >/dev/null
soon asleep
pairs start 0 >/dev/null
soon awake
pid=$owner
pairs_end
no_worker_threads "$pid" || fail "threads are left"

# Others on the same thread, whether or not they are polled for, too.
start 2
pairs poll 0 $long >/dev/null
for usec in 0 $long; do
	pairs poll 1 "$usec" >/dev/null
	i=0
	while [ $i -lt 20 ]; do
		pairs tx 0 >/dev/null
		pairs tx 1 >/dev/null
		pairs rx 1 >/dev/null
		i=$((i + 1))
	done
done

# What polling finds counts for the rule, and moves.
echo 60000 >"$group/window_jiffies"
echo recent >"$group/policy"
echo 2 >"$group/threads"
moved() {
	pairs tx 1 >/dev/null
	pairs tx 0 >/dev/null
	[ "$(cat "$group/queue3/worker")" = 1 ]
}
soon moved
# A thread that is too many ends although it polls.
echo pair >"$group/policy"
pairs tx 1 >/dev/null
echo 1 >"$group/threads"
pairs tx 1 >/dev/null
is "$group/queue3/worker" 0

# The owner is killed.
soon awake
pid=$owner
pairs_kill
soon no_worker_threads "$pid"
