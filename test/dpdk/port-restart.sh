#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 300
#
# testpmd stops and starts its port again and again, under traffic both ways;
# the count of packets stays exact and the threads stay the same few.
set -u
# shellcheck source=test/dpdk/lib.sh
. "${0%/*}/lib.sh"

rounds=3

load
start_pmd 2 256
pid=$pmd_pid
pmd set fwd txonly >/dev/null
sent=0
exact=0
round=0
while [ $round -lt $rounds ]; do
	round=$((round + 1))
	pmd clear port xstats 0 >/dev/null
	pmd start >/dev/null
	within 30 tap_received_at_least $((sent + 2000)) || break
	pmd stop >/dev/null
	read_xstats
	sent=$((sent + $(xstat tx_good_packets)))
	within 10 tap_received_is $sent || break
	exact=$round
	# Once more, stopped with the rings full; what was in them is nobody's.
	pmd start >/dev/null
	within 30 tap_received_at_least $((sent + 2000)) || break
	pmd stop >/dev/null
	pmd port stop 0 >/dev/null
	sent=$(tap_received)
	pmd port start 0 >/dev/null
done
same "every packet of each of $rounds runs arrives" $exact $rounds
pmd set fwd rxonly >/dev/null
exact=0
round=0
while [ $round -lt $rounds ]; do
	round=$((round + 1))
	pmd clear port xstats 0 >/dev/null
	pmd start >/dev/null
	[ "$("$LAB_BIN/frames" --count 2000 --flows 64 --window 128 tap0)" = "sent 2000 refused 0" ] || break
	received_all() {
		read_xstats
		[ "$(xstat rx_good_packets)" = 2000 ]
	}
	within 10 received_all || break
	exact=$round
	pmd stop >/dev/null
	pmd port stop 0 >/dev/null
	pmd port start 0 >/dev/null
done
same "every frame of each of $rounds runs is received" $exact $rounds

check "few threads work for it" [ "$(threads_of "$pid")" -le 3 ]
if [ "$VHOST" = mq ]; then
	check "there is one group of it" [ -d "$(group_of "$pid")" ]
	same "with four queues" "$(count "$(group_of "$pid")"/queue*)" 4
fi
check "testpmd ends well" quit_pmd
nothing_left "$pid"
finish
