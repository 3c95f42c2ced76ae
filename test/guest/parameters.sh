#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A bad module parameter fails the load with EINVAL and one line that says which and why.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 30
set -eu
trap 'modprobe -r virtio_net_mq 2>/dev/null || :' EXIT

refused() {
	dmesg -C
	if error=$(modprobe virtio_net_mq "$1" 2>&1); then
		echo "$1 was taken"
		exit 1
	fi
	case $error in
	*"Invalid argument"*) ;;
	*)
		echo "$1: $error"
		exit 1
		;;
	esac
	lines=$(dmesg | grep -v 'module verification failed\|out-of-tree' | grep -c "virtio_net_mq: ") || :
	if [ "$lines" != 1 ] || ! dmesg | grep -q "virtio_net_mq: .*${1%%=*}"; then
		echo "$1 was refused with:"
		dmesg
		exit 1
	fi
}

for bad in queue_pairs=-1 queue_pairs=32769 queue_pairs=two queue_pairs= queue_pairs=99999999999 napi_weight=0 napi_weight=65 \
	napi_weight=-1 napi_weight=2147483648 csum=maybe gso=2 napi_tx=perhaps; do
	refused "$bad"
done

modprobe virtio_net_mq queue_pairs=32768 napi_weight=1 csum=0 gso=0 napi_tx=0
cd /sys/module/virtio_net_mq/parameters
[ "$(cat queue_pairs napi_weight csum gso napi_tx | tr '\n' ' ')" = "32768 1 N N N " ]
echo 1 >napi_tx
if echo 2 >napi_tx 2>/dev/null; then
	exit 1
fi
[ "$(cat napi_tx)" = Y ]
[ "$(readlink -f /sys/bus/virtio/drivers/virtio_net/module)" = /sys/module/virtio_net_mq ]
modinfo -F alias virtio_net_mq | grep -q '^virtio:d00000001v'
