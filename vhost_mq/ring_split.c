// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device's side of a split virtqueue: see ring_split.h.
 */
#include <linux/prefetch.h>
#include <linux/vhost_types.h>

#include "ring_split.h"

/*
 * Descriptors that one chain may have, in the ring and in tables: as many as there
 * can be buffers, and as many again. Without the limit a guest could keep a thread
 * busy with empty descriptors.
 */
#define VHMQ_CHAIN_MAX		(2 * UIO_MAXIOV)

/* Indirect descriptors that are copied at a time. */
#define VHMQ_TABLE_BATCH	8

/*
 * Is a few words of user memory, one by one, less than a call that copies them?
 * Not where every access looks up the page in software.
 */
#define VHMQ_BY_WORDS		(!IS_ENABLED(CONFIG_UML))

struct walk {
	struct vhmq_ring *ring;
	struct vhmq_chain *chain;
	struct iovec *iov;
	unsigned int size;		/* of @iov */
	unsigned int found;		/* descriptors seen */
};

static inline u16 avail_to_pop(const struct vhmq_ring *ring)
{
	return ring->avail_idx - ring->next_avail;
}

/* ------------------------------------------------------------------------
 * Addresses of the guest
 */

static const struct vhmq_region *find_region(struct vhmq_ring *ring, u64 addr)
{
	const struct vhmq_region *region = vhmq_mem_find(ring->mem, addr);

	/* Remembered unless a lower region may hold some of its addresses. */
	if (region && (region == ring->mem->regions ||
		       region[-1].reach < region->start))
		ring->region = region;
	return region;
}

/*
 * The owner's address of @addr, and in @len how many of @len bytes lie behind it
 * in the same region, which allows @perm. @len is not 0. Return: NULL when there
 * is none; why_not() has the reason.
 */
static inline void __user *translate(struct vhmq_ring *ring, u64 addr, u64 *len, u8 perm)
{
	const struct vhmq_region *region = ring->region;

	if (unlikely(!region || addr < region->start || addr > region->last)) {
		region = find_region(ring, addr);
		if (!region)
			return NULL;
	}
	if (unlikely(!(region->perm & perm)))
		return NULL;
	*len = min(*len - 1, region->last - addr) + 1;
	return (void __user *)(unsigned long)(region->addr + (addr - region->start));
}

/*
 * Return: -EAGAIN when the owner was asked for @addr and the ring is as good as
 * before, -EPERM when it is known and may not be used so, or -EFAULT.
 */
static noinline int why_not(struct vhmq_ring *ring, u64 addr, u8 perm)
{
	if (vhmq_mem_find(ring->mem, addr))
		return -EPERM;
	if (!ring->iotlb)
		return -EFAULT;
	vhmq_ring_miss(ring, addr, perm);
	return -EAGAIN;
}

/* Is all of it known? Return: 0 or what why_not() says. */
static int find_all(struct vhmq_ring *ring, u64 addr, u64 len, u8 perm)
{
	if (addr + len < addr && addr + len != 0)
		return -EFAULT;
	while (len) {
		u64 part = len;

		if (!translate(ring, addr, &part, perm))
			return why_not(ring, addr, perm);
		addr += part;
		len -= part;
	}
	return 0;
}

/* Copies from the guest's memory, across regions. */
static int read_guest(struct vhmq_ring *ring, void *to, u64 addr, u64 len)
{
	while (len) {
		u64 part = len;
		void __user *from = translate(ring, addr, &part, VHOST_ACCESS_RO);

		if (!from || copy_from_user(to, from, part))
			return -EFAULT;
		to += part;
		addr += part;
		len -= part;
	}
	return 0;
}

static int write_guest(struct vhmq_ring *ring, u64 addr, const void *from, u64 len)
{
	while (len) {
		u64 part = len;
		void __user *to = translate(ring, addr, &part, VHOST_ACCESS_WO);

		if (!to || copy_to_user(to, from, part))
			return -EFAULT;
		from += part;
		addr += part;
		len -= part;
	}
	return 0;
}

/* ------------------------------------------------------------------------
 * Words of the rings
 *
 * desc, avail and used are the owner's addresses. When a ring is scattered they are
 * I/O virtual ones, and whoever uses them looks them up.
 */

static inline u64 to_addr(const void __user *at)
{
	return (unsigned long)at;
}

