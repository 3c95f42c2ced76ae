/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between the files of the threads: worker.c, busy.c, thread.c, place.c.
 */
#ifndef VHMQ_THREAD_H
#define VHMQ_THREAD_H

struct task_struct;
struct vhmq_pool;
struct vhmq_queue;
struct vhmq_worker;

/* worker.c */
bool vhmq_worker_pass(struct vhmq_worker *worker);
bool vhmq_worker_work(struct vhmq_worker *worker);
bool vhmq_worker_run_queue(struct vhmq_worker *worker, struct vhmq_queue *queue, bool may_poll);
void vhmq_worker_end(struct vhmq_queue *queue);

/* busy.c */
void vhmq_busy_begin(struct vhmq_worker *worker, struct vhmq_queue *queue);
void vhmq_busy_poll(struct vhmq_worker *worker);

/* thread.c */
int vhmq_thread_start(struct vhmq_worker *worker);
bool vhmq_thread_is(const struct vhmq_worker *worker);
void vhmq_thread_stop(struct vhmq_worker *worker);
void vhmq_thread_forget(struct vhmq_worker *worker);
void vhmq_threads_reap(struct vhmq_pool *pool);

/* place.c */
void vhmq_worker_place(struct vhmq_worker *worker);

#endif /* VHMQ_THREAD_H */
