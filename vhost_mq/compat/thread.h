/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads of the owner: vhost_task, 6.4. Kernels before, and those without
 * vhost, have none; a worker is a kthread there.
 */
#ifndef VHMQ_COMPAT_THREAD_H
#define VHMQ_COMPAT_THREAD_H

#include <linux/err.h>
#include <linux/kconfig.h>

#if defined(VHMQ_HAVE_VHOST_TASK) && IS_ENABLED(CONFIG_VHOST_TASK)

#include <linux/sched/vhost_task.h>

#define VHMQ_CAN_FORK_FROM_OWNER	1

static inline struct vhost_task *
vhmq_owner_thread_create(bool (*fn)(void *), void (*killed)(void *), void *arg,
			 const char *name)
{
	struct vhost_task *task;

#ifdef VHMQ_HAVE_VHOST_TASK_KILL
	task = vhost_task_create(fn, killed, arg, name);
#else
	/* Until 6.9 a killed thread went on until it was stopped. */
	task = vhost_task_create(fn, arg, name);
#endif
	/* NULL until 6.13 */
	return task ?: ERR_PTR(-ENOMEM);
}

#else

struct vhost_task;

#define VHMQ_CAN_FORK_FROM_OWNER	0

static inline struct vhost_task *
vhmq_owner_thread_create(bool (*fn)(void *), void (*killed)(void *), void *arg,
			 const char *name)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void vhost_task_start(struct vhost_task *task)
{
}

static inline void vhost_task_stop(struct vhost_task *task)
{
}

#endif

#endif /* VHMQ_COMPAT_THREAD_H */
