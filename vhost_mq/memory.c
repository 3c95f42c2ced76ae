// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory table: from VHOST_SET_MEM_TABLE to sorted regions.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/vhost.h>

#include "memory.h"

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
