// SPDX-License-Identifier: GPL-2.0-only
/*
 * work.c: states of an item, inboxes, and, in several threads while their number
 * and the policy change, that no ask is lost and no item is run twice at once.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "steer.h"
#include "work.h"

/* ------------------------------------------------------------------------
 * One thread
 */

static unsigned int wakes;

static void worker_wake(struct vhmq_inbox *inbox);

void vhmq_inbox_wake(struct vhmq_inbox *inbox)
{
	__atomic_fetch_add(&wakes, 1, __ATOMIC_RELAXED);
	worker_wake(inbox);
}

static void the_first_ask_pushes(void **state)
{
	struct vhmq_work work;

	vhmq_work_init(&work);
	assert_false(vhmq_work_busy(&work));
	assert_true(vhmq_work_ask(&work));
	assert_true(vhmq_work_busy(&work));
	assert_false(vhmq_work_ask(&work));

	vhmq_work_begin(&work);
	assert_true(vhmq_work_busy(&work));
	assert_false(vhmq_work_end(&work));
	assert_false(vhmq_work_busy(&work));
	assert_true(vhmq_work_ask(&work));
}

static void an_ask_in_a_run_leads_to_another(void **state)
{
	struct vhmq_work work;

	vhmq_work_init(&work);
	vhmq_work_ask(&work);
	vhmq_work_begin(&work);
	assert_false(vhmq_work_ask(&work));
	assert_false(vhmq_work_ask(&work));
	/* Who ends the run pushes it, and nobody else. */
	assert_true(vhmq_work_end(&work));
	assert_false(vhmq_work_ask(&work));
	vhmq_work_begin(&work);
	assert_false(vhmq_work_end(&work));
}

static void a_refused_item_is_idle(void **state)
{
	struct vhmq_work work;

	vhmq_work_init(&work);
	vhmq_work_ask(&work);
	vhmq_work_refuse(&work);
	assert_false(vhmq_work_busy(&work));
	vhmq_work_flush(&work);
	assert_true(vhmq_work_ask(&work));
}

/* What a run that polls looks at: see busy.c. */
static void a_run_sees_that_it_was_asked_again(void **state)
{
	struct vhmq_work work;

	vhmq_work_init(&work);
	vhmq_work_ask(&work);
	vhmq_work_begin(&work);
	/* The ask that it answers is not another one. */
	assert_false(vhmq_work_asked(&work));
	vhmq_work_ask(&work);
	assert_true(vhmq_work_asked(&work));
	assert_false(vhmq_work_awaited(&work));
	assert_true(vhmq_work_end(&work));
	vhmq_work_begin(&work);
	assert_false(vhmq_work_asked(&work));
	assert_false(vhmq_work_end(&work));
}

struct polling {
	struct vhmq_work work;
	bool begun, ask_itself;
	int found_over;
};

/* One run, that ends when somebody waits for it, and not before. */
static void *poll_main(void *data)
{
	struct polling *polling = data;
	bool again;

	do {
		vhmq_work_begin(&polling->work);
		WRITE_ONCE(polling->begun, true);
		while (!vhmq_work_awaited(&polling->work))
			sched_yield();
		polling->found_over++;
		if (polling->ask_itself && polling->found_over == 1)
			vhmq_work_ask(&polling->work);
		again = vhmq_work_end(&polling->work);
	} while (again);
	return NULL;
}

static void flush_ends_polling(bool ask_itself, int runs)
{
	struct polling polling = { .ask_itself = ask_itself };
	pthread_t thread;

	vhmq_work_init(&polling.work);
	vhmq_work_ask(&polling.work);
	assert_int_equal(pthread_create(&thread, NULL, poll_main, &polling), 0);
	while (!READ_ONCE(polling.begun))
		sched_yield();
	assert_false(vhmq_work_awaited(&polling.work));
	vhmq_work_flush(&polling.work);
	pthread_join(thread, NULL);
	assert_int_equal(polling.found_over, runs);
	/* Who has waited is not waiting any more. */
	assert_false(vhmq_work_awaited(&polling.work));
	assert_false(vhmq_work_busy(&polling.work));
}

