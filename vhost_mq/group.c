// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups: the devices of one owner whose backends are queues of one net device.
 * A virtual machine manager opens one file for each queue pair, so that only
 * here it is seen whether there is one flow or several.
 */
#include <linux/cpuhotplug.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "vhost_mq.h"

/*
 * Which groups there are, and how many use each. The innermost: nobody waits for
 * anything under it, so that no owner can hold up another.
 */
static DEFINE_MUTEX(vhmq_groups_lock);
static LIST_HEAD(vhmq_groups);

/* ------------------------------------------------------------------------
 * Knobs
 */

/**
 * vhmq_group_get_knobs - what is set
 * @group: the group
 * @knobs: the result
 *
 * Context: process, group->lock.
 */
void vhmq_group_get_knobs(struct vhmq_group *group, struct vhmq_knobs *knobs)
{
	struct vhmq_pool *pool = &group->pool;

	lockdep_assert_held(&group->lock);
	knobs->window = pool->steer.window;
	knobs->threads = pool->threads;
	knobs->policy = pool->steer.policy;
	knobs->placement = pool->placement;
	cpumask_copy(&knobs->cpus, pool->cpus);
}

/**
 * vhmq_group_set_knob - change one
 * @group: the group
 * @knob: which one
 * @knobs: where its value is; the values of the others are those of the group
 *
 * Return: 0 or a negative error number; then nothing has changed.
 * Context: process, group->lock.
 */
int vhmq_group_set_knob(struct vhmq_group *group, enum vhmq_knob knob,
			const struct vhmq_knobs *knobs)
{
	struct vhmq_pool *pool = &group->pool;

	lockdep_assert_held(&group->lock);
	switch (knob) {
	case VHMQ_KNOB_WINDOW:
		WRITE_ONCE(pool->steer.window, knobs->window);
		return 0;
	case VHMQ_KNOB_POLICY:
		WRITE_ONCE(pool->steer.policy, knobs->policy);
		return 0;
	case VHMQ_KNOB_THREADS:
		return vhmq_pool_set_threads(pool, knobs->threads);
	case VHMQ_KNOB_CPULIST:
	case VHMQ_KNOB_PLACEMENT:
		return vhmq_pool_set_cpus(pool, &knobs->cpus, knobs->placement);
	}
	return -EINVAL;
}

static int group_set_defaults(struct vhmq_group *group)
{
	const struct vhmq_knobs *knobs = &vhmq_defaults;
	int ret;

	mutex_lock(&group->lock);
	mutex_lock(&vhmq_defaults_lock);
	vhmq_group_set_knob(group, VHMQ_KNOB_WINDOW, knobs);
	vhmq_group_set_knob(group, VHMQ_KNOB_POLICY, knobs);
	ret = vhmq_group_set_knob(group, VHMQ_KNOB_THREADS, knobs);
	/* A list that this owner's cpuset does not allow is not for this owner. */
	if (!ret && vhmq_group_set_knob(group, VHMQ_KNOB_CPULIST, knobs))
		group->pool.placement = knobs->placement;
	mutex_unlock(&vhmq_defaults_lock);
	mutex_unlock(&group->lock);
	return ret;
}

/* ------------------------------------------------------------------------
 * Which groups there are. vhmq_groups_lock.
 */

static struct vhmq_group *group_find(const struct mm_struct *mm,
				     const struct vhmq_netdev_id *id)
{
	struct vhmq_group *group;

	/* Files without a net device have nothing in common. */
	if (!id->name[0])
		return NULL;
	list_for_each_entry(group, &vhmq_groups, node)
		if (group->users && group->mm == mm && group->id.net == id->net &&
		    !strcmp(group->id.name, id->name) &&
		    !READ_ONCE(group->pool.dead))
			return group;
	return NULL;
}

