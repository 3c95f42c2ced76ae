#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Single packets at random distances, both ways: none waits for the next.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
set -eu

trap 'modprobe -r vhost_net_mq' EXIT
modprobe vhost_net_mq
"$LAB_BIN/vhost-kicks" 5000
