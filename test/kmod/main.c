// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/vmq_loop, see vmq_loop_abi.h. For tests alone: the file gives its reader
 * all of the machine's memory.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "vloop.h"

static struct miscdevice vloop_misc;

/**
 * struct vloop_file - an open file
 * @lock: one VLOOP_CREATE at a time
 * @dev: the device, NULL before; set once, with release semantics
 */
struct vloop_file {
	struct mutex lock;	/* see above */
	struct vloop_dev *dev;
};

static struct vloop_dev *vloop_file_dev(struct file *file)
{
	struct vloop_file *f = file->private_data;

	/* pairs with the release in vloop_create() */
	return smp_load_acquire(&f->dev);
}

static int vloop_open(struct inode *inode, struct file *file)
{
	struct vloop_file *f;

	if (!capable(CAP_SYS_RAWIO))
		return -EPERM;
	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	mutex_init(&f->lock);
	file->private_data = f;
	return nonseekable_open(inode, file);
}

static int vloop_release(struct inode *inode, struct file *file)
{
	struct vloop_file *f = file->private_data;
	struct vloop_dev *dev = f->dev;
	unsigned int i;

	if (dev) {
		vloop_dev_kill(dev);
		for (i = 0; i < dev->nqueues; i++)
			vloop_queue_release(&dev->queues[i]);
		vloop_dev_unregister(dev);
		vloop_dev_put(dev);
	}
	kfree(f);
	return 0;
}

static long vloop_create(struct vloop_file *f, const struct vloop_create __user *user)
{
	struct vloop_create arg;
	struct vloop_dev *dev;
	long ret = 0;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	mutex_lock(&f->lock);
	if (f->dev) {
		ret = -EBUSY;
	} else {
		dev = vloop_dev_create(&arg, vloop_misc.this_device);
		if (IS_ERR(dev))
			ret = PTR_ERR(dev);
		else
			/* pairs with vloop_file_dev() */
			smp_store_release(&f->dev, dev);
	}
	mutex_unlock(&f->lock);
	return ret;
}

static struct vloop_queue *vloop_queue(struct vloop_dev *dev, u32 index)
{
	return index < dev->nqueues ? &dev->queues[array_index_nospec(index, dev->nqueues)] : NULL;
}

static long vloop_set_fd(struct vloop_dev *dev, const void __user *user,
			 int (*set)(struct vloop_queue *q, int fd))
{
	struct vloop_queue *q;
	struct vloop_fd arg;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	q = vloop_queue(dev, arg.index);
	return q ? set(q, arg.fd) : -EINVAL;
}

static long vloop_get_vring(struct vloop_dev *dev, struct vloop_vring __user *user)
{
	struct vloop_queue *q;
	struct vloop_vring arg;
	int ret;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	q = vloop_queue(dev, arg.index);
	if (!q)
		return -EINVAL;
	ret = vloop_queue_get_vring(q, &arg);
	if (ret)
		return ret;
	return copy_to_user(user, &arg, sizeof(arg)) ? -EFAULT : 0;
}

static long vloop_interrupt(struct vloop_dev *dev, const u32 __user *user)
{
	struct vloop_queue *q;
	u32 index;

	if (get_user(index, user))
		return -EFAULT;
	q = vloop_queue(dev, index);
	return q ? vloop_queue_interrupt(q) : -EINVAL;
}

static long vloop_set_config(struct vloop_dev *dev, const struct vloop_config __user *user)
{
	struct vloop_config arg;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	return vloop_dev_set_config(dev, &arg);
}

/*
 * Where memory ends, for a kernel whose /proc/iomem does not name it: there memory
 * is one piece from 0 on.
 */
static long vloop_get_top(u64 __user *user)
{
	unsigned long low = 0, high = 1;

	while (pfn_valid(high)) {
		low = high;
		high <<= 1;
	}
	while (high - low > 1) {
		unsigned long mid = low + (high - low) / 2;

		if (pfn_valid(mid))
			low = mid;
		else
			high = mid;
	}
	return put_user((u64)high << PAGE_SHIFT, user);
}

/* What suspend and resume do with the device, under the lock that they hold. */
static long vloop_power(struct vloop_dev *dev, unsigned int cmd)
{
	int ret = -EOPNOTSUPP;

#ifdef CONFIG_PM_SLEEP
	device_lock(&dev->vdev.dev);
	ret = cmd == VLOOP_FREEZE ? virtio_device_freeze(&dev->vdev) :
				    virtio_device_restore(&dev->vdev);
	device_unlock(&dev->vdev.dev);
#endif
	return ret;
}

