// SPDX-License-Identifier: GPL-2.0-only
/* The guest: what it writes to memory, in order or not. */
#include "actors.h"

/* Where the arena begins in the guest, most often. */
#define TABLES	0x10000

/* Addresses of guests have these for the upper part. */
u64 guest_in(void)
{
	static const u64 bases[] = { 0x10000, 0x10000, 0, ~0ull - 0x3fff };
	u16 at = u16_in();

	return bases[at >> 14] + (at & 0x3fff);
}

/* The guest writes to its ring, by guest addresses where it has an IOMMU. */
static void guest_write(const struct vhmq_queue *queue, u64 addr, const void *from, size_t len)
{
	const struct vhmq_ring *ring = &queue->ring;
	const u8 *bytes = from;

	for (; len--; addr++, bytes++) {
		u64 at = addr;

		if (ring->iotlb) {
			const struct vhmq_region *region = model_find(ring->mem, addr);

			if (!region)
				continue;
			at = region->addr + (addr - region->start);
		}
		if (in_arena((void *)at, 1))
			*(u8 *)at = *bytes;
	}
}

/* A descriptor that may be anything. */
static struct vring_desc desc_in(const struct vhmq_queue *queue)
{
	const struct vhmq_ring *ring = &queue->ring;
	u64 addr = guest_in();
	u16 len = u16_in();
	u8 flags = u8_in(), next = u8_in();
	struct vring_desc desc;

	desc.addr = ring->little_endian ? cpu_to_le64(addr) : addr;
	desc.len = vhmq_cpu_to_32(ring, len < 0xfff0 ? len & 0xfff : ~0u - (len & 15));
	desc.flags = vhmq_cpu_to_16(ring, flags & 15);
	desc.next = vhmq_cpu_to_16(ring, flags & 0x80 ? next << 8 : next);
	return desc;
}

static void offer(struct vhmq_queue *queue, u16 head, u16 step)
{
	struct vhmq_ring *ring = &queue->ring;
	struct guest *guest = guest_of(queue);
	__virtio16 word = vhmq_cpu_to_16(ring, head);

	guest_write(queue, ring->avail_addr + sizeof(struct vring_avail) +
		    (guest->offered & (ring->num - 1)) * sizeof(word), &word, sizeof(word));
	guest->offered += step;
	word = vhmq_cpu_to_16(ring, guest->offered);
	guest_write(queue, ring->avail_addr + offsetof(struct vring_avail, idx), &word, sizeof(word));
}

static void poke(void)
{
	u16 at = u16_in();
	u8 len = u8_in() % 32;

	while (len--)
		arena[at++ % ARENA] = u8_in();
}

/* A ring full of chains that are as they should be. */
static void fill(struct vhmq_queue *queue)
{
	struct vhmq_ring *ring = &queue->ring;
	u64 addr = guest_in();
	u16 len = u16_in() & 0x7ff;
	u8 count = u8_in();
	bool write = count & 0x80;
	unsigned int i;

	for (i = 0; i < min(count & 0x7fu, ring->num); i++) {
		struct vring_desc desc = {
			.addr = ring->little_endian ? cpu_to_le64(addr + i) : addr + i,
			.len = vhmq_cpu_to_32(ring, len),
			.flags = vhmq_cpu_to_16(ring, write ? VRING_DESC_F_WRITE : 0),
		};

		guest_write(queue, ring->desc_addr + i * sizeof(desc), &desc, sizeof(desc));
		offer(queue, i, 1);
	}
}

/* A chain as it should be: @count descriptors, in the ring or in a table. */
static struct vring_desc good_desc(const struct vhmq_queue *queue, u64 addr, u16 flags, u16 next)
{
	const struct vhmq_ring *ring = &queue->ring;

	return (struct vring_desc){
		.addr = ring->little_endian ? cpu_to_le64(addr) : addr,
		.len = vhmq_cpu_to_32(ring, 64),
		.flags = vhmq_cpu_to_16(ring, flags),
		.next = vhmq_cpu_to_16(ring, next),
	};
}

static void chain(struct vhmq_queue *queue, bool indirect)
{
	const struct vhmq_ring *ring = &queue->ring;
	u8 at = u8_in(), head = u8_in() % ring->num, count = u8_in() % 32 + 1, outs = u8_in();
	u64 addr = guest_in();
	struct vring_desc desc;
	unsigned int i;

	for (i = 0; i < count; i++) {
		u16 flags = (i + 1 < count ? VRING_DESC_F_NEXT : 0) |
			    (i >= outs % 32 ? VRING_DESC_F_WRITE : 0);
		unsigned int here = indirect ? i : (head + i) % ring->num;
		unsigned int next = indirect ? i + 1 : (head + i + 1) % ring->num;

		desc = good_desc(queue, addr + i * 64, flags, next);
		guest_write(queue, ring->desc_addr + here * sizeof(desc), &desc,
			    indirect ? 0 : sizeof(desc));
		if (indirect)
			memcpy(&arena[(at * 16u + i * sizeof(desc)) % (ARENA - 16)], &desc,
			       sizeof(desc));
	}
	if (indirect) {
		desc = good_desc(queue, TABLES + at * 16u, VRING_DESC_F_INDIRECT, 0);
		desc.len = vhmq_cpu_to_32(ring, count * sizeof(desc));
		guest_write(queue, ring->desc_addr + head * sizeof(desc), &desc, sizeof(desc));
	}
	offer(queue, head, 1);
}

void guest_does(struct vhmq_queue *queue, u8 what)
{
	struct vhmq_ring *ring = &queue->ring;
	struct vring_desc desc;
	u8 i;

	switch (what % 16) {
	case 0:
		i = u8_in();
		desc = desc_in(queue);
		guest_write(queue, ring->desc_addr + i % ring->num * sizeof(desc), &desc,
			    sizeof(desc));
		break;
	case 1:
		i = u8_in();
		desc = desc_in(queue);
		memcpy(&arena[i * sizeof(desc)], &desc, sizeof(desc));
		break;
	case 2:
		offer(queue, u8_in(), 1);
		break;
	case 3:
		offer(queue, u8_in(), u16_in());
		break;
	case 4:
		poke();
		break;
	case 5:
		fill(queue);
		break;
	case 6:
		i = u8_in();
		arm_flip(i, u16_in(), u64_in(), 1u << (what >> 4) % 2);
		break;
	case 7:
		i = u8_in();
		arm_flip(i, u16_in(), u64_in(), 4u << (what >> 4) % 2);
		break;
	case 8:
		arm_fault(u8_in());
		break;
	case 9:
	case 10:
	case 11:
		chain(queue, false);
		break;
	default:
		chain(queue, true);
		break;
	}
}
