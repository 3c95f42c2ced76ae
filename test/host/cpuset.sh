#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Threads are in the cgroups of their owner, and no list takes them out of its cpuset.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1
# timeout: 60
# cpus: 4
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

cgroup=$(mktemp -d)
mount -t cgroup2 none "$cgroup"
grep -qw cpuset "$cgroup/cgroup.controllers" || {
	umount "$cgroup"
	echo "no cpuset controller"
	exit 4
}
home=$(sed -n 's/^0:://p' /proc/self/cgroup)
end() {
	pairs_kill
	echo $$ >"$cgroup$home/cgroup.procs"
	rmdir "$cgroup/vm"
	umount "$cgroup"
	rmdir "$cgroup"
	host_end
}

# shellcheck disable=SC2119
host_load
trap end EXIT
echo +cpuset >"$cgroup/cgroup.subtree_control"
mkdir "$cgroup/vm"
echo 1-2 >"$cgroup/vm/cpuset.cpus"

kinds=task
[ ! -e /sys/module/vhost_net_mq/parameters/fork_from_owner_default ] || kinds='task kthread'
for kind in $kinds; do
	echo $$ >"$cgroup/vm/cgroup.procs"
	pairs_start 4 "$kind"
	echo $$ >"$cgroup$home/cgroup.procs"

	worker=$(cat "$group/worker0/pid")
	grep -q '^0::/vm$' "/proc/$worker/cgroup" || fail "worker 0 is in $(cat "/proc/$worker/cgroup")"
	is "$group/effective_cpulist" 1-2

	refused EINVAL "$group/cpulist" 0
	refused EINVAL "$group/worker0/cpulist" 0,3
	echo 0-1 >"$group/cpulist"
	is "$group/worker0/effective_cpulist" 1
	echo 0-3 >"$group/cpulist"
	is "$group/worker0/effective_cpulist" 1
	echo shared >"$group/placement"
	is "$group/worker0/effective_cpulist" 1-2

	echo pair >"$group/policy"
	started() {
		pairs tx 3 >/dev/null
		[ "$(cat "$group/worker3/pid")" != 0 ]
	}
	soon started
	worker=$(cat "$group/worker3/pid")
	grep -q '^0::/vm$' "/proc/$worker/cgroup" || fail "worker 3 is in $(cat "/proc/$worker/cgroup")"
	is "$group/worker3/effective_cpulist" 1-2

	# A smaller cpuset holds for threads that start later, and for lists taken back.
	echo 1 >"$group/worker0/cpulist"
	echo 1 >"$cgroup/vm/cpuset.cpus"
	started() {
		pairs tx 2 >/dev/null
		[ "$(cat "$group/worker2/pid")" != 0 ]
	}
	soon started
	is "$group/worker2/effective_cpulist" 1
	echo >"$group/worker0/cpulist"
	is "$group/worker0/effective_cpulist" 1
	echo 1-2 >"$cgroup/vm/cpuset.cpus"
	pairs_end
done

# Defaults that the owner's cpuset does not allow do not keep it from starting.
echo 0 >$mq/cpulist
echo $$ >"$cgroup/vm/cgroup.procs"
pairs_start 1
is "$group/cpulist" ''
is "$group/effective_cpulist" 1-2
pairs tx 0 >/dev/null
pairs_end
