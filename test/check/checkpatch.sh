#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The kernel code follows the kernel's style, as its checkpatch.pl sees it.
# kernels: none
# timeout: 300
set -eu
cd -- "$(dirname -- "$0")/../.."
tree=$(test/lab/kernel uml-smp)/build

# What only makes sense for a patch to the kernel's own tree, and an allocator that 6.1 lacks.
ignore=FILE_PATH_CHANGES,CONFIG_DESCRIPTION,LINUX_VERSION_CODE,SPDX_LICENSE_TAG,ALLOC_WITH_SIZEOF
# What is said of the macros that make tables of counters and attributes.
ignore=$ignore,MACRO_ARG_REUSE,MACRO_ARG_PRECEDENCE,COMPLEX_MACRO,TRAILING_SEMICOLON
ignore=$ignore,MULTISTATEMENT_MACRO_USE_DO_WHILE

# It leaves a cache of names in the directory that it runs in.
trap 'rm -f .checkpatch-camelcase.*' EXIT
check() {
	xargs -0 perl "$tree/scripts/checkpatch.pl" --no-tree --strict --terse --no-summary \
		--max-line-length=100 --ignore "$1" --file
}
find vhost_mq virtio_net_mq test/kmod -name '*.[ch]' ! -name '*.mod.c' ! -name trace.h -print0 |
	check "$ignore"
# Tracepoints are laid out as everywhere in the kernel.
find vhost_mq virtio_net_mq -name trace.h -print0 |
	check "$ignore,PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE"
