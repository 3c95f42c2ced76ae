// SPDX-License-Identifier: GPL-2.0-only
/*
 * What both directions of the packet path share: the wake-ups that lead to a
 * run, the return of buffers to the guest, and the end of a broken ring.
 */
#include <linux/printk.h>
#include <linux/ratelimit.h>

#include "trace.h"
#include "vhost_mq.h"

/*
 * A kick eventfd was written, or the socket has become readable or writable.
 * Any context, interrupts off, under the lock of the wait queue.
 */
static int wake(wait_queue_entry_t *wait, unsigned int mode, int sync, void *key)
{
	struct vhmq_poll *poll = container_of(wait, struct vhmq_poll, wait);
	struct vhmq_queue *queue = poll->queue;

	if (!(key_to_poll(key) & poll->mask))
		return 0;

	if (poll == &queue->kick_poll) {
		atomic_long_inc(&queue->kicks);
		trace_vhmq_kick(queue);
	} else {
		/*
		 * The socket's state was changed before this is read. Pairs with
		 * the barrier of the run between setting sock_wanted and its last
		 * look at the socket. The lock is that of the wait queue.
		 */
		smp_mb__after_spinlock();
		if (!READ_ONCE(queue->sock_wanted))
			return 0;
		WRITE_ONCE(queue->sock_wanted, false);
		atomic_long_inc(&queue->socket_wakeups);
		trace_vhmq_socket(queue);
	}
	vhmq_queue_ask(queue);
	return 0;
}

static void enter_wait_queue(struct file *file, wait_queue_head_t *wqh, poll_table *table)
{
	struct vhmq_poll *poll = container_of(table, struct vhmq_poll, table);

	poll->wqh = wqh;
	add_wait_queue(wqh, &poll->wait);
}

/**
 * vhmq_poll_init() - prepare a subscription
 * @poll: subscription
 * @queue: the queue that is asked to run
 * @mask: the events that count
 */
void vhmq_poll_init(struct vhmq_poll *poll, struct vhmq_queue *queue, __poll_t mask)
{
	poll->queue = queue;
	poll->mask = mask;
	poll->wqh = NULL;
	poll->parked = false;
	init_waitqueue_func_entry(&poll->wait, wake);
	init_poll_funcptr(&poll->table, enter_wait_queue);
}

/**
 * vhmq_poll_start() - subscribe to a file; what has happened already counts
 * @poll: subscription
 * @file: kick eventfd, or the socket's file; held until vhmq_poll_stop()
 *
 * Return: 0, or -EINVAL when the file reports an error; then nothing is started.
 * Context: process, queue->mutex.
 */
int vhmq_poll_start(struct vhmq_poll *poll, struct file *file)
{
	__poll_t mask;

	if (poll->wqh)
		return 0;

	mask = vfs_poll(file, &poll->table);
	if (mask & EPOLLERR) {
		vhmq_poll_stop(poll);
		return -EINVAL;
	}
	if (mask & poll->mask)
		wake(&poll->wait, 0, 0, poll_to_key(mask));
	return 0;
}

/**
 * vhmq_poll_await() - subscribe to a file in whatever state it is
 * @poll: subscription, not started
 * @file: the socket's file; held until vhmq_poll_stop()
 *
 * Return: true when the file reports an error and not what is waited for.
 * Context: process, queue->mutex.
 */
bool vhmq_poll_await(struct vhmq_poll *poll, struct file *file)
{
	__poll_t mask = vfs_poll(file, &poll->table);

	if (mask & poll->mask) {
		wake(&poll->wait, 0, 0, poll_to_key(mask));
		return false;
	}
	return mask & EPOLLERR;
}

/**
 * vhmq_poll_stop() - end a subscription
 * @poll: subscription, started or not
 *
 * After it no wake-up is running or comes; one that came before may have asked
 * for a run.
 *
 * Context: process, queue->mutex.
 */
void vhmq_poll_stop(struct vhmq_poll *poll)
{
	vhmq_poll_park(poll);
	poll->wqh = NULL;
	poll->parked = false;
}

/**
 * vhmq_poll_park() - leave the wait queue for a while
 * @poll: subscription, started or not
 *
 * Spares whoever wakes the file a call for each event, when many are coming and
 * none is wanted.
 *
 * Context: process, queue->mutex.
 */
void vhmq_poll_park(struct vhmq_poll *poll)
{
	if (!poll->wqh || poll->parked)
		return;
	remove_wait_queue(poll->wqh, &poll->wait);
	poll->parked = true;
}

/**
 * vhmq_poll_unpark() - go back to the wait queue
 * @poll: subscription, parked or not; what happened meanwhile is not told
 *
 * Context: process, queue->mutex.
 */
void vhmq_poll_unpark(struct vhmq_poll *poll)
{
	if (!poll->parked)
		return;
	poll->parked = false;
	add_wait_queue(poll->wqh, &poll->wait);
}

/* Interrupts the guest if it wants to hear of what it got. */
static void call_guest(struct vhmq_queue *queue)
{
	if (!queue->call)
		return;
	if (vhmq_ring_should_call(&queue->ring)) {
		vhmq_eventfd_signal(queue->call);
		vhmq_count(&queue->stats, calls);
	} else {
		vhmq_count(&queue->stats, calls_suppressed);
	}
}

/**
 * vhmq_queue_complete() - return buffers to the guest
 * @queue: queue
 * @scratch: heads and the bytes written; with VIRTIO_F_IN_ORDER, the batches that they are in
 * @count: how many chains
 *
 * Context: run, queue->mutex.
 */
void vhmq_queue_complete(struct vhmq_queue *queue, const struct vhmq_scratch *scratch,
			 unsigned int count)
{
	struct vhmq_ring *ring = &queue->ring;
	int ret;

	if (!count)
		return;
	if (unlikely(ring->in_order))
		ret = vhmq_ring_push_in_order(ring, scratch->used, scratch->sizes, count);
	else
		ret = vhmq_ring_push(ring, scratch->used, count);
	if (!ret)
		call_guest(queue);
}

/**
 * vhmq_queue_tell_log() - the owner hears of its dirty log
 * @queue: queue
 *
 * Nothing happens unless something was marked since the last time.
 *
 * Context: ioctl or run, queue->mutex.
 */
void vhmq_queue_tell_log(struct vhmq_queue *queue)
{
	if (likely(!queue->ring.logged))
		return;
	queue->ring.logged = false;
	if (queue->log)
		vhmq_eventfd_signal(queue->log);
}

void vhmq_ring_fail(struct vhmq_ring *ring, const char *format, ...)
{
	struct vhmq_queue *queue = container_of(ring, struct vhmq_queue, ring);
	struct va_format text = { .fmt = format };
	va_list args;

	if (ring->broken)
		return;
	ring->broken = true;
	vhmq_count(&queue->stats, ring_errors);

	va_start(args, format);
	text.va = &args;
	trace_vhmq_error(queue, &text);
	pr_warn_ratelimited("owner %d, %s queue %u stopped: %pV\n",
			    queue->pool ? queue->pool->owner.pid : 0,
			    queue->is_tx ? "transmit" : "receive", queue->index, &text);
	va_end(args);

	/* Last: who is woken by it finds the reason in the log. */
	if (queue->err)
		vhmq_eventfd_signal(queue->err);
}
