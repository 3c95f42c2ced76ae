#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The module loads alone, with values that it understands, or not at all and says why.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
set -eu

trap 'modprobe -r vhost_net vhost_net_mq' EXIT

# The last line of the kernel's log about us.
last() { dmesg | grep 'vhost_net_mq' | tail -n 1; }

refused() { # TEXT PARAMETER...
	text=$1
	shift
	if modprobe vhost_net_mq "$@" 2>/dev/null || grep -q '^vhost_net_mq ' /proc/modules; then
		echo "loaded with '$*'"
		exit 1
	fi
	last | grep -q -- "$text"
}

refused 'threads' threads=257
refused 'threads' threads=-1
refused 'threads' threads=many
refused 'window_jiffies' window_jiffies=x
refused 'cpulist' cpulist=0-
refused 'policy' policy=fast
refused 'max_mem_regions' max_mem_regions=65536
refused 'max_iotlb_entries' max_iotlb_entries=0

modprobe vhost_net
refused 'belongs to vhost_net: .* rmmod vhost_net'
[ -c /dev/vhost-net ]
modprobe -r vhost_net

modprobe vhost_net_mq threads=3 window_jiffies=7 policy=pair cpulist=0 max_mem_regions=8
[ "$(cat /sys/module/vhost_net_mq/parameters/threads)" = 3 ]
[ "$(cat /sys/class/misc/vhost-net/mq/window_jiffies)" = 7 ]
[ "$(cat /sys/class/misc/vhost-net/dev)" = 10:238 ]
if modprobe vhost_net 2>/dev/null; then
	echo "the stock module loads beside ours"
	exit 1
fi
modprobe -r vhost_net_mq
[ ! -e /sys/class/misc/vhost-net ]
