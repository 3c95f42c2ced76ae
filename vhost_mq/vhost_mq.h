/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vhost_net_mq: the private header. Objects, locks, contexts, who calls whom.
 *
 * A house with four floors; each file calls its own floor and those below:
 *
 *	main.c  knobs.c  sysfs.c  stats.c  module, /dev/vhost-net, what people see
 *	device.c  vring.c  iotlb.c         one open file: ioctls and messages
 *	group.c  memory.c                  the devices of one NIC; the guest's memory
 *	worker.c  busy.c  thread.c  place.c  threads, and the CPUs that they run on
 *	work.c  steer.c                    work items; which thread serves a queue
 *	tx.c  rx.c  queue.c  backend.c  ring_split.c  log.c  the packet path
 *
 * Objects
 *	device	one open file of /dev/vhost-net: two queues, features, memory,
 *		an owner (mm). Lives from open to release.
 *	queue	one virtqueue of a device: ring, mutex, work item, counters.
 *	group	the devices of one owner whose backends are queues of one net
 *		device. A device joins when it is given a backend and stays when the
 *		backend is taken away (a guest that resets its driver keeps what the
 *		administrator set); it leaves when it is closed, reset, or given a
 *		backend on another net device. The last one that leaves ends it.
 *	pool	the group's threads and steering, all that the packet path knows
 *		of the group.
 *	worker	one thread of a pool, with the scratch memory of a run.
 *	dir	a directory in sysfs that shows one of these; its memory is its
 *		own, so that nothing else has to wait for sysfs to let go.
 *
 * Contexts
 *	ioctl		process context of the owner (or anyone with the file)
 *	wake-up		of a kick eventfd or a socket: any context, interrupts off
 *	run		a worker thread with the owner's mm; holds queue->mutex
 *	sysfs		process context of anyone
 *
 * Lock order
 *	device->mutex > group->members > group->resize > group->tree >
 *	group->lock > pool->lock > queue->mutex > device->miss_lock
 *	vhmq_defaults_lock comes after group->lock, vhmq_groups_lock last of all.
 *	Removing an attribute waits for its handlers: those of queues under
 *	group->members, so that they take group->lock and below; those of workers
 *	under group->tree, the same; those of the group under no lock, so that they
 *	take group->resize and below.
 *	Of the two queues of a device, which a change of its IOTLB takes both, the
 *	receive queue comes first.
 *	RTNL, which asking tun for its net device takes, is taken before all.
 *	An owner can be stopped at any time, and its threads with it. Who waits for
 *	one of these holds device->mutex, group->members or group->resize of that
 *	owner and nothing else.
 *
 * Verbs
 *	alloc/free	memory
 *	create/destroy	it exists, and is seen
 *	start/stop	traffic, or a thread
 *	get/put		a reference
 *	init/exit	the module's, and members of a structure
 *	show/store	sysfs
 */
#ifndef VHOST_MQ_H
#define VHOST_MQ_H

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/eventfd.h>
#include <linux/fs.h>
#include <linux/if_tun.h>
#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/ptr_ring.h>
#include <linux/sched.h>
#include <linux/skb_array.h>
#include <linux/uio.h>
#include <linux/vhost.h>
#include <linux/virtio_net.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <net/xdp.h>

#include "memory.h"
#include "compat/thread.h"
#include "ring_split.h"
#include "steer.h"
#include "work.h"

struct vhmq_dev;
struct vhmq_dir;
struct vhmq_group;
struct vhmq_pool;
struct vhmq_queue;
struct vhmq_worker;

/* ------------------------------------------------------------------------
 * Limits
 */

/* Index of a queue in its device, the virtio order of a pair. */
#define VHMQ_RX			0
#define VHMQ_TX			1
#define VHMQ_NR_QUEUES		2

/* A run ends after so much and asks to be run again, so that queues share. */
#define VHMQ_WEIGHT_PACKETS	256
#define VHMQ_WEIGHT_BYTES	0x80000

/* Packets handed to, or taken from, the backend at once. */
#define VHMQ_BATCH		64

