// SPDX-License-Identifier: GPL-2.0-only
/*
 * The virtio device: what the driver asks of it is asked of the program.
 */
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/virtio_ring.h>

#include "vloop.h"

static struct workqueue_struct *vloop_wq;

static void vloop_dev_free(struct kref *ref)
{
	kvfree(container_of(ref, struct vloop_dev, ref));
}

/**
 * vloop_dev_put() - give back a reference
 * @dev: the device
 */
void vloop_dev_put(struct vloop_dev *dev)
{
	kref_put(&dev->ref, vloop_dev_free);
}

/**
 * vloop_post() - hand an event to the program
 * @dev: the device
 * @req: an idle request with its event filled in but for the number
 *
 * Context: vloop_dev.lock held.
 */
void vloop_post(struct vloop_dev *dev, struct vloop_request *req)
{
	unsigned int i;

	req->ev.id = ++dev->next_id;
	for (i = 0; i < ARRAY_SIZE(req->ev.features); i++)
#ifdef VLOOP_HAVE_FEATURES_ARRAY
		req->ev.features[i] = dev->vdev.features_array[i];
#else
		req->ev.features[i] = i ? 0 : dev->vdev.features;
#endif
	req->state = VLOOP_QUEUED;
	list_add_tail(&req->list, &dev->events);
	wake_up(&dev->wait);
}

/**
 * vloop_request() - ask the program and wait for its answer
 * @dev: the device
 * @type: of the event
 * @index: of a queue
 * @value: as the event has it
 *
 * A program that does not answer in time has its device broken, so that nobody
 * spins for it. A reset goes on waiting all the same, until the file is closed:
 * after a reset the driver frees its buffers, and vhost may still write to them.
 *
 * Context: process, sleeps.
 * Return: what the program answered, -ETIMEDOUT, or -ENODEV without a program.
 */
int vloop_request(struct vloop_dev *dev, u32 type, u32 index, s64 value)
{
	struct vloop_request req = {
		.ev = { .type = type, .index = index, .value = value },
		.ret = -ENODEV,
	};

	init_completion(&req.done);
	spin_lock_irq(&dev->lock);
	if (dev->dead) {
		spin_unlock_irq(&dev->lock);
		return -ENODEV;
	}
	vloop_post(dev, &req);
	spin_unlock_irq(&dev->lock);

	while (!wait_for_completion_timeout(&req.done, dev->limit)) {
		pr_warn_ratelimited("virtio%d: event %u not answered within %u ms, breaking the device\n",
				    dev->vdev.index, type, jiffies_to_msecs(dev->limit));
		vloop_dev_break(dev);
		if (type != VLOOP_EV_RESET)
			break;
	}

	spin_lock_irq(&dev->lock);
	if (req.state != VLOOP_IDLE) {
		list_del(&req.list);
		req.ret = -ETIMEDOUT;
	}
	spin_unlock_irq(&dev->lock);
	return req.ret;
}

/**
 * vloop_answer() - take the program's answer
 * @dev: the device
 * @id: of the event
 * @ret: the answer
 *
 * Return: 0, or -ENOENT when nobody waits for it.
 */
int vloop_answer(struct vloop_dev *dev, u64 id, int ret)
{
	struct vloop_request *req;
	int found = -ENOENT;

	spin_lock_irq(&dev->lock);
	list_for_each_entry(req, &dev->sent, list) {
		if (req->ev.id != id)
			continue;
		list_del_init(&req->list);
		req->state = VLOOP_IDLE;
		if (req->ev.type == VLOOP_EV_KICK) {
			vloop_queue_served(&dev->queues[req->ev.index]);
		} else {
			req->ret = ret;
			complete(&req->done);
		}
		found = 0;
		break;
	}
	spin_unlock_irq(&dev->lock);
	return found;
}

/**
 * vloop_dev_break() - mark all rings broken, so that no driver waits for them
 * @dev: the device
 *
 * Context: any.
 */
void vloop_dev_break(struct vloop_dev *dev)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&dev->lock, flags);
	for (i = 0; i < dev->nqueues; i++)
		if (dev->queues[i].vq)
			__virtqueue_break(dev->queues[i].vq);
	spin_unlock_irqrestore(&dev->lock, flags);
}

/**
 * vloop_dev_kill() - the program is gone
 * @dev: the device
 *
 * All who wait for an answer go on without.
 */
