#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# macvtap, raw packet sockets, taps with limits, and a queue that devices share.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1 6.12
# timeout: 60
set -eu

trap 'modprobe -r vhost_net_mq' EXIT
modprobe vhost_net_mq
modprobe macvtap
modprobe veth
"$LAB_BIN/vhost-backends"