/* ------------------------------------------------------------------------
 * Counters (stats.c)
 *
 * Written by the holder of queue->mutex (queue) or by the worker's thread
 * (worker), read by anyone; each is one aligned word. The name in sysfs is the
 * member's name.
 */
#define VHMQ_QUEUE_COUNTERS(X)						\
	X(packets) X(bytes)	/* without the virtio header */		\
	X(batches)		/* hand-overs to or from the backend */	\
	X(kicks)		/* of the guest; see note below */	\
	X(socket_wakeups)						\
	X(calls)		/* interrupts raised */			\
	X(calls_suppressed)						\
	X(runs) X(moves)	/* runs; runs on another worker than before */ \
	X(repolls)		/* ring had more when kicks were enabled */ \
	X(weight_exceeded)						\
	X(iotlb_misses)		/* the owner was asked for an address */ \
	X(busy_polls)		/* polled before it slept */		\
	X(busy_poll_hits)	/* and there was something */		\
	X(stalls)		/* backend had no room; tried again */	\
	X(drop_header)		/* header too short or not understood */ \
	X(drop_backend)		/* the backend refused the packet */	\
	X(drop_length)		/* larger than the guest's buffers, or than any */	\
	X(ring_errors)		/* the ring was broken and stopped */

#define VHMQ_WORKER_COUNTERS(X)						\
	X(works) X(wakeups) X(busy_ns)

#define VHMQ_COUNTER_MEMBER(name) u64 name;

struct vhmq_queue_stats {
	VHMQ_QUEUE_COUNTERS(VHMQ_COUNTER_MEMBER)
};

struct vhmq_worker_stats {
	VHMQ_WORKER_COUNTERS(VHMQ_COUNTER_MEMBER)
};

#define vhmq_count(stats, name) vhmq_count_add(stats, name, 1)
#define vhmq_count_add(stats, name, n) \
	WRITE_ONCE((stats)->name, (stats)->name + (n))

/* ------------------------------------------------------------------------
 * Scratch memory of a worker: what a run needs and no queue has to keep, so
 * that an idle queue costs next to nothing.
 */
struct vhmq_scratch {
	struct iovec iov[UIO_MAXIOV];
	struct vhmq_used_elem used[UIO_MAXIOV + VHMQ_BATCH];
	u16 sizes[UIO_MAXIOV + VHMQ_BATCH];	/* see vhmq_ring_push_in_order() */
	struct xdp_buff xdp[VHMQ_BATCH];
	struct page_frag frag;		/* frames of batched transmit */
	unsigned int frag_bias;		/* references to it that are ours to give */
};

struct vhmq_scratch *vhmq_scratch_alloc(void);		/* tx.c */
void vhmq_scratch_free(struct vhmq_scratch *scratch);

/* ------------------------------------------------------------------------
 * Queue
 */

/*
 * A subscription to the wake-ups of a file: a kick eventfd or a socket.
 * start/stop under queue->mutex. After stop no callback is running or comes.
 */
struct vhmq_poll {
	struct vhmq_queue *queue;
	struct wait_queue_head *wqh;	/* NULL while stopped */
	wait_queue_entry_t wait;
	poll_table table;
	__poll_t mask;
	bool parked;			/* started, but off the wait queue */
};

/*
 * What a queue lacks in the device IOTLB, at most one thing at a time since its run ends
 * there. device->miss_lock.
 */
struct vhmq_miss {
	enum {
		VHMQ_MISS_NONE,
		VHMQ_MISS_NEW,		/* to be read by the owner */
		VHMQ_MISS_TOLD,		/* read, not answered */
	} state;
	u64 addr;
	u8 perm;			/* VHOST_ACCESS_RO or _WO */
};

struct vhmq_queue {
	/* Read-mostly: set under the mutex, while nothing runs. */
	struct vhmq_dev *dev;
	struct vhmq_pool *pool;		/* NULL before the first join */
	unsigned int index;		/* pair within the group */
	bool is_tx;

