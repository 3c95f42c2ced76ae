/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UNIT_LINUX_PREFETCH_H
#define UNIT_LINUX_PREFETCH_H

#define prefetch(p)	__builtin_prefetch(p)

#endif
