#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Module parameters are the defaults; a bad one fails the load with EINVAL and one line that says why.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

modprobe tun
for bad in threads=257 threads=x threads=-1 threads= threads=99999999999999999999 \
	window_jiffies=60001 window_jiffies=-1 window_jiffies= window_jiffies=x policy=load policy= \
	cpulist=x cpulist=9999 max_mem_regions=0 max_mem_regions=65536 max_mem_regions=x max_mem_regions= \
	max_iotlb_entries=0 max_iotlb_entries=65536 max_iotlb_entries=x max_iotlb_entries=99999999999; do
	dmesg -C
	if message=$(modprobe vhost_net_mq "$bad" 2>&1); then
		modprobe -r vhost_net_mq
		fail "loads with $bad"
	fi
	case $message in
	*"Invalid argument"*) ;;
	*) fail "$bad: $message" ;;
	esac
	[ "$(dmesg | grep -c "vhost_net_mq: $bad: must be ")" = 1 ] || fail "$bad: no line in the log says why"
	[ ! -e /sys/module/vhost_net_mq ] || fail "$bad: something is left"
done

host_load window_jiffies=9 threads=3 policy=pair cpulist=0
for dir in $mq /sys/module/vhost_net_mq/parameters; do
	is "$dir/window_jiffies" 9
	is "$dir/threads" 3
	is "$dir/policy" pair
	is "$dir/cpulist" 0
done
pairs_start 2
is "$group/threads" 3
is "$group/worker0/effective_cpulist" 0
pairs_end
