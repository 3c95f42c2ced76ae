/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UNIT_LINUX_SORT_H
#define UNIT_LINUX_SORT_H

#include <stdlib.h>

#define sort(base, count, size, compare, swap)	qsort(base, count, size, compare)

#endif
