#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# An owner that is stopped goes on; one that dumps core or becomes another program does not hang.
# kernels: 6.1 6.12 debug uml-smp
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
