#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `loop down` leaves nothing, neither after traffic nor when its program was killed under
# traffic: no module, network namespace, process or device.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1
# timeout: 90
set -eu
tmp=$(mktemp -d)
trap 'test/lab/loop down >/dev/null 2>&1 || :; rm -rf "$tmp"' EXIT

look() {
	cut -d ' ' -f 1 /proc/modules | sort
	ls /sys/bus/virtio/devices /sys/class/net
	ip netns
	for comm in /proc/[0-9]*/comm; do
		cat "$comm" 2>/dev/null
	done | grep -E '^(vhost-|vloop|loopd|iperf3|napi/)' || :
}

look >"$tmp/before"
for end in down kill; do
	test/lab/loop up --pairs 4
	ip netns exec vm ping -q -f -c 1000000 10.9.0.1 >/dev/null 2>&1 &
	ip netns exec vm ping -q -c 3 -i 0.1 -W 10 10.9.0.1
	if [ $end = kill ]; then
		kill -KILL "$(sed -n 's/^pid=//p' /run/vmq-loop/state)"
	fi
	test/lab/loop down
	wait
	look >"$tmp/after"
	diff "$tmp/before" "$tmp/after" || {
		echo "left behind after: $end"
		exit 1
	}
done
