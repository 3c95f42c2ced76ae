// SPDX-License-Identifier: GPL-2.0-only
/* memory.c and ring_split.c: a device behind an IOMMU of the guest. */
#include <linux/slab.h>

#include "ring_fixture.h"

#define RO		VHOST_ACCESS_RO
#define WO		VHOST_ACCESS_WO
#define RW		VHOST_ACCESS_RW

static struct vhmq_iotlb *iotlb;

static void know(u64 start, u64 len, const void *at, u8 perm)
{
	assert_int_equal(vhmq_iotlb_update(iotlb, start, start + (len - 1), (uintptr_t)at, perm), 0);
	ring.mem = iotlb->mem;
}

static void forget(u64 start, u64 len)
{
	vhmq_iotlb_invalidate(iotlb, start, start + (len - 1));
}

static u64 find(u64 addr)
{
	const struct vhmq_region *region = vhmq_mem_find(iotlb->mem, addr);

	return region ? region->addr + (addr - region->start) : 0;
}

/* ------------------------------------------------------------------------
 * The table
 */

static void newest_counts(void **state)
{
	know(0x1000, 0x1000, (void *)0x100000, RW);
	know(0x3000, 0x1000, (void *)0x300000, RW);
	know(0x2000, 0x1000, (void *)0x200000, RW);
	assert_int_equal(find(0xfff), 0);
	assert_int_equal(find(0x1000), 0x100000);
	assert_int_equal(find(0x2fff), 0x200fff);
	assert_int_equal(find(0x3fff), 0x300fff);
	assert_int_equal(find(0x4000), 0);

	/* Over the end of one, all of the next, and the beginning of a third. */
	know(0x1800, 0x2000, (void *)0x900000, RO);
	assert_int_equal(iotlb->mem->nr, 1);
	assert_int_equal(find(0x1000), 0);
	assert_int_equal(find(0x1800), 0x900000);
	assert_int_equal(find(0x37ff), 0x901fff);
	assert_int_equal(find(0x3800), 0);
}

static void any_part_takes_all_of_it(void **state)
{
	know(0x1000, 0x1000, (void *)0x100000, RW);
	know(0x2000, 0x1000, (void *)0x200000, RW);
	know(0x4000, 0x1000, (void *)0x400000, RW);
	forget(0x3000, 0x1000);
	assert_int_equal(iotlb->mem->nr, 3);
	forget(0x1fff, 1);
	assert_int_equal(find(0x1000), 0);
	assert_int_equal(find(0x2000), 0x200000);
	forget(0, U64_MAX);
	assert_int_equal(iotlb->mem->nr, 0);
}

static void last_address_is_one(void **state)
{
	know(U64_MAX, 1, (void *)0x100000, RW);
	know(0, U64_MAX, (void *)0x1000, RW);
	assert_int_equal(find(U64_MAX), 0x100000);
	assert_int_equal(find(U64_MAX - 1), 0x1000 + U64_MAX - 1);
	forget(U64_MAX, 1);
	assert_int_equal(find(U64_MAX), 0);
	assert_int_equal(find(0), 0x1000);
}

static void oldest_gives_way(void **state)
{
	unsigned int i;

	vhmq_max_iotlb_entries = 1000;
	/* Each is older than the one before it in the table. */
	for (i = 1000; i; i--)
		know(i * 16, 16, (void *)(uintptr_t)(i * 16), RW);
	assert_int_equal(iotlb->mem->nr, 1000);
	for (i = 1; i <= 1000; i++)
		assert_int_equal(find(i * 16 + 3), i * 16 + 3);

	know(1000 * 16, 16, (void *)1, RW);	/* in place of itself */
	know(0x100000, 16, (void *)2, RW);
	assert_int_equal(iotlb->mem->nr, 1000);
	assert_int_equal(find(1000 * 16), 1);
	assert_int_equal(find(999 * 16), 0);
	assert_int_equal(find(998 * 16), 998 * 16);
	vhmq_max_iotlb_entries = 2048;
}

/* ------------------------------------------------------------------------
 * Rings
 */

/* A page for each part; their content is to be at the start of the high region. */
static void place_ring(void)
{
	memset(high, 0, 0x3000);
	ring.desc_addr = 0x10000;
	ring.avail_addr = 0x11000;
	ring.used_addr = 0x12000;
}

static void whole_ring_is_used_as_it_is(void **state)
{
	struct vring_desc *table = (void *)low;
	u8 *rings = high;

	place_ring();
	/* Two translations that fit, and a third. */
	know(0x10000, 0x40, rings, RO);
	know(0x10040, 0x40, rings + 0x40, RO);
	know(0x11000, 0x1000, rings + 0x1000, RO);
	know(0x12000, 0x1000, rings + 0x2000, RW);
	assert_int_equal(vhmq_ring_start(&ring), 0);
	assert_true(vhmq_ring_ready(&ring));
	assert_ptr_equal(ring.desc, rings);
	assert_ptr_equal(ring.used, rings + 0x2000);

	know(0x500000, 0x1000, table, RO);
	desc(2, 0x500010, 8, 0, 0);
	offer(2);
	assert_int_equal(pop(), 1);
	assert_ptr_equal(iov[0].iov_base, (u8 *)table + 0x10);
	assert_int_equal(push(2, 0), 0);
	assert_int_equal(used_idx(), 1);
	assert_int_equal(misses, 0);
}