	/* What wake-ups write. */
	struct vhmq_work work ____cacheline_aligned;
	struct vhmq_poll kick_poll;	/* runs while there is a backend */
	struct vhmq_poll sock_poll;
	atomic_long_t kicks;		/* counted where they arrive */
	atomic_long_t socket_wakeups;
	bool sock_wanted;		/* false: no use for the socket's wake-ups */

	/*
	 * The packet path. mutex: the ring, backend, memory table and all that
	 * follows; held for a run and for changes by ioctl.
	 */
	struct mutex mutex ____cacheline_aligned;
	struct vhmq_ring ring;
	struct vhmq_mem *mem;		/* the queue's reference */
	struct socket *sock;		/* backend; NULL: stopped */
	struct ptr_ring *rx_ring;	/* of tun or tap; NULL: none */
	void **rx_batch;		/* VHMQ_BATCH entries taken from rx_ring */
	unsigned int rx_head, rx_tail;
	u64 acked_features;
	unsigned int vhost_hlen;	/* header that we write or skip */
	unsigned int sock_hlen;		/* header that the socket has */
	int last_worker;		/* of the last run; -1: none */
	u32 busyloop_timeout;		/* microseconds; 0: no busy polling */
	struct vhmq_queue_stats stats;

	/* The worker's whose thread polls for it, see busy.c. */
	struct list_head busy_node;
	u64 busy_since;			/* local_clock() */

	/* Slow path. */
	struct eventfd_ctx *call;
	struct eventfd_ctx *err;
	struct eventfd_ctx *log;	/* the device's: the dirty log has changed */
	struct file *kick;
	struct vhmq_miss miss;
	struct vhmq_dir *dir;		/* queue<i>, see sysfs.c */
};

/* ------------------------------------------------------------------------
 * Device
 */
struct vhmq_dev {
	/*
	 * Owner, features, memory table and the set-up of the queues; held for
	 * every ioctl.
	 */
	struct mutex mutex;
	struct mm_struct *mm;		/* owner, compared only; NULL: none */
	struct vhmq_mem *mem;
	u64 acked_features;
	u64 backend_features;		/* read without, for the form of messages */
	struct vhmq_iotlb *iotlb;	/* with VIRTIO_F_ACCESS_PLATFORM; also all queue->mutex */
	spinlock_t miss_lock;		/* miss of each queue */
	wait_queue_head_t miss_wait;	/* for one that is new, or the end of the IOTLB */
	u8 __user *log_base;		/* dirty log */
	struct eventfd_ctx *log;
	bool fork_from_owner;		/* for vhmq_pool_start() */
	struct vhmq_queue queues[VHMQ_NR_QUEUES];

	struct vhmq_group *group;
	struct list_head group_node;	/* group->devices, in order of pair */
};

/* ------------------------------------------------------------------------
 * Steering and threads: worker.c, steer.c, work.c
 */

enum vhmq_placement {
	VHMQ_PLACE_SPREAD,	/* worker k on the k-th CPU of the list, modulo */
	VHMQ_PLACE_SHARED,	/* every worker on the whole list */
};

/*
 * Thread k of a pool. Allocated when first needed and kept as long as the
 * pool, so that whoever steers needs no reference; the thread comes and goes
 * with the number of threads.
 */
struct vhmq_worker {
	/* Read-mostly. */
	struct vhmq_pool *pool;
	unsigned int k;
	struct task_struct __rcu *task;	/* whom to wake; holds a reference */
	struct task_struct *gone;	/* was that, until readers are through */

	/* What those who ask write. */
	struct vhmq_inbox inbox ____cacheline_aligned;

	/* The thread's own. */
	struct vhmq_scratch *scratch ____cacheline_aligned;
	bool entered;			/* the thread has set itself up */
	bool slept;
	struct list_head busy;		/* queues that it polls for */
	struct vhmq_worker_stats stats;

	/* pool->lock: the thread, one of the two; both NULL: none. */
	struct task_struct *kthread;
	struct vhost_task *owner_thread;
	bool started;			/* read without: do not ask for it */
	bool ending;			/* one too many: stopped, not started again yet */
	struct completion ready;	/* entered, or failed with error */
	int error;
	cpumask_var_t cpus;		/* of its own; empty: the pool's */
	cpumask_var_t place;		/* where it is to run */

