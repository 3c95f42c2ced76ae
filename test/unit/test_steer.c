// SPDX-License-Identifier: GPL-2.0-only
/* steer.c: the rule, case by case, and against a table of all queues. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "steer.h"

#define WINDOW	5
/* Where 64-bit jiffies begin: five minutes before their lower half wraps. */
#define BOOT	(0x100000000ull - 300 * 250)

static struct vhmq_steer steer;

static void setup_steer(unsigned int threads, unsigned int rx_queues)
{
	vhmq_steer_init(&steer);
	steer.window = WINDOW;
	steer.threads = threads;
	steer.rx_queues = rx_queues;
}

static unsigned int tx(unsigned int index, u64 now)
{
	return vhmq_steer_pick(&steer, index, true, now);
}

static unsigned int rx(unsigned int index, u64 now)
{
	return vhmq_steer_pick(&steer, index, false, now);
}

/* ------------------------------------------------------------------------
 * The five rows, with one receive queue and 8 transmit queues on 5 threads
 */

static void rx_is_on_0(void **state)
{
	setup_steer(5, 1);
	assert_int_equal(rx(0, BOOT), 0);
	tx(0, BOOT);
	assert_int_equal(rx(0, BOOT), 0);
	tx(1, BOOT);
	tx(2, BOOT);
	assert_int_equal(rx(0, BOOT), 0);
}

static void tx_with_none_used_is_on_0(void **state)
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		setup_steer(5, 1);
		assert_int_equal(tx(i, BOOT), 0);
	}
}

static void tx_with_only_itself_used_is_on_0(void **state)
{
	u64 now;

	setup_steer(5, 1);
	for (now = BOOT; now < BOOT + 1000; now++)
		assert_int_equal(tx(3, now), 0);
}

static void tx_with_one_other_used_is_on_its_own(void **state)
{
	setup_steer(5, 1);
	assert_int_equal(tx(0, BOOT), 0);
	/* At its first kick already. */
	assert_int_equal(tx(1, BOOT), 2);
	assert_int_equal(tx(0, BOOT), 1);
	assert_int_equal(tx(1, BOOT + WINDOW), 2);
	assert_int_equal(tx(0, BOOT + 2 * WINDOW), 1);
}

static void tx_with_more_used_is_on_its_own(void **state)
{
	unsigned int i, round;

	setup_steer(5, 1);
	for (round = 0; round < 4; round++)
		for (i = 0; i < 8; i++)
			if (round || i)
				assert_int_equal(tx(i, BOOT + round), 1 + i % 4);
			else
				assert_int_equal(tx(i, BOOT + round), 0);
}

/* ------------------------------------------------------------------------
 * The window
 */

static void other_counts_to_the_end_of_the_window(void **state)
{
	setup_steer(3, 1);
	tx(0, BOOT);
	assert_int_equal(tx(1, BOOT + WINDOW), 2);

	setup_steer(3, 1);
	tx(0, BOOT);
	assert_int_equal(tx(1, BOOT + WINDOW + 1), 0);
}

static void window_of_0_is_this_jiffy(void **state)
{
	setup_steer(3, 1);
	steer.window = 0;
	tx(0, BOOT);
	assert_int_equal(tx(1, BOOT), 2);
	assert_int_equal(tx(0, BOOT + 1), 0);
}

static void gathers_when_the_other_falls_silent(void **state)
{
	u64 now;

	setup_steer(3, 1);
	tx(0, BOOT);
	assert_int_equal(tx(1, BOOT), 2);
	for (now = BOOT + 1; now <= BOOT + WINDOW; now++)
		assert_int_equal(tx(0, now), 1);
	for (; now < BOOT + 100; now++)
		assert_int_equal(tx(0, now), 0);
	assert_int_equal(vhmq_steer_mode(&steer, now), VHMQ_MODE_GATHERED);
}

static void never_used_is_not_recent(void **state)
{
	u64 now;

	/* Whatever the time: also where a stamp of 0 would be recent. */
	for (now = 0; now <= 2 * WINDOW; now++) {
		setup_steer(3, 1);
		assert_int_equal(vhmq_steer_active(&steer, now), 0);
		assert_int_equal(tx(0, now), 0);
		assert_int_equal(vhmq_steer_active(&steer, now), 1);
	}
	for (now = BOOT; now < BOOT + 2 * 300 * 250; now += 7) {
		setup_steer(3, 1);
		assert_int_equal(vhmq_steer_active(&steer, now), 0);
		assert_int_equal(tx(1, now), 0);
	}
}

