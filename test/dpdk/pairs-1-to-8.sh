#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# kernels: 6.1 6.12 debug uml-smp uml-debug
# timeout: 300
#
# testpmd with 1, 2, 4 and 8 pairs of queues: every queue carries packets both ways, and
# all of them are counted.
set -u
# shellcheck source=test/dpdk/lib.sh
. "${0%/*}/lib.sh"

every_queue() {
	queue=0
	while [ "$queue" -lt "$pairs" ]; do
		[ "$(xstat "$1_q${queue}_good_packets")" -gt 0 ] || return 1
		queue=$((queue + 1))
	done
}

received_all() {
	read_xstats
	[ "$(xstat rx_good_packets)" = 2000 ]
}

sent_on_every_queue() {
	read_xstats
	every_queue tx
}

load
for pairs in 1 2 4 8; do
	start_pmd $pairs 256
	pid=$pmd_pid
	pmd set fwd txonly >/dev/null
	pmd start >/dev/null
	check "$pairs pairs: every queue transmits" within 30 sent_on_every_queue
	pmd stop >/dev/null
	read_xstats
	sent=$(xstat tx_good_packets)
	check "$pairs pairs: every packet arrives" within 20 tap_received_is "$sent"
	diag "sent $sent, tap: $(tap rx_packets) received, $(tap rx_dropped) dropped"

	pmd set fwd rxonly >/dev/null
	pmd start >/dev/null
	"$LAB_BIN/frames" --count 2000 --flows 512 --window 128 tap0 >/dev/null
	check "$pairs pairs: every frame is received" within 20 received_all
	pmd stop >/dev/null
	check "$pairs pairs: every queue receives" every_queue rx
	threads=$(threads_of "$pid")
	diag "$threads threads"
	if [ "$VHOST" = mq ]; then
		group=$(group_of "$pid")
		same "$pairs pairs: as many queues in sysfs" \
			"$(count "$group"/queue*)" $((2 * pairs))
		same "$pairs pairs: sysfs counted what was sent" \
			"$(queues_sum "$group" tx packets)" "$sent"
		same "$pairs pairs: and what was received" \
			"$(queues_sum "$group" rx packets)" 2000
		limit=$((1 + (pairs < 4 ? pairs : 4)))
		[ $pairs -gt 1 ] || limit=1
		check "$pairs pairs: not more than $limit threads" [ "$threads" -le $limit ]
	fi
	check "$pairs pairs: testpmd ends well" quit_pmd
	check "$pairs pairs: no thread is left" within 10 no_threads "$pid"
	check "$pairs pairs: the tap is gone" within 10 no_tap
done
nothing_left "$pid"
finish
