// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device IOTLB's messages (struct vhost_msg and vhost_msg_v2): what a queue lacks is
 * read from the file, what the owner answers or takes back is written to it.
 *
 * A queue that lacks something ends its run, and waits for the answer without a
 * thread. Each has one such miss at most; it is in the queue, so that a guest cannot
 * make the host pile up messages that nobody reads.
 */
#include <linux/sched/signal.h>

#include "vhost_mq.h"

/* Both forms of a message have the same size and place for the same content. */
static_assert(sizeof(struct vhost_msg) == sizeof(struct vhost_msg_v2));
static_assert(offsetof(struct vhost_msg, iotlb) == offsetof(struct vhost_msg_v2, iotlb));

/* ------------------------------------------------------------------------
 * Misses
 */

void vhmq_ring_miss(struct vhmq_ring *ring, u64 addr, u8 perm)
{
	struct vhmq_queue *queue = container_of(ring, struct vhmq_queue, ring);
	struct vhmq_miss *miss = &queue->miss;
	bool is_new;

	spin_lock(&queue->dev->miss_lock);
	is_new = miss->state == VHMQ_MISS_NONE || miss->addr != addr || miss->perm != perm;
	if (is_new)
		*miss = (struct vhmq_miss){ VHMQ_MISS_NEW, addr, perm };
	spin_unlock(&queue->dev->miss_lock);

	if (is_new) {
		vhmq_count(&queue->stats, iotlb_misses);
		wake_up_interruptible_poll(&queue->dev->miss_wait, EPOLLIN | EPOLLRDNORM);
	}
}

/**
 * vhmq_miss_forget() - what a queue lacked is not wanted any more
 * @queue: queue
 *
 * Context: ioctl or release, queue->mutex.
 */
void vhmq_miss_forget(struct vhmq_queue *queue)
{
	spin_lock(&queue->dev->miss_lock);
	queue->miss.state = VHMQ_MISS_NONE;
	spin_unlock(&queue->dev->miss_lock);
}

/* The owner has said something of these addresses: does the queue wait for it? */
static bool is_answer(struct vhmq_queue *queue, u64 first, u64 last)
{
	struct vhmq_miss *miss = &queue->miss;
	bool ret;

	spin_lock(&queue->dev->miss_lock);
	ret = miss->state != VHMQ_MISS_NONE && miss->addr >= first && miss->addr <= last;
	if (ret)
		miss->state = VHMQ_MISS_NONE;
	spin_unlock(&queue->dev->miss_lock);
	return ret;
}

/* Return: the queue that a new miss was taken from, and that in @miss, or NULL. */
static struct vhmq_queue *take_miss(struct vhmq_dev *dev, struct vhmq_miss *miss)
{
	struct vhmq_queue *found = NULL;
	unsigned int i;

	spin_lock(&dev->miss_lock);
	for (i = 0; i < VHMQ_NR_QUEUES && !found; i++) {
		struct vhmq_queue *queue = &dev->queues[i];

		if (queue->miss.state != VHMQ_MISS_NEW)
			continue;
		queue->miss.state = VHMQ_MISS_TOLD;
		*miss = queue->miss;
		found = queue;
	}
	spin_unlock(&dev->miss_lock);
	return found;
}

/* It could not be told. */
static void return_miss(struct vhmq_queue *queue, const struct vhmq_miss *miss)
{
	spin_lock(&queue->dev->miss_lock);
	if (queue->miss.state == VHMQ_MISS_TOLD && queue->miss.addr == miss->addr)
		queue->miss.state = VHMQ_MISS_NEW;
	spin_unlock(&queue->dev->miss_lock);
}

static bool has_miss(struct vhmq_dev *dev)
{
	bool ret = false;
	unsigned int i;

	spin_lock(&dev->miss_lock);
	for (i = 0; i < VHMQ_NR_QUEUES; i++)
		ret |= dev->queues[i].miss.state == VHMQ_MISS_NEW;
	spin_unlock(&dev->miss_lock);
	return ret;
}

/* ------------------------------------------------------------------------
 * Reading
 */

/**
 * vhmq_iotlb_read() - read what a queue lacks
 * @iocb: file and flags
 * @to: where the message goes, of the form that the owner has chosen
 *
 * Return: bytes, 0 when there is no room for a message, -EAGAIN when there is none and
 * nobody wants to wait, -ERESTARTSYS, -EBADFD without an IOTLB, -EFAULT.
 * Context: anyone with the file.
 */