static long vloop_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct vloop_dev *dev = vloop_file_dev(file);
	void __user *user = (void __user *)arg;

	if (cmd == VLOOP_CREATE)
		return vloop_create(file->private_data, user);
	if (cmd == VLOOP_GET_TOP)
		return vloop_get_top(user);
	if (!dev)
		return -ENODEV;

	switch (cmd) {
	case VLOOP_DESTROY:
		vloop_dev_unregister(dev);
		return 0;
	case VLOOP_GET_VRING:
		return vloop_get_vring(dev, user);
	case VLOOP_SET_KICK:
		return vloop_set_fd(dev, user, vloop_queue_set_kick);
	case VLOOP_SET_CALL:
		return vloop_set_fd(dev, user, vloop_queue_set_call);
	case VLOOP_INTERRUPT:
		return vloop_interrupt(dev, user);
	case VLOOP_SET_CONFIG:
		return vloop_set_config(dev, user);
	case VLOOP_BREAK:
		vloop_dev_break(dev);
		return 0;
	case VLOOP_FREEZE:
	case VLOOP_RESTORE:
		return vloop_power(dev, cmd);
	}
	return -ENOTTY;
}

static ssize_t vloop_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct vloop_dev *dev = vloop_file_dev(file);
	struct vloop_request *req;
	struct vloop_event ev;
	int ret;

	if (!dev)
		return -ENODEV;
	if (len < sizeof(ev))
		return -EINVAL;

	spin_lock_irq(&dev->lock);
	while (list_empty(&dev->events)) {
		spin_unlock_irq(&dev->lock);
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(dev->wait, !list_empty_careful(&dev->events));
		if (ret)
			return ret;
		spin_lock_irq(&dev->lock);
	}
	req = list_first_entry(&dev->events, struct vloop_request, list);
	ev = req->ev;
	if (ev.type == VLOOP_EV_REGISTERED || ev.type == VLOOP_EV_GONE) {
		list_del_init(&req->list);
		req->state = VLOOP_IDLE;
	} else {
		list_move_tail(&req->list, &dev->sent);
		req->state = VLOOP_SENT;
	}
	spin_unlock_irq(&dev->lock);

	return copy_to_user(buf, &ev, sizeof(ev)) ? -EFAULT : sizeof(ev);
}

static ssize_t vloop_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct vloop_dev *dev = vloop_file_dev(file);
	struct vloop_ack ack;
	int ret;

	if (!dev)
		return -ENODEV;
	if (len != sizeof(ack))
		return -EINVAL;
	if (copy_from_user(&ack, buf, sizeof(ack)))
		return -EFAULT;
	if (ack.reserved || ack.ret > 0 || ack.ret < -MAX_ERRNO)
		return -EINVAL;
	ret = vloop_answer(dev, ack.id, ack.ret);
	return ret ?: sizeof(ack);
}

static __poll_t vloop_poll(struct file *file, poll_table *table)
{
	struct vloop_dev *dev = vloop_file_dev(file);

	if (!dev)
		return EPOLLERR;
	poll_wait(file, &dev->wait, table);
	return list_empty_careful(&dev->events) ? EPOLLOUT : EPOLLIN | EPOLLOUT;
}

static int vloop_mmap(struct file *file, struct vm_area_struct *vma)
{
	unsigned long count = vma_pages(vma);
	unsigned long i;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	for (i = 0; i < count; i++)
		if (!pfn_valid(vma->vm_pgoff + i))
			return -ENXIO;
	return remap_pfn_range(vma, vma->vm_start, vma->vm_pgoff, count << PAGE_SHIFT,
			       vma->vm_page_prot);
}

static const struct file_operations vloop_fops = {
	.owner = THIS_MODULE,
	.open = vloop_open,
	.release = vloop_release,
	.read = vloop_read,
	.write = vloop_write,
	.poll = vloop_poll,
	.unlocked_ioctl = vloop_ioctl,
	.mmap = vloop_mmap,
};

static struct miscdevice vloop_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "vmq_loop",
	.mode = 0600,
	.fops = &vloop_fops,
};

static int __init vloop_init(void)
{
	int ret;

	ret = vloop_module_init();
	if (ret)
		return ret;
	ret = misc_register(&vloop_misc);
	if (ret)
		vloop_module_exit();
	return ret;
}
module_init(vloop_init);

static void __exit vloop_exit(void)
{
	/* no file is open; devices of closed files are still being unregistered */
	vloop_module_exit();
	misc_deregister(&vloop_misc);
}
module_exit(vloop_exit);

MODULE_DESCRIPTION("A virtio device whose other side is a user program, for tests");
MODULE_LICENSE("GPL");
