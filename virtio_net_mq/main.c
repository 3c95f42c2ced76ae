// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module, probe and remove, suspend and resume.
 */
#include <linux/module.h>
#include <linux/pm.h>
#include <net/net_failover.h>

#include "virtio_net_mq.h"

/* What is no number at all is as wrong as one that is outside the limits. */
static int vnmq_param_set(const char *text, const struct kernel_param *param)
{
	return param_set_int(text, param) ? -EINVAL : 0;
}

static const struct kernel_param_ops vnmq_param_ops = {
	.set	= vnmq_param_set,
	.get	= param_get_int,
};

int vnmq_napi_weight = NAPI_POLL_WEIGHT;
module_param_cb(napi_weight, &vnmq_param_ops, &vnmq_napi_weight, 0444);
MODULE_PARM_DESC(napi_weight, "frames that one poll takes, 1 to 64");

bool vnmq_csum = true;
module_param_named(csum, vnmq_csum, bool, 0444);
MODULE_PARM_DESC(csum, "let the device complete checksums, if it can");

bool vnmq_gso = true;
module_param_named(gso, vnmq_gso, bool, 0444);
MODULE_PARM_DESC(gso, "let the device cut packets into segments, if it can");

bool vnmq_napi_tx = true;
module_param_named(napi_tx, vnmq_napi_tx, bool, 0644);
MODULE_PARM_DESC(napi_tx, "what is sent stays with its socket until it is gone; for devices bound from now on");

int vnmq_queue_pairs;
module_param_cb(queue_pairs, &vnmq_param_ops, &vnmq_queue_pairs, 0444);
MODULE_PARM_DESC(queue_pairs, "queue pairs at first, as far as the device has them; 0: one for each CPU");

static unsigned int vnmq_read_max_pairs(struct virtio_device *vdev)
{
	u16 pairs;

	if (!virtio_has_feature(vdev, VIRTIO_NET_F_MQ) &&
	    !virtio_has_feature(vdev, VIRTIO_NET_F_RSS))
		return 1;
	pairs = virtio_cread16(vdev, offsetof(struct virtio_net_config, max_virtqueue_pairs));
	if (pairs < VIRTIO_NET_CTRL_MQ_VQ_PAIRS_MIN || pairs > VIRTIO_NET_CTRL_MQ_VQ_PAIRS_MAX) {
		dev_warn(&vdev->dev, "the device says it has %u queue pairs: using one\n", pairs);
		return 1;
	}
	return pairs;
}

static unsigned int vnmq_initial_pairs(const struct vnmq_priv *priv)
{
	return min_t(unsigned int, vnmq_queue_pairs ?: num_online_cpus(), priv->max_pairs);
}

static void vnmq_read_mac(struct vnmq_priv *priv)
{
	u8 addr[ETH_ALEN];

	if (virtio_has_feature(priv->vdev, VIRTIO_NET_F_MAC)) {
		virtio_cread_bytes(priv->vdev, offsetof(struct virtio_net_config, mac),
				   addr, ETH_ALEN);
		if (is_valid_ether_addr(addr)) {
			eth_hw_addr_set(priv->dev, addr);
			return;
		}
		dev_warn(&priv->vdev->dev, "the device's MAC address %pM is not valid\n", addr);
	}
	eth_hw_addr_random(priv->dev);
	dev_info(&priv->vdev->dev, "assigned random MAC address %pM\n", priv->dev->dev_addr);
}

static int vnmq_read_mtu(struct vnmq_priv *priv)
{
	u16 mtu;

	priv->dev->min_mtu = ETH_MIN_MTU;
	priv->dev->max_mtu = ETH_MAX_MTU;
	if (!virtio_has_feature(priv->vdev, VIRTIO_NET_F_MTU))
		return 0;
	mtu = virtio_cread16(priv->vdev, offsetof(struct virtio_net_config, mtu));
	if (mtu < ETH_MIN_MTU) {
		dev_err(&priv->vdev->dev, "the device's MTU shrank to %u\n", mtu);
		return -EINVAL;
	}
	priv->dev->mtu = mtu;
	priv->dev->max_mtu = mtu;
	return 0;
}

