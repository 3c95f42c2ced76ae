// SPDX-License-Identifier: GPL-2.0-only
/*
 * The threads of a group: which of them gets a queue's work, what they do with
 * it, and how many there are. How a thread is made is in thread.c, on which
 * CPUs it runs in place.c.
 *
 * A worker that has no thread has its inbox shut. What is meant for it goes to
 * worker 0, and worker 0 is asked to start the thread: a wake-up cannot, and a
 * thread of the owner can only be made by another thread of the owner. Worker
 * 0 has a thread from start to stop of the pool, unless the owner is killed:
 * then work is refused.
 */
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "thread.h"
#include "trace.h"
#include "vhost_mq.h"

/* A thread that could not be started is not tried again for so long. */
#define RETRY_JIFFIES	HZ

/* ------------------------------------------------------------------------
 * Handing over. Any context.
 */

/*
 * The thread may end at any time; RCU keeps its task until the wake-up is done,
 * see vhmq_threads_reap(). A worker that is running looks into its inbox again
 * before it sleeps; one that was interrupted may be past that.
 */
void vhmq_inbox_wake(struct vhmq_inbox *inbox)
{
	struct vhmq_worker *worker = container_of(inbox, struct vhmq_worker, inbox);
	struct task_struct *task;

	rcu_read_lock();
	task = rcu_dereference(worker->task);
	if (task && !(task == current && in_task()))
		wake_up_process(task);
	rcu_read_unlock();
}

/* Have worker 0 start thread @k. */
static void pool_want(struct vhmq_pool *pool, unsigned int k,
		      const struct vhmq_worker *worker)
{
	if (READ_ONCE(worker->started) || READ_ONCE(pool->dead) ||
	    time_before64(get_jiffies_64(), READ_ONCE(pool->retry)) ||
	    test_and_set_bit(k, pool->wanted))
		return;
	if (vhmq_work_ask(&pool->starter))
		vhmq_inbox_give(&pool->workers[0]->inbox, &pool->starter);
}

static void queue_push(struct vhmq_pool *pool, struct vhmq_queue *queue)
{
	unsigned int k = vhmq_steer_pick(&pool->steer, queue->index,
					 queue->is_tx, get_jiffies_64());
	/* Set before the number of threads was: see pool_set_count(). */
	struct vhmq_worker *worker = READ_ONCE(pool->workers[k]);

	if (!vhmq_inbox_is_open(&worker->inbox)) {
		pool_want(pool, k, worker);
		worker = pool->workers[0];
	}
	trace_vhmq_steer(queue, pool, worker->k);
	vhmq_inbox_give(&worker->inbox, &queue->work);
}

/**
 * vhmq_queue_ask - have the queue run soon
 * @queue: a queue; nothing happens when it is in no group
 *
 * The run that this leads to sees what the caller wrote before.
 *
 * Context: any. Until it returns, the queue stays in its group.
 */
void vhmq_queue_ask(struct vhmq_queue *queue)
{
	struct vhmq_pool *pool = READ_ONCE(queue->pool);

	if (pool && vhmq_work_ask(&queue->work))
		queue_push(pool, queue);
}

/**
 * vhmq_queue_start - look at the ring of a queue that has got its backend
 * @queue: a queue
 *
 * Not a use of the queue, as a kick is: it leaves the others where they are.
 *
 * Context: ioctl, queue->mutex.
 */
void vhmq_queue_start(struct vhmq_queue *queue)
{
	struct vhmq_pool *pool = queue->pool;

	if (vhmq_work_ask(&queue->work))
		vhmq_inbox_give(&pool->workers[0]->inbox, &queue->work);
}

/**
 * vhmq_queue_flush - wait until everything asked for before has been run
 * @queue: a queue
 *
 * Context: process; the caller does not hold queue->mutex.
 */
void vhmq_queue_flush(struct vhmq_queue *queue)
{
	vhmq_work_flush(&queue->work);
}

/**
 * vhmq_queue_forget - the queue was switched off
 * @queue: a queue
 *
 * Context: any.
 */
