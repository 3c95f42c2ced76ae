#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# kernels: 6.1
# timeout: 300
# guest: 6.1
#
# The host's module is the stock one, the guest's ours; a guest of QEMU with four pairs has what it
# has with both of ours.
set -u
VMQ_VHOST=stock
# shellcheck source=test/qemu/lib.sh
. "${0%/*}/lib.sh"

boot_guest driver reach bytes channels shows_all
wait_for "look 7003"
let_go 7003
wait_guest
guest_tests
same "the guest ends well" $guest_status 0
nothing_left "$qemu_pid"
finish
