#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The benchmark's report leaves the warm-up out, compares round by round, and counts the cells
# above the limit.
# kernels: none
# timeout: 30
set -eu
cd -- "$(dirname -- "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

row() {
	echo "round=$1 host=$2 guest=$3 pairs=1 test=lone-tx works=0 moves=0 vhost_ns=$4 guest_irq_ns=1000" \
		"softirq_ns=0 command_ns=1 send_ns=0 packets=10 lost=0 vhost_wakeups=1 vhost_threads=1"
}

{
	row 0 stock stock 1 && row 0 mq stock 900
	row 1 stock stock 1000 && row 1 mq stock 1100
	row 2 stock stock 2000 && row 2 mq stock 2600
	row 3 stock stock 1000 && row 3 mq stock 900
} | test/bench/report --csv "$tmp/csv" --kernel here >"$tmp/text"
cat "$tmp/text"
grep -q 'host CPU .* 1\.10 \[0\.90 1\.30\]' "$tmp/text"
grep -q 'guest CPU .* 1\.00 \[1\.00 1\.00\]' "$tmp/text"
grep -q 'cost cells above 1.05: 1$' "$tmp/text"
grep -q '^here,lone-tx,1,1,host CPU,host module,100.0,1.1000,0.9000,1.3000,3' "$tmp/csv"
! echo nonsense | test/bench/report 2>/dev/null