/* Where a word of a ring is; NULL, which faults, when it is not known or cut. */
static inline __virtio16 __user *word_at(struct vhmq_ring *ring, void __user *at, u8 perm)
{
	u64 len = sizeof(__virtio16);

	if (likely(!ring->scattered))
		return at;
	at = translate(ring, to_addr(at), &len, perm);
	return len == sizeof(__virtio16) ? at : NULL;
}

/* Used flags and the event index lie behind the rings (2.7.6, 2.7.8). */
static inline __virtio16 __user *used_event(const struct vhmq_ring *ring)
{
	return (__virtio16 __user *)&ring->avail->ring[ring->num];
}

static inline __virtio16 __user *avail_event(const struct vhmq_ring *ring)
{
	return (__virtio16 __user *)&ring->used->ring[ring->num];
}

static inline int get_word(struct vhmq_ring *ring, __virtio16 *word,
			   const __virtio16 __user *from)
{
	return get_user(*word, word_at(ring, (void __user *)from, VHOST_ACCESS_RO));
}

/* The log of a ring that is found through the IOTLB: by where it is in the owner's memory. */
static noinline int log_found(struct vhmq_ring *ring, const void __user *at, u64 len)
{
	int ret = 0;

	while (len && !ret) {
		const void __user *written = at;
		u64 part = len;

		if (ring->scattered)
			written = translate(ring, to_addr(at), &part, VHOST_ACCESS_WO);
		ret = vhmq_log_mark_written(ring->log_base, ring->physical, written, part);
		at += part;
		len -= part;
	}
	return ret;
}

/*
 * For the owner's dirty log: @len bytes at @at of the used ring were written. A
 * log that cannot be written fails the ring, so that no page is left behind.
 */
static inline int log_used(struct vhmq_ring *ring, const void __user *at, size_t len)
{
	if (likely(!ring->log_used))
		return 0;
	ring->logged = true;
	if (ring->iotlb)
		return log_found(ring, at, len);
	return vhmq_log_mark(ring->log_base, ring->log_addr + (at - (void __user *)ring->used),
			     len);
}

static inline int put_word(struct vhmq_ring *ring, u16 value, __virtio16 __user *to)
{
	return put_user(vhmq_cpu_to_16(ring, value), word_at(ring, to, VHOST_ACCESS_WO)) ?:
	       log_used(ring, to, sizeof(*to));
}

static inline int put_flags(struct vhmq_ring *ring, u16 flags)
{
	return put_word(ring, flags, &ring->used->flags);
}

/**
 * vhmq_ring_avail_size() - bytes of the avail ring
 * @num: size of the ring
 * @event_idx: VIRTIO_RING_F_EVENT_IDX
 *
 * Return: what the device reads, the event index included.
 */
size_t vhmq_ring_avail_size(unsigned int num, bool event_idx)
{
	return sizeof(struct vring_avail) + num * sizeof(__virtio16) +
	       (event_idx ? sizeof(__virtio16) : 0);
}

/**
 * vhmq_ring_used_size() - bytes of the used ring
 * @num: size of the ring
 * @event_idx: VIRTIO_RING_F_EVENT_IDX
 *
 * Return: what the device writes, the event index included.
 */
size_t vhmq_ring_used_size(unsigned int num, bool event_idx)
{
	return sizeof(struct vring_used) + num * sizeof(struct vring_used_elem) +
	       (event_idx ? sizeof(__virtio16) : 0);
}

/**
 * vhmq_ring_reset() - the state of a ring that was never set up
 * @ring: ring
 */
void vhmq_ring_reset(struct vhmq_ring *ring)
{
	memset(ring, 0, sizeof(*ring));
	ring->num = 1;
	ring->mem = &vhmq_mem_none;
}

/**
 * vhmq_ring_mend() - forget what was read of the ring, and that it was broken
 * @ring: ring whose addresses, base or memory table have just changed
 */
void vhmq_ring_mend(struct vhmq_ring *ring)
{
	ring->broken = false;
	ring->region = NULL;
	ring->heads_nr = 0;
	ring->avail_idx = ring->next_avail;
}

/**
 * vhmq_ring_place() - the addresses of a ring, or what they mean, have changed
 * @ring: ring
 */
