#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A signal that comes while a device is started does not make it fail.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.12
# timeout: 60
set -eu

trap 'modprobe -r vhost_net_mq' EXIT
modprobe vhost_net_mq
"$LAB_BIN/vhost-signals"
