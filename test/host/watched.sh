#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A group that is set while it is made shows its workers, and in its own directory.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
# cpus: 4
set -eu

trap 'modprobe -r vhost_net_mq' EXIT
modprobe vhost_net_mq
"$LAB_BIN/vhost-watched"
