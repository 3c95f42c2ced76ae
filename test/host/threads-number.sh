#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# 1, 2, 4, 8 and 16 pairs make up to 1, 3, 5, 5 and 5 threads, each started when it is first needed.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1 6.12
# timeout: 90
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

workers() {
	find "$group" -maxdepth 1 -name 'worker*' | wc -l
}

threads() {
	worker_threads "$owner" | wc -l
}

has_threads() {
	[ "$(threads)" = "$1" ]
}

# shellcheck disable=SC2119
host_load
for numbers in 1:1 2:3 4:5 8:5 16:5; do
	pairs=${numbers%:*} count=${numbers#*:}
	pairs_start "$pairs"
	[ "$(workers)" = "$count" ] || fail "$pairs pairs: $(workers) workers"
	has_threads 1 || fail "$pairs pairs: $(threads) threads at the start"

	# As many as are needed: several pairs are used by their own number.
	echo pair >"$group/policy"
	i=0
	while [ $i -lt "$pairs" ]; do
		pairs tx $i >/dev/null
		i=$((i + 1))
	done
	used=$((pairs < count ? pairs : count))
	soon has_threads $used

	worker_threads "$owner" | sort -n | {
		k=0
		while read -r tid name; do
			[ $k = 0 ] && want=vhost-$owner || want=vhost-$owner/$k
			[ "$name" = "$want" ] || fail "thread $tid is $name, not $want"
			is "$group/worker$k/pid" "$tid"
			k=$((k + 1))
		done
	}
	pairs_end
	no_worker_threads "$owner" || fail "threads are left"
done

# Fewer end the threads, more bring them back when they are needed.
pairs_start 4
echo pair >"$group/policy"
for i in 0 1 2 3; do pairs tx $i >/dev/null; done
soon has_threads 4
echo 2 >"$group/threads"
has_threads 2 || fail "$(threads) threads after writing 2"
[ "$(workers)" = 2 ] || fail "$(workers) workers after writing 2"
for i in 0 1 2 3; do pairs tx $i >/dev/null; done
has_threads 2
echo 4 >"$group/threads"
[ "$(workers)" = 4 ]
for i in 0 1 2 3; do pairs tx $i >/dev/null; done
soon has_threads 4
echo 1 >"$group/threads"
has_threads 1
for i in 0 1 2 3; do pairs tx $i >/dev/null; done
pairs_end
