/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table that turns addresses of the guest into addresses of the owner.
 *
 * A table is immutable and counted: it is built by VHOST_SET_MEM_TABLE, a device
 * and each of its queues hold a reference, and a new table takes the place of
 * the old one queue by queue, under the queue's mutex. Regions are sorted by
 * guest address. They may overlap; then the one that starts lowest counts.
 *
 * A device behind an IOMMU of the guest (VIRTIO_F_ACCESS_PLATFORM) has a second
 * one, the device IOTLB, for I/O virtual addresses: a cache that the owner fills
 * by messages, when it is asked to, and changes at any time, under the mutexes of all
 * queues. Its regions do not overlap, and each says what is allowed.
 */
#ifndef VHMQ_MEMORY_H
#define VHMQ_MEMORY_H

#include <linux/refcount.h>

#include "hooks.h"

struct vhmq_region {
	u64 start, last;	/* guest addresses, both included */
	u64 addr;		/* the owner's address of @start */
	u64 reach;		/* highest @last of this region and those before */
	u64 age;		/* in an IOTLB: when it came, the least was the first */
	u8 perm;		/* VHOST_ACCESS_RO, _WO or both, which is _RW */
};

struct vhmq_mem {
	refcount_t refs;
	unsigned int nr;
	struct vhmq_region regions[];
};

struct vhmq_iotlb {
	unsigned int size;	/* regions that there is room for */
	u64 updates;
	struct vhmq_mem *mem;	/* not counted; moves when it grows */
};

struct vhost_memory;

/* A table without regions: where the owner has set none, no address is good. */
extern const struct vhmq_mem vhmq_mem_none;

extern unsigned int vhmq_max_mem_regions;	/* module parameters */
extern unsigned int vhmq_max_iotlb_entries;

struct vhmq_mem *vhmq_mem_create(const struct vhost_memory __user *table);
bool vhmq_mem_access_ok(const struct vhmq_mem *mem);
struct vhmq_mem *vhmq_mem_get(struct vhmq_mem *mem);
void vhmq_mem_put(struct vhmq_mem *mem);
void vhmq_mem_sort(struct vhmq_mem *mem);

struct vhmq_iotlb *vhmq_iotlb_alloc(void);
void vhmq_iotlb_free(struct vhmq_iotlb *iotlb);
int vhmq_iotlb_update(struct vhmq_iotlb *iotlb, u64 start, u64 last, u64 addr, u8 perm);
void vhmq_iotlb_invalidate(struct vhmq_iotlb *iotlb, u64 start, u64 last);

/**
 * vhmq_mem_first() - where a guest address may be
 * @mem: table
 * @addr: guest address
 *
 * Return: the index of the first region whose reach is not below @addr; that one
 * ends at its reach. mem->nr when there is none.
 */
static inline unsigned int vhmq_mem_first(const struct vhmq_mem *mem, u64 addr)
{
	unsigned int low = 0, high = mem->nr;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (mem->regions[middle].reach < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/**
 * vhmq_mem_find() - the region that holds a guest address
 * @mem: table
 * @addr: guest address
 *
 * Return: the lowest region that holds @addr, or NULL.
 */
static inline const struct vhmq_region *vhmq_mem_find(const struct vhmq_mem *mem,
						      u64 addr)
{
	unsigned int first = vhmq_mem_first(mem, addr);

	if (first == mem->nr || mem->regions[first].start > addr)
		return NULL;
	return &mem->regions[first];
}

#endif /* VHMQ_MEMORY_H */
