#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Groups, workers and queues come and go while everything in sysfs is read and written.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 90
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

# shellcheck disable=SC2119
host_load
while :; do
	find $mq -type f -exec cat {} + >/dev/null 2>&1 || :
done &
readers=$!
while :; do
	for dir in "$mq"/*-tap0; do
		for threads in 1 4 0 2; do
			echo $threads 2>/dev/null >"$dir/threads" || :
			echo 0 2>/dev/null >"$dir/cpulist" || :
			echo 2>/dev/null >"$dir/worker1/cpulist" || :
		done
	done
done &
readers="$readers $!"
trap 'kill $readers; wait $readers || :; host_end' EXIT

round=0
while [ $round -lt 15 ]; do
	round=$((round + 1))
	pairs_start 4
	for i in 0 1 2 3; do pairs tx $i >/dev/null; done
	pairs close 1 >/dev/null
	pairs busy 0 2 3 >/dev/null
	if [ $((round % 3)) = 0 ]; then
		pairs_kill
		soon test ! -e "$group"
	else
		pairs idle >/dev/null
		pairs_end
	fi
done
