// SPDX-License-Identifier: GPL-2.0-only
/*
 * One ring of a device: what the owner sets, and its backend.
 *
 * Everything here holds device->mutex, so that set-ups do not meet; what a run
 * reads is written under queue->mutex as well.
 */
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/nospec.h>
#include <linux/slab.h>

#include "vhost_mq.h"

/**
 * vhmq_vring_init() - a queue as an open file has it
 * @queue: zeroed memory
 * @dev: its device
 * @is_tx: guest to backend
 *
 * Return: 0 or -ENOMEM.
 */
int vhmq_vring_init(struct vhmq_queue *queue, struct vhmq_dev *dev, bool is_tx)
{
	queue->dev = dev;
	queue->is_tx = is_tx;
	queue->last_worker = -1;
	mutex_init(&queue->mutex);
	vhmq_work_init(&queue->work);
	vhmq_poll_init(&queue->kick_poll, queue, EPOLLIN);
	vhmq_poll_init(&queue->sock_poll, queue, is_tx ? EPOLLOUT : EPOLLIN);
	vhmq_ring_reset(&queue->ring);
	if (is_tx)
		return 0;
	queue->rx_batch = kmalloc_array(VHMQ_BATCH, sizeof(*queue->rx_batch), GFP_KERNEL);
	return queue->rx_batch ? 0 : -ENOMEM;
}

/**
 * vhmq_vring_exit() - end of a queue that was reset
 * @queue: queue
 */
void vhmq_vring_exit(struct vhmq_queue *queue)
{
	kfree(queue->rx_batch);
	mutex_destroy(&queue->mutex);
}

/* Takes the backend away. Return: it, with its reference. No run sees it any more. */
static struct vhmq_backend detach(struct vhmq_queue *queue)
{
	struct vhmq_backend old = {};

	mutex_lock(&queue->mutex);
	if (queue->sock) {
		old.sock = queue->sock;
		old.rx_ring = queue->rx_ring;
		vhmq_poll_stop(&queue->kick_poll);
		vhmq_poll_stop(&queue->sock_poll);
		vhmq_rx_stop(queue);
		vhmq_miss_forget(queue);
		queue->sock = NULL;
		queue->rx_ring = NULL;
		vhmq_queue_forget(queue);
	}
	mutex_unlock(&queue->mutex);
	/* Without a backend too: a start that failed may have asked for a run. */
	vhmq_queue_flush(queue);
	return old;
}

static int start_ring(struct vhmq_queue *queue)
{
	int ret;

	mutex_lock(&queue->mutex);
	queue->ring.little_endian = queue->acked_features & BIT_ULL(VIRTIO_F_VERSION_1) ||
				    virtio_legacy_is_little_endian();
	ret = vhmq_ring_start(&queue->ring);
	vhmq_queue_tell_log(queue);
	mutex_unlock(&queue->mutex);
	return ret;
}

/* Begins to serve. The device is in its group. */
static int attach(struct vhmq_queue *queue, const struct vhmq_backend *backend)
{
	int ret = 0;

	mutex_lock(&queue->mutex);
	queue->rx_ring = backend->rx_ring;
	if (!queue->is_tx) {
		WRITE_ONCE(queue->sock_wanted, true);
		ret = vhmq_poll_start(&queue->sock_poll, backend->sock->file);
		if (ret)
			goto err_ring;
	}
	/* One that has overflowed has been kicked, too. */
	if (queue->kick)
		vhmq_poll_await(&queue->kick_poll, queue->kick);
	queue->sock = backend->sock;
	vhmq_queue_start(queue);
	goto out;

err_ring:
	queue->rx_ring = NULL;
out:
	mutex_unlock(&queue->mutex);
	return ret;
}

/**
 * vhmq_vring_stop() - take the backend away and wait for the last run
 * @queue: queue, with or without backend
 *
 * Context: ioctl or release, device->mutex.
 */
