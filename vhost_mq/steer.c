// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which worker serves a queue. Plain C: the same file is compiled in user space
 * by the unit tests.
 *
 * The policy `recent`, for a group with one receive queue:
 *
 *	asks	  other transmit queues used within the window	  worker
 *	receive	  at most one used in all			  0
 *	transmit  none						  0
 *	transmit  one or more					  its own
 *
 * With several receive queues these spread as the transmit queues do, so that
 * both directions of a flow are on one worker.
 *
 * Nothing here takes a lock. A race makes a queue go to another worker than it
 * would have a moment later, which is right at any time.
 */
#include "steer.h"

/*
 * An entry of steer->last: the queue's index plus one above, the time in 64-bit
 * jiffies below. 53 bits of jiffies do not wrap in the life of a machine; they
 * are compared modulo 2^53 all the same.
 */
#define QUEUE_BITS	11
#define TIME_BITS	(64 - QUEUE_BITS)
#define TIME_MASK	(((u64)1 << TIME_BITS) - 1)

static u64 entry_make(unsigned int index, u64 now)
{
	return ((u64)(index + 1) << TIME_BITS) | (now & TIME_MASK);
}

/* Never the index of a queue when the entry is empty. */
static unsigned int entry_index(u64 entry)
{
	return (unsigned int)(entry >> TIME_BITS) - 1;
}

/*
 * How long ago, in jiffies. Somebody whose clock is a jiffy ahead may have
 * written it: that is now.
 */
static u64 entry_age(u64 entry, u64 now)
{
	u64 age = (now - entry) & TIME_MASK;

	return age > TIME_MASK / 2 ? 0 : age;
}

static bool entry_recent(u64 entry, u64 now, unsigned int window)
{
	return entry && entry_age(entry, now) <= window;
}

/*
 * Note that the transmit queue was used. An entry of this jiffy stays: there is
 * no later one, and with two of them it is known already that several queues
 * are used.
 *
 * Return: was another transmit queue used within the window?
 */
static bool steer_use(struct vhmq_steer *steer, unsigned int index, u64 now,
		      unsigned int window)
{
	u64 last[2] = { READ_ONCE(steer->last[0]), READ_ONCE(steer->last[1]) };
	u64 entry = entry_make(index, now);
	int mine;

	if (entry_index(last[0]) == index)
		mine = 0;
	else if (entry_index(last[1]) == index)
		mine = 1;
	else if (!last[0])
		mine = 0;
	else if (!last[1])
		mine = 1;
	else
		mine = entry_age(last[0], now) < entry_age(last[1], now);

	if (!last[mine] || entry_age(last[mine], now))
		WRITE_ONCE(steer->last[mine], entry);

	if (entry_index(last[mine]) != index &&
	    entry_recent(last[mine], now, window))
		return true;
	/* The same queue in both is what a race leaves behind. */
	return entry_index(last[!mine]) != index &&
	       entry_recent(last[!mine], now, window);
}

/**
 * vhmq_steer_active - how many transmit queues were used within the window
 * @steer: the group's steering
 * @now: 64-bit jiffies
 *
 * Return: 0, 1, or 2 for two and more.
 * Context: any.
 */
unsigned int vhmq_steer_active(const struct vhmq_steer *steer, u64 now)
{
	u64 last[2] = { READ_ONCE(steer->last[0]), READ_ONCE(steer->last[1]) };
	unsigned int window = READ_ONCE(steer->window);

	if (entry_index(last[0]) == entry_index(last[1]))
		last[1] = 0;
	return entry_recent(last[0], now, window) +
	       entry_recent(last[1], now, window);
}

/**
 * vhmq_steer_mode - where the group's queues are now
 * @steer: the group's steering
 * @now: 64-bit jiffies
 *
 * Return: VHMQ_MODE_GATHERED or VHMQ_MODE_SPREAD.
 * Context: any.
 */
enum vhmq_mode vhmq_steer_mode(const struct vhmq_steer *steer, u64 now)
{
	if (READ_ONCE(steer->threads) == 1)
		return VHMQ_MODE_GATHERED;

	switch (READ_ONCE(steer->policy)) {
	case VHMQ_POLICY_PAIR:
		return VHMQ_MODE_SPREAD;
	case VHMQ_POLICY_RECENT:
		if (vhmq_steer_active(steer, now) > 1)
			return VHMQ_MODE_SPREAD;
		break;
	case VHMQ_POLICY_SINGLE:
		break;
	}
	return VHMQ_MODE_GATHERED;
}

/* A queue's own worker, when @threads > 1 and the group is spread. */
static unsigned int steer_own(const struct vhmq_steer *steer,
			      unsigned int index, bool is_tx,
			      unsigned int threads)
{
	if (READ_ONCE(steer->rx_queues) > 1)
		return index % threads;
	return is_tx ? 1 + index % (threads - 1) : 0;
}

/**
 * vhmq_steer_pick - which worker serves a queue that asks now
 * @steer: the group's steering
 * @index: the queue's pair, less than VHMQ_MAX_PAIRS
 * @is_tx: a transmit queue; it counts as used from now on
 * @now: 64-bit jiffies
 *
 * Takes the same time however many queues the group has.
 *
 * Return: number of the worker, less than the number of threads.
 * Context: any.
 */
unsigned int vhmq_steer_pick(struct vhmq_steer *steer, unsigned int index,
			     bool is_tx, u64 now)
{
	unsigned int threads = READ_ONCE(steer->threads);
	bool spread = false;

	/* Counted under every policy: people see it, and policies change. */
	if (is_tx)
		spread = steer_use(steer, index, now, READ_ONCE(steer->window));
	if (threads == 1)
		return 0;

	switch (READ_ONCE(steer->policy)) {
	case VHMQ_POLICY_PAIR:
		return index % threads;
	case VHMQ_POLICY_SINGLE:
		return 0;
	case VHMQ_POLICY_RECENT:
		break;
	}

	if (!is_tx)
		spread = vhmq_steer_active(steer, now) > 1;
	return spread ? steer_own(steer, index, is_tx, threads) : 0;
}

/**
 * vhmq_steer_forget - a transmit queue was switched off
 * @steer: the group's steering
 * @index: its pair
 *
 * Context: any.
 */
void vhmq_steer_forget(struct vhmq_steer *steer, unsigned int index)
{
	int i;

	for (i = 0; i < 2; i++)
		if (entry_index(READ_ONCE(steer->last[i])) == index)
			WRITE_ONCE(steer->last[i], 0);
}

/**
 * vhmq_steer_init - one thread, nothing used
 * @steer: the group's steering
 */
void vhmq_steer_init(struct vhmq_steer *steer)
{
	memset(steer, 0, sizeof(*steer));
	steer->policy = VHMQ_POLICY_RECENT;
	steer->threads = 1;
	steer->rx_queues = 1;
}

/**
 * vhmq_steer_auto_threads - number of threads when nobody sets it
 * @pairs: queue pairs of the group
 *
 * Return: 1 for one pair, else one for receive and up to four for transmit.
 */
unsigned int vhmq_steer_auto_threads(unsigned int pairs)
{
	if (pairs <= 1)
		return 1;
	return 1 + (pairs < 4 ? pairs : 4);
}
