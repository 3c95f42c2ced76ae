#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Neither a guest nor an owner makes a ring, the IOTLB or the dirty log do what they must not, as far as 15 seconds show.
# kernels: none
# timeout: 300
set -eu
cd -- "$(dirname -- "$0")"
command -v clang >/dev/null || {
	echo "clang is not installed"
	exit 4
}
make -s replay
found=$(mktemp -d)
trap 'rm -r "$found"' EXIT
make -s fuzz SECONDS=15 FLAGS=-seed=1 FOUND="$found"
