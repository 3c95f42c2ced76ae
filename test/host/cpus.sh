#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Threads run where cpulist and placement say, and without a list where their owner does.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
# cpus: 4
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

all=$(cat /sys/devices/system/cpu/online)
[ "$all" = 0-3 ] || fail "needs CPUs 0-3, has $all"

# The mask of worker $1 as the kernel tells it, which is what sysfs tells.
runs_on() {
	list=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' \
		"/proc/$(cat "$group/worker$1/pid")/status")
	[ "$list" = "$2" ] || fail "worker $1 runs on $list, not $2"
	is "$group/worker$1/effective_cpulist" "$2"
}

has_thread() {
	[ "$(cat "$group/worker$1/pid")" != 0 ]
}

start_all() {
	echo pair >"$group/policy"
	for i in 0 1 2 3; do pairs tx $i >/dev/null; done
	soon has_thread 3
}

# shellcheck disable=SC2119
host_load
kinds=task
[ ! -e /sys/module/vhost_net_mq/parameters/fork_from_owner_default ] || kinds='task kthread'
for kind in $kinds; do
	pairs_start 4 "$kind"
	start_all
	for k in 0 1 2 3; do runs_on $k 0-3; done
	is "$group/effective_cpulist" 0-3

	echo 1-2 >"$group/cpulist"
	runs_on 0 1
	runs_on 1 2
	runs_on 2 1
	runs_on 3 2
	is "$group/effective_cpulist" 1-2
	echo shared >"$group/placement"
	for k in 0 1 2 3; do runs_on $k 1-2; done

	# One worker has a list of its own, and goes back to the group's.
	echo 3 >"$group/worker2/cpulist"
	runs_on 2 3
	is "$group/effective_cpulist" 1-3
	echo 0 >"$group/cpulist"
	runs_on 1 0
	runs_on 2 3
	echo >"$group/worker2/cpulist"
	runs_on 2 0

	echo >"$group/cpulist"
	for k in 0 1 2 3; do runs_on $k 0-3; done
	# A thread that starts later is placed as well.
	echo spread >"$group/placement"
	echo 2,3 >"$group/cpulist"
	echo 1 >"$group/threads"
	echo 4 >"$group/threads"
	start_all
	runs_on 0 2
	runs_on 1 3
	runs_on 2 2
	runs_on 3 3
	pairs_end
done

# The owner's mask.
taskset -pc 1,3 $$ >/dev/null
pairs_start 4
start_all
for k in 0 1 2 3; do runs_on $k 1,3; done
# A list may go beyond it: it is the administrator's.
echo 0-2 >"$group/cpulist"
runs_on 0 0
runs_on 1 1
runs_on 2 2
pairs_end
