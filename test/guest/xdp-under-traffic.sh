#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# XDP programs come, change and go, and `ethtool -L` with one of them, under full traffic in both directions,
# without the loss of a connection.
# kernels: 6.1 6.12 7.3 debug uml-smp uml-debug
# timeout: 200
# cpus: 4
set -eu
# shellcheck source=test/guest/traffic.sh
. "$(dirname "$0")/traffic.sh"

xdp() {
	ip netns exec vm python3 test/guest/xdp.py "$@"
}

# Small buffers have to hold whole frames of the device: none that it has merged.
for how in "--guest-param napi_tx=1" "--guest-param napi_tx=0 --feature-off mrg,tso,ufo,uso"; do
	# shellcheck disable=SC2086 # words
	up --pairs 2 --max-pairs 8 $how
	traffic_start 2
	for pairs in 1 3; do
		xdp attach eth0 pass
		traffic_moves
		xdp attach eth0 pass frags
		ip netns exec vm ethtool -L eth0 combined 6
		traffic_moves
		ip netns exec vm ethtool -L eth0 combined $pairs
		traffic_moves
		xdp detach eth0
		traffic_moves
	done
	ip netns exec vm ethtool -S eth0 | awk '$1 == "rx_xdp_packets:" { exit $2 < 100 }'
	traffic_end
	test/lab/loop down
	trap - EXIT
done
