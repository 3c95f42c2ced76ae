/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UNIT_LINUX_ERR_H
#define UNIT_LINUX_ERR_H

#include <linux/types.h>

static inline void *ERR_PTR(long error)
{
	return (void *)error;
}

static inline long PTR_ERR(const void *p)
{
	return (long)p;
}

static inline bool IS_ERR(const void *p)
{
	return (unsigned long)p >= (unsigned long)-4095;
}

#endif
