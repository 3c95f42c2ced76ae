#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The dirty log has every page that was written, and no other, when it is toggled under traffic.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1 6.12
# timeout: 60
set -eu

trap 'modprobe -r vhost_net_mq' EXIT
modprobe vhost_net_mq
"$LAB_BIN/vhost-log"
