// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/class/misc/vhost-net/mq: what people see and set. Every file is described
 * in Documentation/ABI/testing/sysfs-class-misc-vhost-net-mq.
 *
 *	mq/			defaults of groups made from then on
 *	mq/<group>/		a group
 *	mq/<group>/worker<k>/	a worker, with or without a thread
 *	mq/<group>/queue<i>/	a queue; i is 2 * pair, plus 1 for transmit
 */
#include <linux/bitmap.h>
#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "sysfs.h"
#include "vhost_mq.h"

/* ------------------------------------------------------------------------
 * Directories
 */

/* How many there are; the last one to go lets the module go. */
static atomic_t dirs = ATOMIC_INIT(0);

static struct vhmq_dir *mq_dir;

static ssize_t dir_show(struct kobject *kobj, struct attribute *attr, char *page)
{
	struct vhmq_attr *a = container_of(attr, struct vhmq_attr, attr);

	return a->show(container_of(kobj, struct vhmq_dir, kobj)->object, a->arg,
		       page);
}

static ssize_t dir_store(struct kobject *kobj, struct attribute *attr,
			 const char *text, size_t count)
{
	struct vhmq_attr *a = container_of(attr, struct vhmq_attr, attr);
	int ret;

	if (!a->store)
		return -EIO;
	ret = a->store(container_of(kobj, struct vhmq_dir, kobj)->object, a->arg,
		       text);
	return ret ?: count;
}

static const struct sysfs_ops dir_ops = {
	.show = dir_show,
	.store = dir_store,
};

static void dir_release(struct kobject *kobj)
{
	kfree(container_of(kobj, struct vhmq_dir, kobj));
	/* vhmq_sysfs_exit() waits for this, too. */
	rcu_read_lock();
	if (atomic_dec_and_test(&dirs))
		wake_up_var(&dirs);
	rcu_read_unlock();
}

#define DIR_TYPE(kind)							\
	static const struct kobj_type kind##_type = {			\
		.release = dir_release,					\
		.sysfs_ops = &dir_ops,					\
		.default_groups = kind##_groups,			\
	}

static struct vhmq_dir *dir_create(const struct kobj_type *type, void *object,
				   struct kobject *parent, const char *name)
{
	struct vhmq_dir *dir = kzalloc(sizeof(*dir), GFP_KERNEL);
	int ret;

	if (!dir)
		return ERR_PTR(-ENOMEM);
	dir->object = object;
	atomic_inc(&dirs);
	ret = kobject_init_and_add(&dir->kobj, type, parent, "%s", name);
	if (ret) {
		kobject_put(&dir->kobj);
		return ERR_PTR(ret);
	}
	return dir;
}

static void dir_destroy(struct vhmq_dir *dir)
{
	if (!dir)
		return;
	kobject_del(&dir->kobj);
	kobject_put(&dir->kobj);
}

#define KNOB_ATTRS(prefix, show, store, store_threads)			\
	VHMQ_ATTR_RW(prefix, window_jiffies, show, store, VHMQ_KNOB_WINDOW); \
	VHMQ_ATTR_RW(prefix, threads, show, store_threads, VHMQ_KNOB_THREADS); \
	VHMQ_ATTR_RW(prefix, cpulist, show, store, VHMQ_KNOB_CPULIST);	\
	VHMQ_ATTR_RW(prefix, policy, show, store, VHMQ_KNOB_POLICY);	\
	VHMQ_ATTR_RW(prefix, placement, show, store, VHMQ_KNOB_PLACEMENT)

#define KNOB_ENTRIES(prefix)						\
	&prefix##window_jiffies.attr,					\
	&prefix##threads.attr,						\
	&prefix##cpulist.attr,						\
	&prefix##policy.attr,						\
	&prefix##placement.attr

/* ------------------------------------------------------------------------
 * mq/: the defaults
 */

