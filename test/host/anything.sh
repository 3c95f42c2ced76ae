#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Whatever programs do with /dev/vhost-net, in whatever order, they end, nothing is left, and others go on.
# kernels: 6.1 6.12 7.3 debug uml-debug uml-smp
# timeout: 60
# cpus: 4
#
# For longer, or with another seed: test/lab/run --kernel debug --timeout 3600 -- test/host/anything.sh 3000 1234
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

modprobe tun
modprobe vhost_net_mq max_iotlb_entries=40
trap 'modprobe -r vhost_net_mq' EXIT
# Its rings break by the hundred.
dmesg -n 1
# With all checkers a program takes longer to begin.
seconds=8 ms=400
[ "$LAB_KERNEL" != debug ] || { seconds=20 ms=4000; }
"$LAB_BIN/vhost-fuzz" "${2:-1}" "${1:-$seconds}" $ms

nothing_left() {
	[ -z "$(ls -d $mq/*-* 2>/dev/null)" ]
}
soon nothing_left
