/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device's side of a split virtqueue (virtio 1.2, section 2.7).
 *
 * All that is read here was written by the guest, and may change at any time:
 * each word is copied once, checked, and then used. Avail entries are copied up
 * to VHMQ_RING_BATCH at a time, used entries are written as many as the caller
 * has, with one store of the index.
 *
 * A ring that breaks the rules is reported once and stops: nothing more is popped
 * until vhmq_ring_mend(); what had been popped before can still be returned.
 *
 * Behind an IOMMU (VIRTIO_F_ACCESS_PLATFORM) the guest's addresses, those of the
 * rings too, are looked up in the device IOTLB. What it does not know is reported
 * and ends the run, which is repeated when the owner has answered. The IOTLB
 * does not change during a run: vhmq_ring_ready() finds the rings once for all of it.
 *
 * The caller serializes: one thread at a time is inside a ring.
 */
#ifndef VHMQ_RING_SPLIT_H
#define VHMQ_RING_SPLIT_H

#include <linux/uio.h>
#include <linux/virtio_ring.h>

#include "hooks.h"
#include "log.h"
#include "memory.h"

#define VHMQ_RING_BATCH		64
#define VHMQ_RING_MAX		32768

struct vhmq_ring {
	/* Read-mostly: set by ioctl, while nothing runs. */
	struct vring_desc __user *desc;
	struct vring_avail __user *avail;
	struct vring_used __user *used;
	const struct vhmq_mem *mem;	/* borrowed, never NULL: what the guest's addresses mean */
	const struct vhmq_mem *physical;	/* borrowed: the memory table, for the log */
	u64 desc_addr, avail_addr, used_addr;	/* as the owner has set them */
	bool iotlb;			/* @mem is the device IOTLB */
	bool ready;			/* desc, avail and used can be used */
	bool scattered;			/* ... through @mem: not whole in the owner's memory */
	unsigned int num;		/* a power of two, 1 to VHMQ_RING_MAX */
	bool event_idx;			/* VIRTIO_RING_F_EVENT_IDX */
	bool notify_on_empty;		/* VIRTIO_F_NOTIFY_ON_EMPTY */
	bool in_order;			/* VIRTIO_F_IN_ORDER; callers push so */
	bool little_endian;		/* VIRTIO_F_VERSION_1, or the host's order */
	bool broken;
	bool log_used;			/* VHOST_VRING_F_LOG */
	u64 log_addr;			/* guest address of the used ring, for the log */
	u8 __user *log_base;		/* the owner's dirty log */

	/* What the device has done. */
	bool logged;			/* since the owner was last told */
	bool kick_off;			/* the guest was told not to kick */
	bool called_valid;		/* @called means something */
	u16 next_avail;			/* the entry to pop next */
	u16 next_used;			/* the entry to write next */
	u16 called;			/* @next_used when the guest was last called */

	/* What is known of the guest's side. */
	u16 avail_idx;			/* its index, as read last */
	u16 heads_first;		/* entry of heads[0] */
	u16 heads_nr;
	const struct vhmq_region *region;	/* of the last translation */
	__virtio16 heads[VHMQ_RING_BATCH];
};

/* A used entry, in the byte order of the ring. */
struct vhmq_used_elem {
	__virtio32 id;
	__virtio32 len;
};

/* A popped chain: @out buffers to read, then @in buffers to write. */
struct vhmq_chain {
	unsigned int head;
	unsigned int out, in;		/* iovecs */
	size_t out_len, in_len;		/* bytes */
	size_t cost;			/* bytes of the descriptors read for it */
};

void vhmq_ring_reset(struct vhmq_ring *ring);
void vhmq_ring_mend(struct vhmq_ring *ring);
int vhmq_ring_start(struct vhmq_ring *ring);
void vhmq_ring_place(struct vhmq_ring *ring);
bool vhmq_ring_find(struct vhmq_ring *ring);

int vhmq_ring_pop(struct vhmq_ring *ring, struct iovec *iov, unsigned int size,
		  struct vhmq_chain *chain);
void vhmq_ring_unpop(struct vhmq_ring *ring, unsigned int count);
bool vhmq_ring_empty(struct vhmq_ring *ring);

int vhmq_ring_push(struct vhmq_ring *ring, const struct vhmq_used_elem *elems,
		   unsigned int count);
int vhmq_ring_push_in_order(struct vhmq_ring *ring, const struct vhmq_used_elem *elems,
			    const u16 *sizes, unsigned int count);
bool vhmq_ring_should_call(struct vhmq_ring *ring);

bool vhmq_ring_enable_kick(struct vhmq_ring *ring);
void vhmq_ring_disable_kick(struct vhmq_ring *ring);

size_t vhmq_ring_avail_size(unsigned int num, bool event_idx);
size_t vhmq_ring_used_size(unsigned int num, bool event_idx);

/*
 * Marks the ring broken, tells the owner by its error eventfd and the
 * administrator in the log; nothing when it is broken already. The kernel module
 * has it in queue.c, a user-space build brings its own.
 */
__printf(2, 3) void vhmq_ring_fail(struct vhmq_ring *ring, const char *format, ...);

/*
 * The device IOTLB does not know @addr: has the owner asked for it. @perm is what is
 * wanted, VHOST_ACCESS_RO or _WO. As above: the kernel module has it in iotlb.c.
 */
void vhmq_ring_miss(struct vhmq_ring *ring, u64 addr, u8 perm);

/**
 * vhmq_ring_ready() - before a run: is the ring there to be used?
 * @ring: ring
 *
 * Return: false when it has failed, or when the device IOTLB does not know all of
 * it and the owner was asked.
 * Context: run; the IOTLB does not change until the end of the run.
 */
static inline bool vhmq_ring_ready(struct vhmq_ring *ring)
{
	return !ring->broken && (ring->ready || vhmq_ring_find(ring));
}

static inline u16 vhmq_16_to_cpu(const struct vhmq_ring *ring, __virtio16 value)
{
	return ring->little_endian ? le16_to_cpu((__force __le16)value) :
				     (__force u16)value;
}

static inline __virtio16 vhmq_cpu_to_16(const struct vhmq_ring *ring, u16 value)
{
	return ring->little_endian ? (__force __virtio16)cpu_to_le16(value) :
				     (__force __virtio16)value;
}

static inline u32 vhmq_32_to_cpu(const struct vhmq_ring *ring, __virtio32 value)
{
	return ring->little_endian ? le32_to_cpu((__force __le32)value) :
				     (__force u32)value;
}

static inline __virtio32 vhmq_cpu_to_32(const struct vhmq_ring *ring, u32 value)
{
	return ring->little_endian ? (__force __virtio32)cpu_to_le32(value) :
				     (__force __virtio32)value;
}

static inline u64 vhmq_64_to_cpu(const struct vhmq_ring *ring, __virtio64 value)
{
	return ring->little_endian ? le64_to_cpu((__force __le64)value) :
				     (__force u64)value;
}

#endif /* VHMQ_RING_SPLIT_H */