void vloop_dev_kill(struct vloop_dev *dev)
{
	struct vloop_request *req, *next;

	spin_lock_irq(&dev->lock);
	dev->dead = true;
	list_splice_tail_init(&dev->events, &dev->sent);
	list_for_each_entry_safe(req, next, &dev->sent, list) {
		list_del_init(&req->list);
		req->state = VLOOP_IDLE;
		complete(&req->done);
	}
	wake_up(&dev->wait);
	spin_unlock_irq(&dev->lock);
	vloop_dev_break(dev);
}

/**
 * vloop_dev_set_config() - change the configuration bytes
 * @dev: the device
 * @arg: which, and to what
 *
 * Return: 0, or -EINVAL outside of what the device has.
 */
int vloop_dev_set_config(struct vloop_dev *dev, const struct vloop_config *arg)
{
	if (arg->reserved || arg->len > dev->config_len ||
	    arg->offset > dev->config_len - arg->len)
		return -EINVAL;
	spin_lock_irq(&dev->lock);
	memcpy(dev->config + arg->offset, arg->bytes, arg->len);
	dev->generation++;
	spin_unlock_irq(&dev->lock);
	if (arg->notify && !READ_ONCE(dev->registered))
		virtio_config_changed(&dev->vdev);
	return 0;
}

static void vloop_get(struct virtio_device *vdev, unsigned int offset, void *buf, unsigned int len)
{
	struct vloop_dev *dev = vdev_to_vloop(vdev);
	unsigned long flags;

	memset(buf, 0, len);
	spin_lock_irqsave(&dev->lock, flags);
	if (offset < dev->config_len)
		memcpy(buf, dev->config + offset, min(len, dev->config_len - offset));
	spin_unlock_irqrestore(&dev->lock, flags);
}

static void vloop_set(struct virtio_device *vdev, unsigned int offset,
		      const void *buf, unsigned int len)
{
	struct vloop_dev *dev = vdev_to_vloop(vdev);
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	if (offset < dev->config_len)
		memcpy(dev->config + offset, buf, min(len, dev->config_len - offset));
	spin_unlock_irqrestore(&dev->lock, flags);
}

static u32 vloop_generation(struct virtio_device *vdev)
{
	return READ_ONCE(vdev_to_vloop(vdev)->generation);
}

static u8 vloop_get_status(struct virtio_device *vdev)
{
	return vdev_to_vloop(vdev)->status;
}

static void vloop_set_status(struct virtio_device *vdev, u8 status)
{
	struct vloop_dev *dev = vdev_to_vloop(vdev);
	u8 old = dev->status;

	dev->status = status;
	/* a device refuses features by not showing the bit */
	if (vloop_request(dev, VLOOP_EV_STATUS, 0, status) < 0 &&
	    (status & ~old & VIRTIO_CONFIG_S_FEATURES_OK))
		dev->status &= ~VIRTIO_CONFIG_S_FEATURES_OK;
}

static void vloop_reset(struct virtio_device *vdev)
{
	struct vloop_dev *dev = vdev_to_vloop(vdev);
	unsigned int i;

	dev->status = 0;
	vloop_request(dev, VLOOP_EV_RESET, 0, 0);
	for (i = 0; i < dev->nqueues; i++)
		vloop_queue_sync(&dev->queues[i]);
}

static void vloop_del_vqs(struct virtio_device *vdev)
{
	struct vloop_dev *dev = vdev_to_vloop(vdev);

	vloop_request(dev, VLOOP_EV_DEL_VQS, 0, 0);
	vloop_queues_destroy(dev);
}

static int vloop_find_vq(struct vloop_dev *dev, unsigned int index, struct virtqueue **slot,
			 const char *name, void (*callback)(struct virtqueue *vq), bool ctx)
{
	struct virtqueue *vq;

	if (index >= dev->nqueues)
		return -ENOENT;
	vq = vloop_queue_create(&dev->queues[index], name, callback, ctx);
	if (IS_ERR(vq))
		return PTR_ERR(vq);
	*slot = vq;
	return 0;
}

static int vloop_found_vqs(struct vloop_dev *dev, int ret, unsigned int count)
{
	if (!ret)
		ret = vloop_request(dev, VLOOP_EV_FIND_VQS, 0, count);
	if (ret)
		vloop_queues_destroy(dev);
	return ret;
}

#ifdef VLOOP_HAVE_VIRTQUEUE_INFO
static int vloop_find_vqs(struct virtio_device *vdev, unsigned int nvqs, struct virtqueue *vqs[],
			  struct virtqueue_info info[], struct irq_affinity *desc)
{
	struct vloop_dev *dev = vdev_to_vloop(vdev);
	unsigned int i, count = 0;
	int ret = 0;

