// SPDX-License-Identifier: GPL-2.0-only
/* ring_split.c: what a guest may do. */
#include "ring_fixture.h"

/* ------------------------------------------------------------------------
 * Chains
 */

static void empty_ring_pops_nothing(void **state)
{
	assert_int_equal(pop(), 0);
	assert_true(vhmq_ring_empty(&ring));
	assert_int_equal(failures, 0);
}

static void chain_is_out_then_in(void **state)
{
	desc(3, LOW + 0x10, 10, VRING_DESC_F_NEXT, 1);
	desc(1, HIGH, 20, VRING_DESC_F_NEXT, 5);
	desc(5, LOW, 30, VRING_DESC_F_NEXT | VRING_DESC_F_WRITE, 0);
	desc(0, LOW + 0x100, 40, VRING_DESC_F_WRITE, 0);
	offer(3);

	assert_false(vhmq_ring_empty(&ring));
	assert_int_equal(pop(), 1);
	assert_int_equal(chain.head, 3);
	assert_int_equal(chain.out, 2);
	assert_int_equal(chain.in, 2);
	assert_int_equal(chain.out_len, 30);
	assert_int_equal(chain.in_len, 70);
	assert_ptr_equal(iov[0].iov_base, low + 0x10);
	assert_ptr_equal(iov[1].iov_base, high);
	assert_ptr_equal(iov[3].iov_base, low + 0x100);
	assert_int_equal(iov[3].iov_len, 40);
	assert_int_equal(pop(), 0);
}

static void legacy_ring_has_native_order(void **state)
{
	ring.little_endian = false;
	ring.desc[2] = (struct vring_desc){ .addr = LOW, .len = 5 };
	ring.avail->ring[0] = 2;
	ring.avail->idx = 1;
	assert_int_equal(pop(), 1);
	assert_int_equal(chain.head, 2);
	assert_int_equal(chain.out_len, 5);
}

static void every_size_wraps(void **state)
{
	static const unsigned int sizes[] = { 1, 2, 4, 64, 128, 1024, VHMQ_RING_MAX };
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		resize(sizes[i]);
		for (n = 0; n < sizes[i]; n++)
			desc(n, LOW, 64, 0, 0);
		/* More than 65536, in steps that do not divide the size. */
		for (n = 0; n < 70000; ) {
			unsigned int step = min(sizes[i], n % 97 + 1), k;

			for (k = 0; k < step; k++)
				offer((n + k) % sizes[i]);
			for (k = 0; k < step; k++) {
				assert_int_equal(pop(), 1);
				assert_int_equal(chain.head, (n + k) % sizes[i]);
				assert_int_equal(push(chain.head, 0), 0);
			}
			assert_int_equal(pop(), 0);
			n += step;
			assert_int_equal(used_idx(), (u16)n);
		}
	}
	assert_int_equal(failures, 0);
}

static void unpop_gives_the_same_again(void **state)
{
	unsigned int i, head;

	resize(256);
	for (i = 0; i < 200; i++) {
		desc(i, LOW + i, 64, 0, 0);
		offer(i);
	}
	/* Within what was copied at a time, over its border, and all of it. */
	for (i = 0; i < 130; i++)
		assert_int_equal(pop(), 1);
	vhmq_ring_unpop(&ring, 1);
	assert_int_equal(pop(), 1);
	assert_int_equal(chain.head, 129);
	vhmq_ring_unpop(&ring, 10);
	for (head = 120; head < 130; head++) {
		assert_int_equal(pop(), 1);
		assert_int_equal(chain.head, head);
	}
	vhmq_ring_unpop(&ring, 130);
	for (head = 0; head < 200; head++) {
		assert_int_equal(pop(), 1);
		assert_int_equal(chain.head, head);
	}
	assert_int_equal(pop(), 0);
}

static void mend_reads_all_anew(void **state)
{
	desc(1, LOW, 1, 0, 0);
	desc(2, LOW, 2, 0, 0);
	offer(1);
	offer(1);
	assert_int_equal(pop(), 1);
	vhmq_ring_unpop(&ring, 1);
	ring.avail->ring[0] = cpu_to_le16(2);
	vhmq_ring_mend(&ring);
	assert_int_equal(pop(), 1);
	assert_int_equal(chain.head, 2);
}

/* ------------------------------------------------------------------------
 * Translation
 */

static void buffer_splits_at_the_border(void **state)
{
	desc(0, HIGH - 3, 7, 0, 0);
	offer(0);
	assert_int_equal(pop(), 1);
	assert_int_equal(chain.out, 2);
	assert_int_equal(chain.out_len, 7);
	assert_ptr_equal(iov[0].iov_base, low + SIZE - 3);
	assert_int_equal(iov[0].iov_len, 3);
	assert_ptr_equal(iov[1].iov_base, high);
	assert_int_equal(iov[1].iov_len, 4);
}