	struct vhmq_dir *dir;		/* worker<k>, group->tree */
};

/*
 * Who the threads work for. Taken from the ioctl that starts the pool; the
 * task is only asked for its cgroup and CPUs.
 */
struct vhmq_owner {
	struct mm_struct *mm;		/* holds mm_users from start to stop */
	struct task_struct *task;	/* group leader */
	pid_t pid;			/* tgid, initial namespace */
	bool fork_from_owner;		/* vhost_task, where the kernel has it */
};

struct vhmq_pool {
	struct vhmq_steer steer;
	struct vhmq_worker *workers[VHMQ_MAX_WORKERS];	/* set once, then kept */
	struct vhmq_owner owner;
	bool dead;			/* the owner was killed: refuse work */

	/* Threads that queues ask for and that worker 0 starts. */
	struct vhmq_work starter;
	DECLARE_BITMAP(wanted, VHMQ_MAX_WORKERS);
	u64 retry;			/* 64-bit jiffies; not before, after a failure */

	/*
	 * Threads and their CPUs; taken by sysfs and CPU hotplug under
	 * group->lock, and by worker 0 when it starts another thread.
	 */
	struct mutex lock;
	unsigned int threads;		/* as set; 0: automatic */
	unsigned int pairs;		/* for automatic */
	enum vhmq_placement placement;
	cpumask_var_t cpus;		/* as set; empty: as the owner */
	cpumask_var_t allowed;		/* by the owner's cpuset, when asked before a use */
};

int vhmq_pool_init(struct vhmq_pool *pool);
void vhmq_pool_exit(struct vhmq_pool *pool);
int vhmq_pool_start(struct vhmq_pool *pool, bool fork_from_owner);
void vhmq_pool_stop(struct vhmq_pool *pool);

/* wake-up or run: choose a worker for the queue's item and hand it over */
void vhmq_queue_ask(struct vhmq_queue *queue);
/* ioctl, queue->mutex: the queue has a backend now; one run, not a "use" */
void vhmq_queue_start(struct vhmq_queue *queue);
/* process: returns when whatever was asked before the call has been run */
void vhmq_queue_flush(struct vhmq_queue *queue);
/* ioctl, queue->mutex: the queue is switched off and is no longer "used" */
void vhmq_queue_forget(struct vhmq_queue *queue);

/* group->lock; changes apply to asks from then on; nothing changes on error */
int vhmq_pool_set_threads(struct vhmq_pool *pool, unsigned int threads);
/* group->resize, without group->lock: waits for threads that are too many */
void vhmq_pool_trim(struct vhmq_pool *pool);
int vhmq_pool_set_pairs(struct vhmq_pool *pool, unsigned int pairs);
int vhmq_pool_set_cpus(struct vhmq_pool *pool, const struct cpumask *cpus,
		       enum vhmq_placement placement);
int vhmq_worker_set_cpus(struct vhmq_worker *worker, const struct cpumask *cpus);
void vhmq_pool_place(struct vhmq_pool *pool);

/* any: what people see */
pid_t vhmq_worker_pid(struct vhmq_worker *worker);
u64 vhmq_worker_runtime(struct vhmq_worker *worker);
void vhmq_worker_add_cpus(struct vhmq_worker *worker, struct cpumask *cpus);

/*
 * run: what a worker calls for a queue; takes queue->mutex (tx.c, rx.c). True: there is
 * no more, nobody tells when there is, and the worker looks for it itself.
 */
bool vhmq_tx_run(struct vhmq_queue *queue, struct vhmq_scratch *scratch, bool may_poll);
bool vhmq_rx_run(struct vhmq_queue *queue, struct vhmq_scratch *scratch, bool may_poll);
/* worker thread, queue->mutex, ring ready: is there something to run for? */
bool vhmq_tx_pending(struct vhmq_queue *queue);
bool vhmq_rx_pending(struct vhmq_queue *queue);

