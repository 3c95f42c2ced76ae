#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every mix of our modules and the stock ones carries traffic each way, and keeps a TCP
# connection while the number of queue pairs and the size of the rings change.
# kernels: 6.1 6.12 debug uml-smp uml-debug
# quick: 6.1
# timeout: 150
set -eu
tmp=$(mktemp -d)
trap 'test/lab/loop down >/dev/null 2>&1 || :; rm -rf "$tmp"' EXIT

listens() {
	ip netns exec host ss -Hltn 'sport = :5201' | grep -q .
}

for mix in stock:stock mq:stock stock:mq mq:mq; do
	echo "host ${mix%:*}, guest ${mix#*:}"
	test/lab/loop up --pairs 4 --host "${mix%:*}" --guest "${mix#*:}"
	ip netns exec vm ping -q -c 2 -i 0.1 -W 10 10.9.0.1
	ip netns exec host ping -q -c 2 -i 0.1 -W 10 fd09::2
	ip netns exec host iperf3 --server --daemon
	until listens; do
		:
	done
	ip netns exec vm iperf3 -c 10.9.0.1 -n 4M -P 4 >"$tmp/out"
	ip netns exec vm iperf3 -c 10.9.0.1 -n 4M -P 4 -R >"$tmp/out"

	ip netns exec vm iperf3 -c 10.9.0.1 -n 32M -P 4 >"$tmp/changes" &
	for pairs in 1 3 4 2; do
		ip netns exec vm ethtool -L eth0 combined "$pairs"
	done
	for ring in 64 256; do
		ip netns exec vm ethtool -G eth0 rx "$ring" tx "$ring"
	done
	wait $! || {
		cat "$tmp/changes"
		exit 1
	}
	test/lab/loop down
done
