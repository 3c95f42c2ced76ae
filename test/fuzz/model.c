// SPDX-License-Identifier: GPL-2.0-only
/*
 * What vhmq_ring_pop() is to find, written down once more: slowly, by linear searches, from
 * the specification and from what ring_split.h promises. It reads memory that stands still.
 */
#include "world.h"

/* Descriptors of a chain. */
#define CHAIN_MAX	2048
/* Descriptors of a table that are read at a time. */
#define TABLE_BATCH	8u

struct walk {
	const struct vhmq_ring *ring;
	struct model_chain *chain;
	unsigned int found;
};

const struct vhmq_region *model_find(const struct vhmq_mem *mem, u64 addr)
{
	const struct vhmq_region *lowest = NULL;
	unsigned int i;

	for (i = 0; i < mem->nr; i++) {
		const struct vhmq_region *region = &mem->regions[i];

		if (addr < region->start || addr > region->last)
			continue;
		if (!lowest || region->start < lowest->start ||
		    (region->start == lowest->start && region->last < lowest->last))
			lowest = region;
	}
	return lowest;
}

/* A piece in one region. Return: 0 and its length in @len, or an error. */
static int find_piece(const struct vhmq_ring *ring, u64 addr, u64 *len, u8 perm, u64 *at)
{
	const struct vhmq_region *region = model_find(ring->mem, addr);

	if (!region)
		return ring->iotlb ? -EAGAIN : -EFAULT;
	if (!(region->perm & perm))
		return -EPERM;
	if (*len - 1 > region->last - addr)
		*len = region->last - addr + 1;
	*at = region->addr + (addr - region->start);
	return 0;
}

static bool wraps(u64 addr, u64 len)
{
	return len && addr + (len - 1) < addr;
}

int model_range(const struct vhmq_ring *ring, u64 addr, u64 len, u8 perm)
{
	if (wraps(addr, len))
		return -EFAULT;
	while (len) {
		u64 part = len, at;
		int ret = find_piece(ring, addr, &part, perm, &at);

		if (ret)
			return ret;
		addr += part;
		len -= part;
	}
	return 0;
}

int model_read(const struct vhmq_ring *ring, u64 addr, void *to, size_t len)
{
	while (len) {
		u64 part = len, at;

		if (find_piece(ring, addr, &part, VHOST_ACCESS_RO, &at) ||
		    !in_arena((void *)at, part))
			return -EFAULT;
		memcpy(to, (void *)at, part);
		to += part;
		addr += part;
		len -= part;
	}
	return 0;
}

int model_read_ring(const struct vhmq_ring *ring, const void *at, void *to, size_t len)
{
	if (ring->scattered)
		return model_read(ring, (uintptr_t)at, to, len);
	if (!in_arena(at, len))
		return -EFAULT;
	memcpy(to, at, len);
	return 0;
}

static int add(struct walk *walk, const struct vring_desc *desc)
{
	const struct vhmq_ring *ring = walk->ring;
	struct model_chain *chain = walk->chain;
	u64 addr = vhmq_64_to_cpu(ring, desc->addr), left = vhmq_32_to_cpu(ring, desc->len);
	bool write = vhmq_16_to_cpu(ring, desc->flags) & VRING_DESC_F_WRITE;
	unsigned int pieces = 0;

	if (wraps(addr, left))
		return -EINVAL;
	*(write ? &chain->in_len : &chain->out_len) += left;
	while (left) {
		unsigned int n = chain->out + chain->in + pieces;
		u64 part = left, at;
		int ret;

		if (n == UIO_MAXIOV)
			return -EINVAL;
		ret = find_piece(ring, addr, &part, write ? VHOST_ACCESS_WO : VHOST_ACCESS_RO, &at);
		if (ret)
			return ret == -EAGAIN ? ret : -EINVAL;
		chain->iov[n] = (struct iovec){ (void *)at, part };
		pieces++;
		addr += part;
		left -= part;
	}
	if (!write && chain->in)
		return -EINVAL;
	*(write ? &chain->in : &chain->out) += pieces;
	return 1;
}

