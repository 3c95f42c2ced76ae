// SPDX-License-Identifier: GPL-2.0-only
/*
 * On which CPUs the workers of a group run.
 *
 * Without a list they follow the owner: the mask of its first thread when the
 * worker starts, and what cpusets make of it later. With a list they run on its
 * CPUs as far as these are online and the owner's cpuset allows them; when none
 * is left, wherever the cpuset allows.
 *
 * The kernel exports no way to ask what a task's cpuset allows. But it narrows
 * the mask of a task that joins a cpuset: a kernel thread that may run anywhere
 * joins the owner's cgroups, looks at its mask, and ends.
 *
 * A thread of the owner has inherited what the owner asked for with
 * sched_setaffinity(). From 6.2 the kernel intersects with that any mask which
 * overlaps it. A mask of one CPU is taken as it is, or lies outside and is taken
 * as it is; so only `shared` may come out smaller. effective_cpulist tells.
 */
#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "thread.h"
#include "vhost_mq.h"

struct probe {
	struct task_struct *owner;
	struct cpumask *cpus;
	struct completion done;
	int ret;
};

static int probe_main(void *data)
{
	struct probe *probe = data;

	set_cpus_allowed_ptr(current, cpu_possible_mask);
	probe->ret = cgroup_attach_task_all(probe->owner, current);
	cpumask_copy(probe->cpus, current->cpus_ptr);
	complete(&probe->done);

	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static void copy_mask(struct cpumask *cpus, struct task_struct *task)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&task->pi_lock, flags);
	cpumask_copy(cpus, task->cpus_ptr);
	raw_spin_unlock_irqrestore(&task->pi_lock, flags);
}

/* Ask for what the owner's cpuset allows; when that fails, what it uses. */
static void pool_ask_allowed(struct vhmq_pool *pool)
{
	struct probe probe = {
		.owner = pool->owner.task,
		.cpus = pool->allowed,
		.done = COMPLETION_INITIALIZER_ONSTACK(probe.done),
	};
	struct task_struct *task;

	if (!IS_ENABLED(CONFIG_CPUSETS)) {
		cpumask_copy(pool->allowed, cpu_possible_mask);
		return;
	}

	task = kthread_run(probe_main, &probe, "vhmq-cpuset");
	if (!IS_ERR(task)) {
		wait_for_completion(&probe.done);
		kthread_stop(task);
		if (!probe.ret)
			return;
	}
	copy_mask(pool->allowed, pool->owner.task);
}

static const struct cpumask *worker_list(const struct vhmq_worker *worker)
{
	return cpumask_empty(worker->cpus) ? worker->pool->cpus : worker->cpus;
}

static unsigned int nth_cpu(unsigned int n, const struct cpumask *cpus)
{
	unsigned int cpu = cpumask_first(cpus);

	while (n--)
		cpu = cpumask_next(cpu, cpus);
	return cpu;
}

/* Its list, as far as the cpuset allows it. The answer in pool->allowed is fresh. */
static void worker_place(struct vhmq_worker *worker)
{
	struct vhmq_pool *pool = worker->pool;
	const struct cpumask *list = worker_list(worker);
	struct cpumask *place = worker->place;
	unsigned int cpu;

	if (cpumask_empty(list)) {
		copy_mask(place, pool->owner.task);
		return;
	}

	cpumask_and(place, list, pool->allowed);
	if (!cpumask_and(place, place, cpu_online_mask)) {
		cpumask_copy(place, pool->allowed);
		return;
	}
	if (list == pool->cpus && pool->placement == VHMQ_PLACE_SPREAD) {
		cpu = nth_cpu(worker->k % cpumask_weight(place), place);
		cpumask_copy(place, cpumask_of(cpu));
	}
}

/**
 * vhmq_worker_place - find out where a worker is to run
 * @worker: the worker; the result is in worker->place
 *
 * Context: process, pool->lock.
 */
void vhmq_worker_place(struct vhmq_worker *worker)
{
	if (!cpumask_empty(worker_list(worker)))
		pool_ask_allowed(worker->pool);
	worker_place(worker);
}

/*
 * pool->lock; the thread is not reaped meanwhile. The cpuset may have changed since
 * it was @asked for: asks once for all that are moved.
 */
