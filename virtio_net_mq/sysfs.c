// SPDX-License-Identifier: GPL-2.0-only
/*
 * What ethtool has no verb for: /sys/class/net/DEV/queues/rx-N/virtio_net/mergeable_rx_buffer_size,
 * which the stock driver has, too.
 */
#include <linux/sysfs.h>

#include "virtio_net_mq.h"

static ssize_t mergeable_rx_buffer_size_show(struct netdev_rx_queue *queue, char *buf)
{
	struct vnmq_priv *priv = netdev_priv(queue->dev);
	unsigned int index = queue - queue->dev->_rx;

	return sysfs_emit(buf, "%u\n", vnmq_mergeable_len(&priv->rq[index]));
}

static struct rx_queue_attribute vnmq_mergeable_attribute = __ATTR_RO(mergeable_rx_buffer_size);

static struct attribute *vnmq_mergeable_attrs[] = {
	&vnmq_mergeable_attribute.attr,
	NULL
};

static const struct attribute_group vnmq_mergeable_group = {
	.name	= VNMQ_NAME,
	.attrs	= vnmq_mergeable_attrs,
};

/**
 * vnmq_sysfs_init - add the attributes of the layout of receive buffers in use
 * @priv: not registered yet
 */
void vnmq_sysfs_init(struct vnmq_priv *priv)
{
	if (priv->rx_mode == VNMQ_RX_MERGEABLE)
		priv->dev->sysfs_rx_queue_group = &vnmq_mergeable_group;
}
