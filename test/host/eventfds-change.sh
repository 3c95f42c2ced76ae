#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Kick and call eventfds change all the time: nothing is lost.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
set -eu

trap 'modprobe -r vhost_net_mq' EXIT
modprobe vhost_net_mq
"$LAB_BIN/vhost-swap" 1000
