/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vmq_loop: a virtio device whose other side is a program of the same machine.
 *
 *	main.c		/dev/vmq_loop: the file, its ioctls, memory map, events
 *	device.c	the virtio device: configuration operations, requests to the program
 *	queue.c		rings, kicks out of them, interrupts into them
 *
 * A file makes one device (struct vloop_dev). Both the file and the virtio device
 * hold a reference of it. When the file goes, the device is dead: all that wait
 * for the program go on, the queues are broken, and a work item unregisters the
 * device. The program's memory map holds the file, and vhost holds the program's
 * memory map, so by then nothing of vhost looks at the rings any more.
 */
#ifndef VLOOP_H
#define VLOOP_H

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "vmq_loop_abi.h"

struct vloop_dev;

/**
 * enum vloop_request_state - where a request is
 * @VLOOP_IDLE: nowhere
 * @VLOOP_QUEUED: on vloop_dev.events, to be read
 * @VLOOP_SENT: on vloop_dev.sent, read and to be answered
 */
enum vloop_request_state {
	VLOOP_IDLE,
	VLOOP_QUEUED,
	VLOOP_SENT,
};

/**
 * struct vloop_request - something that the program has to hear of
 * @list: in one of the lists of the device, under vloop_dev.lock
 * @state: which one
 * @again: a kick: came in anew while the program served it
 * @ev: what it reads
 * @ret: what it answered
 * @done: the answer is there, or none will come
 */
struct vloop_request {
	struct list_head list;
	enum vloop_request_state state;
	bool again;
	struct vloop_event ev;
	int ret;
	struct completion done;
};

/**
 * struct vloop_queue - one ring of the device
 * @dev: its device
 * @index: its number
 * @kick: signalled by the driver's kicks; without one they are events
 * @task: raises the ring's interrupts; RCU, NULL outside find_vqs and del_vqs
 * @pending: bit 0: an interrupt is to be raised
 * @lock: held while an interrupt is raised, and to change @vq, @call
 * @vq: the ring, or NULL; changed with vloop_dev.lock held, too
 * @stopped: between the end of @task and its last reference
 * @call_file: the eventfd that stands for the ring's interrupt
 * @call_head: the wait queue of @call_file
 * @call_wait: this queue's entry in it
 * @affinity: CPUs of @task
 * @has_affinity: @affinity is set
 * @kicked: a kick that the program has to serve, under vloop_dev.lock
 * @limit: breaks the device unless the program serves @kicked in time
 */
struct vloop_queue {
	struct vloop_dev *dev;
	unsigned int index;

	/* a kick of the driver */
	struct eventfd_ctx __rcu *kick;

	/* an interrupt for the driver */
	struct task_struct __rcu *task;
	unsigned long pending;
	struct mutex lock;	/* see above */
	struct virtqueue *vq;
	struct task_struct *stopped;

	/* slow path */
	struct file *call_file;
	struct wait_queue_head *call_head;
	wait_queue_entry_t call_wait;
	struct cpumask affinity;
	bool has_affinity;
	struct vloop_request kicked;
	struct timer_list limit;
};

/**
 * struct vloop_dev - a device
 * @vdev: what the driver binds to
 * @ref: held by the file and by @vdev
 * @lock: protects @events, @sent, @next_id, @dead, @config, the state of requests
 * @events: requests to be read
 * @sent: requests to be answered
 * @wait: a reader of the file; on one CPU also a driver that waits for a kick to be served
 * @next_id: of the next event
 * @dead: the program is gone, or takes no part any more
 * @status: the status byte
 * @generation: of @config
 * @features: what the device offers
 * @config: configuration bytes
 * @config_len: how many
 * @ring_size: largest number of entries of a ring
 * @limit: jiffies that the program has for an answer
 * @register_work: registers @vdev: its probe needs the program's answers
 * @unregister_work: the reverse
 * @registered: result of the registration, 0 when it is registered
 * @unregistering: set once, when @unregister_work is queued
 * @registration: the event that tells @registered
 * @gone: the event that follows @unregister_work
 * @nqueues: entries of @queues
 * @queues: the rings
 */
struct vloop_dev {
	struct virtio_device vdev;
	struct kref ref;

	spinlock_t lock;	/* see above */
	struct list_head events;
	struct list_head sent;
	wait_queue_head_t wait;
	u64 next_id;
	bool dead;

	u8 status;
	u32 generation;
	u64 features[2];
	u8 config[VLOOP_MAX_CONFIG];
	unsigned int config_len;
	unsigned int ring_size;
	unsigned long limit;

	struct work_struct register_work;
	struct work_struct unregister_work;
	int registered;
	bool unregistering;
	struct vloop_request registration;
	struct vloop_request gone;

	unsigned int nqueues;
	struct vloop_queue queues[];
};

#define vdev_to_vloop(v) container_of(v, struct vloop_dev, vdev)

/* device.c */
struct vloop_dev *vloop_dev_create(const struct vloop_create *arg, struct device *parent);
void vloop_dev_put(struct vloop_dev *dev);
void vloop_dev_unregister(struct vloop_dev *dev);
void vloop_dev_kill(struct vloop_dev *dev);
void vloop_dev_break(struct vloop_dev *dev);
int vloop_dev_set_config(struct vloop_dev *dev, const struct vloop_config *arg);
int vloop_request(struct vloop_dev *dev, u32 type, u32 index, s64 value);
void vloop_post(struct vloop_dev *dev, struct vloop_request *req);
int vloop_answer(struct vloop_dev *dev, u64 id, int ret);
int vloop_module_init(void);
void vloop_module_exit(void);

/* queue.c */
void vloop_queue_init(struct vloop_dev *dev, unsigned int index);
void vloop_queue_release(struct vloop_queue *q);
int vloop_queue_set_kick(struct vloop_queue *q, int fd);
int vloop_queue_set_call(struct vloop_queue *q, int fd);
int vloop_queue_get_vring(struct vloop_queue *q, struct vloop_vring *out);
int vloop_queue_interrupt(struct vloop_queue *q);
void vloop_queue_served(struct vloop_queue *q);
void vloop_queue_sync(struct vloop_queue *q);
int vloop_queue_set_affinity(struct virtqueue *vq, const struct cpumask *mask);
struct virtqueue *vloop_queue_create(struct vloop_queue *q, const char *name,
				     void (*callback)(struct virtqueue *vq), bool ctx);
void vloop_queues_destroy(struct vloop_dev *dev);

#endif /* VLOOP_H */