void vhmq_vring_stop(struct vhmq_queue *queue)
{
	struct vhmq_backend old = detach(queue);

	vhmq_backend_put(old.sock);
}

/**
 * vhmq_vring_reset() - forget all that the owner has set
 * @queue: queue without backend
 *
 * Context: ioctl or release, device->mutex.
 */
void vhmq_vring_reset(struct vhmq_queue *queue)
{
	mutex_lock(&queue->mutex);
	vhmq_mem_put(queue->mem);
	queue->mem = NULL;
	vhmq_miss_forget(queue);
	vhmq_ring_reset(&queue->ring);
	queue->acked_features = 0;
	queue->vhost_hlen = 0;
	queue->sock_hlen = 0;
	queue->busyloop_timeout = 0;
	if (queue->kick)
		fput(queue->kick);
	if (queue->call)
		eventfd_ctx_put(queue->call);
	if (queue->err)
		eventfd_ctx_put(queue->err);
	queue->kick = NULL;
	queue->call = NULL;
	queue->err = NULL;
	queue->log = NULL;
	mutex_unlock(&queue->mutex);
}

/**
 * vhmq_vring_set_features() - the features that the guest has taken
 * @queue: queue
 * @features: a part of those offered
 * @iotlb: what the guest's addresses are looked up in, or NULL: the memory table
 *
 * Context: ioctl, device->mutex.
 */
void vhmq_vring_set_features(struct vhmq_queue *queue, u64 features,
			     const struct vhmq_iotlb *iotlb)
{
	bool other = iotlb || queue->ring.iotlb;
	unsigned int hlen = sizeof(struct virtio_net_hdr);

	if (features & (BIT_ULL(VIRTIO_NET_F_MRG_RXBUF) | BIT_ULL(VIRTIO_F_VERSION_1)))
		hlen = sizeof(struct virtio_net_hdr_mrg_rxbuf);

	mutex_lock(&queue->mutex);
	queue->acked_features = features;
	if (features & BIT_ULL(VHOST_NET_F_VIRTIO_NET_HDR)) {
		queue->vhost_hlen = hlen;
		queue->sock_hlen = 0;
	} else {
		queue->vhost_hlen = 0;
		queue->sock_hlen = hlen;
	}
	queue->ring.event_idx = features & BIT_ULL(VIRTIO_RING_F_EVENT_IDX);
	queue->ring.notify_on_empty = features & BIT_ULL(VIRTIO_F_NOTIFY_ON_EMPTY);
	queue->ring.in_order = features & BIT_ULL(VIRTIO_F_IN_ORDER);
	if (other) {
		/* A new IOTLB is empty: what was asked for is asked for again. */
		queue->ring.iotlb = iotlb;
		queue->ring.mem = iotlb ? iotlb->mem : queue->mem ?: &vhmq_mem_none;
		vhmq_ring_place(&queue->ring);
		vhmq_miss_forget(queue);
		if (queue->sock)
			vhmq_queue_ask(queue);
	}
	mutex_unlock(&queue->mutex);
}

static bool used_log_ok(const struct vhmq_ring *ring, const u8 __user *base, u64 addr)
{
	return vhmq_log_range_ok(base, addr, addr +
				 vhmq_ring_used_size(ring->num, ring->event_idx) - 1);
}

/* The ring may be whole again. Under queue->mutex. */
static void mend(struct vhmq_queue *queue)
{
	bool broken = queue->ring.broken;

	vhmq_ring_mend(&queue->ring);
	if (broken && queue->sock)
		vhmq_queue_ask(queue);
}

/**
 * vhmq_vring_set_mem() - put a memory table in the place of the old one
 * @queue: queue; a run that is on ends before
 * @mem: table
 *
 * Context: ioctl, device->mutex.
 */
