// SPDX-License-Identifier: GPL-2.0-only
/*
 * The thread of a worker: a thread of the owner (vhost_task), charged, limited
 * and killed with it, or a kernel thread that adopts the owner's memory and
 * joins its cgroups.
 *
 * A thread sets itself up, opens its inbox and then works until it is stopped.
 * It publishes itself in worker->task, with a reference, for those who wake it.
 */
#include <linux/cgroup.h>
#include <linux/kthread.h>
#include <linux/sched/task.h>

#include "thread.h"
#include "vhost_mq.h"

static void thread_enter(struct vhmq_worker *worker)
{
	struct vhmq_pool *pool = worker->pool;

	mutex_lock(&pool->lock);
	set_cpus_allowed_ptr(current, worker->place);
	rcu_assign_pointer(worker->task, get_task_struct(current));
	mutex_unlock(&pool->lock);

	worker->entered = true;
	vhmq_inbox_open(&worker->inbox);
	complete_all(&worker->ready);
}

/* ------------------------------------------------------------------------
 * Threads of the owner
 */

/* Called in a loop that sleeps when it returns false. */
static bool owner_thread_pass(void *data)
{
	struct vhmq_worker *worker = data;

	if (!worker->entered) {
		__set_current_state(TASK_RUNNING);
		thread_enter(worker);
		return true;
	}
	return vhmq_worker_pass(worker);
}

/*
 * The owner was killed, or has become another program. The thread does not run
 * any more; the pool is not started again, and goes when its files are closed.
 */
static void owner_thread_killed(void *data)
{
	struct vhmq_worker *worker = data;

	WRITE_ONCE(worker->pool->dead, true);
	vhmq_inbox_shut(&worker->inbox);
	/* It may have been killed before it did anything. */
	if (!worker->entered) {
		worker->error = -EOWNERDEAD;
		complete_all(&worker->ready);
	}
}

static int owner_thread_start(struct vhmq_worker *worker, const char *name)
{
	struct vhost_task *task;

	task = vhmq_owner_thread_create(owner_thread_pass, owner_thread_killed,
					worker, name);
	if (IS_ERR(task))
		return PTR_ERR(task);
	worker->owner_thread = task;
	WRITE_ONCE(worker->started, true);
	vhost_task_start(task);
	return 0;
}

/* ------------------------------------------------------------------------
 * Kernel threads
 */

static void kthread_work(struct vhmq_worker *worker)
{
	kthread_use_mm(worker->pool->owner.mm);
	thread_enter(worker);

	for (;;) {
		/* Pairs with the wake-ups of kthread_stop() and of askers. */
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		if (!vhmq_worker_pass(worker))
			schedule();
	}
	__set_current_state(TASK_RUNNING);
	kthread_unuse_mm(worker->pool->owner.mm);
}

static int kthread_main(void *data)
{
	struct vhmq_worker *worker = data;
	int ret;

	ret = cgroup_attach_task_all(worker->pool->owner.task, current);
	if (!ret) {
		kthread_work(worker);
		return 0;
	}

	worker->error = ret;
	WRITE_ONCE(worker->pool->retry, get_jiffies_64() + HZ);
	/* Pairs with the acquire in vhmq_thread_start(). */
	smp_store_release(&worker->started, false);
	complete_all(&worker->ready);
	return ret;
}

static int kthread_start(struct vhmq_worker *worker, const char *name)
{
	struct task_struct *task;

	task = kthread_create(kthread_main, worker, "%s", name);
	if (IS_ERR(task))
		return PTR_ERR(task);
	/* It may end by itself, and is stopped all the same. */
	worker->kthread = get_task_struct(task);
	WRITE_ONCE(worker->started, true);
	wake_up_process(task);
	return 0;
}

/* ------------------------------------------------------------------------
 * Either
 */

static void thread_free_scratch(struct vhmq_worker *worker)
{
	if (worker->scratch)
		vhmq_scratch_free(worker->scratch);
	worker->scratch = NULL;
}

static void thread_end(struct vhmq_worker *worker)
{
	if (worker->owner_thread) {
		vhost_task_stop(worker->owner_thread);
		worker->owner_thread = NULL;
	} else if (worker->kthread) {
		kthread_stop(worker->kthread);
		put_task_struct(worker->kthread);
		worker->kthread = NULL;
	}
	WRITE_ONCE(worker->started, false);
	thread_free_scratch(worker);
}

/**
 * vhmq_thread_start - give a worker a thread
 * @worker: the worker; nothing happens when it has one, or that is ending
 *
 * Does not wait for the thread to set itself up: worker->ready does, and
 * worker->error is the result.
 *
 * Return: 0 or a negative error number.
 * Context: the owner's ioctl or worker 0; pool->lock.
 */