/* ------------------------------------------------------------------------
 * What both directions share: queue.c. All under queue->mutex.
 */
void vhmq_poll_init(struct vhmq_poll *poll, struct vhmq_queue *queue, __poll_t mask);
int vhmq_poll_start(struct vhmq_poll *poll, struct file *file);
bool vhmq_poll_await(struct vhmq_poll *poll, struct file *file);
void vhmq_poll_stop(struct vhmq_poll *poll);
void vhmq_poll_park(struct vhmq_poll *poll);
void vhmq_poll_unpark(struct vhmq_poll *poll);

/* used entries to the guest, and an interrupt when it wants one */
void vhmq_queue_complete(struct vhmq_queue *queue, const struct vhmq_scratch *scratch,
			 unsigned int count);

/* the owner hears of its dirty log, if anything was marked */
void vhmq_queue_tell_log(struct vhmq_queue *queue);

/* ioctl: the backend goes; gives it back what was not delivered (rx.c) */
void vhmq_rx_stop(struct vhmq_queue *queue);

/* ------------------------------------------------------------------------
 * Group: group.c
 */

/* What makes a net device "the same one" for files of one owner. */
struct vhmq_netdev_id {
	const void *net;		/* name space, compared only */
	char name[IFNAMSIZ];		/* "": the file is a group of its own */
};

struct vhmq_knobs {
	unsigned int window;		/* jiffies */
	unsigned int threads;		/* 0: automatic */
	enum vhmq_policy policy;
	enum vhmq_placement placement;
	struct cpumask cpus;
};

enum vhmq_knob {
	VHMQ_KNOB_WINDOW,
	VHMQ_KNOB_THREADS,
	VHMQ_KNOB_CPULIST,
	VHMQ_KNOB_POLICY,
	VHMQ_KNOB_PLACEMENT,
};

/*
 * Defaults of groups made from then on: module parameters, mq/ in sysfs. The
 * lock protects all of them.
 */
extern struct vhmq_knobs vhmq_defaults;
extern struct mutex vhmq_defaults_lock;

/* knobs.c: text to value and back; the same for parameters and sysfs */
int vhmq_knob_parse(enum vhmq_knob knob, const char *text,
		    struct vhmq_knobs *knobs);
int vhmq_knob_print(enum vhmq_knob knob, const struct vhmq_knobs *knobs,
		    char *page);
int vhmq_cpulist_parse(const char *text, struct cpumask *cpus);

/*
 * A knob as a module parameter:
 *	module_param_cb(threads, &vhmq_knob_param, (void *)VHMQ_KNOB_THREADS, 0444);
 */
extern const struct kernel_param_ops vhmq_knob_param;

struct vhmq_group {
	struct list_head node;		/* vhmq_groups_lock */
	unsigned int users;		/* vhmq_groups_lock; 0: it is ending */
	const struct mm_struct *mm;	/* owner, compared only */
	struct vhmq_netdev_id id;
	char name[IFNAMSIZ + 24];	/* <pid>-<netdev>, in sysfs */
	struct vhmq_pool pool;
	struct mutex members;		/* start, join, leave, and what shows them */
	bool started;			/* members; it has its worker 0 and is seen */
	struct list_head devices;	/* members and lock */
	struct mutex lock;		/* devices, knobs; what sysfs takes */
	struct vhmq_queue_stats gone;	/* lock; of queues that have left */
	struct work_struct place_work;	/* CPUs have come or gone */

	struct mutex resize;		/* one number of threads at a time */
	struct mutex tree;		/* which worker<k> there are */
	bool seen;			/* tree; they are shown in dir */
	struct vhmq_dir *dir;		/* <name> */
};

/*
 * ioctl, device->mutex, the device without backend. Joins the group that the
 * owner has for @id, or makes it and starts its worker 0. A no-op when the
 * device is in that group already.
 */
int vhmq_group_join(struct vhmq_dev *dev, const struct vhmq_netdev_id *id);
/* ioctl or release, device->mutex, both queues stopped and flushed */
void vhmq_group_leave(struct vhmq_dev *dev);

