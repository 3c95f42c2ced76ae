#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every kind of report in a kernel's log is found, and nothing else is taken for one.
# kernels: none
set -eu
cd -- "$(dirname -- "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

while IFS= read -r line; do
	printf '[    1.000000] quiet\n[    2.000000] %s\n' "$line" >"$work/log"
	if test/lab/check-log "$work/log" >/dev/null; then
		echo "not found: $line"
		exit 1
	fi
done <<'END'
BUG: KASAN: slab-use-after-free in vhmq_run+0x10/0x20
BUG: sleeping function called from invalid context at mm/slab.h:1
BUG: scheduling while atomic: swapper/0/1/0x00000002
[T101] WARNING: CPU: 0 PID: 1 at net/core/dev.c:1 f+0x1/0x2
------------[ cut here ]------------
WARNING: possible circular locking dependency detected
WARNING: suspicious RCU usage
Oops: 0000 [#1] PREEMPT SMP
general protection fault, probably for non-canonical address 0xdead: 0000 [#1]
kernel BUG at net/core/skbuff.c:1!
Kernel panic - not syncing: Fatal exception
UBSAN: array-index-out-of-bounds in f.c:1:2
kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
INFO: task vhost-1:2 blocked for more than 120 seconds.
rcu: INFO: rcu_preempt self-detected stall on CPU
watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [a:1]
refcount_t: underflow; use-after-free.
list_del corruption. prev->next should be a
unregister_netdevice: waiting for eth0 to become free. Usage count = 2
ODEBUG: free active (active state 0) object: 1 object type: timer_list
END

cat >"$work/log" <<'END'
[    0.000000] Linux version 6.1.0
[    0.100000] Spectre V2 : WARNING: Unprivileged eBPF is enabled
[    0.200000] DMA-API: preallocated 65536 debug entries
[    0.200000] DMA-API: debugging enabled by kernel config
[    0.300000] kmemleak: Kernel memory leak detector initialized (mem pool available: 62820)
[    0.400000] virtio_net_mq: module verification failed: signature and/or required key missing - tainting kernel
[    0.500000] debug: ignoring loglevel setting.
END
test/lab/check-log "$work/log"

cat >"$work/log" <<'END'
WARNING: suspicious RCU usage
kernel/rcu/tree.c:1 Callback enqueued on offline CPU!!
 [<60060e80>] kfree+0x190/0x55b
 [<600913e8>] os_start_secondary+0x8d/0xc5
 [<600910f7>] cpu_thread+0x1a/0x1e
END
test/lab/check-log "$work/log"
echo 'BUG: KASAN: slab-use-after-free in vhmq_run+0x10/0x20' >>"$work/log"
if test/lab/check-log "$work/log" >"$work/found"; then
	echo "not found after the report that is left out"
	exit 1
fi
printf '%s\n' '--- report 1' 'BUG: KASAN: slab-use-after-free in vhmq_run+0x10/0x20' | cmp - "$work/found"