static bool name_is_taken(const char *name)
{
	struct vhmq_group *group;

	list_for_each_entry(group, &vhmq_groups, node)
		if (!strcmp(group->name, name))
			return true;
	return false;
}

/*
 * <owner pid>-<net device>. One owner may have net devices of one name in several
 * name spaces, and files without any.
 */
static void group_set_name(struct vhmq_group *group)
{
	const char *netdev = group->id.name[0] ? group->id.name : "none";
	int len = snprintf(group->name, sizeof(group->name), "%d-%s",
			   task_tgid_nr(current), netdev);
	unsigned int i;

	for (i = 2; name_is_taken(group->name); i++)
		snprintf(group->name + len, sizeof(group->name) - len, ".%u", i);
}

/* ------------------------------------------------------------------------
 * A group, from the first user to the last
 */

static void place_group(struct work_struct *work)
{
	struct vhmq_group *group = container_of(work, struct vhmq_group, place_work);

	mutex_lock(&group->lock);
	vhmq_pool_place(&group->pool);
	mutex_unlock(&group->lock);
}

static struct vhmq_group *group_alloc(const struct mm_struct *mm,
				      const struct vhmq_netdev_id *id)
{
	struct vhmq_group *group = kzalloc(sizeof(*group), GFP_KERNEL);

	if (!group)
		return NULL;
	if (vhmq_pool_init(&group->pool)) {
		kfree(group);
		return NULL;
	}
	group->mm = mm;
	group->id = *id;
	INIT_LIST_HEAD(&group->devices);
	INIT_WORK(&group->place_work, place_group);
	mutex_init(&group->members);
	mutex_init(&group->resize);
	mutex_init(&group->tree);
	mutex_init(&group->lock);
	return group;
}

static void group_free(struct vhmq_group *group)
{
	vhmq_pool_exit(&group->pool);
	mutex_destroy(&group->lock);
	mutex_destroy(&group->tree);
	mutex_destroy(&group->resize);
	mutex_destroy(&group->members);
	kfree(group);
}

/* The group that the owner has for @id, or a new one that is not started. */
static struct vhmq_group *group_get(const struct mm_struct *mm,
				    const struct vhmq_netdev_id *id)
{
	struct vhmq_group *spare = NULL, *group;

	mutex_lock(&vhmq_groups_lock);
	group = group_find(mm, id);
	if (!group) {
		mutex_unlock(&vhmq_groups_lock);
		spare = group_alloc(mm, id);
		if (!spare)
			return NULL;
		mutex_lock(&vhmq_groups_lock);
		group = group_find(mm, id);
	}
	if (!group) {
		swap(group, spare);
		group_set_name(group);
		list_add_tail(&group->node, &vhmq_groups);
	}
	group->users++;
	mutex_unlock(&vhmq_groups_lock);

	if (spare)
		group_free(spare);
	return group;
}

/* The last user ends it: its threads, and what shows it. */
static void group_put(struct vhmq_group *group)
{
	bool last;

	mutex_lock(&vhmq_groups_lock);
	last = !--group->users;
	mutex_unlock(&vhmq_groups_lock);
	if (!last)
		return;

	/* Found by nobody any more; the name is taken as long as it is seen. */
	cancel_work_sync(&group->place_work);
	if (group->started) {
		vhmq_sysfs_destroy_group(group);
		vhmq_pool_stop(&group->pool);
	}
	mutex_lock(&vhmq_groups_lock);
	list_del(&group->node);
	mutex_unlock(&vhmq_groups_lock);
	group_free(group);
}

/*
 * Starts worker 0, which is a thread of the owner: when the owner is stopped, this
 * waits until it goes on. group->members.
 */
static int group_start(struct vhmq_group *group, bool fork_from_owner)
{
	int ret;

	if (group->started)
		return 0;
	ret = vhmq_pool_start(&group->pool, fork_from_owner);
	if (ret)
		return ret;
	ret = group_set_defaults(group);
	if (!ret)
		ret = vhmq_sysfs_create_group(group);
	if (ret)
		vhmq_pool_stop(&group->pool);
	group->started = !ret;
	return ret;
}

