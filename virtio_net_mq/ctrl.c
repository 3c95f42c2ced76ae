// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control queue (virtio 1.2, 5.1.6.5).
 *
 * A command lives in memory of its own, which is the device's from the kick until
 * the device returns it. The sender sleeps until then, until it is killed, until the
 * device breaks or until a deadline. When it gives up, the command stays where it is:
 * the device may still read and write it. Whoever takes it from the ring later, the
 * interrupt or the reset, frees it, and since the ring returns the very command that was
 * put in, no answer is ever taken for that of another command.
 */
#include <linux/delay.h>
#include <linux/pci.h>
#include <linux/sched/signal.h>

#include "virtio_net_mq.h"

/* A device that is served by a busy or stopped host thread gets this long ... */
#define VNMQ_CTRL_DEADLINE	(5 * HZ)
/* ... and, once it let a command pass, only this long, then half of it, until it answers again. */
#define VNMQ_CTRL_DEADLINE_LATE	(HZ / 4)
/* Without an interrupt: microseconds of sleep between two looks at the ring, doubling. */
#define VNMQ_CTRL_POLL_MIN	50
#define VNMQ_CTRL_POLL_MAX	20000

/**
 * vnmq_ctrl_init - set up what does not depend on the virtqueue
 * @ctrl: zeroed
 */
void vnmq_ctrl_init(struct vnmq_ctrl *ctrl)
{
	mutex_init(&ctrl->mutex);
	spin_lock_init(&ctrl->lock);
}

/**
 * vnmq_ctrl_use_irq - should the control queue have an interrupt
 * @priv: max_pairs is set
 *
 * On PCI each queue with a callback asks for an MSI-X vector of its own, and the transport falls
 * back to one vector for all queues when there are too few. A device that has none to spare
 * for its control queue is polled instead: the packet queues matter more.
 */
bool vnmq_ctrl_use_irq(struct vnmq_priv *priv)
{
#ifdef CONFIG_PCI_MSI
	struct device *parent = priv->vdev->dev.parent;
	int vectors;

	if (parent && dev_is_pci(parent)) {
		vectors = pci_msix_vec_count(to_pci_dev(parent));
		/* Configuration changes have a vector, too. */
		return vectors < 0 || vectors >= 2 * (int)priv->max_pairs + 2;
	}
#endif
	return true;
}

/* Take what the device returned. Context: ctrl->lock. */
static void vnmq_ctrl_collect(struct vnmq_ctrl *ctrl, struct virtqueue *vq)
{
	struct vnmq_cmd *cmd;
	unsigned int len;

	while ((cmd = virtqueue_get_buf(vq, &len))) {
		ctrl->late = 0;
		if (cmd->state == VNMQ_CMD_GIVEN_UP) {
			atomic_long_inc(&ctrl->count[VNMQ_CTRL_LATE]);
			kfree(cmd);
			continue;
		}
		cmd->state = VNMQ_CMD_ANSWERED;
		complete(&cmd->done);
	}
}

static void vnmq_ctrl_poll(struct vnmq_ctrl *ctrl, struct virtqueue *vq)
{
	unsigned long flags;

	spin_lock_irqsave(&ctrl->lock, flags);
	do {
		virtqueue_disable_cb(vq);
		vnmq_ctrl_collect(ctrl, vq);
	} while (ctrl->irq && !virtqueue_enable_cb(vq));
	spin_unlock_irqrestore(&ctrl->lock, flags);
}

/**
 * vnmq_ctrl_done - the device returned a command
 * @vq: the control queue, of which ctrl->vq may not know yet
 *
 * Context: interrupt.
 */
void vnmq_ctrl_done(struct virtqueue *vq)
{
	struct vnmq_priv *priv = vq->vdev->priv;

	vnmq_ctrl_poll(&priv->ctrl, vq);
}

/**
 * vnmq_ctrl_reap - free the commands that the device never returned
 * @ctrl: its device has been reset
 *
 * Who sends from now on is told that there is no control queue.
 *
 * Context: process.
 */