/* Return: 1, -EAGAIN or -EINVAL. */
static int walk_table(struct walk *walk, u64 addr, u32 len)
{
	const struct vhmq_ring *ring = walk->ring;
	unsigned int count = len / 16, found = 0, first = 0, copied = 0, i = 0;
	struct vring_desc table[TABLE_BATCH], *desc;
	int ret;

	if (len % 16 || count > 65536)
		return -EINVAL;
	ret = model_range(ring, addr, len, VHOST_ACCESS_RO);
	if (ret)
		return ret == -EAGAIN ? ret : -EINVAL;
	for (;;) {
		u16 flags;

		if (i >= count || ++found > count || ++walk->found > CHAIN_MAX)
			return -EINVAL;
		if (i < first || i - first >= copied) {
			first = i;
			copied = min(count - i, TABLE_BATCH);
			if (model_read(ring, addr + i * 16ull, table, copied * 16))
				return -EINVAL;
		}
		desc = &table[i - first];
		flags = vhmq_16_to_cpu(ring, desc->flags);
		if (flags & VRING_DESC_F_INDIRECT)
			return -EINVAL;
		ret = add(walk, desc);
		if (ret < 0 || !(flags & VRING_DESC_F_NEXT))
			return ret;
		i = vhmq_16_to_cpu(ring, desc->next);
	}
}

static int walk_ring(struct walk *walk, unsigned int i)
{
	const struct vhmq_ring *ring = walk->ring;
	unsigned int found = 0;

	for (;;) {
		struct vring_desc desc;
		u16 flags;
		int ret;

		if (i >= ring->num || ++found > ring->num || ++walk->found > CHAIN_MAX)
			return -EINVAL;
		if (model_read_ring(ring, &ring->desc[i], &desc, sizeof(desc)))
			return -EINVAL;
		flags = vhmq_16_to_cpu(ring, desc.flags);
		if (flags & VRING_DESC_F_INDIRECT)
			ret = walk_table(walk, vhmq_64_to_cpu(ring, desc.addr),
					 vhmq_32_to_cpu(ring, desc.len));
		else
			ret = add(walk, &desc);
		if (ret < 0 || !(flags & VRING_DESC_F_NEXT))
			return ret;
		i = vhmq_16_to_cpu(ring, desc.next);
	}
}

static int pop(struct walk *walk)
{
	const struct vhmq_ring *ring = walk->ring;
	u16 avail = ring->avail_idx, at = ring->next_avail - ring->heads_first;
	__virtio16 word, heads[VHMQ_RING_BATCH];

	if (ring->broken)
		return -EIO;
	if (avail == ring->next_avail) {
		if (model_read_ring(ring, &ring->avail->idx, &word, sizeof(word)))
			return -EINVAL;
		avail = vhmq_16_to_cpu(ring, word);
		if (avail == ring->next_avail)
			return 0;
		if ((u16)(avail - ring->next_avail) > ring->num)
			return -EINVAL;
	}
	if (at < ring->heads_nr) {
		word = ring->heads[at];
	} else {
		unsigned int first = ring->next_avail & (ring->num - 1);
		unsigned int count = min3((unsigned int)(u16)(avail - ring->next_avail),
					  ring->num - first, (unsigned int)VHMQ_RING_BATCH);

		if (model_read_ring(ring, &ring->avail->ring[first], heads, count * sizeof(word)))
			return -EINVAL;
		word = heads[0];
	}
	walk->chain->head = vhmq_16_to_cpu(ring, word);
	return walk->chain->head < ring->num ? walk_ring(walk, walk->chain->head) : -EINVAL;
}

void model_pop(const struct vhmq_ring *ring, struct model_chain *chain)
{
	struct walk walk = { .ring = ring, .chain = chain };

	chain->out = 0;
	chain->in = 0;
	chain->out_len = 0;
	chain->in_len = 0;
	chain->ret = pop(&walk);
	chain->cost = walk.found * sizeof(struct vring_desc);
}