/* ------------------------------------------------------------------------
 * Devices of a group. group->members.
 */

/* The lowest pair that is free, and the device to come after. */
static unsigned int find_pair(struct vhmq_group *group, struct list_head **after)
{
	struct vhmq_dev *dev;
	unsigned int index = 0;

	*after = &group->devices;
	list_for_each_entry(dev, &group->devices, group_node) {
		if (dev->queues[VHMQ_RX].index != index)
			break;
		*after = &dev->group_node;
		index++;
	}
	return index;
}

static void device_set_pool(struct vhmq_dev *dev, struct vhmq_pool *pool,
			    unsigned int index)
{
	struct vhmq_queue *queue;
	int i;

	for (i = 0; i < VHMQ_NR_QUEUES; i++) {
		queue = &dev->queues[i];
		queue->index = index;
		queue->last_worker = -1;
		WRITE_ONCE(queue->pool, pool);
	}
}

/* Does not fail for a device that was in the group a moment ago. */
static int group_add(struct vhmq_group *group, struct vhmq_dev *dev)
{
	struct list_head *after;
	unsigned int index;
	int ret;

	index = find_pair(group, &after);
	if (index >= VHMQ_MAX_PAIRS)
		return -ENOSPC;

	mutex_lock(&group->lock);
	ret = vhmq_pool_set_pairs(&group->pool, group->pool.pairs + 1);
	if (!ret) {
		device_set_pool(dev, &group->pool, index);
		list_add(&dev->group_node, after);
		dev->group = group;
	}
	mutex_unlock(&group->lock);
	return ret;
}

static void group_remove(struct vhmq_group *group, struct vhmq_dev *dev)
{
	int i;

	mutex_lock(&group->lock);
	for (i = 0; i < VHMQ_NR_QUEUES; i++) {
		vhmq_queue_forget(&dev->queues[i]);
		vhmq_queue_stats_add(&group->gone, &dev->queues[i]);
		vhmq_queue_stats_clear(&dev->queues[i]);
	}
	list_del(&dev->group_node);
	dev->group = NULL;
	device_set_pool(dev, NULL, 0);
	vhmq_pool_set_pairs(&group->pool, group->pool.pairs - 1);
	mutex_unlock(&group->lock);
}

static void hide_queues(struct vhmq_dev *dev)
{
	int i;

	for (i = 0; i < VHMQ_NR_QUEUES; i++)
		vhmq_sysfs_destroy_queue(&dev->queues[i]);
}

static int show_queues(struct vhmq_group *group, struct vhmq_dev *dev)
{
	int ret = 0;
	int i;

	for (i = 0; i < VHMQ_NR_QUEUES && !ret; i++)
		ret = vhmq_sysfs_create_queue(group, &dev->queues[i]);
	if (!ret)
		ret = vhmq_sysfs_update_workers(group);
	if (ret)
		hide_queues(dev);
	return ret;
}

static int join(struct vhmq_group *group, struct vhmq_dev *dev)
{
	int ret = group_add(group, dev);

	if (ret)
		return ret;
	ret = show_queues(group, dev);
	if (ret)
		group_remove(group, dev);
	return ret;
}

static void leave(struct vhmq_group *group, struct vhmq_dev *dev)
{
	hide_queues(dev);
	group_remove(group, dev);
}

/*
 * From the group that the device is in, if any, to another. When that fails it
 * goes back, and is served as before, if perhaps not shown.
 */
static int move(struct vhmq_group *from, struct vhmq_group *to,
		struct vhmq_dev *dev)
{
	int ret;

