#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 300
#
# testpmd is killed with SIGKILL while packets go both ways; nothing stays behind,
# as often as it is done.
set -u
# shellcheck source=test/dpdk/lib.sh
. "${0%/*}/lib.sh"

for round in 1 2; do
	load
	start_pmd 2 256
	pid=$pmd_pid
	# io sends back what it receives; the other half comes from tx_first.
	pmd set fwd io >/dev/null
	pmd start tx_first >/dev/null
	"$LAB_BIN/frames" --count 100000000 --flows 64 tap0 >/dev/null 2>&1 &
	frames=$!
	check "round $round: packets go both ways" within 30 tap_received_at_least 2000
	kill -KILL "$pid"
	exec 3>&-
	wait "$pid" 2>/dev/null
	pmd_pid=
	check "round $round: the sender sees its device go" within 10 no_tap
	kill "$frames" 2>/dev/null
	wait "$frames" 2>/dev/null
	nothing_left "$pid"
done
finish
