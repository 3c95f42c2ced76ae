#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The benchmark's report leaves the warm-up out, compares round by round, lists the cells above
# the limit and those in which stock's time is nothing, and holds one stream with many pairs
# against stock with one.
# kernels: none
# timeout: 30
set -eu
cd -- "$(dirname -- "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# round host guest vhost_ns [pairs test results...]
row() {
	what="round=$1 host=$2 guest=$3" ns=$4
	shift 4
	[ $# -gt 0 ] || set -- 1 lone-tx packets=10 lost=0
	echo "$what pairs=$1 test=$2 works=0 moves=0 vhost_ns=$ns guest_irq_ns=1000 softirq_ns=0" \
		"command_ns=1 send_ns=0 vhost_wakeups=1 vhost_threads=1 vhost_busiest=1"
	shift 2
	echo "$*"
}

# host guest vhost_ns pairs [threads]
stream() {
	row 1 "$1" "$2" "$3" "$4" tcp1-rx bytes=1048576 bits_per_second=1 ${5:+works_threads=$5 works_busiest=0.9}
}

{
	row 0 stock stock 1 && row 0 mq stock 900
	row 1 stock stock 1000 && row 1 mq stock 1100
	row 2 stock stock 2000 && row 2 mq stock 2600
	row 3 stock stock 1000 && row 3 mq stock 900
	row 1 stock stock 0 1 bursts-tx packets=10 && row 1 mq stock 900 1 bursts-tx packets=10
	row 2 stock stock 900 1 bursts-tx packets=10 && row 2 mq stock 900 1 bursts-tx packets=10
	stream stock stock 1000 1
	stream stock stock 3000 4
	stream mq mq 2000 4 1
} | paste -d ' ' - - >"$tmp/rows"
test/bench/report --csv "$tmp/csv" --kernel here <"$tmp/rows" >"$tmp/text"
cat "$tmp/text"
grep -q 'host CPU .* 1\.10 \[0\.90 1\.30\]' "$tmp/text"
grep -q 'guest CPU .* 1\.00 \[1\.00 1\.00\]' "$tmp/text"
grep -q 'cost cells above 1.05: 2$' "$tmp/text"
grep -q '^  tcp1-rx, 4 pairs against stock with 1, host CPU, both: 2.00 ' "$tmp/text"
grep -q '^tcp1-rx, 4 pairs.*: one thread served it in 1 of 1 rounds$' "$tmp/text"
grep -q 'too coarse for: 1$' "$tmp/text"
grep -q '^  bursts-tx, 1 pairs, host CPU, host module: stock 0 in 1 of 2$' "$tmp/text"
grep -q '^here,lone-tx,1,1,host CPU,host module,100.0,1.1000,0.9000,1.3000,3' "$tmp/csv"
grep -q '^here,bursts-tx,1,1,host CPU,host module,45.0,,,,2' "$tmp/csv"
test/bench/report --no-cost <"$tmp/rows" >"$tmp/text"
[ "$(grep -c 'CPU' "$tmp/text")" = 0 ]
! echo nonsense | test/bench/report 2>/dev/null