	if (from) {
		mutex_lock(&from->members);
		leave(from, dev);
		mutex_unlock(&from->members);
	}
	mutex_lock(&to->members);
	ret = group_start(to, dev->fork_from_owner);
	if (!ret)
		ret = join(to, dev);
	mutex_unlock(&to->members);
	if (ret && from) {
		mutex_lock(&from->members);
		if (!group_add(from, dev))
			show_queues(from, dev);
		mutex_unlock(&from->members);
	}
	return ret;
}

static bool is_member(const struct vhmq_dev *dev,
		      const struct vhmq_netdev_id *id)
{
	const struct vhmq_group *group = dev->group;

	return group && group->id.net == id->net &&
	       !strcmp(group->id.name, id->name) && !READ_ONCE(group->pool.dead);
}

/**
 * vhmq_group_join - put a device into the group of a net device
 * @dev: a device without backend; its queues are idle
 * @id: the net device
 *
 * Joins the group that the owner has for it, or makes one and starts its worker
 * 0, and leaves the group that the device was in. Nothing happens when it is in
 * the right one.
 *
 * Return: 0, -ENOSPC with VHMQ_MAX_PAIRS devices in the group, or an error of
 * starting a thread; then the device is where it was.
 * Context: ioctl of the owner, device->mutex.
 */
int vhmq_group_join(struct vhmq_dev *dev, const struct vhmq_netdev_id *id)
{
	struct vhmq_group *from = dev->group, *to;
	int ret;

	if (is_member(dev, id))
		return 0;
	to = group_get(dev->mm, id);
	if (!to)
		return -ENOMEM;
	ret = move(from, to, dev);
	if (ret)
		group_put(to);
	if (from && dev->group != from)
		group_put(from);
	return ret;
}

/**
 * vhmq_group_leave - take a device out of its group
 * @dev: a device in a group; both queues are stopped and flushed
 *
 * The last one ends the group and its threads.
 *
 * Context: ioctl or release, device->mutex.
 */
void vhmq_group_leave(struct vhmq_dev *dev)
{
	struct vhmq_group *group = dev->group;

	mutex_lock(&group->members);
	leave(group, dev);
	mutex_unlock(&group->members);
	group_put(group);
}

/* ------------------------------------------------------------------------
 * CPU hotplug
 *
 * The callbacks hold the CPU hotplug lock, which joining a cgroup takes under
 * pool->lock; so they only ask for the work, of each group by itself.
 */

static int cpu_changed(unsigned int cpu)
{
	struct vhmq_group *group;

	mutex_lock(&vhmq_groups_lock);
	list_for_each_entry(group, &vhmq_groups, node)
		if (group->users)
			schedule_work(&group->place_work);
	mutex_unlock(&vhmq_groups_lock);
	return 0;
}

static enum cpuhp_state online_state, dead_state;

static int hotplug_init(void)
{
	int ret;

	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN,
					"net/vhost_mq:online", cpu_changed,
					NULL);
	if (ret < 0)
		return ret;
	online_state = ret;

	/* On the way down a CPU counts as online until the other side is done. */
	ret = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN,
					"net/vhost_mq:dead", NULL, cpu_changed);
	if (ret < 0) {
		cpuhp_remove_state_nocalls(online_state);
		return ret;
	}
	dead_state = ret;
	return 0;
}

/**
 * vhmq_groups_init - make ready for groups
 * @misc: the registered misc device, below which they are shown
 *
 * Return: 0 or a negative error number.
 */
int vhmq_groups_init(struct miscdevice *misc)
{
	int ret = vhmq_sysfs_init(misc);

	if (ret)
		return ret;
	ret = hotplug_init();
	if (ret)
		vhmq_sysfs_exit();
	return ret;
}

/**
 * vhmq_groups_exit - there is no group any more
 *
 * Context: before the misc device is deregistered.
 */
void vhmq_groups_exit(void)
{
	cpuhp_remove_state_nocalls(dead_state);
	cpuhp_remove_state_nocalls(online_state);
	vhmq_sysfs_exit();
}
