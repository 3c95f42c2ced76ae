#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 120
#
# Several pairs on a tap that has one queue: testpmd gives up at once, and the
# module keeps nothing of it.
set -u
# shellcheck source=test/dpdk/lib.sh
. "${0%/*}/lib.sh"

ended() {
	! running
}

load
# As testpmd opens it, but for the many queues.
ip tuntap add dev mono0 mode tap vnet_hdr
launch 2 256 iface=mono0
pid=$pmd_pid
check "testpmd with two pairs does not start" within 60 ended
check "and never came to its prompt" [ "$(prompts)" = 0 ]
exec 3>&-
wait "$pid"
check "it says that it failed" [ $? -ne 0 ]
pmd_pid=
check "no thread of it is left" within 10 no_threads "$pid"
check "the tap is still there" [ -e /sys/class/net/mono0 ]
check "nothing uses $vhost" within 10 unused "$vhost"
if [ "$VHOST" = mq ]; then
	same "there is no group" "$(count /sys/class/misc/vhost-net/mq/[0-9]*)" 0
fi
ip link del mono0
check "$vhost can be unloaded" modprobe -r "$vhost"
finish
