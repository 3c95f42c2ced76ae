#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A guest that keeps its thread busy for ever does not hold up who ends a trace on the host.
# kernels: 6.1 6.12 7.3 debug
# quick: 6.1 debug
# timeout: 60
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

# shellcheck disable=SC2119
host_load
trace=$(mktemp -d)
mount -t tracefs none "$trace"
instance=$trace/instances/busy
end() {
	# The guest first: it may be what the other waits for.
	exec 8>&- 9<&-
	wait
	rmdir "$instance"
	umount "$trace"
	rmdir "$trace"
	owner=
	host_end
}
mkdir "$instance"
trap end EXIT
echo schedule >"$instance/set_ftrace_filter"

# It waits until each thread has slept, or said that it could have (RCU tasks).
trace_once() {
	rm -f "$work/ended"
	echo function >"$instance/current_tracer"
	{
		echo nop >"$instance/current_tracer"
		: >"$work/ended"
	} 8>&- 9<&- &
	soon [ -e "$work/ended" ]
}

exec 8>/dev/null 9</dev/null
trace_once
mkfifo "$work/orders" "$work/answers"
"$LAB_BIN/vhost-greedy" forever <"$work/orders" >"$work/answers" 8>&- 9<&- &
exec 8>"$work/orders" 9<"$work/answers"
read -r owner <&9 || fail "vhost-greedy does not start"
wakeups=$mq/$owner-tap0/worker0/stats/wakeups
while_busy() {
	before=$(cat "$wakeups")
	trace_once
	[ "$(cat "$wakeups")" = "$before" ]
}
soon while_busy