static void a_run_sees_that_its_end_is_awaited(void **state)
{
	flush_ends_polling(false, 1);
	/* Asked again in the run: he waits for the second end, and that run sees it, too. */
	flush_ends_polling(true, 2);
}

static void ends_wrap(void **state)
{
	struct vhmq_work work;
	int i;

	vhmq_work_init(&work);
	for (i = 0; i < 200000; i++) {
		assert_true(vhmq_work_ask(&work));
		vhmq_work_begin(&work);
		if (i & 1) {
			assert_false(vhmq_work_ask(&work));
			assert_true(vhmq_work_end(&work));
			vhmq_work_begin(&work);
		}
		assert_false(vhmq_work_end(&work));
		assert_false(vhmq_work_busy(&work));
	}
	vhmq_work_flush(&work);
}

static void an_inbox_keeps_the_order(void **state)
{
	struct vhmq_work works[5], *work, *next;
	struct vhmq_inbox inbox;
	int i;

	vhmq_inbox_init(&inbox, NULL);
	vhmq_inbox_open(&inbox);
	wakes = 0;
	for (i = 0; i < 5; i++) {
		vhmq_work_init(&works[i]);
		vhmq_work_ask(&works[i]);
		vhmq_inbox_give(&inbox, &works[i]);
	}
	/* The first one wakes the thread for all. */
	assert_int_equal(wakes, 1);
	i = 0;
	llist_for_each_entry_safe(work, next, vhmq_inbox_take(&inbox), node)
		assert_ptr_equal(work, &works[i++]);
	assert_int_equal(i, 5);
	assert_null(vhmq_inbox_take(&inbox));
}

static void a_shut_inbox_passes_on(void **state)
{
	struct vhmq_inbox first, second;
	struct vhmq_work a, b;

	vhmq_work_init(&a);
	vhmq_work_init(&b);
	vhmq_inbox_init(&first, NULL);
	vhmq_inbox_init(&second, &first);
	vhmq_inbox_open(&first);
	vhmq_inbox_open(&second);

	vhmq_work_ask(&a);
	vhmq_inbox_give(&second, &a);
	vhmq_inbox_shut(&second);
	vhmq_work_ask(&b);
	vhmq_inbox_give(&second, &b);
	assert_true(llist_empty(&second.works));
	assert_false(llist_empty(&first.works));

	vhmq_inbox_shut(&first);
	assert_true(llist_empty(&first.works));
	assert_false(vhmq_work_busy(&a));
	assert_false(vhmq_work_busy(&b));

	assert_true(vhmq_work_ask(&a));
	vhmq_inbox_give(&second, &a);
	assert_false(vhmq_work_busy(&a));
}

/* ------------------------------------------------------------------------
 * Several threads: a pool in miniature
 */

#define WORKERS	5
#define ITEMS	8
#define ASKERS	3

struct worker {
	struct vhmq_inbox inbox;
	struct pool *pool;
	pthread_t thread;
	bool stop;
};

struct item {
	struct vhmq_work work;
	struct pool *pool;
	unsigned int index;
	bool is_tx;
	int asked;		/* atomic: counts asks */
	int inside;		/* plain: only ever one runner */
	int seen;		/* asks that the last run saw */
	int runs;
};

struct pool {
	struct vhmq_steer steer;
	struct worker workers[WORKERS];
	struct item *items[ITEMS];
	bool done;
};

static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sleep_cond = PTHREAD_COND_INITIALIZER;

static void worker_wake(struct vhmq_inbox *inbox)
{
	pthread_mutex_lock(&sleep_lock);
	pthread_cond_broadcast(&sleep_cond);
	pthread_mutex_unlock(&sleep_lock);
}

static u64 jiffies(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 10000ull + now.tv_nsec / 100000;
}

/* As worker.c pushes a queue. */
static void push(struct pool *pool, struct item *item)
{
	unsigned int k = vhmq_steer_pick(&pool->steer, item->index, item->is_tx,
					 jiffies());
	struct worker *worker = &pool->workers[k];

	/* Half of the time without looking, to meet one that is being shut. */
	if (jiffies() & 1 && !vhmq_inbox_is_open(&worker->inbox))
		worker = &pool->workers[0];
	vhmq_inbox_give(&worker->inbox, &item->work);
}

