/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In the place of vhost_mq/vhost_mq.h, for vhost_mq/iotlb.c in user space: of the
 * module's objects and of the kernel what that file uses, and nothing else.
 */
#ifndef FUZZ_SHIM_H
#define FUZZ_SHIM_H

#define VHOST_MQ_H

#include <assert.h>
#include <linux/vhost.h>

#include "ring_split.h"

#define BIT_ULL(n)	(1ULL << (n))
#define ERESTARTSYS	512

/* ------------------------------------------------------------------------
 * Of the kernel. One thread: a lock is there to be seen taken and given back.
 */

struct mutex {
	bool held;
};

typedef struct mutex spinlock_t;

static inline void mutex_lock(struct mutex *lock)
{
	assert(!lock->held);
	lock->held = true;
}

static inline void mutex_unlock(struct mutex *lock)
{
	assert(lock->held);
	lock->held = false;
}

#define mutex_lock_nested(lock, i)	mutex_lock(lock)
#define spin_lock(lock)			mutex_lock(lock)
#define spin_unlock(lock)		mutex_unlock(lock)

typedef struct {
	unsigned int woken;
} wait_queue_head_t;

typedef int poll_table;
typedef unsigned int __poll_t;

#define EPOLLIN		0x01
#define EPOLLRDNORM	0x40
#define IOCB_NOWAIT	1
#ifndef O_NONBLOCK
#define O_NONBLOCK	04000
#endif

#define wake_up_interruptible_poll(queue, mask)		((void)(queue)->woken++)
#define poll_wait(file, queue, table)			((void)(file))
/* Nobody else is there to wake it: as a signal does. */
#define wait_event_interruptible(queue, condition)	((condition) ? 0 : -ERESTARTSYS)

struct file {
	void *private_data;
	unsigned int f_flags;
};

struct kiocb {
	struct file *ki_filp;
	int ki_flags;
};

struct iov_iter {
	u8 *at;
	size_t count;
};

static inline size_t iov_iter_count(const struct iov_iter *iter)
{
	return iter->count;
}

static inline size_t copy_from_iter(void *to, size_t size, struct iov_iter *iter)
{
	size = min(size, iter->count);
	memcpy(to, iter->at, size);
	iter->at += size;
	iter->count -= size;
	return size;
}

static inline size_t copy_to_iter(const void *from, size_t size, struct iov_iter *iter)
{
	size = min(size, iter->count);
	memcpy(iter->at, from, size);
	iter->at += size;
	iter->count -= size;
	return size;
}

/* ------------------------------------------------------------------------
 * Of the module
 */

#define VHMQ_NR_QUEUES	2

#define vhmq_count(stats, name)	((stats)->name++)

struct vhmq_miss {
	enum {
		VHMQ_MISS_NONE,
		VHMQ_MISS_NEW,
		VHMQ_MISS_TOLD,
	} state;
	u64 addr;
	u8 perm;
};

struct vhmq_queue {
	struct vhmq_dev *dev;
	struct mutex mutex;
	struct vhmq_ring ring;
	struct vhmq_mem *mem;
	bool sock;			/* has a backend */
	struct vhmq_miss miss;
	struct {
		unsigned long iotlb_misses;
	} stats;

	/* The fuzzer's. */
	unsigned int asked;		/* runs */
	unsigned int failures;
	char reason[200];		/* of the last failure */
};

struct vhmq_dev {
	struct mutex mutex;
	u64 backend_features;
	struct vhmq_iotlb *iotlb;
	spinlock_t miss_lock;
	wait_queue_head_t miss_wait;
	struct vhmq_queue queues[VHMQ_NR_QUEUES];
};

void vhmq_queue_ask(struct vhmq_queue *queue);

ssize_t vhmq_iotlb_read(struct kiocb *iocb, struct iov_iter *to);
ssize_t vhmq_iotlb_write(struct kiocb *iocb, struct iov_iter *from);
__poll_t vhmq_iotlb_poll(struct file *file, poll_table *wait);
void vhmq_miss_forget(struct vhmq_queue *queue);

#endif /* FUZZ_SHIM_H */