int vhmq_thread_start(struct vhmq_worker *worker)
{
	struct vhmq_pool *pool = worker->pool;
	char name[TASK_COMM_LEN + 8];
	int ret;

	/* Pairs with the release of a kernel thread that gives up. */
	if (worker->ending || smp_load_acquire(&worker->started))
		return 0;
	/* Such a one. */
	thread_end(worker);

	worker->scratch = vhmq_scratch_alloc();
	if (!worker->scratch)
		return -ENOMEM;
	worker->entered = false;
	worker->slept = true;
	worker->error = 0;
	reinit_completion(&worker->ready);
	vhmq_worker_place(worker);

	/* Tools look for vhost-<pid> and expect one of them. */
	if (worker->k)
		snprintf(name, sizeof(name), "vhost-%d/%u", pool->owner.pid,
			 worker->k);
	else
		snprintf(name, sizeof(name), "vhost-%d", pool->owner.pid);

	if (pool->owner.fork_from_owner)
		ret = owner_thread_start(worker, name);
	else
		ret = kthread_start(worker, name);
	if (ret)
		thread_free_scratch(worker);
	return ret;
}

/**
 * vhmq_thread_is - is there something to stop?
 * @worker: the worker
 *
 * Return: true when it has a thread, or one that gave up.
 * Context: pool->lock, or nobody starts it.
 */
bool vhmq_thread_is(const struct vhmq_worker *worker)
{
	return worker->owner_thread || worker->kthread;
}

/**
 * vhmq_thread_stop - end the thread of a worker
 * @worker: the worker; nothing happens when it has none
 *
 * What it has to do is handed over or refused, see vhmq_inbox_shut(); what it
 * has begun, or taken from its inbox, it does.
 *
 * Context: process. Nobody starts the thread again meanwhile. The caller does
 * not hold pool->lock, which a thread takes that sets itself up.
 */
void vhmq_thread_stop(struct vhmq_worker *worker)
{
	if (!vhmq_thread_is(worker))
		return;

	/* A thread that has not come so far opens it, and is asked once more. */
	if (READ_ONCE(worker->started))
		wait_for_completion(&worker->ready);
	vhmq_inbox_shut(&worker->inbox);
	thread_end(worker);
}

/* The CPU time of the thread stays with the worker. */
static struct task_struct *thread_unpublish(struct vhmq_worker *worker)
{
	struct task_struct *task = rcu_replace_pointer(worker->task, NULL, true);

	if (task)
		vhmq_count_add(&worker->stats, busy_ns,
			       task->se.sum_exec_runtime);
	return task;
}

/**
 * vhmq_thread_forget - nobody wakes the thread any more
 * @worker: a worker whose thread has ended
 */
void vhmq_thread_forget(struct vhmq_worker *worker)
{
	struct task_struct *task = thread_unpublish(worker);

	if (task)
		put_task_struct(task);
}

/**
 * vhmq_threads_reap - forget the threads that were too many and have ended
 * @pool: a pool that is in use: a wake-up may be under way
 *
 * Their workers can have threads again.
 *
 * Context: process, group->resize.
 */
void vhmq_threads_reap(struct vhmq_pool *pool)
{
	struct vhmq_worker *worker;
	bool any = false;
	unsigned int k;

	mutex_lock(&pool->lock);
	for (k = 0; k < VHMQ_MAX_WORKERS; k++) {
		worker = pool->workers[k];
		if (!worker || !worker->ending)
			continue;
		worker->gone = thread_unpublish(worker);
		worker->ending = false;
		any |= !!worker->gone;
	}
	mutex_unlock(&pool->lock);
	if (!any)
		return;

	/* For vhmq_inbox_wake(). */
	synchronize_rcu();
	for (k = 0; k < VHMQ_MAX_WORKERS; k++) {
		worker = pool->workers[k];
		if (!worker || !worker->gone)
			continue;
		put_task_struct(worker->gone);
		worker->gone = NULL;
	}
}

/* ------------------------------------------------------------------------
 * What people see of a thread
 */

/**
 * vhmq_worker_pid - the thread of a worker
 * @worker: the worker
 *
 * Return: its pid in the initial namespace, or 0 when it has no thread.
 * Context: any.
 */
pid_t vhmq_worker_pid(struct vhmq_worker *worker)
{
	struct task_struct *task;
	pid_t pid = 0;

	rcu_read_lock();
	task = rcu_dereference(worker->task);
	/* One that was killed with the owner is still published. */
	if (task && pid_alive(task))
		pid = task_pid_nr(task);
	rcu_read_unlock();
	return pid;
}

/**
 * vhmq_worker_runtime - CPU time that the worker's threads have used
 * @worker: the worker
 *
 * Return: nanoseconds.
 * Context: any.
 */
u64 vhmq_worker_runtime(struct vhmq_worker *worker)
{
	struct task_struct *task;
	u64 ns = READ_ONCE(worker->stats.busy_ns);

	rcu_read_lock();
	task = rcu_dereference(worker->task);
	if (task)
		ns += READ_ONCE(task->se.sum_exec_runtime);
	rcu_read_unlock();
	return ns;
}
