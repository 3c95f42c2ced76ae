#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `ethtool -G` under full traffic in both directions loses no connection; sizes that there are not, and a device
# that cannot reset a queue, are refused and change nothing.
# kernels: 6.1 6.12 7.3 debug uml-smp uml-debug
# quick: 6.1
# timeout: 120
# cpus: 4
set -eu
# shellcheck source=test/guest/traffic.sh
. "$(dirname "$0")/traffic.sh"

sizes() {
	ip netns exec vm ethtool -g eth0 | awk '/Current/ { now = 1 } now && /^(RX|TX):/ { print $2 }' | xargs
}

refused() {
	was=$(sizes)
	if error=$(ip netns exec vm ethtool -G eth0 "$@" 2>&1); then
		echo "$* was taken"
		exit 1
	fi
	[ "$(sizes)" = "$was" ]
}

up --pairs 4
traffic_start 4
for size in '64 256' '64 32' '16 16' '256 16' '32 64' '256 256'; do
	# shellcheck disable=SC2086 # two words
	set -- $size
	ip netns exec vm ethtool -G eth0 rx "$1" tx "$2"
	[ "$(sizes)" = "$size" ]
	traffic_moves
done
refused rx 0
refused tx 0
refused rx 512
refused rx 100
refused tx 100
refused rx-mini 1
traffic_moves
# The pairs that are out of use follow, too.
ip netns exec vm ethtool -L eth0 combined 1
ip netns exec vm ethtool -G eth0 rx 128 tx 64
ip netns exec vm ethtool -L eth0 combined 4
traffic_moves
ip -n vm link set eth0 down
ip netns exec vm ethtool -G eth0 rx 256 tx 256
ip -n vm link set eth0 up
traffic_moves
traffic_end
test/lab/loop down

up --feature-off ring_reset
refused rx 64
echo "$error" | grep -q 'not supported'
traffic_start 1
traffic_end
no_drops
