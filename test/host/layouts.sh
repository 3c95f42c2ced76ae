#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Frames of all sizes in buffers of all layouts, over the borders of memory regions.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1
# timeout: 60
set -eu

trap 'modprobe -r vhost_net_mq' EXIT
modprobe vhost_net_mq
"$LAB_BIN/vhost-layouts" 50