void vhmq_ring_place(struct vhmq_ring *ring)
{
	ring->desc = (void __user *)(unsigned long)ring->desc_addr;
	ring->avail = (void __user *)(unsigned long)ring->avail_addr;
	ring->used = (void __user *)(unsigned long)ring->used_addr;
	ring->region = NULL;
	ring->ready = !ring->iotlb;
	ring->scattered = ring->iotlb;
}

/*
 * Looks for a part of the ring. @whole becomes its address when it is in one piece of
 * the owner's memory, or else NULL. Return: 0, or an error; the ring has failed
 * unless that is -EAGAIN.
 */
static int find_part(struct vhmq_ring *ring, u64 addr, u64 len, u8 perm, void __user **whole)
{
	void __user *first = NULL, *next = NULL;
	bool pieces = false;

	while (len) {
		u64 part = len;
		void __user *base = translate(ring, addr, &part, perm);
		int ret = base ? 0 : why_not(ring, addr, perm);

		/* Words are read and written by one access. */
		if (!ret && ((addr | to_addr(base)) & (sizeof(__virtio16) - 1)))
			ret = -EINVAL;
		if (ret) {
			if (ret != -EAGAIN)
				vhmq_ring_fail(ring, "Translation failure %d, ring at 0x%llx",
					       ret, (unsigned long long)addr);
			return ret;
		}
		if (!first)
			first = base;
		else if (base != next)
			pieces = true;
		next = base + part;
		addr += part;
		len -= part;
	}
	*whole = pieces ? NULL : first;
	return 0;
}

/**
 * vhmq_ring_find() - look up the ring in the device IOTLB
 * @ring: ring
 *
 * Return: false when it has failed, or is not all known and the owner was asked.
 * Context: run.
 */
bool vhmq_ring_find(struct vhmq_ring *ring)
{
	void __user *desc, *avail, *used;

	if (find_part(ring, ring->desc_addr, ring->num * sizeof(struct vring_desc),
		      VHOST_ACCESS_RO, &desc) ||
	    find_part(ring, ring->avail_addr, vhmq_ring_avail_size(ring->num, ring->event_idx),
		      VHOST_ACCESS_RO, &avail) ||
	    find_part(ring, ring->used_addr, vhmq_ring_used_size(ring->num, ring->event_idx),
		      VHOST_ACCESS_WO, &used))
		return false;

	if (desc && avail && used) {
		ring->desc = desc;
		ring->avail = avail;
		ring->used = used;
		ring->scattered = false;
	}
	ring->ready = true;
	return true;
}

/**
 * vhmq_ring_start() - begin to serve a ring
 * @ring: ring with its addresses, size, base and features set
 *
 * Return: 0, or -EFAULT when the used ring cannot be read or written, or the log
 * not written. So it is when the device IOTLB does not know the first words of the
 * used ring; the owner is asked for them.
 * Context: ioctl of the owner.
 */
int vhmq_ring_start(struct vhmq_ring *ring)
{
	__virtio16 idx;

	vhmq_ring_mend(ring);
	vhmq_ring_place(ring);
	ring->kick_off = false;
	ring->called_valid = false;
	if (ring->iotlb &&
	    (find_all(ring, ring->used_addr, sizeof(struct vring_used), VHOST_ACCESS_RO) ||
	     find_all(ring, ring->used_addr, sizeof(struct vring_used), VHOST_ACCESS_WO)))
		return -EFAULT;
	if (put_flags(ring, 0) || get_word(ring, &idx, &ring->used->idx))
		return -EFAULT;
	ring->next_used = vhmq_16_to_cpu(ring, idx);
	return 0;
}

/*
 * Reads the index of the guest. Return: 1 when it has moved, 0 when not, or a
 * negative error and the ring has failed.
 */
static int look(struct vhmq_ring *ring)
{
	__virtio16 word;
	u16 idx;

	if (unlikely(get_word(ring, &word, &ring->avail->idx))) {
		vhmq_ring_fail(ring, "Failed to access available index");
		return -EFAULT;
	}
	idx = vhmq_16_to_cpu(ring, word);
	if (idx == ring->avail_idx)
		return 0;
	if (unlikely((u16)(idx - ring->next_avail) > ring->num)) {
		vhmq_ring_fail(ring, "Invalid available index change from %u to %u",
			       ring->next_avail, idx);
		return -EINVAL;
	}
	ring->avail_idx = idx;

	/*
	 * The index before the entries and descriptors that it makes
	 * available. Pairs with the guest's write barrier between them and its
	 * store of the index (2.7.13.3).
	 */
	smp_rmb();
	return 1;
}

