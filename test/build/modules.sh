#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Both modules build without a warning for every supported kernel.
# kernels: none
# timeout: 900
set -eu
cd -- "$(dirname -- "$0")/../.."
make --no-print-directory modules-all
for release in 6.1 6.12 7.2 7.3; do
	for module in vhost_net_mq virtio_net_mq; do
		ls build/"$release".*/"$module.ko"
	done
done
