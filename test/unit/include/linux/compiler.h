/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UNIT_LINUX_COMPILER_H
#define UNIT_LINUX_COMPILER_H

#include <stddef.h>

/* libc wants these for itself; take them back after it had its turn. */
#undef __always_inline
#define __always_inline	inline __attribute__((always_inline))

#define __user
#define __force
#define __rcu
#define __must_check	__attribute__((warn_unused_result))
#define __printf(a, b)	__attribute__((format(printf, a, b)))
#define __cold		__attribute__((cold))
#define noinline	__attribute__((noinline))
#define ____cacheline_aligned	__attribute__((aligned(64)))

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#define fallthrough	__attribute__((fallthrough))

/* What other threads may change: a relaxed atomic, which a race detector knows. */
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELAXED)

#define barrier()	__atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif
