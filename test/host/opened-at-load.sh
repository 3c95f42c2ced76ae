#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A device that is started while the module is still loading is shown in its place.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
set -eu

dir=$(mktemp -d)
mkfifo "$dir/orders" "$dir/answers"
end() {
	exec 8>&-
	wait
	modprobe -r vhost_net_mq
	rm -r "$dir"
}
trap end EXIT
modprobe -a tun tap
taskset -c 0 "$LAB_BIN/vhost-early" <"$dir/orders" >"$dir/answers" &
pid=$!
exec 8>"$dir/orders" 9<"$dir/answers"
read -r word <&9
[ "$word" = ready ]
# Whoever opens the file takes the CPU from this.
taskset -c 0 chrt --idle 0 modprobe vhost_net_mq
read -r word <&9
[ "$word" = started ]
[ -d "/sys/class/misc/vhost-net/mq/$pid-tap0" ]