/* How receive buffers and headers look like. */
static void vnmq_choose_layout(struct vnmq_priv *priv)
{
	struct virtio_device *vdev = priv->vdev;
	bool modern = virtio_has_feature(vdev, VIRTIO_F_VERSION_1);
	unsigned int frame = VNMQ_MAX_FRAME;

	priv->le = virtio_is_little_endian(vdev);
	priv->any_layout = modern || virtio_has_feature(vdev, VIRTIO_F_ANY_LAYOUT);
	priv->hdr_len = sizeof(struct virtio_net_hdr);
	if (virtio_has_feature(vdev, VIRTIO_NET_F_HASH_REPORT))
		priv->hdr_len = sizeof(struct vnmq_hdr_hash);
	else if (modern || virtio_has_feature(vdev, VIRTIO_NET_F_MRG_RXBUF))
		priv->hdr_len = sizeof(struct virtio_net_hdr_mrg_rxbuf);
	if (priv->any_layout)
		priv->dev->needed_headroom = priv->hdr_len;

	if (virtio_has_feature(vdev, VIRTIO_NET_F_MRG_RXBUF)) {
		priv->rx_mode = VNMQ_RX_MERGEABLE;
	} else if (vnmq_guest_gso(vdev) || priv->dev->mtu > ETH_DATA_LEN) {
		priv->rx_mode = VNMQ_RX_BIG;
		if (!vnmq_guest_gso(vdev))
			frame = ETH_HLEN + VLAN_HLEN + priv->dev->mtu;
		priv->big_pages = min_t(unsigned int, MAX_SKB_FRAGS,
					DIV_ROUND_UP(frame + VNMQ_BIG_DATA, PAGE_SIZE));
	} else {
		priv->rx_mode = VNMQ_RX_SMALL;
	}
}

/*
 * Tell a device that is ready what it does not know yet: nothing of this before DRIVER_OK, and
 * nobody else meanwhile. What it refuses we do without. Context: RTNL.
 */
static void vnmq_configure(struct vnmq_priv *priv)
{
	struct virtio_device *vdev = priv->vdev;

	vnmq_queues_tell_count(priv);
	if (!virtio_has_feature(vdev, VIRTIO_NET_F_MAC) &&
	    virtio_has_feature(vdev, VIRTIO_NET_F_CTRL_MAC_ADDR) &&
	    vnmq_mac_send(priv, priv->dev->dev_addr))
		netdev_warn(priv->dev, "the device did not take the MAC address\n");
}

/* From here on others use the device: RTNL keeps them out until it is ready and configured. */
static int vnmq_register(struct vnmq_priv *priv)
{
	int ret;

	rtnl_lock();
	ret = netif_set_real_num_queues(priv->dev, priv->curr_pairs, priv->curr_pairs);
	if (!ret)
		ret = register_netdevice(priv->dev);
	if (!ret) {
		netif_carrier_off(priv->dev);
		virtio_device_ready(priv->vdev);
		vnmq_link_update_speed(priv);
		vnmq_configure(priv);
		vnmq_filter_start(priv);
	}
	rtnl_unlock();
	return ret;
}

static struct net_device *vnmq_alloc(struct virtio_device *vdev)
{
	unsigned int pairs = vnmq_read_max_pairs(vdev);
	struct vnmq_priv *priv;
	struct net_device *dev;

	dev = alloc_etherdev_mqs(sizeof(*priv), pairs, pairs);
	if (!dev)
		return NULL;
	SET_NETDEV_DEV(dev, &vdev->dev);
	dev->netdev_ops = &vnmq_netdev_ops;
	dev->ethtool_ops = &vnmq_ethtool_ops;
	vnmq_stats_init(dev);
	dev->priv_flags |= IFF_UNICAST_FLT | IFF_LIVE_ADDR_CHANGE | IFF_TX_SKB_NO_LINEAR;

