#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# sparse and the compiler (W=1) have nothing to say about the modules.
# kernels: none
# timeout: 600
set -eu
cd -- "$(dirname -- "$0")/../.."
command -v sparse >/dev/null || {
	echo "sparse is not installed"
	exit 4
}
kernel=$(test/lab/kernel 6.1)
scripts/build-modules --check "$kernel/build"