static void buffer_may_end_where_the_memory_does(void **state)
{
	desc(0, HOLE - 16, 16, 0, 0);
	desc(1, TOP + 0xff0, 16, 0, 0);
	offer(0);
	offer(1);
	assert_int_equal(pop(), 1);
	assert_int_equal(chain.out, 1);
	assert_int_equal(pop(), 1);
	assert_ptr_equal(iov[0].iov_base, top + 0xff0);
}

static void buffer_past_the_end_fails(void **state)
{
	desc(0, HOLE - 16, 17, 0, 0);
	offer(0);
	assert_failed(pop(), "Translation failure -14");
}

static void buffer_before_the_start_fails(void **state)
{
	desc(0, LOW - 1, 2, 0, 0);
	offer(0);
	assert_failed(pop(), "Translation failure");
}

static void buffer_over_the_top_fails(void **state)
{
	desc(0, TOP + 0xff0, 17, 0, 0);
	offer(0);
	assert_failed(pop(), "Translation failure");
}

static void longest_buffer_fails(void **state)
{
	desc(0, LOW, 0xffffffff, 0, 0);
	offer(0);
	assert_failed(pop(), "Translation failure");
}

static void empty_buffer_is_nothing(void **state)
{
	/* Nothing is looked up for it, wherever it is. */
	desc(0, HOLE, 0, 0, 0);
	offer(0);
	assert_int_equal(pop(), 1);
	assert_int_equal(chain.out + chain.in, 0);
	assert_int_equal(chain.out_len, 0);
}

static void too_many_buffers_fail(void **state)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		desc(i, LOW, 1, VRING_DESC_F_NEXT, i + 1);
	desc(4, LOW, 1, 0, 0);
	offer(0);
	assert_int_equal(vhmq_ring_pop(&ring, iov, 4, &chain), -ENOBUFS);
	assert_failed(-1, "Translation failure -105");
}

static void lowest_of_overlapping_regions_counts(void **state)
{
	u8 *extra = malloc(SIZE);

	/* Begins in the middle of the low region and ends behind it. */
	mem->nr = 0;
	add_region(LOW + 0x8000, SIZE, extra);
	add_region(LOW, SIZE, low);
	vhmq_mem_sort(mem);
	vhmq_ring_mend(&ring);

	desc(0, LOW + SIZE, 16, 0, 0);	/* leaves a hint at the later one */
	desc(1, LOW + 0x9000, 16, 0, 0);
	desc(2, LOW + SIZE - 8, 16, 0, 0);
	offer(0);
	offer(1);
	offer(2);
	assert_int_equal(pop(), 1);
	assert_ptr_equal(iov[0].iov_base, extra + 0x8000);
	assert_int_equal(pop(), 1);
	assert_ptr_equal(iov[0].iov_base, low + 0x9000);
	assert_int_equal(pop(), 1);
	assert_int_equal(chain.out, 2);
	assert_ptr_equal(iov[1].iov_base, extra + 0x8000);
	free(extra);
}

/* ------------------------------------------------------------------------
 * Indirect tables
 */

static void table_is_followed(void **state)
{
	struct vring_desc *table = table_at(low, 0x100);
	unsigned int i;

	/* More than is copied at a time, and not in order. */
	for (i = 0; i < 40; i++)
		set_desc(&table[i * 7 % 40], HIGH + i * 16, 16,
			 (i < 39 ? VRING_DESC_F_NEXT : 0) | (i < 20 ? 0 : VRING_DESC_F_WRITE),
			 (i + 1) * 7 % 40);
	desc(6, LOW + 0x100, 40 * 16, VRING_DESC_F_INDIRECT, 0);
	offer(6);
	assert_int_equal(pop(), 1);
	assert_int_equal(chain.head, 6);
	assert_int_equal(chain.out, 20);
	assert_int_equal(chain.in, 20);
	for (i = 0; i < 40; i++)
		assert_ptr_equal(iov[i].iov_base, high + i * 16);
}

static void table_may_cross_regions(void **state)
{
	struct vring_desc table[6];
	unsigned int i;

	for (i = 0; i < 6; i++)
		set_desc(&table[i], LOW + i, 1, i < 5 ? VRING_DESC_F_NEXT : 0, i + 1);
	/* The border lies within a descriptor. */
	memcpy(low + SIZE - 40, table, 40);
	memcpy(high, (u8 *)table + 40, sizeof(table) - 40);
	desc(0, HIGH - 40, sizeof(table), VRING_DESC_F_INDIRECT, 0);
	offer(0);
	assert_int_equal(pop(), 1);
	assert_int_equal(chain.out, 6);
	for (i = 0; i < 6; i++)
		assert_ptr_equal(iov[i].iov_base, low + i);
}

