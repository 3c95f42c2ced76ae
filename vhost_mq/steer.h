/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which worker serves a queue: the policies of a group.
 *
 * The state is the two transmit queues that were used last, with the time of
 * each. Whether "another transmit queue was used within the window" follows
 * from these two whatever the number of queues, because among the two latest
 * distinct queues at least one is not the asking one. Within a jiffy nothing is
 * written twice, so that busy queues read a shared cache line and do not
 * write it.
 */
#ifndef VHMQ_STEER_H
#define VHMQ_STEER_H

#include "hooks.h"

enum vhmq_policy {
	VHMQ_POLICY_RECENT,
	VHMQ_POLICY_PAIR,
	VHMQ_POLICY_SINGLE,
};

enum vhmq_mode {
	VHMQ_MODE_GATHERED,	/* everything on worker 0 */
	VHMQ_MODE_SPREAD,	/* each queue on its own worker */
};

#define VHMQ_MAX_PAIRS		1024
#define VHMQ_MAX_WORKERS	256
#define VHMQ_WINDOW_MAX		60000	/* jiffies: a minute at HZ=1000 */

struct vhmq_steer {
	/* Read-mostly: set under the group's lock, read without. */
	enum vhmq_policy policy;
	unsigned int window;		/* jiffies; 0 to VHMQ_WINDOW_MAX */
	unsigned int threads;		/* 1 to VHMQ_MAX_WORKERS, never 0 here */
	unsigned int rx_queues;		/* receive queues of the group */

	/* Queue and time in one word; 0: none. Each written once a jiffy at most. */
	u64 last[2] ____cacheline_aligned;
};

void vhmq_steer_init(struct vhmq_steer *steer);
unsigned int vhmq_steer_pick(struct vhmq_steer *steer, unsigned int index,
			     bool is_tx, u64 now);
void vhmq_steer_forget(struct vhmq_steer *steer, unsigned int index);
enum vhmq_mode vhmq_steer_mode(const struct vhmq_steer *steer, u64 now);
unsigned int vhmq_steer_active(const struct vhmq_steer *steer, u64 now);
unsigned int vhmq_steer_auto_threads(unsigned int pairs);

#endif /* VHMQ_STEER_H */