/* group->lock */
void vhmq_group_get_knobs(struct vhmq_group *group, struct vhmq_knobs *knobs);
int vhmq_group_set_knob(struct vhmq_group *group, enum vhmq_knob knob,
			const struct vhmq_knobs *knobs);

int vhmq_groups_init(struct miscdevice *misc);	/* mq/ in sysfs */
void vhmq_groups_exit(void);

/* ------------------------------------------------------------------------
 * What people see: sysfs.c, stats.c
 */

/* group->members, or nobody uses the group any more */
int vhmq_sysfs_create_group(struct vhmq_group *group);
void vhmq_sysfs_destroy_group(struct vhmq_group *group);
int vhmq_sysfs_create_queue(struct vhmq_group *group, struct vhmq_queue *queue);
void vhmq_sysfs_destroy_queue(struct vhmq_queue *queue);
/* any but group->lock: worker<k> for each worker below the number of threads */
int vhmq_sysfs_update_workers(struct vhmq_group *group);

int vhmq_sysfs_init(struct miscdevice *misc);
void vhmq_sysfs_exit(void);

void vhmq_queue_stats_add(struct vhmq_queue_stats *sum, struct vhmq_queue *queue);
void vhmq_queue_stats_clear(struct vhmq_queue *queue);

/* ------------------------------------------------------------------------
 * Backend: backend.c
 */

/*
 * ioctl, before any lock (asks tun, which takes RTNL). Returns the socket with
 * a reference to its file, or an ERR_PTR as stock: ENOTSOCK, EINVAL...
 */
struct socket *vhmq_backend_get(int fd, struct ptr_ring **rx_ring,
				struct vhmq_netdev_id *id);
void vhmq_backend_put(struct socket *sock);

struct vhmq_backend {
	struct socket *sock;		/* a reference, NULL or an ERR_PTR */
	struct ptr_ring *rx_ring;
	struct vhmq_netdev_id id;
};

/* ------------------------------------------------------------------------
 * Device: device.c, and what concerns one ring: vring.c
 */

extern const struct file_operations vhmq_fops;
/* The module is up, or not: then the error. Who opens the file waits for it. */
extern struct completion vhmq_up;
extern int vhmq_up_error;
extern bool vhmq_fork_from_owner_default;	/* module parameter */

/* open */
int vhmq_vring_init(struct vhmq_queue *queue, struct vhmq_dev *dev, bool is_tx);
/* ioctl or release, device->mutex */
void vhmq_vring_stop(struct vhmq_queue *queue);
void vhmq_vring_reset(struct vhmq_queue *queue);
void vhmq_vring_exit(struct vhmq_queue *queue);
void vhmq_vring_set_features(struct vhmq_queue *queue, u64 features,
			     const struct vhmq_iotlb *iotlb);
void vhmq_vring_set_mem(struct vhmq_queue *queue, struct vhmq_mem *mem);
bool vhmq_vring_log_ok(const struct vhmq_queue *queue, const u8 __user *base,
		       const struct vhmq_mem *mem, u64 features);
void vhmq_vring_set_log(struct vhmq_queue *queue, u8 __user *base, struct eventfd_ctx *log);
int vhmq_vring_set_backend(struct vhmq_queue *queue, struct vhmq_backend *backend);
long vhmq_vring_ioctl(struct vhmq_dev *dev, unsigned int cmd, void __user *arg);

/* ------------------------------------------------------------------------
 * Messages of the device IOTLB: iotlb.c
 */

/* file operations of the owner, or of anyone with the file */
ssize_t vhmq_iotlb_read(struct kiocb *iocb, struct iov_iter *to);
ssize_t vhmq_iotlb_write(struct kiocb *iocb, struct iov_iter *from);
__poll_t vhmq_iotlb_poll(struct file *file, poll_table *wait);

/* ioctl or release, queue->mutex: what it lacked is not wanted any more */
void vhmq_miss_forget(struct vhmq_queue *queue);

#endif /* VHOST_MQ_H */
