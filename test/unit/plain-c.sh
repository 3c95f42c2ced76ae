#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The plain C files of vhost_mq/ and virtio_net_mq/frag.c do in user space what they promise, under sanitizers.
# kernels: none
# timeout: 300
set -eu
make -C "$(dirname -- "$0")" check
