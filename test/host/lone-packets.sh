#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A lone frame leaves at once, whenever it comes: as the worker falls asleep, or at another CPU.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

# shellcheck disable=SC2119
host_load
pairs_start 2
"$LAB_BIN/vhost-lone" 5
echo pair >"$group/policy"
pairs tx 0 2000 >/dev/null
pairs tx 1 2000 >/dev/null
pairs_end
