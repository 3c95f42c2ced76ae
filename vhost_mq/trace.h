/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints: what was asked of which thread, and why. Owners are named by pid,
 * queues as in sysfs by direction and pair, threads by their number.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vhost_mq

#if !defined(VHMQ_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VHMQ_TRACE_H

#include <linux/jiffies.h>
#include <linux/tracepoint.h>

#include "vhost_mq.h"

#define vhmq_trace_owner(pool)	((pool) ? (pool)->owner.pid : 0)
#define vhmq_show_kind(is_tx)	((is_tx) ? "transmit" : "receive")
#define vhmq_show_policy(policy)			\
	__print_symbolic(policy,			\
			 { VHMQ_POLICY_RECENT, "recent" },	\
			 { VHMQ_POLICY_PAIR, "pair" },	\
			 { VHMQ_POLICY_SINGLE, "single" })

DECLARE_EVENT_CLASS(vhmq_wish,
	TP_PROTO(const struct vhmq_queue *queue),
	TP_ARGS(queue),
	TP_STRUCT__entry(
		__field(pid_t, owner)
		__field(bool, is_tx)
		__field(unsigned int, index)
	),
	TP_fast_assign(
		__entry->owner = vhmq_trace_owner(READ_ONCE(queue->pool));
		__entry->is_tx = queue->is_tx;
		__entry->index = queue->index;
	),
	TP_printk("owner=%d queue=%s/%u", __entry->owner,
		  vhmq_show_kind(__entry->is_tx), __entry->index)
);

/* The guest has kicked. */
DEFINE_EVENT(vhmq_wish, vhmq_kick,
	TP_PROTO(const struct vhmq_queue *queue),
	TP_ARGS(queue)
);

/* The backend has a packet, or room for one again. */
DEFINE_EVENT(vhmq_wish, vhmq_socket,
	TP_PROTO(const struct vhmq_queue *queue),
	TP_ARGS(queue)
);

/* A queue's work goes to a thread: by this policy, of so many, with so many queues in use. */
TRACE_EVENT(vhmq_steer,
	TP_PROTO(const struct vhmq_queue *queue, const struct vhmq_pool *pool,
		 unsigned int worker),
	TP_ARGS(queue, pool, worker),
	TP_STRUCT__entry(
		__field(pid_t, owner)
		__field(bool, is_tx)
		__field(unsigned int, index)
		__field(unsigned int, worker)
		__field(int, before)
		__field(int, policy)
		__field(unsigned int, threads)
		__field(unsigned int, active_txqs)
	),
	TP_fast_assign(
		__entry->owner = pool->owner.pid;
		__entry->is_tx = queue->is_tx;
		__entry->index = queue->index;
		__entry->worker = worker;
		__entry->before = READ_ONCE(queue->last_worker);
		__entry->policy = READ_ONCE(pool->steer.policy);
		__entry->threads = READ_ONCE(pool->steer.threads);
		__entry->active_txqs = vhmq_steer_active(&pool->steer, get_jiffies_64());
	),
	TP_printk("owner=%d queue=%s/%u worker=%u before=%d policy=%s threads=%u active_txqs=%u",
		  __entry->owner, vhmq_show_kind(__entry->is_tx), __entry->index,
		  __entry->worker, __entry->before, vhmq_show_policy(__entry->policy),
		  __entry->threads, __entry->active_txqs)
);

/* A thread that slept has something to do. */
TRACE_EVENT(vhmq_wakeup,
	TP_PROTO(const struct vhmq_worker *worker),
	TP_ARGS(worker),
	TP_STRUCT__entry(
		__field(pid_t, owner)
		__field(unsigned int, worker)
	),
	TP_fast_assign(
		__entry->owner = worker->pool->owner.pid;
		__entry->worker = worker->k;
	),
	TP_printk("owner=%d worker=%u", __entry->owner, __entry->worker)
);

/* The end of a run: what it has moved. */
TRACE_EVENT(vhmq_batch,
	TP_PROTO(const struct vhmq_queue *queue, unsigned int packets, size_t bytes),
	TP_ARGS(queue, packets, bytes),
	TP_STRUCT__entry(
		__field(pid_t, owner)
		__field(bool, is_tx)
		__field(unsigned int, index)
		__field(unsigned int, packets)
		__field(size_t, bytes)
		__field(int, worker)
	),
	TP_fast_assign(
		__entry->owner = vhmq_trace_owner(queue->pool);
		__entry->is_tx = queue->is_tx;
		__entry->index = queue->index;
		__entry->packets = packets;
		__entry->bytes = bytes;
		__entry->worker = queue->last_worker;
	),
	TP_printk("owner=%d queue=%s/%u worker=%d packets=%u bytes=%zu", __entry->owner,
		  vhmq_show_kind(__entry->is_tx), __entry->index, __entry->worker,
		  __entry->packets, __entry->bytes)
);

/* A ring was broken and has stopped. */
TRACE_EVENT(vhmq_error,
	TP_PROTO(const struct vhmq_queue *queue, struct va_format *reason),
	TP_ARGS(queue, reason),
	TP_STRUCT__entry(
		__field(pid_t, owner)
		__field(bool, is_tx)
		__field(unsigned int, index)
		__vstring(reason, reason->fmt, reason->va)
	),
	TP_fast_assign(
		__entry->owner = vhmq_trace_owner(queue->pool);
		__entry->is_tx = queue->is_tx;
		__entry->index = queue->index;
		__assign_vstr(reason, reason->fmt, reason->va);
	),
	TP_printk("owner=%d queue=%s/%u reason=\"%s\"", __entry->owner,
		  vhmq_show_kind(__entry->is_tx), __entry->index, __get_str(reason))
);

#endif /* VHMQ_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