static ssize_t default_show(void *object, unsigned int knob, char *page)
{
	int ret;

	mutex_lock(&vhmq_defaults_lock);
	ret = vhmq_knob_print(knob, &vhmq_defaults, page);
	mutex_unlock(&vhmq_defaults_lock);
	return ret;
}

static ssize_t default_store(void *object, unsigned int knob, const char *text)
{
	int ret;

	mutex_lock(&vhmq_defaults_lock);
	ret = vhmq_knob_parse(knob, text, &vhmq_defaults);
	mutex_unlock(&vhmq_defaults_lock);
	return ret;
}

KNOB_ATTRS(default_, default_show, default_store, default_store);

static struct attribute *mq_attrs[] = {
	KNOB_ENTRIES(default_),
	NULL
};

ATTRIBUTE_GROUPS(mq);
DIR_TYPE(mq);

/* ------------------------------------------------------------------------
 * queue<i>/
 */

static unsigned int queue_number(const struct vhmq_queue *queue)
{
	return 2 * queue->index + queue->is_tx;
}

static ssize_t queue_show_kind(void *object, unsigned int arg, char *page)
{
	struct vhmq_queue *queue = object;

	return sysfs_emit(page, "%s\n", queue->is_tx ? "tx" : "rx");
}

static ssize_t queue_show_index(void *object, unsigned int arg, char *page)
{
	struct vhmq_queue *queue = object;

	return sysfs_emit(page, "%u\n", queue->index);
}

static ssize_t queue_show_worker(void *object, unsigned int arg, char *page)
{
	struct vhmq_queue *queue = object;

	return sysfs_emit(page, "%d\n", READ_ONCE(queue->last_worker));
}

static ssize_t queue_show_enabled(void *object, unsigned int arg, char *page)
{
	struct vhmq_queue *queue = object;

	return sysfs_emit(page, "%d\n", !!READ_ONCE(queue->sock));
}

VHMQ_ATTR_RO(queue_, kind, queue_show_kind, 0);
VHMQ_ATTR_RO(queue_, index, queue_show_index, 0);
VHMQ_ATTR_RO(queue_, worker, queue_show_worker, 0);
VHMQ_ATTR_RO(queue_, enabled, queue_show_enabled, 0);

static struct attribute *queue_attrs[] = {
	&queue_kind.attr,
	&queue_index.attr,
	&queue_worker.attr,
	&queue_enabled.attr,
	NULL
};

static const struct attribute_group queue_group = {
	.attrs = queue_attrs,
};

static const struct attribute_group *queue_groups[] = {
	&queue_group,
	&vhmq_queue_stats,
	NULL
};

DIR_TYPE(queue);

/**
 * vhmq_sysfs_create_queue - show a queue
 * @group: its group
 * @queue: the queue; its index is set
 *
 * Return: 0 or a negative error number.
 * Context: group->members.
 */
int vhmq_sysfs_create_queue(struct vhmq_group *group, struct vhmq_queue *queue)
{
	struct vhmq_dir *dir;
	char name[16];

	snprintf(name, sizeof(name), "queue%u", queue_number(queue));
	dir = dir_create(&queue_type, queue, &group->dir->kobj, name);
	if (IS_ERR(dir))
		return PTR_ERR(dir);
	queue->dir = dir;
	return 0;
}

/**
 * vhmq_sysfs_destroy_queue - show it no more
 * @queue: the queue; nothing happens when it is not shown
 *
 * Context: group->members.
 */
void vhmq_sysfs_destroy_queue(struct vhmq_queue *queue)
{
	dir_destroy(queue->dir);
	queue->dir = NULL;
}

/* ------------------------------------------------------------------------
 * worker<k>/
 */

static struct vhmq_group *worker_group(struct vhmq_worker *worker)
{
	return container_of(worker->pool, struct vhmq_group, pool);
}

static ssize_t worker_show_pid(void *object, unsigned int arg, char *page)
{
	return sysfs_emit(page, "%d\n", vhmq_worker_pid(object));
}

