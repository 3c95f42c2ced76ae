#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# One ring is reset while all others have traffic: no frame is lost, sent twice or kept, and the others go on.
# kernels: 6.1 6.12 7.3 debug uml-debug uml-smp
# timeout: 60
set -eu

trap 'modprobe -r vhost_net_mq' EXIT
modprobe vhost_net_mq
"$LAB_BIN/vhost-ring-reset"