	priv = netdev_priv(dev);
	priv->dev = dev;
	priv->vdev = vdev;
	priv->max_pairs = pairs;
	priv->curr_pairs = vnmq_initial_pairs(priv);
	vnmq_ctrl_init(&priv->ctrl);
	vnmq_filter_init(priv);
	vnmq_link_init(priv);
	vdev->priv = priv;
	return dev;
}

/* The stack keeps its device and the device its driver, but nothing moves. */
static void vnmq_detach(struct vnmq_priv *priv)
{
	vnmq_affinity_remove(priv);
	vnmq_filter_stop(priv);

	rtnl_lock();
	netif_device_detach(priv->dev);
	if (netif_running(priv->dev)) {
		vnmq_link_stop(priv);
		/* Nobody is left who would wake a queue again. */
		vnmq_queues_stop(priv);
		netif_tx_disable(priv->dev);
	}
	rtnl_unlock();
	vnmq_link_exit(priv);

	virtio_reset_device(priv->vdev);
}

/* After a kexec the device must not write into what are then somebody else's pages. */
static void vnmq_shutdown(struct device *device)
{
	struct virtio_device *vdev = dev_to_virtio(device);

	vnmq_detach(vdev->priv);
}

static struct virtio_driver vnmq_driver;

static int vnmq_probe(struct virtio_device *vdev)
{
	struct net_device *dev = vnmq_alloc(vdev);
	struct vnmq_priv *priv;
	int ret;

	if (!dev)
		return -ENOMEM;
	priv = netdev_priv(dev);
	/*
	 * Newer kernels do that for every driver of the bus, and complain of one that would,
	 * too.
	 */
	if (!vdev->dev.bus->shutdown)
		vnmq_driver.driver.shutdown = vnmq_shutdown;

	vnmq_features_init(priv);
	vnmq_rss_init(priv);
	ret = vnmq_read_mtu(priv);
	if (ret)
		goto err_free_dev;
	vnmq_read_mac(priv);
	vnmq_choose_layout(priv);
	vnmq_sysfs_init(priv);
	vnmq_xdp_init(priv);
	if (virtio_has_feature(vdev, VIRTIO_NET_F_CTRL_VLAN)) {
		ret = -ENOMEM;
		priv->vlans = bitmap_zalloc(VLAN_N_VID, GFP_KERNEL);
		if (!priv->vlans)
			goto err_free_dev;
	}

	ret = vnmq_queues_alloc(priv);
	if (ret)
		goto err_free_vlans;
	ret = vnmq_coal_init(priv);
	if (ret)
		goto err_free_queues;
	ret = vnmq_queues_create(priv);
	if (ret)
		goto err_exit_coal;
	ret = vnmq_affinity_add(priv);
	if (ret)
		goto err_destroy_queues;
	/* Takes the device as the standby of a pair when it is registered. */
	if (virtio_has_feature(vdev, VIRTIO_NET_F_STANDBY)) {
		priv->failover = net_failover_create(dev);
		ret = PTR_ERR_OR_ZERO(priv->failover);
		if (ret)
			goto err_remove_affinity;
	}
	ret = vnmq_register(priv);
	if (ret)
		goto err_destroy_failover;
	return 0;

err_destroy_failover:
	if (priv->failover)
		net_failover_destroy(priv->failover);
err_remove_affinity:
	vnmq_affinity_remove(priv);
err_destroy_queues:
	virtio_reset_device(vdev);
	vnmq_queues_destroy(priv);
err_exit_coal:
	vnmq_coal_exit(priv);
err_free_queues:
	vnmq_queues_free(priv);
err_free_vlans:
	bitmap_free(priv->vlans);
err_free_dev:
	free_netdev(dev);
	return ret;
}

static void vnmq_remove(struct virtio_device *vdev)
{
	struct vnmq_priv *priv = vdev->priv;

	vnmq_affinity_remove(priv);
	vnmq_filter_stop(priv);
	unregister_netdev(priv->dev);
	vnmq_link_exit(priv);
	if (priv->failover)
		net_failover_destroy(priv->failover);

	virtio_reset_device(vdev);
	vnmq_queues_destroy(priv);
	vnmq_coal_exit(priv);
	vnmq_queues_free(priv);
	bitmap_free(priv->vlans);
	kfree(priv->rss.table);
	free_netdev(priv->dev);
}

