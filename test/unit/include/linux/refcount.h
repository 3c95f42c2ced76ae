/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UNIT_LINUX_REFCOUNT_H
#define UNIT_LINUX_REFCOUNT_H

#include <linux/atomic.h>

typedef struct {
	atomic_t refs;
} refcount_t;

static inline void refcount_set(refcount_t *r, int n)
{
	atomic_set(&r->refs, n);
}

static inline void refcount_inc(refcount_t *r)
{
	atomic_inc(&r->refs);
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	return atomic_fetch_sub(1, &r->refs) == 1;
}

#endif
