// SPDX-License-Identifier: GPL-2.0-only
/*
 * One open file of /dev/vhost-net: its ioctls, and its end. What concerns one
 * ring is in vring.c.
 */
#include <linux/compat.h>
#include <linux/nospec.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "vhost_mq.h"

#define VHMQ_FEATURES \
	(BIT_ULL(VHOST_F_LOG_ALL) | \
	 BIT_ULL(VIRTIO_NET_F_MRG_RXBUF) | \
	 BIT_ULL(VIRTIO_F_NOTIFY_ON_EMPTY) | \
	 BIT_ULL(VIRTIO_F_ANY_LAYOUT) |	/* also VHOST_NET_F_VIRTIO_NET_HDR */ \
	 BIT_ULL(VIRTIO_RING_F_INDIRECT_DESC) | \
	 BIT_ULL(VIRTIO_RING_F_EVENT_IDX) | \
	 BIT_ULL(VIRTIO_F_VERSION_1) | \
	 BIT_ULL(VIRTIO_F_ACCESS_PLATFORM) | \
	 BIT_ULL(VIRTIO_F_IN_ORDER) | \
	 BIT_ULL(VIRTIO_F_RING_RESET))

#define VHMQ_BACKEND_FEATURES	BIT_ULL(VHOST_BACKEND_F_IOTLB_MSG_V2)

/* ------------------------------------------------------------------------
 * Open, owner, and back
 */

static int vhmq_open(struct inode *inode, struct file *file)
{
	struct vhmq_dev *dev;
	unsigned int i;

	if (wait_for_completion_killable(&vhmq_up))
		return -EINTR;
	if (vhmq_up_error)
		return -ENODEV;

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;

	mutex_init(&dev->mutex);
	INIT_LIST_HEAD(&dev->group_node);
	spin_lock_init(&dev->miss_lock);
	init_waitqueue_head(&dev->miss_wait);
	dev->fork_from_owner = vhmq_fork_from_owner_default;
	for (i = 0; i < VHMQ_NR_QUEUES; i++) {
		if (vhmq_vring_init(&dev->queues[i], dev, i == VHMQ_TX))
			goto err_exit;
	}
	file->private_data = dev;
	return 0;

err_exit:
	while (i--)
		vhmq_vring_exit(&dev->queues[i]);
	kfree(dev);
	return -ENOMEM;
}

/* No queue uses the old one any more. Who waits for what one lacks hears of it. */
static void set_iotlb(struct vhmq_dev *dev, struct vhmq_iotlb *iotlb)
{
	vhmq_iotlb_free(dev->iotlb);
	WRITE_ONCE(dev->iotlb, iotlb);
	if (!iotlb)
		wake_up_interruptible_poll(&dev->miss_wait, EPOLLIN | EPOLLRDNORM);
}

/*
 * Back to what vhmq_open() made: nothing runs, nothing is referred to. Does not
 * ask who calls, since the last one to close a file is anyone.
 */
static void reset_device(struct vhmq_dev *dev)
{
	unsigned int i;

	for (i = 0; i < VHMQ_NR_QUEUES; i++)
		vhmq_vring_stop(&dev->queues[i]);
	if (dev->group)
		vhmq_group_leave(dev);
	for (i = 0; i < VHMQ_NR_QUEUES; i++)
		vhmq_vring_reset(&dev->queues[i]);
	vhmq_mem_put(dev->mem);
	dev->mem = NULL;
	set_iotlb(dev, NULL);
	dev->acked_features = 0;
	WRITE_ONCE(dev->backend_features, 0);
	dev->log_base = NULL;
	if (dev->log)
		eventfd_ctx_put(dev->log);
	dev->log = NULL;
	dev->fork_from_owner = vhmq_fork_from_owner_default;
	if (dev->mm)
		mmdrop(dev->mm);
	dev->mm = NULL;
}

