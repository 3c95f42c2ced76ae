#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# With VIRTIO_F_IN_ORDER a batch of chains gets one used entry, where its first would be, and no other.
# kernels: 6.1 6.12 7.3 debug uml-debug uml-smp
# timeout: 60
set -eu

trap 'modprobe -r vhost_net_mq' EXIT
modprobe vhost_net_mq
"$LAB_BIN/vhost-in-order"
