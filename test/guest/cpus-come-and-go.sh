#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `ethtool -L` while CPUs go and come back: queues belong to online CPUs only, and every CPU has one.
# kernels: 6.1 6.12 debug
# quick: debug
# timeout: 60
# cpus: 4
set -eu
# shellcheck source=test/guest/traffic.sh
. "$(dirname "$0")/traffic.sh"

all_online() {
	for cpu in 1 2 3; do
		echo 1 >/sys/devices/system/cpu/cpu$cpu/online
	done
}

# CPUs that transmit queues 0 to $1 - 1 name, and that are online. All is read in one go: programs
# start slowly where this runs.
check_cpus() {
	# shellcheck disable=SC2016
	masks=$(ip netns exec vm sh -c '
		set -e
		cd /sys/class/net/eth0/queues
		for queue in $(seq 0 $(($1 - 1))); do
			read -r mask <tx-$queue/xps_cpus
			echo $mask
		done' - "$1")
	mask=0
	for one in $masks; do
		[ $((0x$one)) != 0 ] || {
			echo "a queue has no CPU: $masks"
			exit 1
		}
		mask=$((mask | 0x$one))
	done
	want=0
	for cpu in 0 1 2 3; do
		online=1
		[ $cpu = 0 ] || read -r online <"/sys/devices/system/cpu/cpu$cpu/online"
		want=$((want | online << cpu))
	done
	[ $mask = $want ] || {
		echo "$1 queues name CPUs $mask, online are $want"
		exit 1
	}
}

up --pairs 4 --max-pairs 8
trap 'all_online; traffic_kill; test/lab/loop down' EXIT
for gone in "1" "1 3" "1 2 3"; do
	for cpu in $gone; do
		echo 0 >"/sys/devices/system/cpu/cpu$cpu/online"
	done
	for count in 1 2 3 4 8; do
		ip netns exec vm ethtool -L eth0 combined $count
		check_cpus $count
	done
	all_online
	check_cpus 8
done

# Both at once, with traffic.
traffic_start 2
(
	trap - EXIT
	for cpu in 1 2 3 3 2 1 1 2 3; do
		echo 0 >/sys/devices/system/cpu/cpu$cpu/online
		[ $cpu != 3 ] || all_online
	done
	all_online
) &
flipper=$!
for count in 8 1 3 8 2 3 8 1 3 8 2 3 8 1 3; do
	ip netns exec vm ethtool -L eth0 combined $count
done
wait $flipper
check_cpus 3
traffic_moves
traffic_end
