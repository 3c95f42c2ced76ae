/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UNIT_LINUX_KERNEL_H
#define UNIT_LINUX_KERNEL_H

#include_next <linux/kernel.h>
#include <limits.h>
#include <stdio.h>

#include <linux/types.h>

#define U8_MAX		UINT8_MAX
#define U16_MAX		UINT16_MAX
#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX

#define BITS_PER_BYTE	8
#define BITS_PER_LONG	(BITS_PER_BYTE * sizeof(long))
#define GENMASK(high, low) \
	((~0UL << (low)) & (~0UL >> (BITS_PER_LONG - 1 - (high))))

/* No option of the kernel is. */
#define IS_ENABLED(option)	0

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define container_of(p, type, member) \
	((type *)((char *)(p) - offsetof(type, member)))

#define min(a, b)						\
({								\
	__auto_type _a = (a);					\
	__auto_type _b = (b);					\
								\
	_a < _b ? _a : _b;					\
})

#define max(a, b)						\
({								\
	__auto_type _a = (a);					\
	__auto_type _b = (b);					\
								\
	_a > _b ? _a : _b;					\
})

#define min3(a, b, c)		min(min(a, b), c)
#define max3(a, b, c)		max(max(a, b), c)
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define clamp(x, low, high)	min(max(x, low), high)

#define swap(a, b)						\
	do {							\
		__typeof__(a) _t = (a);				\
								\
		(a) = (b);					\
		(b) = _t;					\
	} while (0)

#define IS_ALIGNED(x, a)	(((x) & ((__typeof__(x))(a) - 1)) == 0)
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

#define is_power_of_2(n)					\
({								\
	__auto_type _n = (n);					\
								\
	_n && !(_n & (_n - 1));					\
})

#endif