static void ask(struct item *item)
{
	struct pool *pool = item->pool;

	if (vhmq_work_ask(&item->work))
		push(pool, item);
}

/* A failed assertion in a thread that is not cmocka's own. */
static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void run(struct worker *worker, struct item *item)
{
	struct pool *pool = worker->pool;

	vhmq_work_begin(&item->work);
	check(!item->inside++, "two are inside one item at once");
	WRITE_ONCE(item->seen, READ_ONCE(item->asked));
	if (++item->runs % 16 == 0)
		sched_yield();
	/* Now and then a run asks for another, as a busy queue does. */
	if (item->runs % 7 == 0)
		ask(item);
	item->inside--;
	if (vhmq_work_end(&item->work))
		push(pool, item);
}

static void *worker_main(void *data)
{
	struct worker *worker = data;
	struct vhmq_work *work, *next;
	struct llist_node *works;

	vhmq_inbox_open(&worker->inbox);
	for (;;) {
		pthread_mutex_lock(&sleep_lock);
		while (llist_empty(&worker->inbox.works) &&
		       !READ_ONCE(worker->stop))
			pthread_cond_wait(&sleep_cond, &sleep_lock);
		pthread_mutex_unlock(&sleep_lock);
		if (READ_ONCE(worker->stop))
			return NULL;
		works = vhmq_inbox_take(&worker->inbox);
		llist_for_each_entry_safe(work, next, works, node)
			run(worker, container_of(work, struct item, work));
	}
}

static void worker_start(struct worker *worker)
{
	worker->stop = false;
	assert_int_equal(pthread_create(&worker->thread, NULL, worker_main,
					worker), 0);
	while (!vhmq_inbox_is_open(&worker->inbox))
		sched_yield();
}

static void worker_stop(struct worker *worker)
{
	vhmq_inbox_shut(&worker->inbox);
	WRITE_ONCE(worker->stop, true);
	worker_wake(&worker->inbox);
	pthread_join(worker->thread, NULL);
}

static struct item *item_new(struct pool *pool, unsigned int i)
{
	struct item *item = calloc(1, sizeof(*item));

	assert_non_null(item);
	vhmq_work_init(&item->work);
	item->pool = pool;
	item->index = i / 2;
	item->is_tx = i & 1;
	return item;
}

static void *asker_main(void *data)
{
	struct pool *pool = data;
	unsigned int seed = (uintptr_t)&seed;
	struct item *item;

	while (!READ_ONCE(pool->done)) {
		item = pool->items[rand_r(&seed) % ITEMS];
		__atomic_fetch_add(&item->asked, 1, __ATOMIC_RELAXED);
		ask(item);
		if (rand_r(&seed) % 64 == 0)
			sched_yield();
	}
	return NULL;
}

static void pool_start(struct pool *pool)
{
	unsigned int i;

	memset(pool, 0, sizeof(*pool));
	vhmq_steer_init(&pool->steer);
	pool->steer.window = 5;
	pool->steer.rx_queues = ITEMS / 2;
	pool->steer.threads = WORKERS;
	for (i = 0; i < WORKERS; i++) {
		pool->workers[i].pool = pool;
		vhmq_inbox_init(&pool->workers[i].inbox,
				i ? &pool->workers[0].inbox : NULL);
		worker_start(&pool->workers[i]);
	}
	for (i = 0; i < ITEMS; i++)
		pool->items[i] = item_new(pool, i);
}