void vhmq_queue_forget(struct vhmq_queue *queue)
{
	if (queue->pool && queue->is_tx)
		vhmq_steer_forget(&queue->pool->steer, queue->index);
}

/* ------------------------------------------------------------------------
 * Running. The worker's thread.
 */

/**
 * vhmq_worker_run_queue - serve a queue
 * @worker: the worker
 * @queue: a queue whose item the worker has begun
 * @may_poll: it can be polled for afterwards
 *
 * Return: true when that is to follow, and the run does not end yet.
 * Context: the worker's thread.
 */
bool vhmq_worker_run_queue(struct vhmq_worker *worker, struct vhmq_queue *queue, bool may_poll)
{
	int before = queue->last_worker;

	/* Serialized by the item: nobody else runs the queue. */
	vhmq_count(&worker->stats, works);
	vhmq_count(&queue->stats, runs);
	if (before != (int)worker->k) {
		WRITE_ONCE(queue->last_worker, worker->k);
		if (before >= 0)
			vhmq_count(&queue->stats, moves);
	}

	if (queue->is_tx)
		return vhmq_tx_run(queue, worker->scratch, may_poll);
	return vhmq_rx_run(queue, worker->scratch, may_poll);
}

/**
 * vhmq_worker_end - the run of a queue has ended
 * @queue: the queue; it may be gone afterwards
 *
 * Context: the thread of the worker that has served it.
 */
void vhmq_worker_end(struct vhmq_queue *queue)
{
	/* Stays until the queue is idle; that may be the next step. */
	struct vhmq_pool *pool = queue->pool;

	/* From here on the queue may be gone, unless it was asked for again. */
	if (vhmq_work_end(&queue->work))
		queue_push(pool, queue);
}

static void run_starter(struct vhmq_pool *pool)
{
	unsigned int k;

	mutex_lock(&pool->lock);
	for_each_set_bit(k, pool->wanted, VHMQ_MAX_WORKERS) {
		clear_bit(k, pool->wanted);
		if (k < pool->steer.threads && !READ_ONCE(pool->dead) &&
		    vhmq_thread_start(pool->workers[k]))
			WRITE_ONCE(pool->retry, get_jiffies_64() + RETRY_JIFFIES);
	}
	mutex_unlock(&pool->lock);
}

static void worker_run(struct vhmq_worker *worker, struct vhmq_work *work)
{
	struct vhmq_pool *pool = worker->pool;
	struct vhmq_queue *queue;

	vhmq_work_begin(work);
	if (work == &pool->starter) {
		run_starter(pool);
		if (vhmq_work_end(work))
			vhmq_inbox_give(&pool->workers[0]->inbox, work);
		return;
	}

	queue = container_of(work, struct vhmq_queue, work);
	if (unlikely(vhmq_worker_run_queue(worker, queue, true)))
		vhmq_busy_begin(worker, queue);
	else
		vhmq_worker_end(queue);
}

static void run_works(struct vhmq_worker *worker, struct llist_node *works)
{
	struct vhmq_work *work, *next;

	llist_for_each_entry_safe(work, next, works, node) {
		worker_run(worker, work);
		/* There may be more for ever, and who ends a trace waits for all to sleep. */
		cond_resched_tasks_rcu_qs();
	}
}

/**
 * vhmq_worker_work - do what is in the inbox
 * @worker: the worker
 *
 * Return: false when there was nothing.
 * Context: the worker's thread.
 */
bool vhmq_worker_work(struct vhmq_worker *worker)
{
	struct llist_node *works;

	if (llist_empty(&worker->inbox.works))
		return false;
	works = vhmq_inbox_take(&worker->inbox);
	run_works(worker, works);
	return works;
}

/**
 * vhmq_worker_pass - do what there is to do
 * @worker: the worker
 *
 * The caller has set the task's state to TASK_INTERRUPTIBLE before, so that
 * who adds to the inbox after this has looked wakes it.
 *
 * Return: false when there was nothing, and the thread may sleep.
 * Context: the worker's thread.
 */
