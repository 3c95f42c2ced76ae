// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rings: a kick of the driver signals an eventfd, which is vhost's kick; vhost's
 * call is an eventfd, too, and raises the ring's interrupt.
 *
 * Whose CPU time is what: an eventfd is signalled in vhost's thread. Raised there,
 * the interrupt would run the guest's NAPI on vhost's account (and from a wake-up
 * callback, with the eventfd's lock held and interrupts off, it must not run at
 * all). So each ring has a thread, vloop<device>/<ring>, that vhost only wakes,
 * as it would wake a virtual CPU. It raises the interrupt with softirqs disabled
 * and enables them again: the guest's poll then runs in this thread. What the
 * threads named vloop* used is the guest's share of the interrupts, what those
 * named vhost-* used is the host's; the guest's transmit path runs in the sender.
 * Interrupts that arrive while the thread is busy are one.
 */
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/kthread.h>
#include <linux/ratelimit.h>
#include <linux/sched/task.h>
#include <linux/virtio_ring.h>

#include "vloop.h"

#define VLOOP_PENDING 0

static int vloop_thread(void *data)
{
	struct vloop_queue *q = data;

	for (;;) {
		/* pairs with the set bit, then wake-up, of vloop_queue_raise() */
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		if (!test_and_clear_bit(VLOOP_PENDING, &q->pending)) {
			schedule();
			continue;
		}
		__set_current_state(TASK_RUNNING);

		mutex_lock(&q->lock);
		local_bh_disable();
		vring_interrupt(0, q->vq);
		local_bh_enable();
		mutex_unlock(&q->lock);
		cond_resched();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/* Any context; the bit keeps an interrupt for a ring that is not there yet. */
static void vloop_queue_raise(struct vloop_queue *q)
{
	struct task_struct *task;

	if (test_and_set_bit(VLOOP_PENDING, &q->pending))
		return;
	rcu_read_lock();
	task = rcu_dereference(q->task);
	if (task)
		wake_up_process(task);
	rcu_read_unlock();
}

/* Called with the lock of the eventfd's wait queue held and interrupts off. */
static int vloop_call_wakeup(wait_queue_entry_t *wait, unsigned int mode, int sync, void *key)
{
	if (key_to_poll(key) & EPOLLIN)
		vloop_queue_raise(container_of(wait, struct vloop_queue, call_wait));
	return 0;
}

struct vloop_poll {
	struct poll_table_struct table;
	struct vloop_queue *q;
};

static void vloop_call_queue(struct file *file, wait_queue_head_t *head, poll_table *table)
{
	struct vloop_queue *q = container_of(table, struct vloop_poll, table)->q;

	q->call_head = head;
	add_wait_queue(head, &q->call_wait);
}

/**
 * vloop_queue_set_call() - name the eventfd that raises the ring's interrupt
 * @q: the ring
 * @fd: an eventfd, or -1 for none
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int vloop_queue_set_call(struct vloop_queue *q, int fd)
{
	struct vloop_poll poll = { .q = q };
	struct file *file = NULL;

	if (fd >= 0) {
		file = eventfd_fget(fd);
		if (IS_ERR(file))
			return PTR_ERR(file);
	}

	mutex_lock(&q->lock);
	if (q->call_file) {
		remove_wait_queue(q->call_head, &q->call_wait);
		fput(q->call_file);
		q->call_file = NULL;
	}
	if (file) {
		q->call_file = file;
		init_poll_funcptr(&poll.table, vloop_call_queue);
		if (vfs_poll(file, &poll.table) & EPOLLIN)
			vloop_queue_raise(q);
	}
	mutex_unlock(&q->lock);
	return 0;
}

/**
 * vloop_queue_set_kick() - name the eventfd that the driver's kicks signal
 * @q: the ring
 * @fd: an eventfd, or -1: kicks are events of the file
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int vloop_queue_set_kick(struct vloop_queue *q, int fd)
{
	struct eventfd_ctx *ctx = NULL, *old;

	if (fd >= 0) {
		ctx = eventfd_ctx_fdget(fd);
		if (IS_ERR(ctx))
			return PTR_ERR(ctx);
	}
	mutex_lock(&q->lock);
	old = rcu_replace_pointer(q->kick, ctx, lockdep_is_held(&q->lock));
	mutex_unlock(&q->lock);
	if (old) {
		synchronize_rcu();
		eventfd_ctx_put(old);
	}
	return 0;
}

/* The driver's kick, in whatever context the driver is. */
static bool vloop_notify(struct virtqueue *vq)
{
	struct vloop_queue *q = vq->priv;
	struct vloop_dev *dev = q->dev;
	struct eventfd_ctx *ctx;
	unsigned long flags;

	rcu_read_lock();
	ctx = rcu_dereference(q->kick);
	if (ctx)
		vloop_eventfd_signal(ctx);
	rcu_read_unlock();
	if (ctx)
		return true;

	spin_lock_irqsave(&dev->lock, flags);
	if (dev->dead) {
		spin_unlock_irqrestore(&dev->lock, flags);
		return false;
	}
	if (q->kicked.state == VLOOP_IDLE) {
		vloop_post(dev, &q->kicked);
		mod_timer(&q->limit, jiffies + dev->limit);
	} else if (q->kicked.state == VLOOP_SENT) {
		q->kicked.again = true;
	}
	spin_unlock_irqrestore(&dev->lock, flags);

	/* A driver that spins for the answer leaves a single CPU to nobody: give it up here. */
	if (num_online_cpus() == 1 && preemptible())
		wait_event_timeout(dev->wait, READ_ONCE(q->kicked.state) == VLOOP_IDLE,
				   dev->limit);
	return true;
}

/**
 * vloop_queue_served() - the program has served the kicks it read
 * @q: the ring
 *
 * Context: vloop_dev.lock held.
 */
void vloop_queue_served(struct vloop_queue *q)
{
	if (q->kicked.again) {
		q->kicked.again = false;
		vloop_post(q->dev, &q->kicked);
		mod_timer(&q->limit, jiffies + q->dev->limit);
	} else {
		timer_delete(&q->limit);
		wake_up(&q->dev->wait);
	}
}

static void vloop_queue_overdue(struct timer_list *timer)
{
	struct vloop_queue *q = timer_container_of(q, timer, limit);

	pr_warn_ratelimited("virtio%d: ring %u was not served within %u ms, breaking the device\n",
			    q->dev->vdev.index, q->index, jiffies_to_msecs(q->dev->limit));
	vloop_dev_break(q->dev);
}

/**
 * vloop_queue_get_vring() - where the ring is
 * @q: the ring
 * @out: what the program reads
 *
 * Return: 0, or -ENOENT while the driver has no such ring.
 */
int vloop_queue_get_vring(struct vloop_queue *q, struct vloop_vring *out)
{
	int ret = -ENOENT;

	mutex_lock(&q->lock);
	if (q->vq) {
		out->num = virtqueue_get_vring_size(q->vq);
		out->desc = virtqueue_get_desc_addr(q->vq);
		out->avail = virtqueue_get_avail_addr(q->vq);
		out->used = virtqueue_get_used_addr(q->vq);
		ret = 0;
	}
	mutex_unlock(&q->lock);
	return ret;
}

/**
 * vloop_queue_interrupt() - raise the ring's interrupt
 * @q: the ring
 *
 * Return: 0, or -ENOENT while the driver has no such ring.
 */
int vloop_queue_interrupt(struct vloop_queue *q)
{
	int ret = -ENOENT;

	mutex_lock(&q->lock);
	if (q->vq) {
		vloop_queue_raise(q);
		ret = 0;
	}
	mutex_unlock(&q->lock);
	return ret;
}

/**
 * vloop_queue_sync() - wait for an interrupt that is being raised
 * @q: the ring
 */
void vloop_queue_sync(struct vloop_queue *q)
{
	mutex_lock(&q->lock);
	mutex_unlock(&q->lock);
}

/**
 * vloop_queue_set_affinity() - choose the CPUs of a ring's interrupt
 * @vq: the ring
 * @mask: the CPUs, NULL for all
 *
 * Return: 0 or -errno.
 */
int vloop_queue_set_affinity(struct virtqueue *vq, const struct cpumask *mask)
{
	struct vloop_queue *q = vq->priv;
	struct task_struct *task = rcu_dereference_protected(q->task, true);

	q->has_affinity = mask;
	cpumask_copy(&q->affinity, mask ?: cpu_possible_mask);
	return set_cpus_allowed_ptr(task, &q->affinity);
}

/**
 * vloop_queue_create() - make a ring and the thread that raises its interrupts
 * @q: the ring
 * @name: of the ring
 * @callback: the driver's handler, or NULL
 * @ctx: the driver wants a context per buffer
 *
 * Return: the ring, or ERR_PTR().
 */
struct virtqueue *vloop_queue_create(struct vloop_queue *q, const char *name,
				     void (*callback)(struct virtqueue *vq), bool ctx)
{
	struct vloop_dev *dev = q->dev;
	struct task_struct *task;
	struct virtqueue *vq;

	vq = vring_create_virtqueue(q->index, dev->ring_size, SMP_CACHE_BYTES, &dev->vdev,
				    true, true, ctx, vloop_notify, callback, name);
	if (!vq)
		return ERR_PTR(-ENOMEM);
	vq->num_max = dev->ring_size;
	vq->priv = q;

	task = kthread_create(vloop_thread, q, "vloop%d/%u", dev->vdev.index, q->index);
	if (IS_ERR(task)) {
		vring_del_virtqueue(vq);
		return ERR_CAST(task);
	}

	mutex_lock(&q->lock);
	q->vq = vq;
	mutex_unlock(&q->lock);
	/* a kick counts for rings that are there alone */
	q->pending = 0;
	rcu_assign_pointer(q->task, task);
	wake_up_process(task);
	return vq;
}

/**
 * vloop_queues_destroy() - end all rings of a device
 * @dev: the device
 *
 * Context: process, may sleep. Nothing of the other side touches the rings any more.
 */
void vloop_queues_destroy(struct vloop_dev *dev)
{
	struct task_struct *task;
	struct virtqueue *vq;
	struct vloop_queue *q;
	unsigned int i;

	for (i = 0; i < dev->nqueues; i++) {
		q = &dev->queues[i];
		task = rcu_replace_pointer(q->task, NULL, true);
		if (task)
			kthread_stop(get_task_struct(task));
		q->stopped = task;
	}
	/* vloop_queue_raise() may still wake one of them */
	synchronize_rcu();

	for (i = 0; i < dev->nqueues; i++) {
		q = &dev->queues[i];
		if (!q->stopped)
			continue;
		put_task_struct(q->stopped);
		q->stopped = NULL;

		mutex_lock(&q->lock);
		spin_lock_irq(&dev->lock);
		vq = q->vq;
		q->vq = NULL;
		if (q->kicked.state != VLOOP_IDLE)
			list_del_init(&q->kicked.list);
		q->kicked.state = VLOOP_IDLE;
		q->kicked.again = false;
		spin_unlock_irq(&dev->lock);
		mutex_unlock(&q->lock);
		timer_delete_sync(&q->limit);
		vring_del_virtqueue(vq);
	}
}

/**
 * vloop_queue_init() - set up the part of a queue that lives as long as its device
 * @dev: the device
 * @index: of the queue
 */
void vloop_queue_init(struct vloop_dev *dev, unsigned int index)
{
	struct vloop_queue *q = &dev->queues[index];

	q->dev = dev;
	q->index = index;
	mutex_init(&q->lock);
	init_waitqueue_func_entry(&q->call_wait, vloop_call_wakeup);
	INIT_LIST_HEAD(&q->kicked.list);
	q->kicked.ev.type = VLOOP_EV_KICK;
	q->kicked.ev.index = index;
	init_completion(&q->kicked.done);
	timer_setup(&q->limit, vloop_queue_overdue, 0);
}

/**
 * vloop_queue_release() - let go of the eventfds
 * @q: the ring
 */
void vloop_queue_release(struct vloop_queue *q)
{
	vloop_queue_set_call(q, -1);
	vloop_queue_set_kick(q, -1);
}