static inline int copy_heads(struct vhmq_ring *ring, unsigned int at, unsigned int count)
{
	const __virtio16 __user *from = &ring->avail->ring[at];

	if (count == 1)
		return get_word(ring, &ring->heads[0], from);
	if (unlikely(ring->scattered))
		return read_guest(ring, ring->heads, to_addr(from), count * sizeof(*from));
	return copy_from_user(ring->heads, from, count * sizeof(*from)) ? -EFAULT : 0;
}

/* Copies the avail entries from next_avail on, up to the end of the ring. */
static int fetch_heads(struct vhmq_ring *ring)
{
	unsigned int at = ring->next_avail & (ring->num - 1);
	unsigned int count = min3((unsigned int)avail_to_pop(ring), ring->num - at,
				  (unsigned int)VHMQ_RING_BATCH);

	if (unlikely(copy_heads(ring, at, count))) {
		ring->heads_nr = 0;
		vhmq_ring_fail(ring, "Failed to read head: idx %u", ring->next_avail);
		return -EFAULT;
	}
	ring->heads_first = ring->next_avail;
	ring->heads_nr = count;
	return 0;
}

/* The guest has written it on another CPU: have it come while this one is served. */
static inline void prefetch_desc(const struct vhmq_ring *ring, __virtio16 head)
{
	prefetch((__force const void *)&ring->desc[vhmq_16_to_cpu(ring, head) & (ring->num - 1)]);
}

/* Splits a buffer of the guest at the borders of regions. */
static inline int add_buffer(struct walk *walk, u64 addr, u32 len, u16 flags)
{
	struct vhmq_chain *chain = walk->chain;
	u8 perm = flags & VRING_DESC_F_WRITE ? VHOST_ACCESS_WO : VHOST_ACCESS_RO;
	unsigned int at = chain->out + chain->in;
	unsigned int first = at;
	u64 left = len;

	if (unlikely(addr + len < addr && addr + len != 0))
		return -EFAULT;
	while (left) {
		u64 part = left;
		void __user *base;

		if (unlikely(at == walk->size))
			return -ENOBUFS;
		base = translate(walk->ring, addr, &part, perm);
		if (unlikely(!base))
			return why_not(walk->ring, addr, perm);
		walk->iov[at].iov_base = base;
		walk->iov[at].iov_len = part;
		at++;
		addr += part;
		left -= part;
	}

	if (flags & VRING_DESC_F_WRITE) {
		chain->in += at - first;
		chain->in_len += len;
	} else {
		if (unlikely(chain->in))
			return -EINVAL;
		chain->out += at - first;
		chain->out_len += len;
	}
	return 0;
}

static int fail_buffer(struct walk *walk, int ret, const char *where, unsigned int i)
{
	if (ret == -EINVAL)
		vhmq_ring_fail(walk->ring, "%s has out after in: idx %u", where, i);
	else if (ret != -EAGAIN)
		vhmq_ring_fail(walk->ring, "Translation failure %d, %s idx %u", ret,
			       where, i);
	return ret;
}

/* An indirect table (2.7.5.3). */
static int walk_table(struct walk *walk, u64 addr, u32 len)
{
	struct vhmq_ring *ring = walk->ring;
	struct vring_desc table[VHMQ_TABLE_BATCH];
	unsigned int count = len / sizeof(*table);
	unsigned int first = 0, copied = 0, found = 0, i = 0;
	int ret;

	if (unlikely(len % sizeof(*table))) {
		vhmq_ring_fail(ring, "Invalid length in indirect descriptor: 0x%x", len);
		return -EINVAL;
	}
	/* They are chained by a field of 16 bits. Before they are looked up: that takes time. */
	if (unlikely(count > U16_MAX + 1)) {
		vhmq_ring_fail(ring, "Indirect buffer length too big: %u", len);
		return -E2BIG;
	}
	ret = find_all(ring, addr, len, VHOST_ACCESS_RO);
	if (unlikely(ret)) {
		if (ret != -EAGAIN)
			vhmq_ring_fail(ring, "Translation failure %d in indirect", ret);
		return ret;
	}

	for (;;) {
		const struct vring_desc *desc;
		u16 flags;

		if (unlikely(i >= count || ++found > count ||
			     ++walk->found > VHMQ_CHAIN_MAX)) {
			vhmq_ring_fail(ring, "Loop detected: last one at %u indirect size %u",
				       i, count);
			return -EINVAL;
		}
		if (i - first >= copied) {
			copied = min_t(unsigned int, count - i, VHMQ_TABLE_BATCH);
			first = i;
			if (unlikely(read_guest(ring, table, addr + i * sizeof(*table),
						copied * sizeof(*table)))) {
				vhmq_ring_fail(ring, "Failed indirect descriptor: idx %u", i);
				return -EINVAL;
			}
		}
		desc = &table[i - first];
		flags = vhmq_16_to_cpu(ring, desc->flags);
		if (unlikely(flags & VRING_DESC_F_INDIRECT)) {
			vhmq_ring_fail(ring, "Nested indirect descriptor: idx %u", i);
			return -EINVAL;
		}
		ret = add_buffer(walk, vhmq_64_to_cpu(ring, desc->addr),
				 vhmq_32_to_cpu(ring, desc->len), flags);
		if (unlikely(ret < 0))
			return fail_buffer(walk, ret, "Indirect descriptor", i);
		if (!(flags & VRING_DESC_F_NEXT))
			return 0;
		i = vhmq_16_to_cpu(ring, desc->next);
	}
}