static void window_spans_the_wrap_of_32_bits(void **state)
{
	const u64 wrap = 0x100000000ull;

	setup_steer(3, 1);
	tx(0, wrap - 2);
	assert_int_equal(tx(1, wrap + 2), 2);
	assert_int_equal(tx(0, wrap + WINDOW + 3), 0);
}

static void old_is_not_recent_again_after_32_bits(void **state)
{
	setup_steer(3, 1);
	tx(0, BOOT);
	assert_int_equal(tx(1, BOOT + 0x100000000ull + 1), 0);
}

static void window_spans_the_wrap_of_all_bits(void **state)
{
	setup_steer(3, 1);
	tx(0, ~0ull - 1);
	assert_int_equal(tx(1, 2), 2);
	assert_int_equal(tx(0, 2 + WINDOW + 1), 0);
}

/* Clocks of CPUs that are a jiffy apart. */
static void a_stamp_from_the_future_is_recent(void **state)
{
	setup_steer(3, 1);
	tx(0, BOOT + 1);
	assert_int_equal(tx(1, BOOT), 2);
	assert_int_equal(vhmq_steer_active(&steer, BOOT), 2);
}

/* ------------------------------------------------------------------------
 * Forgetting
 */

static void a_forgotten_queue_is_not_used(void **state)
{
	setup_steer(3, 1);
	tx(0, BOOT);
	tx(1, BOOT);
	vhmq_steer_forget(&steer, 1);
	assert_int_equal(vhmq_steer_active(&steer, BOOT), 1);
	assert_int_equal(tx(0, BOOT), 0);
	vhmq_steer_forget(&steer, 0);
	assert_int_equal(vhmq_steer_active(&steer, BOOT), 0);
	vhmq_steer_forget(&steer, 5);
	assert_int_equal(tx(1, BOOT), 0);
}

/* ------------------------------------------------------------------------
 * Policies and threads
 */

static void several_rx_queues_spread_with_their_pair(void **state)
{
	unsigned int i;

	setup_steer(5, 8);
	for (i = 0; i < 8; i++)
		assert_int_equal(rx(i, BOOT), 0);
	tx(0, BOOT);
	for (i = 0; i < 8; i++)
		assert_int_equal(rx(i, BOOT), 0);
	tx(1, BOOT);
	for (i = 0; i < 8; i++) {
		assert_int_equal(rx(i, BOOT), i % 5);
		assert_int_equal(tx(i, BOOT), i % 5);
	}
}

static void policy_pair_keeps_pairs_together(void **state)
{
	unsigned int i;

	setup_steer(3, 8);
	steer.policy = VHMQ_POLICY_PAIR;
	for (i = 0; i < 8; i++) {
		assert_int_equal(rx(i, BOOT), i % 3);
		assert_int_equal(tx(i, BOOT), i % 3);
	}
	assert_int_equal(vhmq_steer_mode(&steer, BOOT), VHMQ_MODE_SPREAD);
}

static void policy_single_is_worker_0(void **state)
{
	unsigned int i;

	setup_steer(5, 8);
	steer.policy = VHMQ_POLICY_SINGLE;
	for (i = 0; i < 8; i++) {
		assert_int_equal(rx(i, BOOT), 0);
		assert_int_equal(tx(i, BOOT), 0);
	}
	assert_int_equal(vhmq_steer_active(&steer, BOOT), 2);
	assert_int_equal(vhmq_steer_mode(&steer, BOOT), VHMQ_MODE_GATHERED);
}

static void one_thread_is_worker_0(void **state)
{
	static const enum vhmq_policy policies[] = {
		VHMQ_POLICY_RECENT, VHMQ_POLICY_PAIR, VHMQ_POLICY_SINGLE,
	};
	unsigned int i, p;

	for (p = 0; p < ARRAY_SIZE(policies); p++) {
		setup_steer(1, p);
		steer.policy = policies[p];
		for (i = 0; i < 8; i++) {
			assert_int_equal(rx(i, BOOT), 0);
			assert_int_equal(tx(i, BOOT), 0);
		}
		assert_int_equal(vhmq_steer_mode(&steer, BOOT),
				 VHMQ_MODE_GATHERED);
	}
}

