#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1 6.12
# timeout: 180
#
# Every packet that testpmd transmits on two queues arrives at the tap, once.
set -u
# shellcheck source=test/dpdk/lib.sh
. "${0%/*}/lib.sh"

load
start_pmd 2 1024
pid=$pmd_pid
pmd set fwd txonly >/dev/null
pmd start >/dev/null
check "packets arrive while testpmd transmits" within 30 tap_received_at_least 20000
pmd stop >/dev/null
read_xstats
sent=$(xstat tx_good_packets)

check "every packet arrives" within 10 tap_received_is "$sent"
diag "sent $sent, tap: $(tap rx_packets) received, $(tap rx_dropped) dropped"
same "every byte arrives" "$(tap rx_bytes)" "$(xstat tx_good_bytes)"
check "queue 0 carried some" [ "$(xstat tx_q0_good_packets)" -gt 0 ]
check "queue 1 carried some" [ "$(xstat tx_q1_good_packets)" -gt 0 ]

if [ "$VHOST" = mq ]; then
	group=$(group_of "$pid")
	check "the group is named after the process and the tap" [ -d "$group" ]
	same "owner_pid is testpmd" "$(cat "$group/owner_pid")" "$pid"
	same "netdev is the tap" "$(cat "$group/netdev")" tap0
	same "the queues counted every packet" "$(queues_sum "$group" tx packets)" "$sent"
	same "and every byte" "$(queues_sum "$group" tx bytes)" "$(xstat tx_good_bytes)"
	for kind in header backend length; do
		same "no drop_$kind" "$(queues_sum "$group" tx drop_$kind)" 0
	done
	same "no ring error" "$(queues_sum "$group" tx ring_errors)" 0
fi

check "testpmd ends well" quit_pmd
nothing_left "$pid"
finish
