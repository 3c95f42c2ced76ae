/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UNIT_ASM_BARRIER_H
#define UNIT_ASM_BARRIER_H

#define smp_mb()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb()	__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb()	__atomic_thread_fence(__ATOMIC_RELEASE)

#define smp_mb__after_atomic()	smp_mb()
#define smp_mb__before_atomic()	smp_mb()

#define smp_store_release(p, value) \
	__atomic_store_n(p, value, __ATOMIC_RELEASE)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)

#define virt_mb()	smp_mb()
#define virt_rmb()	smp_rmb()
#define virt_wmb()	smp_wmb()

#endif
