#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# kernels: 6.1 debug uml-smp uml-debug
# timeout: 600
# guest: 6.1
#
# QEMU's guest with vhost=on and four pairs: it reaches the host, TCP brings back what
# was sent, `ethtool -L` under traffic loses no connection, and nothing is left of it when it has
# shut down.
set -u
# shellcheck source=test/qemu/lib.sh
. "${0%/*}/lib.sh"

boot_guest driver reach bytes hotplug channels one shows_one all shows_all
wait_for "look 7002"
if [ "$VHOST" = mq ]; then
	group=$(group_of "$qemu_pid")
	check "the group is named after QEMU and the tap" [ -d "$group" ]
	same "owner_pid is QEMU" "$(cat "$group/owner_pid")" "$qemu_pid"
	same "netdev is the tap" "$(cat "$group/netdev")" tap0
	check "not more than 5 threads" [ "$(threads_of "$qemu_pid")" -le 5 ]
fi
let_go 7002
wait_for "look 7003"
if [ "$VHOST" = mq ]; then
	check "every queue is enabled with all pairs" within 10 enabled_queues_are $((2 * pairs))
	same "as many queues in sysfs" "$(count "$group"/queue*)" $((2 * pairs))
	check "counters agree with those of the tap" within 10 counters_agree
	diag "tap: $(tap tx_packets) sent, $(tap rx_packets) received;" \
		"queues: $(queues_sum "$group" rx packets) and $(queues_sum "$group" tx packets)"
	check "no ring error" no_ring_errors
fi
kill "$done_pid"
let_go 7003
wait_guest
guest_tests
same "the guest ends well" $guest_status 0
nothing_left "$qemu_pid"
finish
