#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The CPUs are dealt out to the pairs in use, for interrupts of both directions and for what is sent (XPS)
# alike, and what answers a flow is sent on the pair that received it.
# kernels: debug uml-debug uml-smp
# timeout: 60
# cpus: 4
set -eu

if [ "${1:-}" != inside ]; then
	trap 'test/lab/loop down' EXIT
	test/lab/loop up --pairs 4 --max-pairs 8
	ip netns exec vm "$0" inside
	exit
fi

queue() { # FILE: what it says, without zeros at the front
	read -r value <"/sys/class/net/eth0/queues/$1"
	echo "$((0x$value))"
}

# CPUs of the thread that stands for the interrupt of a ring, as a list.
interrupt() {
	while read -r key value; do
		[ "$key" != Cpus_allowed_list: ] || echo "$value"
	done <"/proc/$(sed -n "s,^$1 ,,p" "$threads")/status"
}

is() {
	[ "$2" = "$3" ] || {
		echo "$count pairs: $1 is $2, not $3"
		exit 1
	}
}

# check LIST=MASK...: CPUs of each pair.
check() {
	count=$#
	ethtool -L eth0 combined $count
	pair=0
	for cpus; do
		is "interrupt of rx $pair" "$(interrupt $((2 * pair)))" "${cpus%=*}"
		is "interrupt of tx $pair" "$(interrupt $((2 * pair + 1)))" "${cpus%=*}"
		is "xps_cpus of $pair" "$(queue tx-$pair/xps_cpus)" "${cpus#*=}"
		is "xps_rxqs of $pair" "$(queue tx-$pair/xps_rxqs)" $((1 << pair))
		pair=$((pair + 1))
	done
	# What is out of use has no CPU of its own.
	[ $pair = 8 ] || is "interrupt of rx $pair" "$(interrupt $((2 * pair)))" 0-3
}

threads=$(mktemp)
trap 'rm "$threads"' EXIT
grep -Hs '^vloop[0-9]*/[0-9]*$' /proc/[0-9]*/comm |
	sed 's,/proc/\([0-9]*\)/comm:vloop[0-9]*/\([0-9]*\),\2 \1,' >"$threads"
check 0-3=15
check 0=1 1=2 2=4 3=8
check 0-1=3 2-3=12
check 0-1=3 2=4 3=8
check 0=1 1=2 2=4 3=8 0=1 1=2
check 0=1 1=2 2=4 3=8 0=1 1=2 2=4 3=8
check 0=1 1=2 2=4 3=8
