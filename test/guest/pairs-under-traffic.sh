#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `ethtool -L` under full traffic in both directions loses no connection.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1
# timeout: 100
# cpus: 4
set -eu
# shellcheck source=test/guest/traffic.sh
. "$(dirname "$0")/traffic.sh"

up --pairs 4
traffic_start 4
for count in 1 4 2 3 1 2 4; do
	ip netns exec vm ethtool -L eth0 combined $count
	[ "$(ip netns exec vm ethtool -l eth0 | awk '/Combined/ { n = $2 } END { print n }')" = $count ]
	[ "$(ip netns exec vm sh -c 'ls -d /sys/class/net/eth0/queues/tx-*' | wc -l)" = $count ]
	traffic_moves
done
for bad in 0 5 1000; do
	if ip netns exec vm ethtool -L eth0 combined $bad 2>/dev/null; then
		echo "combined $bad was taken"
		exit 1
	fi
done
traffic_end
no_drops