static ssize_t worker_show_cpulist(void *object, unsigned int arg, char *page)
{
	struct vhmq_worker *worker = object;
	struct vhmq_group *group = worker_group(worker);
	ssize_t ret;

	mutex_lock(&group->lock);
	ret = sysfs_emit(page, "%*pbl\n", cpumask_pr_args(worker->cpus));
	mutex_unlock(&group->lock);
	return ret;
}

static ssize_t worker_store_cpulist(void *object, unsigned int arg,
				    const char *text)
{
	struct vhmq_worker *worker = object;
	struct vhmq_group *group = worker_group(worker);
	cpumask_var_t cpus;
	int ret;

	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	ret = vhmq_cpulist_parse(text, cpus);
	if (!ret) {
		mutex_lock(&group->lock);
		ret = vhmq_worker_set_cpus(worker, cpus);
		mutex_unlock(&group->lock);
	}
	free_cpumask_var(cpus);
	return ret;
}

static ssize_t worker_show_effective(void *object, unsigned int arg, char *page)
{
	cpumask_var_t cpus;
	ssize_t ret;

	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	vhmq_worker_add_cpus(object, cpus);
	ret = sysfs_emit(page, "%*pbl\n", cpumask_pr_args(cpus));
	free_cpumask_var(cpus);
	return ret;
}

/* The queues that it ran last, as far as nobody else has run them since. */
static ssize_t worker_show_queues(void *object, unsigned int arg, char *page)
{
	struct vhmq_worker *worker = object;
	struct vhmq_group *group = worker_group(worker);
	const unsigned int bits = VHMQ_NR_QUEUES * VHMQ_MAX_PAIRS;
	struct vhmq_queue *queue;
	unsigned long *queues;
	struct vhmq_dev *dev;
	ssize_t ret;

	queues = bitmap_zalloc(bits, GFP_KERNEL);
	if (!queues)
		return -ENOMEM;

	mutex_lock(&group->lock);
	list_for_each_entry(dev, &group->devices, group_node)
		for (queue = dev->queues; queue < dev->queues + VHMQ_NR_QUEUES;
		     queue++)
			if (READ_ONCE(queue->last_worker) == (int)worker->k)
				__set_bit(queue_number(queue), queues);
	mutex_unlock(&group->lock);

	ret = sysfs_emit(page, "%*pbl\n", bits, queues);
	bitmap_free(queues);
	return ret;
}

VHMQ_ATTR_RO(worker_, pid, worker_show_pid, 0);
VHMQ_ATTR_RW(worker_, cpulist, worker_show_cpulist, worker_store_cpulist, 0);
VHMQ_ATTR_RO(worker_, effective_cpulist, worker_show_effective, 0);
VHMQ_ATTR_RO(worker_, queues, worker_show_queues, 0);

static struct attribute *worker_attrs[] = {
	&worker_pid.attr,
	&worker_cpulist.attr,
	&worker_effective_cpulist.attr,
	&worker_queues.attr,
	NULL
};

static const struct attribute_group worker_attr_group = {
	.attrs = worker_attrs,
};

static const struct attribute_group *worker_groups[] = {
	&worker_attr_group,
	&vhmq_worker_stats,
	NULL
};

DIR_TYPE(worker);

static int create_worker(struct vhmq_group *group, struct vhmq_worker *worker)
{
	struct vhmq_dir *dir;
	char name[16];

	snprintf(name, sizeof(name), "worker%u", worker->k);
	dir = dir_create(&worker_type, worker, &group->dir->kobj, name);
	if (IS_ERR(dir))
		return PTR_ERR(dir);
	worker->dir = dir;
	return 0;
}

/* A worker beyond the number of threads is shown as long as it has a thread. */
static int update_worker(struct vhmq_group *group, struct vhmq_worker *worker,
			 unsigned int threads)
{
	bool shown = worker->k < threads || vhmq_worker_pid(worker);

	if (shown && !worker->dir)
		return create_worker(group, worker);
	if (!shown) {
		dir_destroy(worker->dir);
		worker->dir = NULL;
	}
	return 0;
}

