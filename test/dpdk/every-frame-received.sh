#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 180
#
# Every frame sent to the tap is received by testpmd on two queues, once; of a
# sender that is too fast, every frame is received or counted as dropped.
set -u
# shellcheck source=test/dpdk/lib.sh
. "${0%/*}/lib.sh"

frames=8000

received() {
	read_xstats
	xstat rx_good_packets
}

received_is() {
	[ "$(received)" = "$1" ]
}

# What the queueing discipline threw away, and what it still holds.
qdisc_dropped() {
	tc -s qdisc show dev tap0 | awk '/^qdisc mq / { getline; sub(",", "", $7); print $7 }'
}

flood() {
	timeout 60 "$LAB_BIN/frames" --count "$frames" --flows 256 tap0 >"$work/frames"
}

trickle() {
	"$LAB_BIN/frames" --count 256 --flows 256 --window 16 tap0 >/dev/null
}

all_accounted() {
	[ $(($(received) + $(tap tx_dropped) + $(qdisc_dropped))) = "$1" ]
}

load
start_pmd 2 1024
pid=$pmd_pid
pmd set fwd rxonly >/dev/null
pmd start >/dev/null

check "a sender that waits is never refused" \
	[ "$("$LAB_BIN/frames" --count $frames --flows 256 --window 512 tap0)" = "sent $frames refused 0" ]
check "every frame is received" within 20 received_is $frames
pmd stop >/dev/null
diag "received $(xstat rx_good_packets): $(xstat rx_q0_good_packets) on queue 0, $(xstat rx_q1_good_packets) on 1"
same "every byte is received" "$(xstat rx_good_bytes)" $((frames * 60))
check "queue 0 carried some" [ "$(xstat rx_q0_good_packets)" -gt 0 ]
check "queue 1 carried some" [ "$(xstat rx_q1_good_packets)" -gt 0 ]
same "the tap counted them as sent" "$(tap tx_packets)" $frames
same "the tap dropped none" "$(tap tx_dropped)" 0

if [ "$VHOST" = mq ]; then
	group=$(group_of "$pid")
	same "the queues counted every packet" "$(queues_sum "$group" rx packets)" $frames
	same "and every byte" "$(queues_sum "$group" rx bytes)" $((frames * 60))
	same "no drop_length" "$(queues_sum "$group" rx drop_length)" 0
	same "no ring error" "$(queues_sum "$group" rx ring_errors)" 0
fi

# As fast as the device takes them, with a short queue, so that it fills.
ip link set tap0 txqueuelen 64
pmd start >/dev/null
check "a sender without restraint is not stuck" flood
diag "$(cat "$work/frames")"
check "every frame is received or counted as dropped" within 20 all_accounted $((2 * frames))
pmd stop >/dev/null
diag "received $(xstat rx_good_packets), dropped $(tap tx_dropped) by the tap, $(qdisc_dropped) before it"
pmd start >/dev/null
check "the queues still work" trickle
pmd stop >/dev/null

check "testpmd ends well" quit_pmd
nothing_left "$pid"
finish
