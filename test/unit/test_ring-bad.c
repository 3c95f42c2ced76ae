// SPDX-License-Identifier: GPL-2.0-only
/* ring_split.c: what a guest may not do, and what it could try. */
#include "ring_fixture.h"

/* ------------------------------------------------------------------------
 * Indirect tables
 */

static void fail_with_table(const struct vring_desc *table, u32 len, const char *text)
{
	memcpy(low, table, sizeof(*table) * 2);
	desc(0, LOW, len, VRING_DESC_F_INDIRECT, 0);
	offer(0);
	assert_failed(pop(), text);
}

static void bad_tables_fail_odd_length(void **state)
{
	struct vring_desc table[2] = {};

	fail_with_table(table, 17, "Invalid length in indirect descriptor");
}

static void bad_tables_fail_empty(void **state)
{
	struct vring_desc table[2] = {};

	fail_with_table(table, 0, "Loop detected");
}

static void bad_tables_fail_nested(void **state)
{
	struct vring_desc table[2] = {};

	set_desc(table, HIGH, 16, VRING_DESC_F_INDIRECT, 0);
	fail_with_table(table, 32, "Nested indirect descriptor");
}

static void bad_tables_fail_loop(void **state)
{
	struct vring_desc table[2] = {};

	set_desc(table, HIGH, 16, VRING_DESC_F_NEXT, 1);
	set_desc(table + 1, HIGH, 16, VRING_DESC_F_NEXT, 0);
	fail_with_table(table, 32, "Loop detected");
}

static void bad_tables_fail_next_outside(void **state)
{
	struct vring_desc table[2] = {};

	set_desc(table, HIGH, 16, VRING_DESC_F_NEXT, 2);
	fail_with_table(table, 32, "Loop detected");
}

static void bad_tables_fail_out_after_in(void **state)
{
	struct vring_desc table[2] = {};

	set_desc(table, HIGH, 16, VRING_DESC_F_NEXT | VRING_DESC_F_WRITE, 1);
	set_desc(table + 1, HIGH, 16, 0, 0);
	fail_with_table(table, 32, "descriptor has out after in");
}

static void bad_tables_fail_outside_memory(void **state)
{
	desc(0, HOLE - 16, 32, VRING_DESC_F_INDIRECT, 0);
	offer(0);
	assert_failed(pop(), "Translation failure -14 in indirect");
}

static void bad_tables_fail_too_long(void **state)
{
	u8 *large = calloc(1, 65537 * 16);

	mem->nr = 0;
	add_region(LOW, 65537 * 16, large);
	vhmq_mem_sort(mem);
	vhmq_ring_mend(&ring);
	desc(0, LOW, 65537 * 16, VRING_DESC_F_INDIRECT, 0);
	offer(0);
	assert_failed(pop(), "Indirect buffer length too big");
	free(large);
}

/* Empty descriptors by the ten thousand keep a thread busy for nothing. */
static void bad_tables_fail_of_many_empty(void **state)
{
	struct vring_desc *table = table_at(low, 0);
	unsigned int i;

	for (i = 0; i < 4096; i++)
		set_desc(&table[i], LOW, 0, i < 4095 ? VRING_DESC_F_NEXT : 0, i + 1);
	desc(0, LOW, 4096 * 16, VRING_DESC_F_INDIRECT, 0);
	offer(0);
	assert_failed(pop(), "Loop detected");
}

/* ------------------------------------------------------------------------
 * Chains that break the rules
 */

static void loop_fails(void **state)
{
	desc(0, LOW, 1, VRING_DESC_F_NEXT, 1);
	desc(1, LOW, 1, VRING_DESC_F_NEXT, 0);
	offer(0);
	assert_failed(pop(), "Loop detected: last one at 0 vq size 8 head 0");
}

static void head_outside_fails(void **state)
{
	offer(8);
	assert_failed(pop(), "Guest says index 8 > 8 is available");
}

static void next_outside_fails(void **state)
{
	desc(0, LOW, 1, VRING_DESC_F_NEXT, 8);
	offer(0);
	assert_failed(pop(), "Desc index is 8 > 8");
}

static void out_after_in_fails(void **state)
{
	desc(0, LOW, 1, VRING_DESC_F_NEXT | VRING_DESC_F_WRITE, 1);
	desc(1, LOW, 1, 0, 0);
	offer(0);
	assert_failed(pop(), "Descriptor has out after in");
}

static void index_jump_fails(void **state)
{
	ring.avail->idx = cpu_to_le16(9);
	assert_failed(pop(), "Invalid available index change from 0 to 9");
}

static void index_may_not_go_back(void **state)
{
	desc(0, LOW, 1, 0, 0);
	offer(0);
	assert_int_equal(pop(), 1);
	ring.avail->idx = 0;
	assert_failed(pop(), "Invalid available index change from 1 to 0");
}

static void failed_chain_stays_the_next(void **state)
{
	desc(0, LOW, 1, 0, 0);
	desc(1, HOLE, 1, 0, 0);
	offer(0);
	offer(1);
	assert_int_equal(pop(), 1);
	assert_true(pop() < 0);
	assert_int_equal(ring.next_avail, 1);
	/* What was popped before can still be returned. */
	assert_int_equal(push(0, 0), 0);
	assert_int_equal(used_idx(), 1);
	/* Mended, with a table that has the address. */
	desc(1, LOW, 1, 0, 0);
	vhmq_ring_mend(&ring);
	assert_int_equal(pop(), 1);
	assert_int_equal(failures, 1);
}

