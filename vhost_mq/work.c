// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work items and inboxes: see work.h for what they promise. Plain C: the same
 * file is compiled in user space by the unit tests.
 */
#include "work.h"

/**
 * vhmq_work_init - make an idle item
 * @work: the item
 */
void vhmq_work_init(struct vhmq_work *work)
{
	work->node.next = NULL;
	atomic_set(&work->state, 0);
}

/**
 * vhmq_work_ask - ask for a run
 * @work: the item
 *
 * What the caller wrote before is seen by the run that this asks for: the
 * atomic is a full barrier, paired with the one in vhmq_work_begin().
 *
 * Return: true when the item was idle, and the caller has to push it to a
 * worker; it may not touch the item after that.
 * Context: any.
 */
bool vhmq_work_ask(struct vhmq_work *work)
{
	return !(atomic_fetch_or(VHMQ_WORK_PENDING, &work->state) &
		 VHMQ_WORK_BUSY);
}

/**
 * vhmq_work_begin - a run begins
 * @work: an item that was taken from an inbox
 *
 * The run sees what was written before the asks that it answers, and an ask
 * from now on leads to another run: the atomic is a full barrier, paired with
 * the one in vhmq_work_ask().
 *
 * Context: the worker that took the item.
 */
void vhmq_work_begin(struct vhmq_work *work)
{
	/* PENDING and not RUNNING becomes RUNNING and not PENDING. */
	atomic_fetch_add(VHMQ_WORK_RUNNING - VHMQ_WORK_PENDING, &work->state);
}

/*
 * The item leaves the worker's hands with the addition; the address alone finds
 * those who wait. The barrier of the addition is paired with the one between
 * joining the flushers and looking at the state, in vhmq_work_flush().
 */
static int vhmq_work_leave(struct vhmq_work *work, int bit)
{
	int old = atomic_fetch_add(VHMQ_WORK_END - bit, &work->state);

	if (old & VHMQ_WORK_FLUSHERS)
		wake_up_var(work);
	return old;
}

/**
 * vhmq_work_end - a run has ended
 * @work: the item that ran
 *
 * Return: true when it was asked for meanwhile, and the caller has to push it
 * to a worker. When false, the item may be gone.
 * Context: the worker that ran the item.
 */
bool vhmq_work_end(struct vhmq_work *work)
{
	return vhmq_work_leave(work, VHMQ_WORK_RUNNING) & VHMQ_WORK_PENDING;
}

/**
 * vhmq_work_refuse - give an item back without a run
 * @work: an item that was taken from an inbox
 *
 * The item becomes idle and may be gone. Whoever waits for it goes on.
 */
void vhmq_work_refuse(struct vhmq_work *work)
{
	vhmq_work_leave(work, VHMQ_WORK_PENDING);
}

/**
 * vhmq_work_busy - is the item asked for or running?
 * @work: the item
 *
 * Who finds it idle sees what the last run wrote: an acquire, paired with the
 * barrier in vhmq_work_leave().
 *
 * Return: what was true a moment ago.
 */
bool vhmq_work_busy(const struct vhmq_work *work)
{
	return atomic_read_acquire(&work->state) & VHMQ_WORK_BUSY;
}

/**
 * vhmq_work_asked - was another run asked for during this one?
 * @work: an item that runs
 *
 * Return: what was true a moment ago.
 * Context: the worker that runs the item.
 */
bool vhmq_work_asked(const struct vhmq_work *work)
{
	return atomic_read(&work->state) & VHMQ_WORK_PENDING;
}

/**
 * vhmq_work_awaited - does anyone wait for the end of the run?
 * @work: an item that runs
 *
 * Return: what was true a moment ago.
 * Context: the worker that runs the item.
 */
bool vhmq_work_awaited(const struct vhmq_work *work)
{
	return atomic_read(&work->state) & VHMQ_WORK_FLUSHERS;
}

/*
 * An ask that came before @start was taken is answered when the item is idle,
 * or after two ends: of the run that was on, and of the one after it.
 */
