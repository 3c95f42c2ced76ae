// SPDX-License-Identifier: GPL-2.0-only
/*
 * Busy polling (VHOST_SET_VRING_BUSYLOOP_TIMEOUT): before a queue with such a timeout
 * goes idle, its worker looks for more by itself so long, and the guest does not kick,
 * nor does the socket wake.
 *
 * A worker polls for all such queues of its own at once, and does whatever comes into
 * its inbox meanwhile, so that polling delays nobody. A run does not end while its
 * queue is polled for: who asks for another one marks the item, and who waits for the
 * end is seen there, too. What is found is handed over as a kick's work would be,
 * perhaps to another worker. Nothing is polled for when the thread leaves here.
 *
 *	polling of a queue ends when	and then
 *	it was asked for		it is run
 *	its ring or socket has more	it is asked for, and run
 *	its time is over		it is run once more, and wants to be woken
 *	its backend is taken away	the same
 *	others want the CPU, or the	the same, for all queues of the worker
 *	thread is signalled or stopped
 */
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>

#include "thread.h"
#include "vhost_mq.h"

/**
 * vhmq_busy_begin - from now on the worker polls for the queue
 * @worker: the worker
 * @queue: a queue whose run has found nothing more; it does not end yet
 *
 * Context: the worker's thread, which goes on to vhmq_busy_poll().
 */
void vhmq_busy_begin(struct vhmq_worker *worker, struct vhmq_queue *queue)
{
	vhmq_count(&queue->stats, busy_polls);
	queue->busy_since = local_clock();
	list_add_tail(&queue->busy_node, &worker->busy);
}

enum verdict { GO_ON, FOUND, OVER };

/* Under queue->mutex. */
static enum verdict look(struct vhmq_queue *queue)
{
	if (!queue->sock || queue->ring.broken || !queue->ring.ready)
		return OVER;
	if (queue->is_tx ? vhmq_tx_pending(queue) : vhmq_rx_pending(queue))
		return FOUND;
	if (local_clock() - queue->busy_since >= (u64)queue->busyloop_timeout * NSEC_PER_USEC)
		return OVER;
	return GO_ON;
}

static enum verdict judge(struct vhmq_queue *queue, bool give_way)
{
	enum verdict verdict;

	if (vhmq_work_asked(&queue->work))
		return FOUND;
	if (give_way || vhmq_work_awaited(&queue->work))
		return OVER;
	/* An ioctl has it: in the next round. */
	if (!mutex_trylock(&queue->mutex))
		return GO_ON;
	verdict = look(queue);
	mutex_unlock(&queue->mutex);
	return verdict;
}

static void look_at_all(struct vhmq_worker *worker, bool give_way)
{
	struct vhmq_queue *queue, *next;

	list_for_each_entry_safe(queue, next, &worker->busy, busy_node) {
		switch (judge(queue, give_way)) {
		case GO_ON:
			continue;
		case FOUND:
			vhmq_count(&queue->stats, busy_poll_hits);
			vhmq_work_ask(&queue->work);
			break;
		case OVER:
			vhmq_worker_run_queue(worker, queue, false);
			break;
		}
		list_del(&queue->busy_node);
		vhmq_worker_end(queue);
	}
}

/*
 * Others wait for the CPU, or took it: where the kernel is preempted, that it was to be
 * is not seen here any more.
 */
static bool must_give_way(struct vhmq_worker *worker, unsigned long preempted)
{
	return need_resched() || current->nivcsw != preempted || signal_pending(current) ||
	       !vhmq_inbox_is_open(&worker->inbox);
}

/**
 * vhmq_busy_poll - look for more until all polling has ended
 * @worker: the worker, with queues to poll for
 *
 * Context: the worker's thread.
 */
void vhmq_busy_poll(struct vhmq_worker *worker)
{
	unsigned long preempted = current->nivcsw;

	do {
		if (vhmq_worker_work(worker))
			preempted = current->nivcsw;
		look_at_all(worker, must_give_way(worker, preempted));
		cpu_relax();
	} while (!list_empty(&worker->busy));
}