/* A guest may make entries available again that were not returned. */
static void more_under_way_than_entries_stays_in_the_ring(void **state)
{
	struct vhmq_used_elem elems[20];
	unsigned int i;

	resize(4);
	desc(0, LOW, 1, 0, 0);
	for (i = 0; i < ARRAY_SIZE(elems); i++) {
		offer(0);
		assert_int_equal(pop(), 1);
		elems[i].id = vhmq_cpu_to_32(&ring, chain.head);
		elems[i].len = vhmq_cpu_to_32(&ring, i);
	}
	/* The sanitizer looks at what lies behind the ring. */
	assert_int_equal(push(0, 0), 0);
	assert_int_equal(vhmq_ring_push(&ring, elems, ARRAY_SIZE(elems)), 0);
	assert_int_equal(used_idx(), ARRAY_SIZE(elems) + 1);
	for (i = 0; i < 4; i++)
		assert_int_equal(le32_to_cpu(ring.used->ring[(i + 1) & 3].len), 16 + i);
}

static void chain_of_many_empty_fails(void **state)
{
	unsigned int i;

	resize(4096);
	for (i = 0; i < 4096; i++)
		desc(i, LOW, 0, i < 4095 ? VRING_DESC_F_NEXT : 0, i + 1);
	offer(0);
	assert_failed(pop(), "Loop detected");
}

/* ------------------------------------------------------------------------
 * Faults, and anything
 */

static int faults_left;

static bool fault_later(const void *addr, size_t size, bool write)
{
	return --faults_left < 0;
}

static void any_access_may_fault(void **state)
{
	unsigned int n;

	for (n = 0; n < 12; n++) {
		unsigned int before = failures;
		int ret;

		resize(8);
		ring.event_idx = n & 1;
		set_desc(table_at(low, 0), HIGH, 8, 0, 0);
		desc(0, LOW, 16, VRING_DESC_F_INDIRECT, 0);
		offer(0);
		faults_left = n / 2;
		unit_user_fault = fault_later;
		ret = pop();
		if (ret > 0 && !push(0, 0)) {
			vhmq_ring_should_call(&ring);
			vhmq_ring_enable_kick(&ring);
			vhmq_ring_disable_kick(&ring);
		}
		unit_user_fault = NULL;
		assert_int_equal(failures - before, ring.broken);
	}
	resize(8);
	faults_left = 0;
	unit_user_fault = fault_later;
	assert_int_equal(vhmq_ring_start(&ring), -EFAULT);
}

static bool is_memory(const struct iovec *v)
{
	u8 *from = v->iov_base, *to = from + v->iov_len;

	return v->iov_len && ((from >= low && to <= low + SIZE) ||
			      (from >= high && to <= high + SIZE) ||
			      (from >= top && to <= top + 0x1000));
}

static u64 random_addr(void)
{
	static const u64 bases[] = { LOW, HIGH, HOLE, TOP, 0 };

	return bases[rand() % ARRAY_SIZE(bases)] + rand() % 0x11000 - 0x800;
}

static void random_desc(struct vring_desc *d, unsigned int num)
{
	set_desc(d, random_addr(), rand() % 8 ? rand() % 0x200 : rand(),
		 rand() % 8, rand() % (num + 1));
}

static void anything_stays_in_memory(void **state)
{
	unsigned int round, i, k;

	srand(1);
	for (round = 0; round < 30000; round++) {
		unsigned int num = 1u << rand() % 7;

		resize(num);
		ring.event_idx = rand() & 1;
		for (i = 0; i < SIZE / 16; i += 1 + rand() % 64)
			random_desc(table_at(rand() & 1 ? low : high, i * 16), num * 2);
		for (i = 0; i < num; i++)
			random_desc(&ring.desc[i], num);
		for (i = 0; i < num; i++)
			offer(rand() % (num + !(rand() % 50)));
		if (!(rand() % 50))
			ring.avail->idx = cpu_to_le16(rand());
		for (i = 0; i < num * 2; i++) {
			size_t out = 0, in = 0;

			if (pop() <= 0)
				break;
			assert_true(chain.head < num);
			assert_true(chain.out + chain.in <= ARRAY_SIZE(iov));
			for (k = 0; k < chain.out + chain.in; k++) {
				assert_true(is_memory(&iov[k]));
				*(k < chain.out ? &out : &in) += iov[k].iov_len;
			}
			assert_int_equal(out, chain.out_len);
			assert_int_equal(in, chain.in_len);
			if (rand() & 1)
				push(chain.head, in);
			else if (rand() & 1)
				vhmq_ring_unpop(&ring, rand() % (i + 1));
			vhmq_ring_should_call(&ring);
			if (!(rand() % 4)) {
				vhmq_ring_enable_kick(&ring);
				vhmq_ring_disable_kick(&ring);
			}
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		ring_test(bad_tables_fail_odd_length),
		ring_test(bad_tables_fail_empty),
		ring_test(bad_tables_fail_nested),
		ring_test(bad_tables_fail_loop),
		ring_test(bad_tables_fail_next_outside),
		ring_test(bad_tables_fail_out_after_in),
		ring_test(bad_tables_fail_outside_memory),
		ring_test(bad_tables_fail_too_long),
		ring_test(bad_tables_fail_of_many_empty),
		ring_test(loop_fails),
		ring_test(head_outside_fails),
		ring_test(next_outside_fails),
		ring_test(out_after_in_fails),
		ring_test(index_jump_fails),
		ring_test(index_may_not_go_back),
		ring_test(more_under_way_than_entries_stays_in_the_ring),
		ring_test(chain_of_many_empty_fails),
		ring_test(failed_chain_stays_the_next),
		ring_test(any_access_may_fault),
		ring_test(anything_stays_in_memory),
	};

	return cmocka_run_group_tests_name("ring-bad", tests, NULL, NULL);
}
