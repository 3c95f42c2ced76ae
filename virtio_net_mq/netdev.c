// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open, stop, and the table of what the stack may ask.
 */
#include "virtio_net_mq.h"

static int vnmq_open(struct net_device *dev)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	vnmq_queues_start(priv);
	vnmq_link_start(priv);
	return 0;
}

static int vnmq_stop(struct net_device *dev)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	vnmq_link_stop(priv);
	netif_tx_disable(dev);
	vnmq_queues_stop(priv);
	return 0;
}

/* Names the standby of a pair: `eth0nsby`. */
static int vnmq_get_phys_port_name(struct net_device *dev, char *buf, size_t len)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	if (!virtio_has_feature(priv->vdev, VIRTIO_NET_F_STANDBY))
		return -EOPNOTSUPP;
	return strscpy(buf, "sby", len) < 0 ? -EOPNOTSUPP : 0;
}

const struct net_device_ops vnmq_netdev_ops = {
	.ndo_open		= vnmq_open,
	.ndo_stop		= vnmq_stop,
	.ndo_start_xmit		= vnmq_xmit,
	.ndo_validate_addr	= eth_validate_addr,
	.ndo_set_mac_address	= vnmq_set_mac_address,
	.ndo_set_rx_mode	= vnmq_set_rx_mode,
	.ndo_get_stats64	= vnmq_get_stats64,
	.ndo_vlan_rx_add_vid	= vnmq_vlan_add,
	.ndo_vlan_rx_kill_vid	= vnmq_vlan_kill,
	.ndo_features_check	= passthru_features_check,
	.ndo_set_features	= vnmq_set_features,
	.ndo_tx_timeout		= vnmq_tx_timeout,
	.ndo_change_mtu		= vnmq_change_mtu,
	.ndo_get_phys_port_name	= vnmq_get_phys_port_name,
	.ndo_bpf		= vnmq_bpf,
	.ndo_xdp_xmit		= vnmq_xdp_xmit,
};