static void table_may_follow_buffers(void **state)
{
	set_desc(table_at(low, 0), HIGH, 8, VRING_DESC_F_WRITE, 0);
	desc(0, LOW + 0x50, 4, VRING_DESC_F_NEXT, 1);
	desc(1, LOW, 16, VRING_DESC_F_INDIRECT, 0);
	offer(0);
	assert_int_equal(pop(), 1);
	assert_int_equal(chain.out, 1);
	assert_int_equal(chain.in, 1);
}

/* ------------------------------------------------------------------------
 * Used entries, interrupts and kicks
 */

static unsigned int idx_writes;

static bool count_idx_writes(const void *addr, size_t size, bool write)
{
	if (write && addr == &ring.used->idx)
		idx_writes++;
	return false;
}

static void used_entries_go_together(void **state)
{
	struct vhmq_used_elem elems[8];
	unsigned int i;

	for (i = 0; i < 8; i++) {
		elems[i].id = vhmq_cpu_to_32(&ring, i);
		elems[i].len = vhmq_cpu_to_32(&ring, 100 + i);
	}
	idx_writes = 0;
	unit_user_fault = count_idx_writes;
	assert_int_equal(vhmq_ring_push(&ring, elems, 5), 0);
	assert_int_equal(vhmq_ring_push(&ring, elems, 8), 0);
	assert_int_equal(idx_writes, 2);
	assert_int_equal(used_idx(), 13);
	for (i = 0; i < 8; i++) {
		unsigned int at = (5 + i) & 7;

		assert_int_equal(le32_to_cpu(ring.used->ring[at].id), i);
		assert_int_equal(le32_to_cpu(ring.used->ring[at].len), 100 + i);
	}
}

static void check_entry(unsigned int at, u32 id, u32 len)
{
	assert_int_equal(le32_to_cpu(ring.used->ring[at].id), id);
	assert_int_equal(le32_to_cpu(ring.used->ring[at].len), len);
}

static void batch_gets_one_entry_where_it_begins(void **state)
{
	static const u16 sizes[] = { 3, 0, 0, 1, 1 }, more[] = { 1, 4, 0, 0, 0, 1 };
	struct vhmq_used_elem elems[6];
	unsigned int i;

	for (i = 0; i < 6; i++) {
		elems[i].id = vhmq_cpu_to_32(&ring, i);
		elems[i].len = vhmq_cpu_to_32(&ring, 100 + i);
	}
	memset(ring.used->ring, 0xff, 8 * sizeof(ring.used->ring[0]));
	idx_writes = 0;
	unit_user_fault = count_idx_writes;
	assert_int_equal(vhmq_ring_push_in_order(&ring, elems, sizes, 5), 0);
	assert_int_equal(used_idx(), 5);
	check_entry(0, 0, 100);
	check_entry(1, ~0u, ~0u);
	check_entry(2, ~0u, ~0u);
	check_entry(3, 3, 103);
	check_entry(4, 4, 104);
	check_entry(5, ~0u, ~0u);

	/* Round the end, with the border in a batch. */
	assert_int_equal(vhmq_ring_push_in_order(&ring, elems, more, 6), 0);
	assert_int_equal(used_idx(), 11);
	assert_int_equal(idx_writes, 2);
	check_entry(5, 0, 100);
	check_entry(6, 1, 101);
	check_entry(7, ~0u, ~0u);
	check_entry(1, ~0u, ~0u);
	check_entry(2, 5, 105);
	check_entry(3, 3, 103);
	assert_int_equal(failures, 0);
}

static bool logged_is(size_t offset, size_t len)
{
	return logged_addr == 0x5000 + offset && logged_len == len;
}

static void used_ring_is_logged_at_its_own_address(void **state)
{
	struct vhmq_used_elem elems[3] = {};

	ring.num = 4;
	push(0, 0);
	assert_int_equal(logged, 0);

	ring.log_used = true;
	ring.log_addr = 0x5000;
	/* Entries 1 and 2, the index; entries 3 and 0, the index. */
	vhmq_ring_push(&ring, elems, 2);
	assert_int_equal(logged, 2);
	assert_true(logged_is(offsetof(struct vring_used, idx), 2));
	vhmq_ring_push(&ring, elems, 2);
	assert_int_equal(logged, 5);

	vhmq_ring_enable_kick(&ring);
	assert_true(logged_is(offsetof(struct vring_used, flags), 2));
	ring.event_idx = true;
	vhmq_ring_disable_kick(&ring);
	vhmq_ring_enable_kick(&ring);
	assert_true(logged_is(vhmq_ring_used_size(4, false), 2));
	assert_int_equal(failures, 0);
	assert_true(ring.logged);
}

