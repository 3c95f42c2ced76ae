#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Tracepoints tell who asked, which thread got it and why, what it moved, and what broke.
# kernels: 6.1 6.12 debug
# quick: 6.1 6.12 debug
# timeout: 60
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

# shellcheck disable=SC2119
host_load
tracing=/sys/kernel/tracing
[ -d $tracing/events ] || mount -t tracefs tracefs $tracing
trap 'echo 0 >$tracing/events/vhost_mq/enable; host_end' EXIT
echo 1 >$tracing/events/vhost_mq/enable

# traced PATTERN: such a line has been written since the last start.
traced() {
	grep -q "$1" $tracing/trace || { cat $tracing/trace; fail "no '$1'"; }
}

pairs_start 4
echo 60000 >"$group/window_jiffies"
: >$tracing/trace
pairs tx 2 10 >/dev/null
traced "vhmq_kick: owner=$owner queue=transmit/2"
traced "vhmq_steer: owner=$owner queue=transmit/2 worker=0 .* policy=recent threads=5 active_txqs=1"
traced "vhmq_wakeup: owner=$owner worker=0"
traced "vhmq_batch: owner=$owner queue=transmit/2 worker=0 packets=[1-9]"
if grep "vhmq_steer.*active_txqs=2" $tracing/trace; then
	fail "only one transmit queue was used"
fi

second_worker() {
	pairs tx 3 >/dev/null
	grep -q "vhmq_steer: owner=$owner queue=transmit/3 worker=3 .* active_txqs=2" $tracing/trace
}
soon second_worker
pairs rx 10 >/dev/null
traced "vhmq_socket: owner=$owner queue=receive/"
pairs_end

: >$tracing/trace
"$LAB_BIN/vhost-broken" >/dev/null
traced 'vhmq_error: owner=[1-9][0-9]* queue=transmit/0 reason="Guest says index'
traced 'vhmq_error: owner=[1-9][0-9]* queue=receive/0 reason="'
