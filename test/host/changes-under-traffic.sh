#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# No frame is lost or late while threads, policy, window, CPUs and placement change all the time.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1
# timeout: 90
# cpus: 4
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

# shellcheck disable=SC2119
host_load
for kind in '' kthread; do
	if [ -n "$kind" ] && [ ! -e /sys/module/vhost_net_mq/parameters/fork_from_owner_default ]; then
		continue
	fi
	pairs_start 4 "$kind"
	pairs busy 0 1 2 3 >/dev/null
	round=0
	while [ $round -lt 40 ]; do
		round=$((round + 1))
		for threads in 5 1 3 2 0; do
			echo $threads >"$group/threads"
			echo $((threads * 3)) >"$group/window_jiffies"
			case $threads in
			5) echo pair >"$group/policy" ;;
			1) echo 0 >"$group/cpulist" ;;
			3) echo single >"$group/policy" ;;
			2) echo shared >"$group/placement" ;;
			0)
				echo recent >"$group/policy"
				echo >"$group/cpulist"
				echo spread >"$group/placement"
				;;
			esac
		done
	done
	sent=$(pairs idle)
	[ "$sent" -gt 100 ] || fail "only $sent frames were sent"
	echo "$sent frames, $(cat "$group/stats/moves") moves"
	is "$group/stats/drop_backend" 0
	is "$group/stats/ring_errors" 0
	pairs rx 50 >/dev/null
	pairs_end
	no_worker_threads "$owner" || fail "threads are left"
done