bool vhmq_worker_pass(struct vhmq_worker *worker)
{
	struct llist_node *works = vhmq_inbox_take(&worker->inbox);

	if (!works) {
		worker->slept = true;
		return false;
	}

	__set_current_state(TASK_RUNNING);
	if (worker->slept) {
		worker->slept = false;
		vhmq_count(&worker->stats, wakeups);
		trace_vhmq_wakeup(worker);
	}
	run_works(worker, works);
	if (unlikely(!list_empty(&worker->busy)))
		vhmq_busy_poll(worker);
	return true;
}

/* ------------------------------------------------------------------------
 * How many. Process context.
 */

static void worker_free(struct vhmq_worker *worker)
{
	free_cpumask_var(worker->place);
	free_cpumask_var(worker->cpus);
	kfree(worker);
}

static struct vhmq_worker *worker_alloc(struct vhmq_pool *pool, unsigned int k)
{
	struct vhmq_worker *worker = kzalloc(sizeof(*worker), GFP_KERNEL);

	if (!worker)
		return NULL;
	worker->pool = pool;
	worker->k = k;
	worker->slept = true;
	INIT_LIST_HEAD(&worker->busy);
	vhmq_inbox_init(&worker->inbox, k ? &pool->workers[0]->inbox : NULL);
	init_completion(&worker->ready);
	if (zalloc_cpumask_var(&worker->cpus, GFP_KERNEL) &&
	    zalloc_cpumask_var(&worker->place, GFP_KERNEL))
		return worker;

	worker_free(worker);
	return NULL;
}

static int pool_alloc_workers(struct vhmq_pool *pool, unsigned int count)
{
	struct vhmq_worker *worker;
	unsigned int k;

	for (k = 0; k < count; k++) {
		if (pool->workers[k])
			continue;
		worker = worker_alloc(pool, k);
		if (!worker)
			return -ENOMEM;
		WRITE_ONCE(pool->workers[k], worker);
	}
	return 0;
}

static int pool_set_count(struct vhmq_pool *pool, unsigned int threads,
			  unsigned int pairs)
{
	unsigned int count = threads ?: vhmq_steer_auto_threads(pairs);
	int ret = pool_alloc_workers(pool, count);

	if (ret)
		return ret;

	pool->threads = threads;
	pool->pairs = pairs;
	/*
	 * Workers first, then their number. Who steers depends on the number for
	 * the index of the worker, so that it sees the worker.
	 */
	smp_store_release(&pool->steer.threads, count);
	return 0;
}

/**
 * vhmq_pool_set_threads - set the number of threads
 * @pool: a pool that was started
 * @threads: 1 to VHMQ_MAX_WORKERS, or 0 for a number that follows the pairs
 *
 * Threads beyond the number get no more to do, and end with vhmq_pool_trim();
 * more are started when they have something to do.
 *
 * Return: 0 or -ENOMEM.
 * Context: process, group->lock.
 */
int vhmq_pool_set_threads(struct vhmq_pool *pool, unsigned int threads)
{
	unsigned int k;
	int ret;

	mutex_lock(&pool->lock);
	ret = pool_set_count(pool, threads, pool->pairs);
	for (k = pool->steer.threads; k < VHMQ_MAX_WORKERS && !ret; k++)
		if (pool->workers[k])
			pool->workers[k]->ending = vhmq_thread_is(pool->workers[k]);
	mutex_unlock(&pool->lock);
	return ret;
}

/**
 * vhmq_pool_trim - end the threads that are too many
 * @pool: a pool, after vhmq_pool_set_threads()
 *
 * Waits for the run that each is in, and for an owner that is stopped.
 *
 * Context: process, group->resize.
 */
void vhmq_pool_trim(struct vhmq_pool *pool)
{
	unsigned int k;

	for (k = 0; k < VHMQ_MAX_WORKERS; k++)
		if (pool->workers[k] && READ_ONCE(pool->workers[k]->ending))
			vhmq_thread_stop(pool->workers[k]);
	vhmq_threads_reap(pool);
}