static void pool_set_threads(struct pool *pool, unsigned int threads)
{
	unsigned int before = pool->steer.threads, k;

	for (k = before; k < threads; k++)
		worker_start(&pool->workers[k]);
	/* After the threads are there, for those who push. */
	smp_store_release(&pool->steer.threads, threads);
	for (k = threads; k < before; k++)
		worker_stop(&pool->workers[k]);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void nothing_is_lost_nor_run_twice(void **state)
{
	static const enum vhmq_policy policies[] = {
		VHMQ_POLICY_RECENT, VHMQ_POLICY_PAIR, VHMQ_POLICY_SINGLE,
	};
	pthread_t askers[ASKERS];
	struct pool pool;
	double end = seconds() + 3;
	unsigned int i, changes = 0;
	int asked, runs = 0;

	pool_start(&pool);
	for (i = 0; i < ASKERS; i++)
		assert_int_equal(pthread_create(&askers[i], NULL, asker_main,
						&pool), 0);
	while (seconds() < end) {
		pool_set_threads(&pool, 1 + rand() % WORKERS);
		WRITE_ONCE(pool.steer.policy, policies[rand() % 3]);
		WRITE_ONCE(pool.steer.window, rand() % 10);
		vhmq_steer_forget(&pool.steer, rand() % (ITEMS / 2));

		/* What was asked for before a flush was run when it returns. */
		i = rand() % ITEMS;
		asked = READ_ONCE(pool.items[i]->asked);
		ask(pool.items[i]);
		vhmq_work_flush(&pool.items[i]->work);
		check(READ_ONCE(pool.items[i]->seen) - asked >= 0,
		      "a flush returned too early");
		changes++;
	}
	WRITE_ONCE(pool.done, true);
	for (i = 0; i < ASKERS; i++)
		pthread_join(askers[i], NULL);

	for (i = 0; i < ITEMS; i++) {
		vhmq_work_flush(&pool.items[i]->work);
		assert_false(vhmq_work_busy(&pool.items[i]->work));
		assert_int_equal(pool.items[i]->seen, pool.items[i]->asked);
		assert_int_equal(pool.items[i]->inside, 0);
		runs += pool.items[i]->runs;
		free(pool.items[i]);
	}
	pool_set_threads(&pool, 1);
	worker_stop(&pool.workers[0]);
	print_message("%d runs, %u changes\n", runs, changes);
	assert_true(changes > 10);
}

/* An item that was flushed may be freed: nobody touches it again. */
static void a_flushed_item_may_be_freed(void **state)
{
	double end = seconds() + 2;
	struct item *item;
	struct pool pool;
	unsigned int n = 0;

	pool_start(&pool);
	while (seconds() < end) {
		item = item_new(&pool, n % ITEMS);
		item->runs = n % 7;
		ask(item);
		if (n % 3 == 0)
			ask(item);
		vhmq_work_flush(&item->work);
		/* A run that asked for another one needs a second flush. */
		vhmq_work_flush(&item->work);
		memset(item, 0x55, sizeof(*item));
		free(item);
		n++;
	}
	while (pool.steer.threads > 1)
		pool_set_threads(&pool, pool.steer.threads - 1);
	worker_stop(&pool.workers[0]);
	for (n = 0; n < ITEMS; n++)
		free(pool.items[n]);
}

/* The owner is killed: every inbox is shut while others ask and flush. */
static void a_dead_pool_refuses(void **state)
{
	pthread_t askers[ASKERS];
	struct pool pool;
	unsigned int round, i, k;

	for (round = 0; round < 30; round++) {
		pool_start(&pool);
		for (i = 0; i < ASKERS; i++)
			assert_int_equal(pthread_create(&askers[i], NULL,
							asker_main, &pool), 0);
		for (i = 0; i < 20; i++)
			vhmq_work_flush(&pool.items[i % ITEMS]->work);
		/* In any order. */
		for (i = 0; i < WORKERS; i++) {
			k = (i + round) % WORKERS;
			worker_stop(&pool.workers[k]);
		}
		for (i = 0; i < ITEMS; i++)
			vhmq_work_flush(&pool.items[i]->work);
		WRITE_ONCE(pool.done, true);
		for (i = 0; i < ASKERS; i++)
			pthread_join(askers[i], NULL);
		for (i = 0; i < ITEMS; i++) {
			assert_false(vhmq_work_busy(&pool.items[i]->work));
			free(pool.items[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_ask_pushes),
		cmocka_unit_test(an_ask_in_a_run_leads_to_another),
		cmocka_unit_test(a_refused_item_is_idle),
		cmocka_unit_test(a_run_sees_that_it_was_asked_again),
		cmocka_unit_test(a_run_sees_that_its_end_is_awaited),
		cmocka_unit_test(ends_wrap),
		cmocka_unit_test(an_inbox_keeps_the_order),
		cmocka_unit_test(a_shut_inbox_passes_on),
		cmocka_unit_test(nothing_is_lost_nor_run_twice),
		cmocka_unit_test(a_flushed_item_may_be_freed),
		cmocka_unit_test(a_dead_pool_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