	for (i = 0; i < nvqs && !ret; i++) {
		vqs[i] = NULL;
		if (info[i].name)
			ret = vloop_find_vq(dev, count++, &vqs[i], info[i].name,
					    info[i].callback, info[i].ctx);
	}
	return vloop_found_vqs(dev, ret, count);
}
#else
static int vloop_find_vqs(struct virtio_device *vdev, unsigned int nvqs, struct virtqueue *vqs[],
			  vq_callback_t *callbacks[], const char * const names[],
			  const bool *ctx, struct irq_affinity *desc)
{
	struct vloop_dev *dev = vdev_to_vloop(vdev);
	unsigned int i, count = 0;
	int ret = 0;

	for (i = 0; i < nvqs && !ret; i++) {
		vqs[i] = NULL;
		if (names[i])
			ret = vloop_find_vq(dev, count++, &vqs[i], names[i],
					    callbacks[i], ctx && ctx[i]);
	}
	return vloop_found_vqs(dev, ret, count);
}
#endif

static void vloop_synchronize_cbs(struct virtio_device *vdev)
{
	struct vloop_dev *dev = vdev_to_vloop(vdev);
	unsigned int i;

	for (i = 0; i < dev->nqueues; i++)
		vloop_queue_sync(&dev->queues[i]);
}

static u64 vloop_get_features(struct virtio_device *vdev)
{
	return vdev_to_vloop(vdev)->features[0];
}

#ifdef VLOOP_HAVE_FEATURES_ARRAY
static void vloop_get_extended_features(struct virtio_device *vdev, u64 *features)
{
	struct vloop_dev *dev = vdev_to_vloop(vdev);

	memset(features, 0, sizeof(vdev->features_array));
	memcpy(features, dev->features,
	       min(sizeof(dev->features), sizeof(vdev->features_array)));
}
#endif

static int vloop_finalize_features(struct virtio_device *vdev)
{
	bool ring_reset = __virtio_test_bit(vdev, VIRTIO_F_RING_RESET);

	/* the rings' own features; a queue's reset is the transport's */
	vring_transport_features(vdev);
	if (ring_reset)
		__virtio_set_bit(vdev, VIRTIO_F_RING_RESET);
	return 0;
}

static const char *vloop_bus_name(struct virtio_device *vdev)
{
	return "vmq_loop";
}

static const struct cpumask *vloop_get_vq_affinity(struct virtio_device *vdev, int index)
{
	struct vloop_queue *q = &vdev_to_vloop(vdev)->queues[index];

	return q->has_affinity ? &q->affinity : cpu_possible_mask;
}

static int vloop_disable_vq_and_reset(struct virtqueue *vq)
{
	struct vloop_queue *q = vq->priv;
	int ret;

	if (!virtio_has_feature(vq->vdev, VIRTIO_F_RING_RESET))
		return -ENOENT;
	ret = vloop_request(q->dev, VLOOP_EV_QUEUE_RESET, q->index, 0);
	if (ret)
		return ret;
	vloop_queue_sync(q);
	return 0;
}

static int vloop_enable_vq_after_reset(struct virtqueue *vq)
{
	struct vloop_queue *q = vq->priv;

	return vloop_request(q->dev, VLOOP_EV_QUEUE_ENABLE, q->index,
			     virtqueue_get_vring_size(vq));
}

static const struct virtio_config_ops vloop_config_ops = {
	.get = vloop_get,
	.set = vloop_set,
	.generation = vloop_generation,
	.get_status = vloop_get_status,
	.set_status = vloop_set_status,
	.reset = vloop_reset,
	.find_vqs = vloop_find_vqs,
	.del_vqs = vloop_del_vqs,
	.synchronize_cbs = vloop_synchronize_cbs,
	.get_features = vloop_get_features,
#ifdef VLOOP_HAVE_FEATURES_ARRAY
	.get_extended_features = vloop_get_extended_features,
#endif
	.finalize_features = vloop_finalize_features,
	.bus_name = vloop_bus_name,
	.set_vq_affinity = vloop_queue_set_affinity,
	.get_vq_affinity = vloop_get_vq_affinity,
	.disable_vq_and_reset = vloop_disable_vq_and_reset,
	.enable_vq_after_reset = vloop_enable_vq_after_reset,
};

