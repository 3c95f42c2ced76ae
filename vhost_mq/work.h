/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The work item of a queue: what is asked of a worker, and where it stands.
 *
 * An item is asked for by kicks, by its socket and by itself, from any context
 * and any number of CPUs, and may be pushed to another worker each time. All
 * that is known of it is in one word:
 *
 *	PENDING   someone asked and no run has begun since
 *	RUNNING   a worker is inside its function
 *	flushers  how many wait for runs to end
 *	ends      how many runs have ended, modulo 65536
 *
 * Who sets PENDING in an item that was idle pushes it to a worker's inbox; who
 * ends a run of an item that is PENDING again pushes it. Nobody else does, so
 * that an item is in one inbox at most, is never run by two workers at once, and
 * an ask that comes during a run leads to another run.
 *
 * It is one word because an item that a flusher sees idle may be freed at once:
 * the step that makes it idle is the last that the worker does to it, and tells
 * it whether to wake someone.
 */
#ifndef VHMQ_WORK_H
#define VHMQ_WORK_H

#include "hooks.h"

#define VHMQ_WORK_PENDING	0x1
#define VHMQ_WORK_RUNNING	0x2
#define VHMQ_WORK_BUSY		(VHMQ_WORK_PENDING | VHMQ_WORK_RUNNING)
#define VHMQ_WORK_FLUSHER	0x4		/* one of up to 16383 */
#define VHMQ_WORK_FLUSHERS	0xfffc
#define VHMQ_WORK_END		0x10000		/* one of the ends */

struct vhmq_work {
	struct llist_node node;		/* in an inbox while PENDING */
	atomic_t state;
};

void vhmq_work_init(struct vhmq_work *work);
bool vhmq_work_ask(struct vhmq_work *work);
void vhmq_work_begin(struct vhmq_work *work);
bool vhmq_work_end(struct vhmq_work *work);
void vhmq_work_refuse(struct vhmq_work *work);
bool vhmq_work_busy(const struct vhmq_work *work);
bool vhmq_work_asked(const struct vhmq_work *work);
bool vhmq_work_awaited(const struct vhmq_work *work);
void vhmq_work_flush(struct vhmq_work *work);

/*
 * What a worker has to do. Anyone gives; while the inbox is open a thread takes
 * everything; when it is shut, whoever gives takes everything and passes it on.
 * An item is never left in a shut one.
 */
struct vhmq_inbox {
	struct llist_head works;
	bool open;
	struct vhmq_inbox *fallback;	/* of a shut one; NULL: items are refused */
};

void vhmq_inbox_init(struct vhmq_inbox *inbox, struct vhmq_inbox *fallback);
void vhmq_inbox_open(struct vhmq_inbox *inbox);
void vhmq_inbox_shut(struct vhmq_inbox *inbox);
void vhmq_inbox_give(struct vhmq_inbox *inbox, struct vhmq_work *work);
struct llist_node *vhmq_inbox_take(struct vhmq_inbox *inbox);
bool vhmq_inbox_is_open(const struct vhmq_inbox *inbox);

/* Wakes the thread of an inbox, in any context; elsewhere: worker.c. */
void vhmq_inbox_wake(struct vhmq_inbox *inbox);

#endif /* VHMQ_WORK_H */