static bool vhmq_work_flushed(const struct vhmq_work *work, unsigned int start)
{
	unsigned int state = atomic_read_acquire(&work->state);

	return !(state & VHMQ_WORK_BUSY) ||
	       (state - start) / VHMQ_WORK_END >= 2;
}

/**
 * vhmq_work_flush - wait until everything asked for before has been run
 * @work: the item
 *
 * When nobody asks for it any more, the item is idle afterwards and may be
 * freed: of the two ends the second leaves it so.
 *
 * Context: process. Not from a run.
 */
void vhmq_work_flush(struct vhmq_work *work)
{
	unsigned int start;

	if (!vhmq_work_busy(work))
		return;

	start = atomic_fetch_add(VHMQ_WORK_FLUSHER, &work->state);
	start &= ~(VHMQ_WORK_END - 1);
	wait_var_event(work, vhmq_work_flushed(work, start));
	atomic_fetch_sub(VHMQ_WORK_FLUSHER, &work->state);
}

/**
 * vhmq_inbox_init - make an empty inbox that is shut
 * @inbox: the inbox
 * @fallback: where items go while it is shut, or NULL to refuse them
 */
void vhmq_inbox_init(struct vhmq_inbox *inbox, struct vhmq_inbox *fallback)
{
	init_llist_head(&inbox->works);
	inbox->open = false;
	inbox->fallback = fallback;
}

/**
 * vhmq_inbox_open - from now on a thread takes what is given
 * @inbox: the inbox
 *
 * Context: the thread, before it looks into the inbox for the first time.
 */
void vhmq_inbox_open(struct vhmq_inbox *inbox)
{
	WRITE_ONCE(inbox->open, true);
}

static void pass_on(struct vhmq_inbox *inbox)
{
	struct llist_node *works = vhmq_inbox_take(inbox);
	struct vhmq_work *work, *next;

	llist_for_each_entry_safe(work, next, works, node) {
		if (inbox->fallback)
			vhmq_inbox_give(inbox->fallback, work);
		else
			vhmq_work_refuse(work);
	}
}

/**
 * vhmq_inbox_shut - from now on no thread takes what is given
 * @inbox: the inbox
 *
 * What is in there is passed on.
 *
 * Context: any.
 */
void vhmq_inbox_shut(struct vhmq_inbox *inbox)
{
	WRITE_ONCE(inbox->open, false);
	/*
	 * Shut, then look; vhmq_inbox_give() adds, then looks whether it is shut:
	 * one of the two sees the other's write, and takes the item.
	 */
	smp_mb();
	pass_on(inbox);
}

/**
 * vhmq_inbox_give - give a worker something to do
 * @inbox: its inbox
 * @work: an item that the caller has to push; it may be gone afterwards
 *
 * Only who adds to an empty inbox needs to care for what comes next: the others'
 * items are in there when the thread, or that caller, takes everything.
 *
 * Context: any.
 */
void vhmq_inbox_give(struct vhmq_inbox *inbox, struct vhmq_work *work)
{
	if (!llist_add(&work->node, &inbox->works))
		return;

	/* Pairs with the one in vhmq_inbox_shut(), see there. */
	smp_mb();
	if (READ_ONCE(inbox->open))
		vhmq_inbox_wake(inbox);
	else
		pass_on(inbox);
}

/**
 * vhmq_inbox_take - take everything
 * @inbox: the inbox
 *
 * Return: the items, in the order in which they were given.
 * Context: any.
 */
struct llist_node *vhmq_inbox_take(struct vhmq_inbox *inbox)
{
	return llist_reverse_order(llist_del_all(&inbox->works));
}

/**
 * vhmq_inbox_is_open - does a thread take what is given?
 * @inbox: the inbox
 *
 * Return: what was true a moment ago; vhmq_inbox_give() knows for certain.
 */
bool vhmq_inbox_is_open(const struct vhmq_inbox *inbox)
{
	return READ_ONCE(inbox->open);
}