static void worker_move(struct vhmq_worker *worker, bool *asked)
{
	struct task_struct *task;

	if (!*asked && !cpumask_empty(worker_list(worker))) {
		pool_ask_allowed(worker->pool);
		*asked = true;
	}
	worker_place(worker);
	task = rcu_dereference_protected(worker->task,
					 lockdep_is_held(&worker->pool->lock));
	/* Fails when the CPUs go away just now; their going leads here again. */
	if (task)
		set_cpus_allowed_ptr(task, worker->place);
}

/*
 * A list of which the cpuset allows nothing, now or when more CPUs are online, is
 * refused as sched_setaffinity() does.
 */
static int pool_check_cpus(struct vhmq_pool *pool, const struct cpumask *cpus)
{
	unsigned int cpu;

	if (cpumask_empty(cpus))
		return 0;

	pool_ask_allowed(pool);
	for_each_cpu(cpu, cpus)
		if (cpumask_test_cpu(cpu, pool->allowed) || !cpu_online(cpu))
			return 0;
	return -EINVAL;
}

/**
 * vhmq_pool_set_cpus - set the CPUs of a group's workers
 * @pool: a pool that was started
 * @cpus: the list; empty: as the owner
 * @placement: how the workers share it
 *
 * Return: 0, or -EINVAL when the owner's cpuset allows none of them.
 * Context: process, group->lock.
 */
int vhmq_pool_set_cpus(struct vhmq_pool *pool, const struct cpumask *cpus,
		       enum vhmq_placement placement)
{
	bool asked = !cpumask_empty(cpus);
	unsigned int k;
	int ret;

	mutex_lock(&pool->lock);
	ret = pool_check_cpus(pool, cpus);
	if (!ret) {
		cpumask_copy(pool->cpus, cpus);
		pool->placement = placement;
		for (k = 0; k < VHMQ_MAX_WORKERS; k++)
			if (pool->workers[k])
				worker_move(pool->workers[k], &asked);
	}
	mutex_unlock(&pool->lock);
	return ret;
}

/**
 * vhmq_worker_set_cpus - set the CPUs of one worker
 * @worker: the worker
 * @cpus: the list; empty: as the group's
 *
 * Return: 0, or -EINVAL when the owner's cpuset allows none of them.
 * Context: process, group->lock.
 */
int vhmq_worker_set_cpus(struct vhmq_worker *worker, const struct cpumask *cpus)
{
	struct vhmq_pool *pool = worker->pool;
	bool asked = !cpumask_empty(cpus);
	int ret;

	mutex_lock(&pool->lock);
	ret = pool_check_cpus(pool, cpus);
	if (!ret) {
		cpumask_copy(worker->cpus, cpus);
		worker_move(worker, &asked);
	}
	mutex_unlock(&pool->lock);
	return ret;
}

/**
 * vhmq_pool_place - CPUs have come or gone
 * @pool: a pool; nothing happens unless it has an owner
 *
 * Context: process, group->lock.
 */
void vhmq_pool_place(struct vhmq_pool *pool)
{
	struct vhmq_worker *worker;
	bool asked = false;
	unsigned int k;

	mutex_lock(&pool->lock);
	for (k = 0; k < VHMQ_MAX_WORKERS && pool->owner.task; k++) {
		worker = pool->workers[k];
		if (worker && !cpumask_empty(worker_list(worker)))
			worker_move(worker, &asked);
	}
	mutex_unlock(&pool->lock);
}

/**
 * vhmq_worker_add_cpus - where a worker may run
 * @worker: the worker
 * @cpus: the CPUs of its thread, if it has one, are added
 *
 * Context: any.
 */
void vhmq_worker_add_cpus(struct vhmq_worker *worker, struct cpumask *cpus)
{
	struct task_struct *task;
	unsigned long flags;

	rcu_read_lock();
	task = rcu_dereference(worker->task);
	if (task) {
		raw_spin_lock_irqsave(&task->pi_lock, flags);
		cpumask_or(cpus, cpus, task->cpus_ptr);
		raw_spin_unlock_irqrestore(&task->pi_lock, flags);
	}
	rcu_read_unlock();
}