static int vhmq_release(struct inode *inode, struct file *file)
{
	struct vhmq_dev *dev = file->private_data;
	unsigned int i;

	mutex_lock(&dev->mutex);
	reset_device(dev);
	mutex_unlock(&dev->mutex);
	for (i = 0; i < VHMQ_NR_QUEUES; i++)
		vhmq_vring_exit(&dev->queues[i]);
	mutex_destroy(&dev->mutex);
	kfree(dev);
	return 0;
}

static bool is_owner(const struct vhmq_dev *dev)
{
	return dev->mm == current->mm;
}

static long set_owner(struct vhmq_dev *dev)
{
	if (dev->mm)
		return -EBUSY;

	/*
	 * To compare only. The memory itself is held by the threads of the group,
	 * from the first backend on.
	 */
	dev->mm = current->mm;
	mmgrab(dev->mm);
	return 0;
}

static long reset_owner(struct vhmq_dev *dev)
{
	if (!is_owner(dev))
		return -EPERM;
	reset_device(dev);
	return 0;
}

static long set_fork_from_owner(struct vhmq_dev *dev, const u8 __user *arg)
{
	u8 value;

	if (dev->mm)
		return -EBUSY;
	if (get_user(value, arg))
		return -EFAULT;
	if (value != VHOST_FORK_OWNER_KTHREAD &&
	    (value != VHOST_FORK_OWNER_TASK || !VHMQ_CAN_FORK_FROM_OWNER))
		return -EINVAL;
	dev->fork_from_owner = value == VHOST_FORK_OWNER_TASK;
	return 0;
}

static long get_fork_from_owner(struct vhmq_dev *dev, u8 __user *arg)
{
	u8 value = dev->fork_from_owner ? VHOST_FORK_OWNER_TASK : VHOST_FORK_OWNER_KTHREAD;

	return put_user(value, arg);
}

/* ------------------------------------------------------------------------
 * Features
 */

/* A ring without backend is checked when it gets one. */
static bool log_ok(const struct vhmq_dev *dev, const u8 __user *base,
		   const struct vhmq_mem *mem, u64 features)
{
	unsigned int i;

	for (i = 0; i < VHMQ_NR_QUEUES; i++) {
		if (dev->queues[i].sock &&
		    !vhmq_vring_log_ok(&dev->queues[i], base, mem, features))
			return false;
	}
	return true;
}

static long set_features(struct vhmq_dev *dev, u64 features)
{
	struct vhmq_iotlb *iotlb = NULL;
	unsigned int i;
	long ret = 0;

	if (features & ~VHMQ_FEATURES)
		return -EOPNOTSUPP;
	if (features & BIT_ULL(VIRTIO_F_ACCESS_PLATFORM)) {
		iotlb = vhmq_iotlb_alloc();
		if (!iotlb)
			return -ENOMEM;
	}

	mutex_lock(&dev->mutex);
	if (features & BIT_ULL(VHOST_F_LOG_ALL) &&
	    !log_ok(dev, dev->log_base, dev->mem, features)) {
		ret = -EFAULT;
		vhmq_iotlb_free(iotlb);
	} else {
		dev->acked_features = features;
		for (i = 0; i < VHMQ_NR_QUEUES; i++)
			vhmq_vring_set_features(&dev->queues[i], features, iotlb);
		set_iotlb(dev, iotlb);
	}
	mutex_unlock(&dev->mutex);
	return ret;
}

/* The caller says how many words there are. Return: so many for one go, or -EINTR. */
static long some_words(u64 count)
{
	if (fatal_signal_pending(current))
		return -EINTR;
	cond_resched();
	return min_t(u64, count, PAGE_SIZE / sizeof(u64));
}