/* A descriptor is written before it is made available, so in two halves as good as in one. */
static inline int read_desc(struct vhmq_ring *ring, const struct vring_desc __user *from,
			    struct vring_desc *desc)
{
	const u64 __user *words = (const u64 __user *)from;
	u64 *to = (u64 *)desc;

	if (unlikely(ring->scattered))
		return read_guest(ring, desc, to_addr(from), sizeof(*desc));
	if (!VHMQ_BY_WORDS)
		return copy_from_user(desc, from, sizeof(*desc)) ? -EFAULT : 0;
	return get_user(to[0], words) ?: get_user(to[1], words + 1);
}

static int walk_chain(struct walk *walk, unsigned int head)
{
	struct vhmq_ring *ring = walk->ring;
	unsigned int i = head, found = 0;

	for (;;) {
		struct vring_desc desc;
		u64 addr;
		u32 len;
		u16 flags;
		int ret;

		if (unlikely(i >= ring->num)) {
			vhmq_ring_fail(ring, "Desc index is %u > %u, head = %u", i,
				       ring->num, head);
			return -EINVAL;
		}
		if (unlikely(++found > ring->num || ++walk->found > VHMQ_CHAIN_MAX)) {
			vhmq_ring_fail(ring, "Loop detected: last one at %u vq size %u head %u",
				       i, ring->num, head);
			return -EINVAL;
		}
		if (unlikely(read_desc(ring, &ring->desc[i], &desc))) {
			vhmq_ring_fail(ring, "Failed to get descriptor: idx %u", i);
			return -EFAULT;
		}
		addr = vhmq_64_to_cpu(ring, desc.addr);
		len = vhmq_32_to_cpu(ring, desc.len);
		flags = vhmq_16_to_cpu(ring, desc.flags);

		if (flags & VRING_DESC_F_INDIRECT) {
			ret = walk_table(walk, addr, len);
			if (unlikely(ret < 0))
				return ret;
		} else {
			ret = add_buffer(walk, addr, len, flags);
			if (unlikely(ret < 0))
				return fail_buffer(walk, ret, "Descriptor", i);
		}
		if (!(flags & VRING_DESC_F_NEXT))
			return 0;
		i = vhmq_16_to_cpu(ring, desc.next);
	}
}

/**
 * vhmq_ring_pop() - take the next chain of the guest (2.7.13, 2.7.14)
 * @ring: ring
 * @iov: where the buffers of the chain go
 * @size: how many @iov can hold
 * @chain: the head and how much there is
 *
 * The guest must have been told not to kick.
 *
 * Return: 1, 0 when there is none, -EAGAIN when the owner is asked for a part of it, or
 * another negative error and the ring has failed; then the chain is still the next
 * one.
 * Context: run; may sleep to fault in memory of the guest.
 */
int vhmq_ring_pop(struct vhmq_ring *ring, struct iovec *iov, unsigned int size,
		  struct vhmq_chain *chain)
{
	struct walk walk = { .ring = ring, .chain = chain, .iov = iov, .size = size };
	u16 at;
	int ret;

