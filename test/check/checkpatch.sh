#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The C files follow the kernel's style, as its checkpatch.pl sees it.
# kernels: none
# timeout: 300
set -eu
cd -- "$(dirname -- "$0")/../.."
tree=$(test/lab/kernel uml-smp)/build

# Ignored: what only makes sense for a patch to the kernel's own tree.
find vhost_mq virtio_net_mq test -name '*.[ch]' ! -name '*.mod.c' -print0 |
	xargs -0 perl "$tree/scripts/checkpatch.pl" --no-tree --strict --terse --no-summary --max-line-length=100 \
		--ignore FILE_PATH_CHANGES,CONFIG_DESCRIPTION,LINUX_VERSION_CODE,SPDX_LICENSE_TAG,MACRO_ARG_REUSE --file
