// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters as people see them: stats/ in the directories of sysfs.c. The tables
 * in the private header say which there are.
 */
#include "sysfs.h"
#include "vhost_mq.h"

/* ------------------------------------------------------------------------
 * Queues
 */

/**
 * vhmq_queue_stats_add - add the counters of a queue
 * @sum: to this
 * @queue: the queue
 *
 * Context: any.
 */
void vhmq_queue_stats_add(struct vhmq_queue_stats *sum, struct vhmq_queue *queue)
{
	const struct vhmq_queue_stats *stats = &queue->stats;

#define ADD(name) sum->name += READ_ONCE(stats->name);
	VHMQ_QUEUE_COUNTERS(ADD)
#undef ADD
	/* Counted where they arrive, by several at once. */
	sum->kicks += atomic_long_read(&queue->kicks);
	sum->socket_wakeups += atomic_long_read(&queue->socket_wakeups);
}

/**
 * vhmq_queue_stats_clear - start from zero
 * @queue: a queue that is idle
 */
void vhmq_queue_stats_clear(struct vhmq_queue *queue)
{
	memset(&queue->stats, 0, sizeof(queue->stats));
	atomic_long_set(&queue->kicks, 0);
	atomic_long_set(&queue->socket_wakeups, 0);
}

static ssize_t show_at(const void *stats, unsigned int offset, char *page)
{
	return sysfs_emit(page, "%llu\n", *(const u64 *)(stats + offset));
}

static ssize_t queue_show(void *object, unsigned int offset, char *page)
{
	struct vhmq_queue_stats sum = {};

	vhmq_queue_stats_add(&sum, object);
	return show_at(&sum, offset, page);
}

/* What left with its queues counts too, so that a sum never falls. */
static ssize_t group_show(void *object, unsigned int offset, char *page)
{
	struct vhmq_group *group = object;
	struct vhmq_queue_stats sum;
	struct vhmq_dev *dev;
	int i;

	mutex_lock(&group->lock);
	sum = group->gone;
	list_for_each_entry(dev, &group->devices, group_node)
		for (i = 0; i < VHMQ_NR_QUEUES; i++)
			vhmq_queue_stats_add(&sum, &dev->queues[i]);
	mutex_unlock(&group->lock);
	return show_at(&sum, offset, page);
}

#define ATTRS(name)							\
	VHMQ_ATTR_RO(queue_, name, queue_show,				\
		     offsetof(struct vhmq_queue_stats, name));		\
	VHMQ_ATTR_RO(group_, name, group_show,				\
		     offsetof(struct vhmq_queue_stats, name));
VHMQ_QUEUE_COUNTERS(ATTRS)

#define QUEUE_ENTRY(name) &queue_##name.attr,
#define GROUP_ENTRY(name) &group_##name.attr,

static struct attribute *queue_attrs[] = {
	VHMQ_QUEUE_COUNTERS(QUEUE_ENTRY)
	NULL
};

static struct attribute *group_attrs[] = {
	VHMQ_QUEUE_COUNTERS(GROUP_ENTRY)
	NULL
};

const struct attribute_group vhmq_queue_stats = {
	.name = "stats",
	.attrs = queue_attrs,
};

const struct attribute_group vhmq_group_stats = {
	.name = "stats",
	.attrs = group_attrs,
};

/* ------------------------------------------------------------------------
 * Workers
 */

static ssize_t worker_show(void *object, unsigned int offset, char *page)
{
	struct vhmq_worker *worker = object;
	struct vhmq_worker_stats stats;

#define COPY(name) stats.name = READ_ONCE(worker->stats.name);
	VHMQ_WORKER_COUNTERS(COPY)
#undef COPY
	/* The scheduler counts it for the thread that there is now. */
	stats.busy_ns = vhmq_worker_runtime(worker);
	return show_at(&stats, offset, page);
}

#define ATTR(name)							\
	VHMQ_ATTR_RO(worker_, name, worker_show,			\
		     offsetof(struct vhmq_worker_stats, name));
VHMQ_WORKER_COUNTERS(ATTR)

#define WORKER_ENTRY(name) &worker_##name.attr,

static struct attribute *worker_attrs[] = {
	VHMQ_WORKER_COUNTERS(WORKER_ENTRY)
	NULL
};

const struct attribute_group vhmq_worker_stats = {
	.name = "stats",
	.attrs = worker_attrs,
};
