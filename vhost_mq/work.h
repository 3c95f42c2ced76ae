/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The work item of a queue: what is asked of a worker, and where it stands.
 *
 * An item is asked for by kicks, by its socket and by itself, from any context
 * and any number of CPUs, and may be pushed to another worker each time. All
 * that is known of it is in two bits:
 *
 *	PENDING  someone asked and no run has begun since
 *	RUNNING  a worker is inside its function
 *
 * Who sets PENDING in an item that was idle pushes it to a worker's list; who
 * ends a run of an item that is PENDING again pushes it. Nobody else does, so
 * that an item is on one list at most, is never run by two workers at once, and
 * an ask that comes during a run leads to another run.
 */
#ifndef VHMQ_WORK_H
#define VHMQ_WORK_H

#include "hooks.h"

#define VHMQ_WORK_PENDING	0x1
#define VHMQ_WORK_RUNNING	0x2

struct vhmq_work {
	struct llist_node node;		/* on a worker's list while PENDING */
	atomic_t state;
	atomic_t flushers;		/* who waits for runs to end */
	unsigned int runs;		/* ends of runs; written by the runner */
};

void vhmq_work_init(struct vhmq_work *work);
bool vhmq_work_ask(struct vhmq_work *work);
void vhmq_work_begin(struct vhmq_work *work);
bool vhmq_work_end(struct vhmq_work *work);
void vhmq_work_refuse(struct vhmq_work *work);
bool vhmq_work_busy(const struct vhmq_work *work);

#endif /* VHMQ_WORK_H */