void vhmq_vring_set_mem(struct vhmq_queue *queue, struct vhmq_mem *mem)
{
	mutex_lock(&queue->mutex);
	vhmq_mem_put(queue->mem);
	queue->mem = vhmq_mem_get(mem);
	queue->ring.physical = mem;
	if (!queue->ring.iotlb)
		queue->ring.mem = mem;
	mend(queue);
	mutex_unlock(&queue->mutex);
}

/**
 * vhmq_vring_log_ok() - can all that a queue writes be logged?
 * @queue: queue
 * @base: the owner's dirty log
 * @mem: memory table
 * @features: with VHOST_F_LOG_ALL, buffers are logged too
 *
 * Return: false when the log does not lie in the owner's address space.
 * Context: ioctl, device->mutex.
 */
bool vhmq_vring_log_ok(const struct vhmq_queue *queue, const u8 __user *base,
		       const struct vhmq_mem *mem, u64 features)
{
	const struct vhmq_ring *ring = &queue->ring;
	/* A ring that is found through the IOTLB can be anywhere. */
	bool anywhere = features & BIT_ULL(VIRTIO_F_ACCESS_PLATFORM);

	if ((features & BIT_ULL(VHOST_F_LOG_ALL) || (ring->log_used && anywhere)) &&
	    !vhmq_log_mem_ok(base, mem))
		return false;
	return !ring->log_used || anywhere || used_log_ok(ring, base, ring->log_addr);
}

/**
 * vhmq_vring_set_log() - where the dirty log of the device is, and who hears of it
 * @queue: queue; a run that is on ends before
 * @base: bitmap
 * @log: eventfd of the device, or NULL
 *
 * Context: ioctl, device->mutex.
 */
void vhmq_vring_set_log(struct vhmq_queue *queue, u8 __user *base, struct eventfd_ctx *log)
{
	mutex_lock(&queue->mutex);
	queue->ring.log_base = base;
	queue->log = log;
	mutex_unlock(&queue->mutex);
}

/* ------------------------------------------------------------------------
 * Backend
 */

/* Addresses that the IOTLB is to know are checked when it is told. */
static bool rings_ok(const struct vhmq_ring *ring, const void __user *desc,
		     const void __user *avail, const void __user *used)
{
	if (ring->iotlb)
		return true;
	return access_ok(desc, ring->num * sizeof(struct vring_desc)) &&
	       access_ok(avail, vhmq_ring_avail_size(ring->num, ring->event_idx)) &&
	       access_ok(used, vhmq_ring_used_size(ring->num, ring->event_idx));
}

/* Joins the group of the net device, unless the other queue is in one. */
static int join(struct vhmq_queue *queue, const struct vhmq_backend *backend)
{
	struct vhmq_dev *dev = queue->dev;
	unsigned int i;

	for (i = 0; i < VHMQ_NR_QUEUES; i++) {
		if (dev->queues[i].sock)
			return 0;
	}
	return vhmq_group_join(dev, &backend->id);
}

/**
 * vhmq_vring_set_backend() - VHOST_NET_SET_BACKEND
 * @queue: queue
 * @backend: what vhmq_backend_get() gave, an error included, or no socket. Takes the
 *	socket over when it succeeds, and leaves there what is to be put.
 *
 * Return: 0, -EFAULT when ring, memory or log cannot be accessed, -EINVAL when
 * the socket is in error, the error in @backend, or of joining a group. After
 * an error the old backend is in place, unless that could not be started either.
 * Taking a backend away does not fail.
 * Context: ioctl of the owner, device->mutex.
 */