/**
 * vhmq_sysfs_update_workers - show the workers that there are
 * @group: the group; nothing happens before its directory is complete, and when
 *	that is about to go
 *
 * Return: 0 or a negative error number; then not all of them are shown.
 * Context: process, without group->lock.
 */
int vhmq_sysfs_update_workers(struct vhmq_group *group)
{
	struct vhmq_pool *pool = &group->pool;
	int ret = 0;
	int k;

	mutex_lock(&group->tree);
	for (k = 0; k < VHMQ_MAX_WORKERS && !ret && group->seen; k++)
		if (READ_ONCE(pool->workers[k]))
			ret = update_worker(group, pool->workers[k],
					    READ_ONCE(pool->steer.threads));
	mutex_unlock(&group->tree);
	return ret;
}

static void destroy_workers(struct vhmq_group *group)
{
	struct vhmq_worker *worker;
	int k;

	mutex_lock(&group->tree);
	group->seen = false;
	for (k = 0; k < VHMQ_MAX_WORKERS; k++) {
		worker = group->pool.workers[k];
		if (!worker)
			continue;
		dir_destroy(worker->dir);
		worker->dir = NULL;
	}
	mutex_unlock(&group->tree);
}

/* ------------------------------------------------------------------------
 * <group>/
 */

static ssize_t group_show_knob(void *object, unsigned int knob, char *page)
{
	struct vhmq_group *group = object;
	struct vhmq_knobs *knobs;
	int ret;

	knobs = kmalloc(sizeof(*knobs), GFP_KERNEL);
	if (!knobs)
		return -ENOMEM;
	mutex_lock(&group->lock);
	vhmq_group_get_knobs(group, knobs);
	mutex_unlock(&group->lock);
	ret = vhmq_knob_print(knob, knobs, page);
	kfree(knobs);
	return ret;
}

static ssize_t group_store_knob(void *object, unsigned int knob,
				const char *text)
{
	struct vhmq_group *group = object;
	struct vhmq_knobs *knobs;
	int ret;

	knobs = kmalloc(sizeof(*knobs), GFP_KERNEL);
	if (!knobs)
		return -ENOMEM;
	mutex_lock(&group->lock);
	vhmq_group_get_knobs(group, knobs);
	ret = vhmq_knob_parse(knob, text, knobs);
	if (!ret)
		ret = vhmq_group_set_knob(group, knob, knobs);
	mutex_unlock(&group->lock);
	kfree(knobs);
	return ret;
}

/* Waits for the threads that are too many; those who read do not wait for it. */
static ssize_t group_store_threads(void *object, unsigned int knob,
				   const char *text)
{
	struct vhmq_group *group = object;
	int ret;

	if (mutex_lock_killable(&group->resize))
		return -EINTR;
	ret = group_store_knob(object, knob, text);
	if (!ret) {
		vhmq_pool_trim(&group->pool);
		/* That some cannot be shown does not undo the change. */
		vhmq_sysfs_update_workers(group);
	}
	mutex_unlock(&group->resize);
	return ret;
}

static ssize_t group_show_pid(void *object, unsigned int arg, char *page)
{
	struct vhmq_group *group = object;

	return sysfs_emit(page, "%d\n", group->pool.owner.pid);
}

static ssize_t group_show_netdev(void *object, unsigned int arg, char *page)
{
	struct vhmq_group *group = object;

	return sysfs_emit(page, "%s\n", group->id.name);
}

static ssize_t group_show_effective(void *object, unsigned int arg, char *page)
{
	struct vhmq_group *group = object;
	struct vhmq_pool *pool = &group->pool;
	cpumask_var_t cpus;
	ssize_t ret;
	int k;

	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	mutex_lock(&group->lock);
	for (k = 0; k < VHMQ_MAX_WORKERS; k++)
		if (pool->workers[k])
			vhmq_worker_add_cpus(pool->workers[k], cpus);
	mutex_unlock(&group->lock);
	ret = sysfs_emit(page, "%*pbl\n", cpumask_pr_args(cpus));
	free_cpumask_var(cpus);
	return ret;
}