/* A count of words, and so many words: those past the first are 0 or refused. */
static long set_features_array(struct vhmq_dev *dev, const u64 __user *arg)
{
	u64 count, features = 0;
	long words;
	int ret;

	if (copy_from_user(&count, arg++, sizeof(count)))
		return -EFAULT;
	if (!count)
		return set_features(dev, 0);
	if (copy_from_user(&features, arg++, sizeof(features)))
		return -EFAULT;
	for (count--; count; count -= words, arg += words) {
		words = some_words(count);
		if (words < 0)
			return words;
		ret = check_zeroed_user(arg, words * sizeof(u64));
		if (ret <= 0)
			return ret ?: -EOPNOTSUPP;
	}
	return set_features(dev, features);
}

static long get_features_array(u64 __user *arg)
{
	u64 count, features = VHMQ_FEATURES;
	long words;

	if (copy_from_user(&count, arg++, sizeof(count)))
		return -EFAULT;
	if (!count)
		return 0;
	if (copy_to_user(arg++, &features, sizeof(features)))
		return -EFAULT;
	for (count--; count; count -= words, arg += words) {
		words = some_words(count);
		if (words < 0)
			return words;
		if (clear_user(arg, words * sizeof(u64)))
			return -EFAULT;
	}
	return 0;
}

static long set_backend_features(struct vhmq_dev *dev, u64 features)
{
	if (features & ~VHMQ_BACKEND_FEATURES)
		return -EOPNOTSUPP;
	mutex_lock(&dev->mutex);
	WRITE_ONCE(dev->backend_features, features);
	mutex_unlock(&dev->mutex);
	return 0;
}

/* ------------------------------------------------------------------------
 * Memory and log
 */

static long set_mem_table(struct vhmq_dev *dev, const struct vhost_memory __user *arg)
{
	struct vhmq_mem *mem = vhmq_mem_create(arg);
	unsigned int i;

	if (IS_ERR(mem))
		return PTR_ERR(mem);

	/* A ring without backend is checked when it gets one. */
	for (i = 0; i < VHMQ_NR_QUEUES; i++) {
		if (dev->queues[i].sock && !dev->iotlb && !vhmq_mem_access_ok(mem))
			goto err_put;
	}
	if (!log_ok(dev, dev->log_base, mem, dev->acked_features))
		goto err_put;
	for (i = 0; i < VHMQ_NR_QUEUES; i++)
		vhmq_vring_set_mem(&dev->queues[i], mem);
	vhmq_mem_put(dev->mem);
	dev->mem = mem;
	return 0;

err_put:
	vhmq_mem_put(mem);
	return -EFAULT;
}

static void set_log(struct vhmq_dev *dev, u8 __user *base, struct eventfd_ctx *log)
{
	unsigned int i;

	for (i = 0; i < VHMQ_NR_QUEUES; i++)
		vhmq_vring_set_log(&dev->queues[i], base, log);
	dev->log_base = base;
	dev->log = log;
}

static long set_log_base(struct vhmq_dev *dev, const u64 __user *arg)
{
	u64 value;
	u8 __user *base;

	if (copy_from_user(&value, arg, sizeof(value)) || (unsigned long)value != value)
		return -EFAULT;
	base = (u8 __user *)(unsigned long)value;
	if (!log_ok(dev, base, dev->mem, dev->acked_features))
		return -EFAULT;
	set_log(dev, base, dev->log);
	return 0;
}

static long set_log_fd(struct vhmq_dev *dev, const int __user *arg)
{
	struct eventfd_ctx *old = dev->log, *log = NULL;
	int fd;

	if (get_user(fd, arg))
		return -EFAULT;
	if (fd != VHOST_FILE_UNBIND) {
		log = eventfd_ctx_fdget(fd);
		if (IS_ERR(log))
			return PTR_ERR(log);
	}
	set_log(dev, dev->log_base, log);
	if (old)
		eventfd_ctx_put(old);
	return 0;
}

/* ------------------------------------------------------------------------
 * Backend
 */