int vhmq_vring_set_backend(struct vhmq_queue *queue, struct vhmq_backend *backend)
{
	const struct vhmq_ring *ring = &queue->ring;
	struct vhmq_backend old;
	int ret;

	if (!backend->sock) {
		vhmq_vring_stop(queue);
		return 0;
	}
	if (!(ring->iotlb || vhmq_mem_access_ok(queue->mem)) ||
	    !rings_ok(ring, ring->desc, ring->avail, ring->used) ||
	    !vhmq_vring_log_ok(queue, ring->log_base, queue->mem, queue->acked_features))
		return -EFAULT;
	if (IS_ERR(backend->sock))
		return PTR_ERR(backend->sock);
	if (backend->sock == queue->sock)
		return 0;

	old = detach(queue);
	ret = start_ring(queue);
	/* A tun queue that is detached, or whose device is gone. */
	if (!ret && vfs_poll(backend->sock->file, NULL) & EPOLLERR)
		ret = -EINVAL;
	if (!ret)
		ret = join(queue, backend);
	if (!ret)
		ret = attach(queue, backend);
	if (!ret)
		backend->sock = old.sock;
	else if (old.sock && (!queue->dev->group || attach(queue, &old)))
		vhmq_backend_put(old.sock);
	return ret;
}

/* ------------------------------------------------------------------------
 * Ioctls of one ring
 */

static long set_num(struct vhmq_queue *queue, const struct vhost_vring_state __user *arg)
{
	struct vhost_vring_state state;

	if (queue->sock)
		return -EBUSY;
	if (copy_from_user(&state, arg, sizeof(state)))
		return -EFAULT;
	if (!is_power_of_2(state.num) || state.num > VHMQ_RING_MAX)
		return -EINVAL;
	queue->ring.num = state.num;
	return 0;
}

static long set_base(struct vhmq_queue *queue, const struct vhost_vring_state __user *arg)
{
	struct vhost_vring_state state;

	if (queue->sock)
		return -EBUSY;
	if (copy_from_user(&state, arg, sizeof(state)))
		return -EFAULT;
	if (state.num > U16_MAX)
		return -EINVAL;
	queue->ring.next_avail = state.num;
	vhmq_ring_mend(&queue->ring);
	return 0;
}

static long set_addr(struct vhmq_queue *queue, const struct vhost_vring_addr __user *arg)
{
	struct vhmq_ring *ring = &queue->ring;
	struct vhost_vring_addr addr;
	void __user *desc, *avail, *used;
	bool log;

	if (copy_from_user(&addr, arg, sizeof(addr)))
		return -EFAULT;
	if (addr.flags & ~BIT(VHOST_VRING_F_LOG))
		return -EOPNOTSUPP;
	log = addr.flags & BIT(VHOST_VRING_F_LOG);
	desc = (void __user *)(unsigned long)addr.desc_user_addr;
	avail = (void __user *)(unsigned long)addr.avail_user_addr;
	used = (void __user *)(unsigned long)addr.used_user_addr;
	if ((unsigned long)desc != addr.desc_user_addr ||
	    (unsigned long)avail != addr.avail_user_addr ||
	    (unsigned long)used != addr.used_user_addr)
		return -EFAULT;
	if (!IS_ALIGNED(addr.avail_user_addr, VRING_AVAIL_ALIGN_SIZE) ||
	    !IS_ALIGNED(addr.used_user_addr, VRING_USED_ALIGN_SIZE) ||
	    !IS_ALIGNED(addr.log_guest_addr, VRING_USED_ALIGN_SIZE))
		return -EINVAL;
	/* Without backend the size may be still to come: checked with it. */
	if (queue->sock && (!rings_ok(ring, desc, avail, used) ||
			    (log && !ring->iotlb &&
			     !used_log_ok(ring, ring->log_base, addr.log_guest_addr))))
		return -EINVAL;

	ring->desc_addr = addr.desc_user_addr;
	ring->avail_addr = addr.avail_user_addr;
	ring->used_addr = addr.used_user_addr;
	vhmq_ring_place(ring);
	ring->log_used = log;
	ring->log_addr = addr.log_guest_addr;
	mend(queue);
	return 0;
}

static long get_state(unsigned int index, u32 num, struct vhost_vring_state __user *arg)
{
	struct vhost_vring_state state = { .index = index, .num = num };

	return copy_to_user(arg, &state, sizeof(state)) ? -EFAULT : 0;
}