static ssize_t group_show_mode(void *object, unsigned int arg, char *page)
{
	struct vhmq_group *group = object;
	enum vhmq_mode mode = vhmq_steer_mode(&group->pool.steer,
					      get_jiffies_64());

	return sysfs_emit(page, "%s\n",
			  mode == VHMQ_MODE_SPREAD ? "spread" : "gathered");
}

static ssize_t group_show_active(void *object, unsigned int arg, char *page)
{
	struct vhmq_group *group = object;

	return sysfs_emit(page, "%u\n",
			  vhmq_steer_active(&group->pool.steer,
					    get_jiffies_64()));
}

KNOB_ATTRS(group_, group_show_knob, group_store_knob, group_store_threads);
VHMQ_ATTR_RO(group_, owner_pid, group_show_pid, 0);
VHMQ_ATTR_RO(group_, netdev, group_show_netdev, 0);
VHMQ_ATTR_RO(group_, effective_cpulist, group_show_effective, 0);
VHMQ_ATTR_RO(group_, mode, group_show_mode, 0);
VHMQ_ATTR_RO(group_, active_txqs, group_show_active, 0);

static struct attribute *group_attrs[] = {
	KNOB_ENTRIES(group_),
	&group_owner_pid.attr,
	&group_netdev.attr,
	&group_effective_cpulist.attr,
	&group_mode.attr,
	&group_active_txqs.attr,
	NULL
};

static const struct attribute_group group_group = {
	.attrs = group_attrs,
};

static const struct attribute_group *group_groups[] = {
	&group_group,
	&vhmq_group_stats,
	NULL
};

DIR_TYPE(group);

/**
 * vhmq_sysfs_create_group - show a group and its workers
 * @group: the group; its name is set
 *
 * Return: 0 or a negative error number.
 * Context: group->members.
 */
int vhmq_sysfs_create_group(struct vhmq_group *group)
{
	struct vhmq_dir *dir;
	int ret;

	dir = dir_create(&group_type, group, &mq_dir->kobj, group->name);
	if (IS_ERR(dir))
		return PTR_ERR(dir);

	/* Until here somebody may have written to it already. */
	mutex_lock(&group->tree);
	group->dir = dir;
	group->seen = true;
	mutex_unlock(&group->tree);
	ret = vhmq_sysfs_update_workers(group);
	if (ret)
		vhmq_sysfs_destroy_group(group);
	return ret;
}

/**
 * vhmq_sysfs_destroy_group - show it no more
 * @group: a group none of whose queues is shown
 *
 * Waits for those who write or read it.
 *
 * Context: group->members while it is started, or nobody uses it any more.
 */
void vhmq_sysfs_destroy_group(struct vhmq_group *group)
{
	destroy_workers(group);
	dir_destroy(group->dir);
	group->dir = NULL;
}

/* ------------------------------------------------------------------------
 * The module's
 */

/**
 * vhmq_sysfs_init - create mq/
 * @misc: the registered misc device
 *
 * Return: 0 or a negative error number.
 */
int vhmq_sysfs_init(struct miscdevice *misc)
{
	struct vhmq_dir *dir = dir_create(&mq_type, NULL,
					  &misc->this_device->kobj, "mq");

	if (IS_ERR(dir))
		return PTR_ERR(dir);
	mq_dir = dir;
	return 0;
}

/**
 * vhmq_sysfs_exit - remove mq/
 *
 * Waits for the memory of all directories to go, whose release is code of the
 * module.
 */
void vhmq_sysfs_exit(void)
{
	dir_destroy(mq_dir);
	mq_dir = NULL;
	wait_var_event(&dirs, !atomic_read(&dirs));
	synchronize_rcu();
}
