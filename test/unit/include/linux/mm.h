/* SPDX-License-Identifier: GPL-2.0-only */
/* A page is where its memory is. */
#ifndef UNIT_LINUX_MM_H
#define UNIT_LINUX_MM_H

#include <linux/kernel.h>
#include <linux/uaccess.h>

#ifndef PAGE_SIZE
#define PAGE_SIZE	4096UL
#endif
#define FOLL_WRITE	1

struct page;

static inline unsigned long offset_in_page(unsigned long address)
{
	return address % PAGE_SIZE;
}

/* The word at @start is meant. */
static inline int pin_user_pages_fast(unsigned long start, int nr, unsigned int flags,
				      struct page **pages)
{
	if (unit_user_fails((void *)start, sizeof(long), true))
		return -EFAULT;
	*pages = (struct page *)(start - offset_in_page(start));
	return 1;
}

#define unpin_user_pages_dirty_lock(pages, nr, dirty)	((void)(pages))

#endif