static void automatic_number_of_threads(void **state)
{
	assert_int_equal(vhmq_steer_auto_threads(0), 1);
	assert_int_equal(vhmq_steer_auto_threads(1), 1);
	assert_int_equal(vhmq_steer_auto_threads(2), 3);
	assert_int_equal(vhmq_steer_auto_threads(3), 4);
	assert_int_equal(vhmq_steer_auto_threads(4), 5);
	assert_int_equal(vhmq_steer_auto_threads(8), 5);
	assert_int_equal(vhmq_steer_auto_threads(16), 5);
	assert_int_equal(vhmq_steer_auto_threads(VHMQ_MAX_PAIRS), 5);
}

static void the_last_queue_has_a_worker(void **state)
{
	unsigned int threads;

	for (threads = 1; threads <= VHMQ_MAX_WORKERS; threads++) {
		setup_steer(threads, 1);
		tx(0, BOOT);
		assert_true(tx(VHMQ_MAX_PAIRS - 1, BOOT) < threads);
		steer.rx_queues = VHMQ_MAX_PAIRS;
		assert_true(tx(VHMQ_MAX_PAIRS - 1, BOOT) < threads);
		assert_true(rx(VHMQ_MAX_PAIRS - 1, BOOT) < threads);
	}
}

/* ------------------------------------------------------------------------
 * Cost
 */

static void a_jiffy_sees_two_writes_at_most(void **state)
{
	unsigned int writes[2];
	unsigned int queues, ask;
	u64 before[2];
	u64 now;
	int i;

	for (queues = 1; queues <= 64; queues *= 2) {
		setup_steer(5, queues);
		for (now = BOOT; now < BOOT + 50; now++) {
			memset(writes, 0, sizeof(writes));
			for (ask = 0; ask < 500; ask++) {
				memcpy(before, steer.last, sizeof(before));
				tx(rand() % queues, now);
				for (i = 0; i < 2; i++)
					writes[i] += before[i] != steer.last[i];
			}
			assert_true(writes[0] <= 1);
			assert_true(writes[1] <= 1);
		}
	}
}

/* The state says of any history what a table of all stamps would say. */
static void two_entries_are_as_good_as_a_table(void **state)
{
	u64 stamps[16];
	u64 now = BOOT;
	unsigned int queues, step, i, other, any;

	srand(2010);
	for (queues = 1; queues <= ARRAY_SIZE(stamps); queues++) {
		setup_steer(5, 1);
		memset(stamps, 0, sizeof(stamps));
		for (step = 0; step < 20000; step++) {
			unsigned int q = rand() % queues;

			/* Bursts, pauses, and now and then a long silence. */
			if (rand() % 4 == 0)
				now += rand() % 3;
			if (rand() % 200 == 0)
				now += rand() % (3 * WINDOW);
			other = 0;
			any = 0;
			for (i = 0; i < queues; i++) {
				bool used = stamps[i] &&
					    now - stamps[i] <= WINDOW;

				any += used;
				other += used && i != q;
			}
			assert_int_equal(vhmq_steer_active(&steer, now),
					 min(any, 2u));
			assert_int_equal(rx(0, now), 0);
			assert_int_equal(tx(q, now), other ? 1 + q % 4 : 0);
			stamps[q] = now;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rx_is_on_0),
		cmocka_unit_test(tx_with_none_used_is_on_0),
		cmocka_unit_test(tx_with_only_itself_used_is_on_0),
		cmocka_unit_test(tx_with_one_other_used_is_on_its_own),
		cmocka_unit_test(tx_with_more_used_is_on_its_own),
		cmocka_unit_test(other_counts_to_the_end_of_the_window),
		cmocka_unit_test(window_of_0_is_this_jiffy),
		cmocka_unit_test(gathers_when_the_other_falls_silent),
		cmocka_unit_test(never_used_is_not_recent),
		cmocka_unit_test(window_spans_the_wrap_of_32_bits),
		cmocka_unit_test(old_is_not_recent_again_after_32_bits),
		cmocka_unit_test(window_spans_the_wrap_of_all_bits),
		cmocka_unit_test(a_stamp_from_the_future_is_recent),
		cmocka_unit_test(a_forgotten_queue_is_not_used),
		cmocka_unit_test(several_rx_queues_spread_with_their_pair),
		cmocka_unit_test(policy_pair_keeps_pairs_together),
		cmocka_unit_test(policy_single_is_worker_0),
		cmocka_unit_test(one_thread_is_worker_0),
		cmocka_unit_test(automatic_number_of_threads),
		cmocka_unit_test(the_last_queue_has_a_worker),
		cmocka_unit_test(a_jiffy_sees_two_writes_at_most),
		cmocka_unit_test(two_entries_are_as_good_as_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