ssize_t vhmq_iotlb_read(struct kiocb *iocb, struct iov_iter *to)
{
	struct vhmq_dev *dev = iocb->ki_filp->private_data;
	struct vhmq_queue *queue;
	struct vhost_msg_v2 message = {};
	struct vhmq_miss miss;
	int ret;

	if (iov_iter_count(to) < sizeof(message))
		return 0;

	while (!(queue = take_miss(dev, &miss))) {
		if (iocb->ki_filp->f_flags & O_NONBLOCK || iocb->ki_flags & IOCB_NOWAIT)
			return -EAGAIN;
		if (!READ_ONCE(dev->iotlb))
			return -EBADFD;
		ret = wait_event_interruptible(dev->miss_wait,
					       has_miss(dev) || !READ_ONCE(dev->iotlb));
		if (ret)
			return ret;
	}

	message.type = READ_ONCE(dev->backend_features) & BIT_ULL(VHOST_BACKEND_F_IOTLB_MSG_V2) ?
		       VHOST_IOTLB_MSG_V2 : VHOST_IOTLB_MSG;
	message.iotlb.type = VHOST_IOTLB_MISS;
	message.iotlb.iova = miss.addr;
	message.iotlb.perm = miss.perm;
	if (copy_to_iter(&message, sizeof(message), to) != sizeof(message)) {
		return_miss(queue, &miss);
		return -EFAULT;
	}
	return sizeof(message);
}

/**
 * vhmq_iotlb_poll() - is there something to read?
 * @file: file
 * @wait: who asks
 *
 * Return: EPOLLIN | EPOLLRDNORM, or 0.
 */
__poll_t vhmq_iotlb_poll(struct file *file, poll_table *wait)
{
	struct vhmq_dev *dev = file->private_data;

	poll_wait(file, &dev->miss_wait, wait);
	return has_miss(dev) ? EPOLLIN | EPOLLRDNORM : 0;
}

/* ------------------------------------------------------------------------
 * Writing
 */

static int change(struct vhmq_iotlb *iotlb, const struct vhost_iotlb_msg *msg, u64 last)
{
	if (msg->type == VHOST_IOTLB_INVALIDATE) {
		vhmq_iotlb_invalidate(iotlb, msg->iova, last);
		return 0;
	}
	return vhmq_iotlb_update(iotlb, msg->iova, last, msg->uaddr, msg->perm);
}

/* Is it something that can be done? */
static bool check(const struct vhost_iotlb_msg *msg, u64 last)
{
	unsigned long addr = msg->uaddr;

	if (last < msg->iova)
		return false;
	switch (msg->type) {
	case VHOST_IOTLB_INVALIDATE:
		return true;
	case VHOST_IOTLB_UPDATE:
		return !(msg->perm & ~VHOST_ACCESS_RW) && addr == msg->uaddr &&
		       msg->size <= ULONG_MAX &&
		       access_ok((void __user *)addr, (unsigned long)msg->size);
	default:
		return false;
	}
}

/* Under device->mutex. */
static int process(struct vhmq_dev *dev, const struct vhost_iotlb_msg *msg)
{
	u64 last = msg->iova + (msg->size - 1);
	unsigned int i;
	int ret;

	if (!dev->iotlb || !check(msg, last))
		return -EFAULT;

	/* No run is on: what one has found holds for all of it. */
	for (i = 0; i < VHMQ_NR_QUEUES; i++)
		mutex_lock_nested(&dev->queues[i].mutex, i);
	ret = change(dev->iotlb, msg, last);
	for (i = 0; i < VHMQ_NR_QUEUES; i++) {
		struct vhmq_queue *queue = &dev->queues[i];

		queue->ring.mem = dev->iotlb->mem;
		vhmq_ring_place(&queue->ring);
		if (msg->type == VHOST_IOTLB_UPDATE && queue->sock &&
		    is_answer(queue, msg->iova, last))
			vhmq_queue_ask(queue);
	}
	while (i--)
		mutex_unlock(&dev->queues[i].mutex);
	return ret ? -EFAULT : 0;
}

/**
 * vhmq_iotlb_write() - take an answer of the owner, or an order to forget
 * @iocb: file
 * @from: a message of either form
 *
 * Return: bytes, -EINVAL for something that is no such message or is of size 0, -EFAULT
 * for one that cannot be carried out: without an IOTLB, for addresses or permissions
 * that cannot be, or when there is no memory.
 * Context: anyone with the file; waits for the end of a run.
 */
ssize_t vhmq_iotlb_write(struct kiocb *iocb, struct iov_iter *from)
{
	struct vhmq_dev *dev = iocb->ki_filp->private_data;
	struct vhost_msg_v2 message = {};
	const struct vhost_iotlb_msg *msg = &message.iotlb;
	size_t count = iov_iter_count(from);
	size_t wanted = offsetof(typeof(message), iotlb) + sizeof(*msg);
	int ret;

	if (copy_from_iter(&message, wanted, from) != wanted)
		return -EINVAL;
	if (message.type != VHOST_IOTLB_MSG && message.type != VHOST_IOTLB_MSG_V2)
		return -EINVAL;
	if (!msg->size && (msg->type == VHOST_IOTLB_UPDATE || msg->type == VHOST_IOTLB_INVALIDATE))
		return -EINVAL;

	mutex_lock(&dev->mutex);
	ret = process(dev, msg);
	mutex_unlock(&dev->mutex);
	return ret ?: min(count, sizeof(message));
}
