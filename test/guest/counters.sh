#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Counters of the queues add up to the totals and to what went through, and go by the names of the stock driver.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1
# timeout: 30
set -eu
# shellcheck source=test/guest/traffic.sh
. "$(dirname "$0")/traffic.sh"

vm() {
	ip netns exec vm "$@"
}

counter() {
	vm ethtool -S eth0 | awk -v name="$1:" '$1 == name { print $2 }'
}

up --pairs 2
for name in rx0_packets rx0_bytes rx0_drops rx0_kicks rx1_packets tx0_packets tx0_bytes tx0_kicks \
	tx1_tx_timeouts tx1_stop tx1_wake rx_drops tx_kicks cq_commands; do
	[ -n "$(counter $name)" ] || {
		echo "there is no $name"
		exit 1
	}
done
before=$(counter tx_packets)
vm ping -q -c 50 -i 0.002 -s 1000 10.9.0.1
# A packet counts once the device has used it, which may be after its answer came.
until [ $(($(counter tx_packets) - before)) -ge 50 ]; do sleep 0.05; done
vm ethtool -S eth0 | awk '
	{ sub(":", "", $1); value[$1] = $2 }
	END {
		for (name in value)
			if (name ~ /^[rt]x_/ && name !~ /timeouts/) {
				split(name, part, "x_")
				rest = substr(name, 4)
				sum = value[part[1] "x0_" rest] + value[part[1] "x1_" rest]
				if (sum != value[name]) {
					print name, value[name], "is not", sum
					bad = 1
				}
			}
		exit bad
	}'
# The namespaces' own traffic goes on between two readings.
for name in tx_packets rx_bytes; do
	low=$(counter $name)
	total=$(vm cat /sys/class/net/eth0/statistics/$name)
	high=$(counter $name)
	if [ "$total" -lt "$low" ] || [ "$total" -gt "$high" ]; then
		echo "$name: $total is not between $low and $high"
		exit 1
	fi
done
[ "$(vm cat /sys/class/net/eth0/queues/rx-1/virtio_net/mergeable_rx_buffer_size)" -ge 1536 ]
vm ethtool -i eth0 | grep -qx 'driver: virtio_net'
vm ethtool -g eth0 | grep -q '^RX:.*256'
vm ethtool eth0 | grep -q 'Speed: 10000Mb/s'
vm ethtool -K eth0 rx-gro-hw off tso off
vm ethtool -k eth0 | grep -q 'rx-gro-hw: off'
vm ethtool -K eth0 rx-gro-hw on tso on
