#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# CPUs that go offline lose their threads to the rest of the list, and get them back.
# kernels: 6.1 6.12 debug
# quick: 6.1 debug
# timeout: 90
# cpus: 4
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

cpu=/sys/devices/system/cpu
[ -e $cpu/cpu2/online ] || {
	echo "CPUs cannot go offline here"
	exit 4
}

runs_on() {
	[ "$(cat "$group/worker0/effective_cpulist")" = "$1" ]
}

# shellcheck disable=SC2119
host_load
pairs_start 1
trap 'echo 1 >$cpu/cpu2/online; echo 1 >$cpu/cpu3/online; host_end' EXIT
echo 2-3 >"$group/cpulist"
runs_on 2
echo 0 >$cpu/cpu2/online
soon runs_on 3
pairs tx 0 >/dev/null
is "$group/cpulist" 2-3
echo 0 >$cpu/cpu3/online
# Wherever the owner's cpuset allows, which may name CPUs that are offline.
soon runs_on 0-3
pairs tx 0 >/dev/null
# One that is offline may be in a list.
echo 1,2 >"$group/cpulist"
soon runs_on 1
echo 3 >"$group/cpulist"
is "$group/cpulist" 3
echo 1 >$cpu/cpu3/online
soon runs_on 3
echo 2-3 >"$group/cpulist"
echo 1 >$cpu/cpu2/online
soon runs_on 2
pairs tx 0 >/dev/null
pairs_end
