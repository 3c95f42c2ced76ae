#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Whichever allocation fails, of a start or under traffic: a start says so, nothing leaks, and the next one works.
# kernels: debug
# quick: debug
# timeout: 60
# cpus: 4
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

debug=/sys/kernel/debug
mount -t debugfs none $debug 2>/dev/null || :
# Allocations that may wait fail, too; without a stack trace for each.
inject() { # Y or N
	for kind in failslab fail_page_alloc; do
		echo "$1" >$debug/$kind/ignore-gfp-wait
		echo N >$debug/$kind/task-filter
		echo 0 >$debug/$kind/verbose
		echo 0 >$debug/$kind/probability
	done
	echo 1 >$debug/fail_page_alloc/min-order
	echo 0 >$debug/fail_usercopy/verbose
}

# fail KIND PERCENT TIMES, of the worker's
fail_some() {
	echo Y >$debug/"$1"/task-filter
	echo "$3" >$debug/"$1"/times
	echo "$2" >$debug/"$1"/probability
}

all_failed() { # KIND
	[ "$(cat $debug/"$1"/times)" = 0 ]
}

# shellcheck disable=SC2119
host_load
trap 'inject Y; host_end' EXIT
inject N
# Every ninth; all of them take minutes.
"$LAB_BIN/vhost-nomem" 9
[ -z "$(ls -d $mq/*-* 2>/dev/null)" ] || fail "a group is left"

# Memory for the first frame is late: it waits, and is sent.
pairs_start 1
echo 1 >"/proc/$(cat "$group/worker0/pid")/make-it-fail"
echo 0 >$debug/fail_page_alloc/min-order
fail_some fail_page_alloc 100 20
pairs tx 0
all_failed fail_page_alloc || fail "not all has failed"
[ "$(cat "$group/queue0/stats/stalls" "$group/queue1/stats/stalls" | sort -n | tail -n 1)" -gt 2 ] || fail "nothing has failed"

# The backend has none: frames are lost, their buffers come back all the same.
pairs busy 0
fail_some failslab 20 200
soon all_failed failslab
inject N
sent=$(pairs idle)
[ "$sent" -gt 100 ] || fail "$sent frames"
pairs tx 0 20
pairs rx 20
pairs_end
