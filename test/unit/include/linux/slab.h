/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UNIT_LINUX_SLAB_H
#define UNIT_LINUX_SLAB_H

#include <stdlib.h>

#include <linux/types.h>

#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0

/* Return: does the next allocation fail? NULL: none does. */
static bool (*unit_alloc_fails)(void) __attribute__((unused));

static inline void *unit_alloc(size_t count, size_t size)
{
	return unit_alloc_fails && unit_alloc_fails() ? NULL : calloc(count, size);
}

#define kzalloc(size, gfp)			unit_alloc(1, size)
#define kfree(p)				free((void *)(p))
#define kvzalloc(size, gfp)			unit_alloc(1, size)
#define kvmalloc_array(count, size, gfp)	unit_alloc(count, size)
#define kvfree(p)				free((void *)(p))

#endif
