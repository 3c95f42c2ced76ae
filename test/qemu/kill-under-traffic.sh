#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# kernels: 6.1 debug uml-smp uml-debug
# timeout: 400
# guest: 6.1
#
# QEMU is killed with SIGKILL while its guest has traffic both ways; nothing is left.
set -u
# shellcheck source=test/qemu/lib.sh
. "${0%/*}/lib.sh"

boot_guest flood
wait_for flooding
sent=$(tap tx_packets)
kill -KILL "$qemu_pid"
wait_guest
check "there was traffic" [ "$sent" -gt 100 ]
nothing_left "$qemu_pid"
finish