void vnmq_ctrl_reap(struct vnmq_ctrl *ctrl)
{
	struct vnmq_cmd *cmd;
	unsigned int len;

	mutex_lock(&ctrl->mutex);
	if (ctrl->vq) {
		while ((cmd = virtqueue_get_buf(ctrl->vq, &len)))
			kfree(cmd);
		while ((cmd = virtqueue_detach_unused_buf(ctrl->vq)))
			kfree(cmd);
	}
	ctrl->vq = NULL;
	ctrl->late = 0;
	mutex_unlock(&ctrl->mutex);
}

/**
 * vnmq_cmd_alloc - a command to fill in
 * @class: VIRTIO_NET_CTRL_*
 * @command: of that class
 * @len: bytes of data, zeroed
 *
 * Return: the command, for vnmq_ctrl_exec(), or NULL.
 * Context: process.
 */
struct vnmq_cmd *vnmq_cmd_alloc(u8 class, u8 command, size_t len)
{
	struct vnmq_cmd *cmd;

	cmd = kzalloc(struct_size(cmd, data, len), GFP_KERNEL | __GFP_NOWARN);
	if (!cmd)
		return NULL;
	init_completion(&cmd->done);
	cmd->hdr.class = class;
	cmd->hdr.cmd = command;
	cmd->status = VIRTIO_NET_ERR;
	cmd->len = len;
	return cmd;
}

static int vnmq_ctrl_submit(struct vnmq_ctrl *ctrl, struct vnmq_cmd *cmd)
{
	struct scatterlist hdr, data[2], status, *sgs[4];
	unsigned int out = 0;
	unsigned long flags;
	bool notify;
	int ret;

	sg_init_one(&hdr, &cmd->hdr, sizeof(cmd->hdr));
	sgs[out++] = &hdr;
	if (cmd->len) {
		unsigned int first = cmd->split ?: cmd->len;

		sg_init_one(&data[0], cmd->data, first);
		sgs[out++] = &data[0];
		if (first < cmd->len) {
			sg_init_one(&data[1], cmd->data + first, cmd->len - first);
			sgs[out++] = &data[1];
		}
	}
	sg_init_one(&status, &cmd->status, sizeof(cmd->status));
	sgs[out] = &status;
	if (out + 1 > virtqueue_get_vring_size(ctrl->vq) &&
	    !virtio_has_feature(ctrl->vq->vdev, VIRTIO_RING_F_INDIRECT_DESC))
		return -ENOSPC;

	spin_lock_irqsave(&ctrl->lock, flags);
	cmd->state = VNMQ_CMD_SENT;
	ret = virtqueue_add_sgs(ctrl->vq, sgs, out, 1, cmd, GFP_ATOMIC);
	notify = !ret && virtqueue_kick_prepare(ctrl->vq);
	spin_unlock_irqrestore(&ctrl->lock, flags);

	/* A device that cannot be told is broken; the wait will see that. */
	if (notify)
		virtqueue_notify(ctrl->vq);
	return ret;
}

static unsigned long vnmq_ctrl_patience(const struct vnmq_ctrl *ctrl)
{
	unsigned int late = READ_ONCE(ctrl->late);

	return late ? VNMQ_CTRL_DEADLINE_LATE >> min(late - 1, 8u) : VNMQ_CTRL_DEADLINE;
}

/*
 * Sleep until the device has answered @cmd. Interrupts can be missing (no vector, or a device that
 * raises none), so the ring is looked at between two sleeps, too.
 * Return: 0, -EINTR (killed), -ETIMEDOUT or -EIO (the device is gone).
 */
