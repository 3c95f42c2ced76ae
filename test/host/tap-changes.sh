#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A tap is detached, resized, moved, deleted and closed under traffic.
# kernels: 6.1 6.12 debug uml-smp uml-debug
# timeout: 60
set -eu

trap 'modprobe -r vhost_net_mq' EXIT
modprobe vhost_net_mq
"$LAB_BIN/vhost-tap"