static long set_busyloop(struct vhmq_queue *queue,
			 const struct vhost_vring_state __user *arg)
{
	struct vhost_vring_state state;

	if (copy_from_user(&state, arg, sizeof(state)))
		return -EFAULT;
	queue->busyloop_timeout = state.num;
	return 0;
}

static long set_kick(struct vhmq_queue *queue, const struct vhost_vring_file __user *arg)
{
	struct vhost_vring_file file;
	struct file *kick = NULL;
	bool other;

	if (copy_from_user(&file, arg, sizeof(file)))
		return -EFAULT;
	if (file.fd != VHOST_FILE_UNBIND) {
		kick = eventfd_fget(file.fd);
		if (IS_ERR(kick))
			return PTR_ERR(kick);
	}
	other = kick != queue->kick;
	if (other)
		vhmq_poll_stop(&queue->kick_poll);
	if (queue->kick)
		fput(queue->kick);
	queue->kick = kick;
	if (!kick || !other)
		return 0;
	if (queue->sock)
		return vhmq_poll_start(&queue->kick_poll, kick);
	/* It has overflowed: the same answer as later. */
	return vfs_poll(kick, NULL) & EPOLLERR ? -EINVAL : 0;
}

static long set_eventfd(struct eventfd_ctx **place, const struct vhost_vring_file __user *arg)
{
	struct eventfd_ctx *ctx = NULL;
	struct vhost_vring_file file;

	if (copy_from_user(&file, arg, sizeof(file)))
		return -EFAULT;
	if (file.fd != VHOST_FILE_UNBIND) {
		ctx = eventfd_ctx_fdget(file.fd);
		if (IS_ERR(ctx))
			return PTR_ERR(ctx);
	}
	if (*place)
		eventfd_ctx_put(*place);
	*place = ctx;
	return 0;
}

/* Under queue->mutex. */
static long queue_ioctl(struct vhmq_queue *queue, unsigned int index, unsigned int cmd,
			void __user *arg)
{
	switch (cmd) {
	case VHOST_SET_VRING_NUM:
		return set_num(queue, arg);
	case VHOST_SET_VRING_ADDR:
		return set_addr(queue, arg);
	case VHOST_SET_VRING_BASE:
		return set_base(queue, arg);
	case VHOST_GET_VRING_BASE:
		return get_state(index, queue->ring.next_avail, arg);
	case VHOST_SET_VRING_KICK:
		return set_kick(queue, arg);
	case VHOST_SET_VRING_CALL:
		return set_eventfd(&queue->call, arg);
	case VHOST_SET_VRING_ERR:
		return set_eventfd(&queue->err, arg);
	case VHOST_SET_VRING_BUSYLOOP_TIMEOUT:
		return set_busyloop(queue, arg);
	case VHOST_GET_VRING_BUSYLOOP_TIMEOUT:
		return get_state(index, queue->busyloop_timeout, arg);
	default:
		return -ENOIOCTLCMD;
	}
}

/**
 * vhmq_vring_ioctl() - the ioctls that name a ring
 * @dev: device
 * @cmd: ioctl
 * @arg: its argument, which begins with the index of a ring
 *
 * Return: 0, -EFAULT, -ENOBUFS for an index that is not, -ENOIOCTLCMD for another
 * ioctl, or what the single ones say.
 * Context: ioctl of the owner, device->mutex.
 */
long vhmq_vring_ioctl(struct vhmq_dev *dev, unsigned int cmd, void __user *arg)
{
	struct vhmq_queue *queue;
	u32 index;
	long ret;

	if (get_user(index, (u32 __user *)arg))
		return -EFAULT;
	if (index >= VHMQ_NR_QUEUES)
		return -ENOBUFS;
	index = array_index_nospec(index, VHMQ_NR_QUEUES);
	queue = &dev->queues[index];

	mutex_lock(&queue->mutex);
	ret = queue_ioctl(queue, index, cmd, arg);
	mutex_unlock(&queue->mutex);
	return ret;
}
