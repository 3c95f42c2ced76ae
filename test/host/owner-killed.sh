#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A killed owner ends its threads, whoever else holds its files; these are refused and close at once.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1 6.12
# timeout: 60
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

# shellcheck disable=SC2119
host_load

# Nobody else has the files: nothing is left.
for traffic in '' busy; do
	pairs_start 4
	pid=$owner
	[ -z "$traffic" ] || pairs busy 0 1 2 3 >/dev/null
	pairs_kill
	soon no_worker_threads "$pid"
	soon test ! -e "$group"
done

# Another process has them.
kinds=task
[ ! -e /sys/module/vhost_net_mq/parameters/fork_from_owner_default ] || kinds='task kthread'
for kind in $kinds; do
	pairs_start 4 "$kind"
	pid=$owner
	for i in 0 1 2 3; do pairs tx $i >/dev/null; done
	holder=$(pairs holder)
	pairs busy 0 1 2 3 >/dev/null
	kill -KILL "$owner"
	wait "$owner" || :
	order() {
		echo "$*" >"$work/holder"
		read -r word result <&9
	}
	# Not the owner: refused, and no wait for a thread that there is not.
	order backend 0
	[ "$word $result" = "error Operation not permitted" ] || fail "backend: $word $result"
	if [ "$kind" = task ] && [ -e /sys/module/vhost_net_mq/parameters/fork_from_owner_default ]; then
		# A kick falls on deaf ears; the threads went with the owner.
		soon no_worker_threads "$pid"
		is "$group/worker0/pid" 0
	fi
	[ -d "$group" ] || fail "the group has gone before its files"
	cat "$group/mode" "$group/effective_cpulist" "$group/worker0/pid" "$group/stats/packets" >/dev/null
	echo 2 >"$group/threads"
	echo 0 >"$group/cpulist"
	for i in 0 1 2 3; do
		order close $i
		[ "$word" = ok ] || fail "close: $result"
	done
	[ ! -e "$group" ] || fail "the group is left"
	no_worker_threads "$pid" || fail "threads are left"
	kill -KILL "$holder"
	exec 8>&- 9<&-
	owner=
done
