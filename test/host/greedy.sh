#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A guest that asks for more than there is keeps no thread and gets nothing written elsewhere.
# kernels: 6.1 debug uml-debug uml-smp
# timeout: 120
set -eu

trap 'modprobe -r vhost_net_mq' EXIT
modprobe vhost_net_mq
"$LAB_BIN/vhost-greedy"
