/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The dirty log: a bitmap of the owner, a bit for each page of the guest that was
 * written, which the owner reads and clears while it copies the guest elsewhere.
 *
 * A page is marked after it was written. The owner clears a bit before it copies
 * the page, so that it either copies what was written or finds the bit again.
 */
#ifndef VHMQ_LOG_H
#define VHMQ_LOG_H

#include "hooks.h"
#include "memory.h"

/* Bytes of the guest's memory for each bit, whatever the pages of the host. */
#define VHMQ_LOG_PAGE	4096

int vhmq_log_mark(u8 __user *base, u64 addr, u64 len);
int vhmq_log_mark_written(u8 __user *base, const struct vhmq_mem *mem,
			  const void __user *at, size_t len);
bool vhmq_log_range_ok(const u8 __user *base, u64 first, u64 last);
bool vhmq_log_mem_ok(const u8 __user *base, const struct vhmq_mem *mem);

#endif /* VHMQ_LOG_H */
