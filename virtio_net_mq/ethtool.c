// SPDX-License-Identifier: GPL-2.0-only
/*
 * What ethtool has a verb for.
 */
#include <linux/log2.h>

#include "virtio_net_mq.h"
#include "compat/rxfh.h"

static void vnmq_get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	strscpy(info->driver, VNMQ_NAME, sizeof(info->driver));
	strscpy(info->version, VMQ_VERSION, sizeof(info->version));
	strscpy(info->bus_info, virtio_bus_name(priv->vdev), sizeof(info->bus_info));
}

static void vnmq_get_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	channels->combined_count = priv->curr_pairs;
	channels->max_combined = priv->max_pairs;
}

/* The core has checked combined_count against max_combined, and that there are no other kinds. */
static int vnmq_set_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	if (!channels->combined_count)
		return -EINVAL;
	return vnmq_queues_set_count(priv, channels->combined_count, priv->xdp_prog);
}

static void vnmq_get_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			       struct kernel_ethtool_ringparam *kernel_ring,
			       struct netlink_ext_ack *extack)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	ring->rx_max_pending = priv->rq[0].vq->num_max;
	ring->tx_max_pending = priv->sq[0].vq->num_max;
	ring->rx_pending = virtqueue_get_vring_size(priv->rq[0].vq);
	ring->tx_pending = virtqueue_get_vring_size(priv->sq[0].vq);
}

static int vnmq_set_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			      struct kernel_ethtool_ringparam *kernel_ring,
			      struct netlink_ext_ack *extack)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	if (!virtio_has_feature(priv->vdev, VIRTIO_F_RING_RESET)) {
		NL_SET_ERR_MSG(extack, "the device cannot reset a single queue");
		return -EOPNOTSUPP;
	}
	if (ring->rx_pending < vnmq_rx_ring_min(priv) ||
	    ring->tx_pending < vnmq_tx_ring_min(priv)) {
		NL_SET_ERR_MSG(extack, "a ring must have the descriptors of one buffer");
		return -EINVAL;
	}
	if (!virtio_has_feature(priv->vdev, VIRTIO_F_RING_PACKED) &&
	    (!is_power_of_2(ring->rx_pending) || !is_power_of_2(ring->tx_pending))) {
		NL_SET_ERR_MSG(extack, "the size of a split ring is a power of two");
		return -EINVAL;
	}
	if (!vnmq_rx_ring_holds(priv, ring->rx_pending, priv->xdp_prog)) {
		NL_SET_ERR_MSG(extack, "too few receive descriptors for the longest frame");
		return -EINVAL;
	}
	return vnmq_queues_resize(priv, ring->rx_pending, ring->tx_pending);
}

static int vnmq_get_link_ksettings(struct net_device *dev, struct ethtool_link_ksettings *cmd)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	cmd->base.speed = READ_ONCE(priv->speed);
	cmd->base.duplex = READ_ONCE(priv->duplex);
	cmd->base.port = PORT_OTHER;
	return 0;
}

static int vnmq_set_link_ksettings(struct net_device *dev,
				   const struct ethtool_link_ksettings *cmd)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	return ethtool_virtdev_set_link_ksettings(dev, cmd, &priv->speed, &priv->duplex);
}

const struct ethtool_ops vnmq_ethtool_ops = {
	.get_drvinfo		= vnmq_get_drvinfo,
	.get_link		= ethtool_op_get_link,
	.get_channels		= vnmq_get_channels,
	.set_channels		= vnmq_set_channels,
	.get_ringparam		= vnmq_get_ringparam,
	.set_ringparam		= vnmq_set_ringparam,
	.get_strings		= vnmq_get_strings,
	.get_sset_count		= vnmq_get_sset_count,
	.get_ethtool_stats	= vnmq_get_ethtool_stats,
	.get_ts_info		= ethtool_op_get_ts_info,
	.get_link_ksettings	= vnmq_get_link_ksettings,
	.set_link_ksettings	= vnmq_set_link_ksettings,
	.supported_coalesce_params = ETHTOOL_COALESCE_MAX_FRAMES | ETHTOOL_COALESCE_USECS |
				     ETHTOOL_COALESCE_USE_ADAPTIVE_RX,
	.get_coalesce		= vnmq_get_coalesce,
	.set_coalesce		= vnmq_set_coalesce,
	.get_per_queue_coalesce	= vnmq_get_per_queue_coalesce,
	.set_per_queue_coalesce	= vnmq_set_per_queue_coalesce,
	VNMQ_RXFH_OPS
};
