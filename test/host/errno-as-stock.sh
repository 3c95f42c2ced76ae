#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every ioctl answers as the stock module does, in every situation.
# kernels: 6.1 6.12 debug uml-smp
# quick: 6.1 6.12
# timeout: 60
set -eu

dir=$(mktemp -d)
trap 'modprobe -r vhost_net vhost_net_mq; rm -r "$dir"' EXIT
modprobe vhost_net
"$LAB_BIN/vhost-errno" >"$dir/stock"
modprobe -r vhost_net
modprobe vhost_net_mq
"$LAB_BIN/vhost-errno" >"$dir/mq"

# Stock modules before 6.17 do not know it; ours does.
case $(uname -r) in
6.1.* | 6.12.*) sed -i /FEATURES_ARRAY/d "$dir/stock" "$dir/mq" ;;
esac
[ "$(wc -l <"$dir/mq")" -gt 1000 ]
diff "$dir/stock" "$dir/mq"
