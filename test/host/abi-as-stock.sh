#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every ioctl answers and does, in every situation, what the stock module of 7.3 does, but for differences that are meant.
# kernels: 6.1 6.12 7.3 debug uml-debug uml-smp
# quick: 6.1 6.12
# timeout: 60
#
# The record, anew: test/lab/run --kernel 7.3 -- test/host/abi-as-stock.sh record >test/host/abi/stock-7.3
set -eu
cd -- "$(dirname -- "$0")/abi"

dir=$(mktemp -d)
trap 'modprobe -r vhost_net vhost_net_mq; rm -r "$dir"' EXIT

ask() { # MODULE
	modprobe "$1"
	"$LAB_BIN/vhost-abi" >"$dir/lines"
	modprobe -r "$1"
	awk -f table.awk "$dir/lines"
}

if [ "${1:-}" = record ]; then
	ask vhost_net
	exit
fi
if [ "$LAB_KERNEL" = 7.3 ]; then
	ask vhost_net | diff stock-7.3 - || {
		echo "the record is not what the stock module does"
		exit 1
	}
fi
ask vhost_net_mq >"$dir/mq"
[ "$(wc -l <"$dir/mq")" -gt 200 ]
awk -v kernel="$LAB_KERNEL" -f compare.awk differences stock-7.3 "$dir/mq"