/**
 * vhmq_pool_set_pairs - a device has joined, or is about to leave
 * @pool: the pool
 * @pairs: queue pairs of the group
 *
 * Threads beyond an automatic number do not end, so that closing the devices of
 * a group one by one does not wait for each.
 *
 * Return: 0 or -ENOMEM; lowering does not fail.
 * Context: process, group->lock.
 */
int vhmq_pool_set_pairs(struct vhmq_pool *pool, unsigned int pairs)
{
	int ret;

	mutex_lock(&pool->lock);
	ret = pool_set_count(pool, pool->threads, pairs);
	if (!ret)
		WRITE_ONCE(pool->steer.rx_queues, pairs);
	mutex_unlock(&pool->lock);
	return ret;
}

/**
 * vhmq_pool_init - a pool without owner and threads
 * @pool: zeroed memory
 *
 * Return: 0 or -ENOMEM.
 */
int vhmq_pool_init(struct vhmq_pool *pool)
{
	vhmq_steer_init(&pool->steer);
	vhmq_work_init(&pool->starter);
	mutex_init(&pool->lock);
	if (zalloc_cpumask_var(&pool->cpus, GFP_KERNEL) &&
	    zalloc_cpumask_var(&pool->allowed, GFP_KERNEL) &&
	    !pool_alloc_workers(pool, 1))
		return 0;

	vhmq_pool_exit(pool);
	return -ENOMEM;
}

/**
 * vhmq_pool_exit - free what belongs to a pool
 * @pool: a pool that is stopped, or was never started
 */
void vhmq_pool_exit(struct vhmq_pool *pool)
{
	unsigned int k;

	for (k = 0; k < VHMQ_MAX_WORKERS; k++)
		if (pool->workers[k])
			worker_free(pool->workers[k]);
	free_cpumask_var(pool->allowed);
	free_cpumask_var(pool->cpus);
	mutex_destroy(&pool->lock);
}

/**
 * vhmq_pool_start - take an owner and start worker 0
 * @pool: a pool
 * @fork_from_owner: threads of the owner rather than kernel threads, where the
 *	kernel has them
 *
 * Return: 0 or a negative error number.
 * Context: process, the owner.
 */
int vhmq_pool_start(struct vhmq_pool *pool, bool fork_from_owner)
{
	struct vhmq_worker *first = pool->workers[0];
	int ret;

	pool->owner.mm = get_task_mm(current);
	if (!pool->owner.mm)
		return -EPERM;
	pool->owner.pid = task_tgid_nr(current);
	pool->owner.fork_from_owner = fork_from_owner && VHMQ_CAN_FORK_FROM_OWNER;

	mutex_lock(&pool->lock);
	pool->owner.task = get_task_struct(current->group_leader);
	ret = vhmq_thread_start(first);
	mutex_unlock(&pool->lock);
	if (!ret) {
		wait_for_completion(&first->ready);
		ret = first->error;
	}
	if (ret)
		vhmq_pool_stop(pool);
	return ret;
}

/**
 * vhmq_pool_stop - end the threads, then give back the owner's memory
 * @pool: a pool; all its queues are idle, and nobody asks
 *
 * Context: process.
 */
void vhmq_pool_stop(struct vhmq_pool *pool)
{
	unsigned int k;

	/*
	 * Worker 0 comes first, and without the lock: it may be starting one of
	 * the others.
	 */
	vhmq_thread_stop(pool->workers[0]);
	for (k = 1; k < VHMQ_MAX_WORKERS; k++)
		if (pool->workers[k])
			vhmq_thread_stop(pool->workers[k]);
	/* CPUs that come or go may be moving them. */
	mutex_lock(&pool->lock);
	for (k = 0; k < VHMQ_MAX_WORKERS; k++)
		if (pool->workers[k])
			vhmq_thread_forget(pool->workers[k]);
	put_task_struct(pool->owner.task);
	pool->owner.task = NULL;
	mutex_unlock(&pool->lock);

	mmput(pool->owner.mm);
	pool->owner.mm = NULL;
}