static void vloop_vdev_release(struct device *d)
{
	vloop_dev_put(vdev_to_vloop(dev_to_virtio(d)));
}

static void vloop_register(struct work_struct *work)
{
	struct vloop_dev *dev = container_of(work, struct vloop_dev, register_work);
	int ret;

	kref_get(&dev->ref);
	ret = register_virtio_device(&dev->vdev);
	if (ret)
		put_device(&dev->vdev.dev);

	spin_lock_irq(&dev->lock);
	dev->registered = ret;
	dev->registration.ev.value = ret ?: dev->vdev.index;
	if (!dev->dead)
		vloop_post(dev, &dev->registration);
	spin_unlock_irq(&dev->lock);
}

static void vloop_unregister(struct work_struct *work)
{
	struct vloop_dev *dev = container_of(work, struct vloop_dev, unregister_work);

	flush_work(&dev->register_work);
	if (!dev->registered) {
		unregister_virtio_device(&dev->vdev);
		WRITE_ONCE(dev->registered, -ENODEV);
	}
	spin_lock_irq(&dev->lock);
	if (!dev->dead)
		vloop_post(dev, &dev->gone);
	spin_unlock_irq(&dev->lock);
	vloop_dev_put(dev);
}

/**
 * vloop_dev_unregister() - start taking the device away
 * @dev: the device
 *
 * The program hears of it with VLOOP_EV_GONE. Once is enough.
 */
void vloop_dev_unregister(struct vloop_dev *dev)
{
	bool first;

	spin_lock_irq(&dev->lock);
	first = !dev->unregistering;
	dev->unregistering = true;
	spin_unlock_irq(&dev->lock);
	if (!first)
		return;
	kref_get(&dev->ref);
	queue_work(vloop_wq, &dev->unregister_work);
}

/**
 * vloop_dev_create() - make a device and start its registration
 * @arg: what the program wants
 * @parent: parent device
 *
 * Return: the device with a reference for the caller, or ERR_PTR().
 */
struct vloop_dev *vloop_dev_create(const struct vloop_create *arg, struct device *parent)
{
	struct vloop_dev *dev;
	unsigned int i;

	if (!arg->device_id || arg->reserved || !arg->queues || arg->queues > VLOOP_MAX_QUEUES ||
	    !is_power_of_2(arg->ring_size) || arg->ring_size > 32768 ||
	    arg->config_len > VLOOP_MAX_CONFIG || arg->limit_ms > 600 * MSEC_PER_SEC)
		return ERR_PTR(-EINVAL);

	dev = kvzalloc(struct_size(dev, queues, arg->queues), GFP_KERNEL);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	kref_init(&dev->ref);
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->events);
	INIT_LIST_HEAD(&dev->sent);
	init_waitqueue_head(&dev->wait);
	memcpy(dev->features, arg->features, sizeof(dev->features));
	memcpy(dev->config, arg->config, arg->config_len);
	dev->config_len = arg->config_len;
	dev->ring_size = arg->ring_size;
	dev->limit = msecs_to_jiffies(arg->limit_ms ?: 10 * MSEC_PER_SEC);
	dev->registered = -EAGAIN;
	dev->registration.ev.type = VLOOP_EV_REGISTERED;
	dev->gone.ev.type = VLOOP_EV_GONE;
	init_completion(&dev->registration.done);
	init_completion(&dev->gone.done);
	INIT_WORK(&dev->register_work, vloop_register);
	INIT_WORK(&dev->unregister_work, vloop_unregister);
	dev->nqueues = arg->queues;
	for (i = 0; i < dev->nqueues; i++)
		vloop_queue_init(dev, i);

	dev->vdev.id.device = arg->device_id;
	dev->vdev.id.vendor = VIRTIO_DEV_ANY_ID;
	dev->vdev.config = &vloop_config_ops;
	dev->vdev.dev.parent = parent;
	dev->vdev.dev.release = vloop_vdev_release;
	queue_work(vloop_wq, &dev->register_work);
	return dev;
}

/**
 * vloop_module_init() - what all devices share
 *
 * Return: 0 or -ENOMEM.
 */
int vloop_module_init(void)
{
	vloop_wq = alloc_workqueue("vmq_loop", WQ_UNBOUND, 0);
	return vloop_wq ? 0 : -ENOMEM;
}

/**
 * vloop_module_exit() - wait until the last device is gone
 */
void vloop_module_exit(void)
{
	destroy_workqueue(vloop_wq);
}