static void what_is_not_known_is_asked_for(void **state)
{
	place_ring();
	assert_int_equal(vhmq_ring_start(&ring), -EFAULT);
	assert_int_equal(missed, 0x12000);
	know(0x12000, 0x1000, high + 0x2000, RW);
	assert_int_equal(vhmq_ring_start(&ring), 0);

	assert_false(vhmq_ring_ready(&ring));
	assert_int_equal(missed, 0x10000);
	assert_int_equal(missed_perm, RO);
	know(0x10000, 0x60, high, RO);
	assert_false(vhmq_ring_ready(&ring));
	assert_int_equal(missed, 0x10060);
	know(0x10060, 0x100, high + 0x60, RO);
	assert_false(vhmq_ring_ready(&ring));
	assert_int_equal(missed, 0x11000);
	know(0x11000, 0x1000, high + 0x1000, RO);
	assert_true(vhmq_ring_ready(&ring));

	/* A buffer, the second part of one, and a table. */
	desc(0, 0x500ff8, 16, VRING_DESC_F_WRITE, 0);
	desc(1, 0x600000, 16, VRING_DESC_F_INDIRECT, 0);
	offer(0);
	offer(1);
	assert_int_equal(pop(), -EAGAIN);
	assert_int_equal(missed, 0x500ff8);
	assert_int_equal(missed_perm, WO);
	know(0x500000, 0x1000, low, RW);
	assert_int_equal(pop(), -EAGAIN);
	assert_int_equal(missed, 0x501000);
	know(0x501000, 0x1000, low + 0x4000, RW);
	vhmq_ring_place(&ring);
	assert_true(vhmq_ring_ready(&ring));
	assert_int_equal(pop(), 1);
	assert_int_equal(chain.in, 2);
	assert_ptr_equal(iov[1].iov_base, low + 0x4000);

	assert_int_equal(pop(), -EAGAIN);
	assert_int_equal(missed, 0x600000);
	assert_int_equal(missed_perm, RO);
	set_desc(table_at(low, 0x8000), 0x500000, 4, 0, 0);
	know(0x600000, 16, low + 0x8000, RO);
	assert_int_equal(pop(), 1);
	assert_int_equal(chain.out_len, 4);
	assert_int_equal(pop(), 0);
	assert_int_equal(misses, 7);
	assert_int_equal(failures, 0);
}

static void permission_is_needed(void **state)
{
	place_ring();
	know(0x10000, 0x2000, high, RW);
	know(0x12000, 0x1000, high + 0x2000, RW);
	assert_int_equal(vhmq_ring_start(&ring), 0);
	assert_true(vhmq_ring_ready(&ring));

	know(0x500000, 0x1000, low, RO);
	desc(0, 0x500000, 16, VRING_DESC_F_WRITE, 0);
	offer(0);
	assert_failed(pop(), "Translation failure -1");
	assert_int_equal(misses, 0);

	vhmq_ring_mend(&ring);
	failures = 0;
	know(0x12000, 0x1000, high + 0x2000, RO);
	vhmq_ring_place(&ring);
	assert_false(vhmq_ring_ready(&ring));
	assert_int_equal(failures, 1);
}

static void cut_words_fail(void **state)
{
	place_ring();
	know(0x10000, 0x1003, high, RW);
	know(0x11003, 0x2000, low, RW);
	assert_int_equal(vhmq_ring_start(&ring), 0);
	assert_false(vhmq_ring_ready(&ring));
	assert_int_equal(failures, 1);
}

/*
 * The ring lies in pieces of PIECE bytes, which cut descriptors and used entries, from
 * the end of the low region down.
 */
#define PIECE		20
#define PIECES		800
#define RINGS		0x10000ull

static u8 *piece(unsigned int i)
{
	return low + SIZE - (i + 1) * 32;
}

static void guest_copy(u64 addr, void *data, size_t len, bool write)
{
	size_t i;

	for (i = 0; i < len; i++, addr++) {
		u8 *at = piece((addr - RINGS) / PIECE) + (addr - RINGS) % PIECE;

		if (write)
			*at = ((u8 *)data)[i];
		else
			((u8 *)data)[i] = *at;
	}
}

