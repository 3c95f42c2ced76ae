#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A queue that is never done, good or bad, leaves room for others on its thread.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
set -eu

trap 'modprobe -r vhost_net_mq' EXIT
modprobe vhost_net_mq threads=1 policy=single
"$LAB_BIN/vhost-fair"