static void log_that_cannot_be_written_fails(void **state)
{
	ring.log_used = true;
	log_result = -EFAULT;
	assert_int_equal(push(0, 0), -EFAULT);
	assert_failed(-EFAULT, "Failed to write used");
}

static void flag_suppresses_interrupts(void **state)
{
	push(0, 0);
	assert_true(vhmq_ring_should_call(&ring));
	ring.avail->flags = cpu_to_le16(VRING_AVAIL_F_NO_INTERRUPT);
	push(0, 0);
	assert_false(vhmq_ring_should_call(&ring));
}

static void empty_ring_interrupts_in_spite_of_it(void **state)
{
	ring.notify_on_empty = true;
	ring.avail->flags = cpu_to_le16(VRING_AVAIL_F_NO_INTERRUPT);
	desc(0, LOW, 1, 0, 0);
	offer(0);
	offer(0);
	pop();
	push(0, 0);
	assert_false(vhmq_ring_should_call(&ring));
	pop();
	push(0, 0);
	assert_true(vhmq_ring_should_call(&ring));
}

static void set_used_event(u16 event)
{
	ring.avail->ring[ring.num] = cpu_to_le16(event);
}

static void event_index_says_when_to_interrupt(void **state)
{
	ring.event_idx = true;
	set_used_event(3);
	push(0, 0);
	assert_true(vhmq_ring_should_call(&ring));	/* the first time, always */
	push(0, 0);
	assert_false(vhmq_ring_should_call(&ring));
	push(0, 0);
	assert_false(vhmq_ring_should_call(&ring));
	push(0, 0);
	assert_true(vhmq_ring_should_call(&ring));
	push(0, 0);
	assert_false(vhmq_ring_should_call(&ring));
}

static void going_round_unasked_interrupts(void **state)
{
	unsigned int i;

	ring.event_idx = true;
	push(0, 0);
	vhmq_ring_should_call(&ring);
	set_used_event(0);
	for (i = 0; i < 65536; i++)
		push(0, 0);
	assert_true(vhmq_ring_should_call(&ring));
}

static bool guest_is_quick(const void *addr, size_t size, bool write)
{
	/* Adds a chain between the wish for kicks and the second look. */
	if (write && (addr == &ring.used->flags || addr == &ring.used->ring[ring.num])) {
		unit_user_fault = NULL;
		desc(0, LOW, 1, 0, 0);
		offer(0);
	}
	return false;
}

static void wish_for_kicks_looks_again(void **state)
{
	int event_idx;

	for (event_idx = 0; event_idx < 2; event_idx++) {
		resize(8);
		ring.event_idx = event_idx;
		ring.used->flags = 0;
		assert_int_equal(pop(), 0);
		unit_user_fault = guest_is_quick;
		assert_true(vhmq_ring_enable_kick(&ring));
		vhmq_ring_disable_kick(&ring);
		assert_int_equal(pop(), 1);
		assert_false(vhmq_ring_enable_kick(&ring));
		if (event_idx)
			assert_int_equal(le16_to_cpu(*(__le16 *)&ring.used->ring[8]), 1);
		else
			assert_int_equal(ring.used->flags, 0);
		vhmq_ring_disable_kick(&ring);
		assert_int_equal(le16_to_cpu(ring.used->flags),
				 event_idx ? 0 : VRING_USED_F_NO_NOTIFY);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		ring_test(empty_ring_pops_nothing),
		ring_test(chain_is_out_then_in),
		ring_test(legacy_ring_has_native_order),
		ring_test(every_size_wraps),
		ring_test(unpop_gives_the_same_again),
		ring_test(mend_reads_all_anew),
		ring_test(buffer_splits_at_the_border),
		ring_test(buffer_may_end_where_the_memory_does),
		ring_test(buffer_past_the_end_fails),
		ring_test(buffer_before_the_start_fails),
		ring_test(buffer_over_the_top_fails),
		ring_test(longest_buffer_fails),
		ring_test(empty_buffer_is_nothing),
		ring_test(too_many_buffers_fail),
		ring_test(lowest_of_overlapping_regions_counts),
		ring_test(table_is_followed),
		ring_test(table_may_cross_regions),
		ring_test(table_may_follow_buffers),
		ring_test(used_entries_go_together),
		ring_test(batch_gets_one_entry_where_it_begins),
		ring_test(used_ring_is_logged_at_its_own_address),
		ring_test(log_that_cannot_be_written_fails),
		ring_test(flag_suppresses_interrupts),
		ring_test(empty_ring_interrupts_in_spite_of_it),
		ring_test(event_index_says_when_to_interrupt),
		ring_test(going_round_unasked_interrupts),
		ring_test(wish_for_kicks_looks_again),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