	if (unlikely(ring->broken))
		return -EIO;
	if (!avail_to_pop(ring)) {
		ret = look(ring);
		if (ret <= 0)
			return ret;
	}
	at = ring->next_avail - ring->heads_first;
	if (at >= ring->heads_nr) {
		ret = fetch_heads(ring);
		if (unlikely(ret < 0))
			return ret;
		at = 0;
	}
	if (at + 1 < ring->heads_nr)
		prefetch_desc(ring, ring->heads[at + 1]);

	*chain = (struct vhmq_chain){ .head = vhmq_16_to_cpu(ring, ring->heads[at]) };
	if (unlikely(chain->head >= ring->num)) {
		vhmq_ring_fail(ring, "Guest says index %u > %u is available",
			       chain->head, ring->num);
		return -EINVAL;
	}
	ret = walk_chain(&walk, chain->head);
	if (unlikely(ret < 0))
		return ret;
	chain->cost = walk.found * sizeof(struct vring_desc);
	ring->next_avail++;
	return 1;
}

/**
 * vhmq_ring_unpop() - give back the chains that were popped last
 * @ring: ring
 * @count: how many
 */
void vhmq_ring_unpop(struct vhmq_ring *ring, unsigned int count)
{
	ring->next_avail -= count;
}

/**
 * vhmq_ring_empty() - is there nothing to pop?
 * @ring: ring
 *
 * Return: true when the guest has made nothing more available, or broke the ring.
 */
bool vhmq_ring_empty(struct vhmq_ring *ring)
{
	if (unlikely(ring->broken))
		return true;
	return !avail_to_pop(ring) && look(ring) <= 0;
}

static inline int put_elems(struct vhmq_ring *ring, void __user *to,
			    const struct vhmq_used_elem *elems, size_t len)
{
	if (unlikely(ring->scattered))
		return write_guest(ring, to_addr(to), elems, len);
	return copy_to_user(to, elems, len) ? -EFAULT : 0;
}

/* Writes entries from the one for index @first on. */
static int put_used(struct vhmq_ring *ring, u16 first, const struct vhmq_used_elem *elems,
		    unsigned int count)
{
	unsigned int at = first & (ring->num - 1);
	struct vring_used_elem __user *to = &ring->used->ring[at];
	unsigned int part;

	if (VHMQ_BY_WORDS && count == 1 && likely(!ring->scattered))
		return put_user(elems->id, &to->id) ?: put_user(elems->len, &to->len) ?:
		       log_used(ring, to, sizeof(*to));
	/* More than once round, when the guest has more under way than it may. */
	for (; count; count -= part) {
		part = min(count, ring->num - at);
		to = &ring->used->ring[at];
		if (put_elems(ring, to, elems, part * sizeof(*elems)) ||
		    log_used(ring, to, part * sizeof(*elems)))
			return -EFAULT;
		elems += part;
		at = 0;
	}
	return 0;
}

/* The entry of each batch; those that lie side by side are written together. */
static int put_batches(struct vhmq_ring *ring, const struct vhmq_used_elem *elems,
		       const u16 *sizes, unsigned int count)
{
	unsigned int first, last;

	for (first = 0; first < count; first = last + sizes[last]) {
		last = first;
		while (sizes[last] == 1 && last + 1 < count)
			last++;
		if (put_used(ring, ring->next_used + first, elems + first, last + 1 - first))
			return -EFAULT;
	}
	return 0;
}

/* The entries of @count chains were written, or not: then @error. */
static int publish_used(struct vhmq_ring *ring, unsigned int count, int error)
{
	u16 old = ring->next_used;
	u16 new = old + count;

	if (unlikely(error)) {
		vhmq_ring_fail(ring, "Failed to write used");
		return -EFAULT;
	}

	/*
	 * The entries before the index. Pairs with the guest's read barrier
	 * between its load of the index and of the entries.
	 */
	smp_wmb();
	ring->next_used = new;
	if (unlikely(put_word(ring, new, &ring->used->idx))) {
		vhmq_ring_fail(ring, "Failed to increment used idx");
		return -EFAULT;
	}

	/* Passed the place of the last interrupt by going round: no telling. */
	if (unlikely((u16)(new - ring->called) < (u16)(new - old)))
		ring->called_valid = false;
	return 0;
}