static int vnmq_ctrl_wait(struct vnmq_ctrl *ctrl, struct vnmq_cmd *cmd)
{
	unsigned long deadline = jiffies + vnmq_ctrl_patience(ctrl);
	unsigned int usecs = VNMQ_CTRL_POLL_MIN;
	unsigned long ticks = max(HZ / 100, 1);

	for (;;) {
		vnmq_ctrl_poll(ctrl, ctrl->vq);
		if (try_wait_for_completion(&cmd->done))
			return 0;
		if (virtqueue_is_broken(ctrl->vq))
			return -EIO;
		if (time_after(jiffies, deadline))
			return -ETIMEDOUT;
		if (fatal_signal_pending(current))
			return -EINTR;

		if (ctrl->irq) {
			long left = wait_for_completion_killable_timeout(&cmd->done, ticks);

			if (left > 0)
				return 0;
			ticks = min(2 * ticks, (unsigned long)HZ / 10 + 1);
		} else {
			usleep_range(usecs, 2 * usecs);
			usecs = min(2 * usecs, (unsigned int)VNMQ_CTRL_POLL_MAX);
		}
	}
}

/**
 * vnmq_ctrl_exec - send a command and wait for its answer
 * @priv: the device
 * @cmd: from vnmq_cmd_alloc(); it is no longer the caller's, whatever the outcome
 *
 * Return: 0 when the device accepted it, -EINVAL when it refused, -ETIMEDOUT, -EINTR when the
 * caller is being killed, -EBUSY when the queue is too small or full of commands that it never
 * answered, -EIO when it is gone, -EOPNOTSUPP without a control queue.
 * Context: process; sleeps at most a few seconds, also under RTNL.
 */
int vnmq_ctrl_exec(struct vnmq_priv *priv, struct vnmq_cmd *cmd)
{
	struct vnmq_ctrl *ctrl = &priv->ctrl;
	unsigned long flags;
	int ret;

	if (mutex_lock_killable(&ctrl->mutex)) {
		kfree(cmd);
		return -EINTR;
	}
	if (!ctrl->vq) {
		kfree(cmd);
		ret = -EOPNOTSUPP;
		goto unlock;
	}

	atomic_long_inc(&ctrl->count[VNMQ_CTRL_COMMANDS]);
	/* Make room, should commands have come back without an interrupt. */
	vnmq_ctrl_poll(ctrl, ctrl->vq);
	ret = vnmq_ctrl_submit(ctrl, cmd);
	if (ret) {
		kfree(cmd);
		ret = ret == -ENOSPC ? -EBUSY : ret;
		goto unlock;
	}

	ret = vnmq_ctrl_wait(ctrl, cmd);
	spin_lock_irqsave(&ctrl->lock, flags);
	if (cmd->state == VNMQ_CMD_ANSWERED) {
		ret = cmd->status == VIRTIO_NET_OK ? 0 : -EINVAL;
	} else {
		cmd->state = VNMQ_CMD_GIVEN_UP;
		ctrl->late = ret == -ETIMEDOUT ? ctrl->late + 1 : 0;
		cmd = NULL;
	}
	spin_unlock_irqrestore(&ctrl->lock, flags);
	kfree(cmd);

	if (ret == -EINVAL)
		atomic_long_inc(&ctrl->count[VNMQ_CTRL_REFUSED]);
	if (ret == -ETIMEDOUT) {
		atomic_long_inc(&ctrl->count[VNMQ_CTRL_TIMEOUTS]);
		if (net_ratelimit())
			netdev_warn(priv->dev, "the device does not answer on its control queue\n");
	}
unlock:
	mutex_unlock(&ctrl->mutex);
	return ret;
}

/**
 * vnmq_ctrl_send - send a command whose data are at hand
 * @priv: the device
 * @class: VIRTIO_NET_CTRL_*
 * @command: of that class
 * @data: copied
 * @len: bytes
 *
 * Return: as vnmq_ctrl_exec(), or -ENOMEM.
 * Context: as vnmq_ctrl_exec().
 */
int vnmq_ctrl_send(struct vnmq_priv *priv, u8 class, u8 command, const void *data, size_t len)
{
	struct vnmq_cmd *cmd = vnmq_cmd_alloc(class, command, len);

	if (!cmd)
		return -ENOMEM;
	memcpy(cmd->data, data, len);
	return vnmq_ctrl_exec(priv, cmd);
}
