// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dirty log: see log.h.
 */
#include <linux/highmem.h>
#include <linux/mm.h>

#include "log.h"

/* Sets bits in a word of the owner; the others may be changed meanwhile. */
static int set_bits(unsigned long __user *word, unsigned long bits)
{
	unsigned long address = (unsigned long)word, old;
	struct page *page;
	void *memory;
	int ret;

	/*
	 * Most often they are set already, and then reading is all. The page of the
	 * guest was written before: see vhmq_log_mark().
	 */
	if (get_user(old, word))
		return -EFAULT;
	if ((old & bits) == bits)
		return 0;

	ret = pin_user_pages_fast(address, 1, FOLL_WRITE, &page);
	if (ret < 1)
		return -EFAULT;
	memory = kmap_local_page(page);
	atomic_long_or(bits, memory + offset_in_page(address));
	kunmap_local(memory);
	unpin_user_pages_dirty_lock(&page, 1, true);
	return 0;
}

/**
 * vhmq_log_mark() - a part of the guest's memory was written
 * @base: bitmap
 * @addr: address of the guest
 * @len: bytes
 *
 * Return: 0, or -EFAULT when the bitmap cannot be written.
 * Context: ioctl or run, with the owner's memory; may sleep to fault it in.
 */
int vhmq_log_mark(u8 __user *base, u64 addr, u64 len)
{
	u64 page = addr / VHMQ_LOG_PAGE;
	u64 last = (addr + len - 1) / VHMQ_LOG_PAGE;

	if (!len)
		return 0;

	/*
	 * The guest's page before the bit is read. Pairs with the barrier of the
	 * owner between clearing a bit and reading the page.
	 */
	smp_mb();

	while (page <= last) {
		unsigned long at = (unsigned long)base + page / BITS_PER_BYTE;
		unsigned int shift = at % sizeof(long) * BITS_PER_BYTE + page % BITS_PER_BYTE;
		unsigned int count = min_t(u64, last - page + 1, BITS_PER_LONG - shift);

		if (set_bits((unsigned long __user *)(at - at % sizeof(long)),
			     GENMASK(shift + count - 1, shift)))
			return -EFAULT;
		page += count;
	}
	return 0;
}

/**
 * vhmq_log_mark_written() - a part of the owner's memory was written
 * @base: bitmap
 * @mem: where the guest has it, perhaps at several addresses
 * @at: address of the owner
 * @len: bytes
 *
 * Return: 0, or -EFAULT when the bitmap cannot be written.
 * Context: run, with the owner's memory; may sleep to fault it in.
 */
int vhmq_log_mark_written(u8 __user *base, const struct vhmq_mem *mem,
			  const void __user *at, size_t len)
{
	u64 first = (unsigned long)at, last = first + len - 1;
	unsigned int i;
	int ret;

	if (!len)
		return 0;
	for (i = 0; mem && i < mem->nr; i++) {
		const struct vhmq_region *region = &mem->regions[i];
		u64 end = region->addr + (region->last - region->start);
		u64 from = max(first, region->addr), to = min(last, end);

		if (from > to)
			continue;
		ret = vhmq_log_mark(base, region->start + (from - region->addr), to - from + 1);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * vhmq_log_range_ok() - can the log have bits for a part of the guest's memory?
 * @base: bitmap
 * @first: address of the guest
 * @last: the last one, included
 *
 * Return: true when the bits lie in the address space of user programs.
 */
bool vhmq_log_range_ok(const u8 __user *base, u64 first, u64 last)
{
	u64 from = first / VHMQ_LOG_PAGE / BITS_PER_BYTE;
	u64 to = last / VHMQ_LOG_PAGE / BITS_PER_BYTE;

	if (last < first || from > ULONG_MAX - (unsigned long)base)
		return false;
	return access_ok(base + from, to - from + 1);
}

/**
 * vhmq_log_mem_ok() - can the log have bits for all of the guest's memory?
 * @base: bitmap
 * @mem: table, or NULL
 *
 * Return: true when there is a table and the bits lie in the address space of user
 * programs.
 */
bool vhmq_log_mem_ok(const u8 __user *base, const struct vhmq_mem *mem)
{
	unsigned int i;

	if (!mem)
		return false;

	for (i = 0; i < mem->nr; i++) {
		const struct vhmq_region *region = &mem->regions[i];

		if (!vhmq_log_range_ok(base, region->start, region->last))
			return false;
	}
	return true;
}
