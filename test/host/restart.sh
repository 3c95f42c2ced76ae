#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Stopped, started, given another backend or owner, killed: nothing is lost or left behind.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.1
# timeout: 60
set -eu

trap 'modprobe -r vhost_net_mq' EXIT
modprobe vhost_net_mq
"$LAB_BIN/vhost-restart"