/**
 * vhmq_ring_push() - return chains to the guest (2.7.14)
 * @ring: ring
 * @elems: heads and the bytes written, in the ring's byte order
 * @count: how many
 *
 * Nothing is written outside the used ring, even if they are more than it holds:
 * a guest can make entries available again before they are returned. Also when
 * the ring has failed since they were popped.
 *
 * Return: 0, or a negative error and the ring has failed.
 * Context: run; may sleep to fault in memory of the guest.
 */
int vhmq_ring_push(struct vhmq_ring *ring, const struct vhmq_used_elem *elems,
		   unsigned int count)
{
	return publish_used(ring, count, put_used(ring, ring->next_used, elems, count));
}

/**
 * vhmq_ring_push_in_order() - return batches of chains to the guest (2.7.9)
 * @ring: ring with VIRTIO_F_IN_ORDER
 * @elems: for the batch that begins with the i-th chain, elems[i] is the head of its last
 *	chain and the bytes written to that one; entries in between are not looked at
 * @sizes: at the same places the chains of each batch, in all @count
 * @count: how many chains
 *
 * A batch gets one used entry, where its first chain's would be. The guest takes it
 * that the device has used up every buffer of the batch but for those of the last
 * chain. As vhmq_ring_push() in all else.
 *
 * Return: 0, or a negative error and the ring has failed.
 * Context: run; may sleep to fault in memory of the guest.
 */
int vhmq_ring_push_in_order(struct vhmq_ring *ring, const struct vhmq_used_elem *elems,
			    const u16 *sizes, unsigned int count)
{
	return publish_used(ring, count, put_batches(ring, elems, sizes, count));
}

/**
 * vhmq_ring_should_call() - does the guest want an interrupt? (2.7.7)
 * @ring: ring, after vhmq_ring_push()
 *
 * Return: true when it is to be interrupted for what was pushed since the last
 * time that this was asked.
 */
bool vhmq_ring_should_call(struct vhmq_ring *ring)
{
	__virtio16 word;
	bool valid;
	u16 old, new;

	/*
	 * The used index before the guest's wish. Pairs with the guest's
	 * barrier between the store of its wish and the load of the used index.
	 */
	smp_mb();

	if (ring->notify_on_empty && unlikely(!avail_to_pop(ring)))
		return true;

	if (!ring->event_idx) {
		if (unlikely(get_word(ring, &word, &ring->avail->flags))) {
			vhmq_ring_fail(ring, "Failed to get flags");
			return true;
		}
		return !(vhmq_16_to_cpu(ring, word) & VRING_AVAIL_F_NO_INTERRUPT);
	}

	old = ring->called;
	new = ring->next_used;
	valid = ring->called_valid;
	ring->called = new;
	ring->called_valid = true;
	if (unlikely(!valid))
		return true;
	if (unlikely(get_word(ring, &word, used_event(ring)))) {
		vhmq_ring_fail(ring, "Failed to get used event idx");
		return true;
	}
	return vring_need_event(vhmq_16_to_cpu(ring, word), new, old);
}

/**
 * vhmq_ring_enable_kick() - ask the guest to kick when it adds to the ring (2.7.10)
 * @ring: ring
 *
 * Return: true when the guest has added something since its index was read last;
 * it may not kick for that, so the caller has to look at the ring again.
 */
bool vhmq_ring_enable_kick(struct vhmq_ring *ring)
{
	int ret;

	if (unlikely(ring->broken) || !ring->kick_off)
		return false;
	ring->kick_off = false;
	if (ring->event_idx)
		ret = put_word(ring, ring->avail_idx, avail_event(ring));
	else
		ret = put_flags(ring, 0);
	if (unlikely(ret)) {
		vhmq_ring_fail(ring, "Failed to enable notification");
		return false;
	}

	/*
	 * The wish before the second look. Pairs with the guest's barrier
	 * between its store of the avail index and the load of the wish.
	 */
	smp_mb();
	return look(ring) > 0;
}

/**
 * vhmq_ring_disable_kick() - tell the guest that it need not kick
 * @ring: ring
 *
 * With an event index there is nothing to tell: the guest kicks when it passes
 * the index, once.
 */
void vhmq_ring_disable_kick(struct vhmq_ring *ring)
{
	if (unlikely(ring->broken) || ring->kick_off)
		return;
	ring->kick_off = true;
	if (ring->event_idx)
		return;
	if (unlikely(put_flags(ring, VRING_USED_F_NO_NOTIFY)))
		vhmq_ring_fail(ring, "Failed to disable notification");
}