static void scatter(unsigned int num)
{
	unsigned int i;

	memset(low, 0, SIZE);
	ring.num = num;
	ring.desc_addr = RINGS;
	ring.avail_addr = RINGS + num * 16;
	ring.used_addr = (ring.avail_addr + vhmq_ring_avail_size(num, true) + 3) & ~3ull;
	for (i = 0; i < PIECES; i++)
		know(RINGS + i * PIECE, PIECE, piece(i), RW);
	know(0x900000, SIZE, high, RW);
	assert_int_equal(vhmq_ring_start(&ring), 0);
	assert_true(vhmq_ring_ready(&ring));
	assert_true(ring.scattered);
}

static void guest_offer(u16 head, u64 addr, u32 len, u16 flags)
{
	struct vring_desc desc;
	__le16 word = cpu_to_le16(head);

	set_desc(&desc, addr, len, flags, 0);
	guest_copy(ring.desc_addr + head * sizeof(desc), &desc, sizeof(desc), true);
	guest_copy(ring.avail_addr + 4 + (next++ & (ring.num - 1)) * 2, &word, 2, true);
	word = cpu_to_le16(next);
	guest_copy(ring.avail_addr + 2, &word, 2, true);
}

static u16 guest_word(u64 addr)
{
	__le16 word;

	guest_copy(addr, &word, 2, false);
	return le16_to_cpu(word);
}

static void scattered_ring_works(void **state)
{
	struct vhmq_used_elem elems[64], seen;
	unsigned int round, i, n = 0;
	__le16 word;

	ring.event_idx = true;
	scatter(64);
	vhmq_ring_disable_kick(&ring);
	for (round = 1; round < 200; round++) {
		unsigned int count = round % 64 + 1;

		for (i = 0; i < count; i++)
			guest_offer((n + i) % 64, 0x900000 + i * 8, i + 1, 0);
		for (i = 0; i < count; i++) {
			assert_int_equal(pop(), 1);
			assert_int_equal(chain.head, (n + i) % 64);
			assert_int_equal(chain.out_len, i + 1);
			assert_ptr_equal(iov[0].iov_base, high + i * 8);
			elems[i].id = vhmq_cpu_to_32(&ring, chain.head);
			elems[i].len = vhmq_cpu_to_32(&ring, i);
		}
		assert_int_equal(pop(), 0);
		assert_false(vhmq_ring_enable_kick(&ring));
		assert_int_equal(guest_word(ring.used_addr + 4 + 64 * 8), (u16)(n + count));
		vhmq_ring_disable_kick(&ring);
		assert_int_equal(vhmq_ring_push(&ring, elems, count), 0);
		assert_int_equal(guest_word(ring.used_addr + 2), (u16)(n + count));
		for (i = 0; i < count; i++) {
			guest_copy(ring.used_addr + 4 + (n + i) % 64 * 8, &seen, 8, false);
			assert_int_equal(le32_to_cpu(seen.id), (n + i) % 64);
			assert_int_equal(le32_to_cpu(seen.len), i);
		}
		word = cpu_to_le16(n);		/* used event */
		guest_copy(ring.avail_addr + 4 + 64 * 2, &word, 2, true);
		assert_true(vhmq_ring_should_call(&ring));
		n += count;
	}
	assert_int_equal(failures, 0);
	assert_int_equal(misses, 0);
}

static void scattered_ring_is_logged_where_it_is(void **state)
{
	scatter(8);
	ring.log_used = true;
	logged = 0;
	assert_int_equal(push(1, 0), 0);
	/* The entry, in one piece or two, and the index. */
	assert_in_range(logged, 2, 3);
	assert_ptr_equal(logged_at, piece((ring.used_addr + 2 - RINGS) / PIECE) +
			 (ring.used_addr + 2 - RINGS) % PIECE);
	assert_int_equal(logged_len, 2);

	log_result = -EFAULT;
	assert_int_equal(push(1, 0), -EFAULT);
	assert_int_equal(failures, 1);
}

static int setup_iotlb(void **state)
{
	setup(state);
	iotlb = vhmq_iotlb_alloc();
	free_ring();
	vhmq_ring_reset(&ring);
	ring.num = 8;
	ring.little_endian = true;
	ring.iotlb = true;
	ring.mem = iotlb->mem;
	return 0;
}

static int teardown_iotlb(void **state)
{
	ring.desc = NULL;
	ring.avail = NULL;
	ring.used = NULL;
	vhmq_iotlb_free(iotlb);
	return teardown(state);
}

#define iotlb_test(name) cmocka_unit_test_setup_teardown(name, setup_iotlb, teardown_iotlb)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		iotlb_test(newest_counts),
		iotlb_test(any_part_takes_all_of_it),
		iotlb_test(last_address_is_one),
		iotlb_test(oldest_gives_way),
		iotlb_test(whole_ring_is_used_as_it_is),
		iotlb_test(what_is_not_known_is_asked_for),
		iotlb_test(permission_is_needed),
		iotlb_test(cut_words_fail),
		iotlb_test(scattered_ring_works),
		iotlb_test(scattered_ring_is_logged_where_it_is),
	};

	return cmocka_run_group_tests_name("iotlb", tests, NULL, NULL);
}
