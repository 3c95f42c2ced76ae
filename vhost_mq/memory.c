// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory table: from VHOST_SET_MEM_TABLE to sorted regions. And the device
 * IOTLB, whose regions come and go one by one.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/vhost.h>

#include "memory.h"

const struct vhmq_mem vhmq_mem_none;

static int compare_regions(const void *a, const void *b)
{
	const struct vhmq_region *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->last != right->last)
		return left->last < right->last ? -1 : 1;
	return 0;
}

/**
 * vhmq_mem_sort() - bring a filled table into the order that look-ups need
 * @mem: table, with start, last and addr of every region set
 */
void vhmq_mem_sort(struct vhmq_mem *mem)
{
	u64 reach = 0;
	unsigned int i;

	sort(mem->regions, mem->nr, sizeof(*mem->regions), compare_regions, NULL);
	for (i = 0; i < mem->nr; i++) {
		reach = max(reach, mem->regions[i].last);
		mem->regions[i].reach = reach;
	}
}

/**
 * vhmq_mem_create() - copy and check a memory table of the owner
 * @table: argument of VHOST_SET_MEM_TABLE
 *
 * Return: a table with one reference, or an ERR_PTR: -EFAULT for an address or
 * region that cannot be, -EOPNOTSUPP when the padding is used, -E2BIG for more
 * than max_mem_regions regions, -ENOMEM.
 * Context: ioctl of the owner.
 */
struct vhmq_mem *vhmq_mem_create(const struct vhost_memory __user *table)
{
	struct vhost_memory_region *regions = NULL;
	struct vhost_memory head;
	struct vhmq_mem *mem;
	unsigned int i;
	int ret;

	if (copy_from_user(&head, table, offsetof(struct vhost_memory, regions)))
		return ERR_PTR(-EFAULT);
	if (head.padding)
		return ERR_PTR(-EOPNOTSUPP);
	if (head.nregions > vhmq_max_mem_regions)
		return ERR_PTR(-E2BIG);

	mem = kvzalloc(struct_size(mem, regions, head.nregions), GFP_KERNEL);
	regions = kvmalloc_array(head.nregions ?: 1, sizeof(*regions), GFP_KERNEL);
	ret = -ENOMEM;
	if (!mem || !regions)
		goto err_free;
	ret = -EFAULT;
	if (copy_from_user(regions, table->regions, head.nregions * sizeof(*regions)))
		goto err_free;

	refcount_set(&mem->refs, 1);
	mem->nr = head.nregions;
	for (i = 0; i < mem->nr; i++) {
		struct vhmq_region *region = &mem->regions[i];

		region->start = regions[i].guest_phys_addr;
		region->last = region->start + regions[i].memory_size - 1;
		region->addr = regions[i].userspace_addr;
		region->perm = VHOST_ACCESS_RW;
		if (region->last < region->start)
			goto err_free;
	}
	vhmq_mem_sort(mem);
	kvfree(regions);
	return mem;

err_free:
	kvfree(regions);
	kvfree(mem);
	return ERR_PTR(ret);
}

/**
 * vhmq_mem_access_ok() - may every region be read and written by its owner?
 * @mem: table, or NULL
 *
 * Return: true when all regions lie in the address space of user programs.
 */
bool vhmq_mem_access_ok(const struct vhmq_mem *mem)
{
	unsigned int i;

	if (!mem)
		return false;

	for (i = 0; i < mem->nr; i++) {
		const struct vhmq_region *region = &mem->regions[i];
		u64 span = region->last - region->start;

		if (region->addr > ULONG_MAX || span >= ULONG_MAX ||
		    region->addr > ULONG_MAX - span)
			return false;
		if (!access_ok((void __user *)(unsigned long)region->addr, span + 1))
			return false;
	}
	return true;
}

/**
 * vhmq_mem_get() - take a reference
 * @mem: table, or NULL
 *
 * Return: @mem.
 */
struct vhmq_mem *vhmq_mem_get(struct vhmq_mem *mem)
{
	if (mem)
		refcount_inc(&mem->refs);
	return mem;
}

/**
 * vhmq_mem_put() - drop a reference; the last one frees the table
 * @mem: table, or NULL
 */
void vhmq_mem_put(struct vhmq_mem *mem)
{
	if (mem && refcount_dec_and_test(&mem->refs))
		kvfree(mem);
}

/* ------------------------------------------------------------------------
 * Device IOTLB
 */

/* Regions that a new one has room for. */
#define IOTLB_SIZE	64