static long set_backend(struct vhmq_dev *dev, const struct vhost_vring_file __user *arg)
{
	struct vhmq_backend backend = {};
	struct vhost_vring_file file;
	unsigned int index;
	long ret;

	if (copy_from_user(&file, arg, sizeof(file)))
		return -EFAULT;
	/* Before any lock: it takes RTNL. Errors are told in their turn. */
	if (file.fd != VHOST_FILE_UNBIND)
		backend.sock = vhmq_backend_get(file.fd, &backend.rx_ring, &backend.id);

	mutex_lock(&dev->mutex);
	if (!is_owner(dev)) {
		ret = -EPERM;
	} else if (file.index >= VHMQ_NR_QUEUES) {
		ret = -ENOBUFS;
	} else {
		index = array_index_nospec(file.index, VHMQ_NR_QUEUES);
		ret = vhmq_vring_set_backend(&dev->queues[index], &backend);
	}
	mutex_unlock(&dev->mutex);

	if (!IS_ERR(backend.sock))
		vhmq_backend_put(backend.sock);
	return ret;
}

/* ------------------------------------------------------------------------
 * File operations
 */

static long owner_ioctl(struct vhmq_dev *dev, unsigned int cmd, void __user *arg)
{
	if (!is_owner(dev))
		return -EPERM;

	switch (cmd) {
	case VHOST_SET_MEM_TABLE:
		return set_mem_table(dev, arg);
	case VHOST_SET_LOG_BASE:
		return set_log_base(dev, arg);
	case VHOST_SET_LOG_FD:
		return set_log_fd(dev, arg);
	default:
		return vhmq_vring_ioctl(dev, cmd, arg);
	}
}

/* Under dev->mutex. */
static long locked_ioctl(struct vhmq_dev *dev, unsigned int cmd, void __user *arg)
{
	switch (cmd) {
	case VHOST_SET_OWNER:
		return set_owner(dev);
	case VHOST_RESET_OWNER:
		return reset_owner(dev);
	case VHOST_SET_FORK_FROM_OWNER:
		return set_fork_from_owner(dev, arg);
	case VHOST_GET_FORK_FROM_OWNER:
		return get_fork_from_owner(dev, arg);
	default:
		return owner_ioctl(dev, cmd, arg);
	}
}

static long vhmq_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct vhmq_dev *dev = file->private_data;
	void __user *argp = (void __user *)arg;
	u64 features;
	long ret;

	switch (cmd) {
	case VHOST_GET_FEATURES:
		features = VHMQ_FEATURES;
		return copy_to_user(argp, &features, sizeof(features)) ? -EFAULT : 0;
	case VHOST_SET_FEATURES:
		if (copy_from_user(&features, argp, sizeof(features)))
			return -EFAULT;
		return set_features(dev, features);
	case VHOST_GET_FEATURES_ARRAY:
		return get_features_array(argp);
	case VHOST_SET_FEATURES_ARRAY:
		return set_features_array(dev, argp);
	case VHOST_GET_BACKEND_FEATURES:
		features = VHMQ_BACKEND_FEATURES;
		return copy_to_user(argp, &features, sizeof(features)) ? -EFAULT : 0;
	case VHOST_SET_BACKEND_FEATURES:
		if (copy_from_user(&features, argp, sizeof(features)))
			return -EFAULT;
		return set_backend_features(dev, features);
	case VHOST_NET_SET_BACKEND:
		return set_backend(dev, argp);
	default:
		mutex_lock(&dev->mutex);
		ret = locked_ioctl(dev, cmd, argp);
		mutex_unlock(&dev->mutex);
		return ret;
	}
}

const struct file_operations vhmq_fops = {
	.owner		= THIS_MODULE,
	.open		= vhmq_open,
	.release	= vhmq_release,
	.read_iter	= vhmq_iotlb_read,
	.write_iter	= vhmq_iotlb_write,
	.poll		= vhmq_iotlb_poll,
	.unlocked_ioctl	= vhmq_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.llseek		= noop_llseek,
};
