#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Each layout of receive buffers, rings of each kind and size, and both ways to complete what is sent carry traffic.
# kernels: 6.1 debug uml-smp uml-debug
# timeout: 240
set -eu
# shellcheck source=test/guest/traffic.sh
. "$(dirname "$0")/traffic.sh"

carry() {
	echo "with $*"
	up --pairs 2 "$@"
	traffic_start 2
	traffic_end
	no_drops
	test/lab/loop down
	trap - EXIT
}

carry --feature-off mrg
carry --feature-off mrg,indirect
carry --feature-off mrg,tso,ufo,uso
carry --feature-off event_idx
carry --ring 16
carry --ring 4
carry --ring 16 --feature-off indirect
carry --guest-param napi_tx=0
carry --guest-param napi_weight=1
carry --feature-off csum