static int __maybe_unused vnmq_freeze(struct virtio_device *vdev)
{
	struct vnmq_priv *priv = vdev->priv;

	vnmq_detach(priv);
	vnmq_queues_destroy(priv);
	return 0;
}

static int __maybe_unused vnmq_restore(struct virtio_device *vdev)
{
	struct vnmq_priv *priv = vdev->priv;
	int ret;

	ret = vnmq_queues_create(priv);
	if (ret)
		return ret;
	ret = vnmq_affinity_add(priv);
	if (ret) {
		virtio_reset_device(vdev);
		vnmq_queues_destroy(priv);
		return ret;
	}

	rtnl_lock();
	virtio_device_ready(vdev);
	vnmq_queues_tell_count(priv);
	vnmq_coal_resync(priv);
	if (vnmq_features_resync(priv))
		netdev_warn(priv->dev, "the device did not take the receive offloads\n");
	vnmq_filter_start(priv);
	vnmq_filter_resync(priv);
	if (netif_running(priv->dev)) {
		vnmq_queues_start(priv);
		vnmq_link_start(priv);
	}
	netif_device_attach(priv->dev);
	rtnl_unlock();
	return 0;
}

static const struct virtio_device_id vnmq_id_table[] = {
	{ VIRTIO_ID_NET, VIRTIO_DEV_ANY_ID },
	{ 0 }
};
MODULE_DEVICE_TABLE(virtio, vnmq_id_table);

static struct virtio_driver vnmq_driver = {
	.driver.name			= VNMQ_NAME,
	.driver.owner			= THIS_MODULE,
	.id_table			= vnmq_id_table,
	.feature_table			= vnmq_features,
	.feature_table_legacy		= vnmq_features_legacy,
	.validate			= vnmq_validate,
	.probe				= vnmq_probe,
	.remove				= vnmq_remove,
	.config_changed			= vnmq_config_changed,
#ifdef CONFIG_PM_SLEEP
	.freeze				= vnmq_freeze,
	.restore			= vnmq_restore,
#endif
};

static int __init vnmq_check_parameters(void)
{
	if (vnmq_napi_weight < 1 || vnmq_napi_weight > NAPI_POLL_WEIGHT) {
		pr_err("napi_weight=%d: must be 1 to %d\n", vnmq_napi_weight, NAPI_POLL_WEIGHT);
		return -EINVAL;
	}
	if (vnmq_queue_pairs < 0 || vnmq_queue_pairs > VIRTIO_NET_CTRL_MQ_VQ_PAIRS_MAX) {
		pr_err("queue_pairs=%d: must be 0 (one for each CPU) to %d\n",
		       vnmq_queue_pairs, VIRTIO_NET_CTRL_MQ_VQ_PAIRS_MAX);
		return -EINVAL;
	}
	return 0;
}

static int __init vnmq_module_init(void)
{
	int ret;

	ret = vnmq_check_parameters();
	if (ret)
		return ret;
	ret = vnmq_affinity_init();
	if (ret)
		return ret;

	vnmq_driver.feature_table_size = vnmq_features_count;
	vnmq_driver.feature_table_size_legacy = vnmq_features_legacy_count;
	ret = register_virtio_driver(&vnmq_driver);
	if (ret) {
		if (ret == -EBUSY)
			pr_err("a driver named %s is loaded: unload it (modprobe -r virtio_net)\n",
			       VNMQ_NAME);
		vnmq_affinity_exit();
	}
	return ret;
}
module_init(vnmq_module_init);

static void __exit vnmq_module_exit(void)
{
	unregister_virtio_driver(&vnmq_driver);
	vnmq_affinity_exit();
}
module_exit(vnmq_module_exit);

MODULE_DESCRIPTION("Virtio network driver with many queues");
MODULE_AUTHOR("The virtio_net_mq authors");
MODULE_VERSION(VMQ_VERSION);
MODULE_LICENSE("GPL");
