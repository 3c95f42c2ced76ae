#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# An owner that is stopped or frozen goes on, and keeps no host from being suspended; one that dumps core or
# becomes another program does not hang.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1 6.12
# timeout: 60
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

in_state() {
	grep -q "^State:[[:space:]]*$2" "/proc/$1/status"
}

# shellcheck disable=SC2119
host_load

# Stopped and continued.
pairs_start 2
pairs tx 0 >/dev/null
kill -STOP "$owner"
soon in_state "$owner" T
kill -CONT "$owner"
pairs tx 0 10 >/dev/null
pairs tx 1 10 >/dev/null

# To ps it is one process. Before 6.4 the threads are the kernel's.
if [ -e /sys/module/vhost_net_mq/parameters/fork_from_owner_default ]; then
	is "/proc/$owner/task/$(cat "$group/worker0/pid")/comm" "vhost-$owner"
	grep -q '^Tgid:[[:space:]]*'"$owner\$" "/proc/$(cat "$group/worker0/pid")/status"
fi
pairs_end

# Frozen with its threads, in its cgroup, and all of the host, under traffic. A kernel thread in a cgroup keeps the
# kernel from calling it frozen.
cgroup=$(mktemp -d)
mount -t cgroup2 none "$cgroup"
mkdir "$cgroup/vm"
unfreeze() {
	echo 0 >"$cgroup/vm/cgroup.freeze"
	pairs_kill
	soon rmdir "$cgroup/vm"
	umount "$cgroup"
	rmdir "$cgroup"
}
trap 'unfreeze; host_end' EXIT
pairs_start 2
echo "$owner" >"$cgroup/vm/cgroup.procs"
packets() {
	[ "$(cat "$group/stats/packets")" -gt "$1" ]
}
for _ in 1 2 3; do
	pairs busy 0 1 >/dev/null
	soon packets "$(cat "$group/stats/packets")"
	echo 1 >"$cgroup/vm/cgroup.freeze"
	[ ! -e /sys/module/vhost_net_mq/parameters/fork_from_owner_default ] ||
		soon grep -qx 'frozen 1' "$cgroup/vm/cgroup.events"
	echo 0 >"$cgroup/vm/cgroup.freeze"
	soon packets "$(cat "$group/stats/packets")"
	pairs idle >/dev/null
	pairs tx 1 10 >/dev/null
done
if grep -qw freezer /sys/power/pm_test 2>/dev/null; then
	echo freezer >/sys/power/pm_test
	echo 0 >/sys/module/suspend/parameters/pm_test_delay
	pairs busy 0 1 >/dev/null
	echo freeze >/sys/power/state || fail "the host cannot be suspended"
	soon packets "$(cat "$group/stats/packets")"
	pairs idle >/dev/null
	echo none >/sys/power/pm_test
fi
pairs_end
unfreeze
trap host_end EXIT

# A core dump under traffic.
pattern=$(cat /proc/sys/kernel/core_pattern)
echo "$work/core" >/proc/sys/kernel/core_pattern
# shellcheck disable=SC3045 # dash has it
ulimit -c unlimited
pairs_start 2
pid=$owner
pairs busy 0 1 >/dev/null
kill -ABRT "$owner"
wait "$owner" || :
exec 8>&- 9<&-
owner=
soon no_worker_threads "$pid"
soon test ! -e "$group"
ls "$work"/core* >/dev/null || fail "no core was dumped"
echo "$pattern" >/proc/sys/kernel/core_pattern

# Another program, with the files: they are not its own, and close without delay.
"$LAB_BIN/vhost-exec" || fail "vhost-exec"
