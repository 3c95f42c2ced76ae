#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The driver is taken from its device and given back under traffic, again and again.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
set -eu
# shellcheck source=test/guest/traffic.sh
. "$(dirname "$0")/traffic.sh"

up --pairs 2
device=$(sed -n 's/^device=//p' /run/vmq-loop/state)
driver=/sys/bus/virtio/drivers/virtio_net
for round in 1 2 3 4 5; do
	traffic_start 2
	echo "$device" >$driver/unbind
	[ ! -e "/sys/bus/virtio/devices/$device/net" ]
	traffic_kill
	wait
	echo "$device" >$driver/bind
	ip link set "$(ls "/sys/bus/virtio/devices/$device/net")" netns vm name eth0
	ip -n vm link set eth0 up
	ip -n vm address add 10.9.0.2/24 dev eth0
	echo "round $round"
done
ip netns exec vm ping -q -c 3 -i 0.2 10.9.0.1
