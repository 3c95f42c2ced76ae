#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The scripts are clean for shellcheck.
# kernels: none
# timeout: 300
set -eu
cd -- "$(dirname -- "$0")/../.."
command -v shellcheck >/dev/null || {
	echo "shellcheck is not installed"
	exit 4
}
# SC2317: a function that a trap or another function calls by name is not unreachable.
find . -type f ! -path './.git/*' ! -path './build/*' -exec awk 'FNR == 1 && /^#!.*[\/ ](ba|da)?sh( |$)/ { print FILENAME } { nextfile }' {} + |
	sort | xargs shellcheck -x -e SC2317
shellcheck -x test/lab/lib.sh