static struct vhmq_mem *alloc_regions(unsigned int size)
{
	struct vhmq_mem *mem;

	return kvzalloc(struct_size(mem, regions, size), GFP_KERNEL_ACCOUNT);
}

/**
 * vhmq_iotlb_alloc() - an empty device IOTLB
 *
 * Return: it, or NULL.
 */
struct vhmq_iotlb *vhmq_iotlb_alloc(void)
{
	struct vhmq_iotlb *iotlb = kzalloc(sizeof(*iotlb), GFP_KERNEL_ACCOUNT);

	if (!iotlb)
		return NULL;
	iotlb->size = min_t(unsigned int, IOTLB_SIZE, vhmq_max_iotlb_entries);
	iotlb->mem = alloc_regions(iotlb->size);
	if (!iotlb->mem) {
		kfree(iotlb);
		return NULL;
	}
	return iotlb;
}

/**
 * vhmq_iotlb_free() - free what vhmq_iotlb_alloc() returned
 * @iotlb: IOTLB, or NULL
 */
void vhmq_iotlb_free(struct vhmq_iotlb *iotlb)
{
	if (!iotlb)
		return;
	kvfree(iotlb->mem);
	kfree(iotlb);
}

static void remove_regions(struct vhmq_mem *mem, unsigned int at, unsigned int count)
{
	mem->nr -= count;
	memmove(&mem->regions[at], &mem->regions[at + count],
		(mem->nr - at) * sizeof(*mem->regions));
}

static void remove_oldest(struct vhmq_mem *mem)
{
	unsigned int i, oldest = 0;

	for (i = 1; i < mem->nr; i++) {
		if (mem->regions[i].age < mem->regions[oldest].age)
			oldest = i;
	}
	remove_regions(mem, oldest, 1);
}

/* Room for one more region, at the cost of the oldest one when there may be no more. */
static int make_room(struct vhmq_iotlb *iotlb)
{
	struct vhmq_mem *mem = iotlb->mem, *more;
	unsigned int size;

	if (mem->nr < iotlb->size)
		return 0;
	if (iotlb->size == vhmq_max_iotlb_entries) {
		remove_oldest(mem);
		return 0;
	}
	size = min(2 * iotlb->size, vhmq_max_iotlb_entries);
	more = alloc_regions(size);
	if (!more)
		return -ENOMEM;
	more->nr = mem->nr;
	memcpy(more->regions, mem->regions, mem->nr * sizeof(*mem->regions));
	iotlb->mem = more;
	iotlb->size = size;
	kvfree(mem);
	return 0;
}

/**
 * vhmq_iotlb_invalidate() - forget translations
 * @iotlb: IOTLB
 * @start: first I/O virtual address
 * @last: the last one, included
 *
 * A region goes as a whole when any part of it is meant: what is still good of it
 * will be asked for again.
 *
 * Context: mutexes of all queues.
 */
void vhmq_iotlb_invalidate(struct vhmq_iotlb *iotlb, u64 start, u64 last)
{
	struct vhmq_mem *mem = iotlb->mem;
	unsigned int first = vhmq_mem_first(mem, start), end = first;

	while (end < mem->nr && mem->regions[end].start <= last)
		end++;
	if (end != first)
		remove_regions(mem, first, end - first);
}

/**
 * vhmq_iotlb_update() - learn a translation
 * @iotlb: IOTLB; its regions may move
 * @start: first I/O virtual address
 * @last: the last one, included
 * @addr: the owner's address of @start
 * @perm: VHOST_ACCESS_RO, _WO or _RW
 *
 * What was known of any of these addresses is forgotten.
 *
 * Return: 0, or -ENOMEM and only that is forgotten.
 * Context: mutexes of all queues.
 */
int vhmq_iotlb_update(struct vhmq_iotlb *iotlb, u64 start, u64 last, u64 addr, u8 perm)
{
	struct vhmq_region *region;
	struct vhmq_mem *mem;
	unsigned int at;
	int ret;

	vhmq_iotlb_invalidate(iotlb, start, last);
	ret = make_room(iotlb);
	if (ret)
		return ret;

	mem = iotlb->mem;
	at = vhmq_mem_first(mem, start);
	region = &mem->regions[at];
	memmove(region + 1, region, (mem->nr - at) * sizeof(*region));
	*region = (struct vhmq_region){
		.start = start,
		.last = last,
		.addr = addr,
		.reach = last,
		.age = iotlb->updates++,
		.perm = perm,
	};
	mem->nr++;
	return 0;
}
