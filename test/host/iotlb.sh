#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A device behind an IOMMU of its guest asks for what it lacks, uses what it is given, and no more than that.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# quick: 6.12
# timeout: 60
set -eu

# Far fewer than the guest has pages.
modprobe vhost_net_mq max_iotlb_entries=40
trap 'modprobe -r vhost_net_mq' EXIT
"$LAB_BIN/vhost-iotlb" 300
