// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the device lets through: MAC address, receive filter, VLANs (virtio 1.2, 5.1.6.5.1 to
 * 5.1.6.5.3).
 *
 * The stack tells of a new receive filter with a spinlock held, and a command has to wait for its
 * answer: a work item does that. It needs no RTNL, so neither waits for the other. Nobody hears of
 * its failure, so it tries again.
 */
#include "virtio_net_mq.h"

/* After a device that did not answer, or without memory: the filter is sent again. */
#define VNMQ_FILTER_RETRY	(5 * HZ)

static int vnmq_rx_send_bool(struct vnmq_priv *priv, u8 command, bool on)
{
	u8 value = on;

	return vnmq_ctrl_send(priv, VIRTIO_NET_CTRL_RX, command, &value, sizeof(value));
}

/* One part of the filter table. Return: bytes. Context: netif_addr_lock. */
static size_t vnmq_filter_put(struct vnmq_priv *priv, void *at, struct netdev_hw_addr_list *list)
{
	struct virtio_net_ctrl_mac *table = at;
	struct netdev_hw_addr *ha;
	unsigned int n = 0;

	netdev_hw_addr_list_for_each(ha, list)
		memcpy(table->macs[n++], ha->addr, ETH_ALEN);
	table->entries = __cpu_to_virtio32(priv->le, n);
	return sizeof(*table) + n * ETH_ALEN;
}

static size_t vnmq_filter_size(const struct net_device *dev)
{
	return 2 * sizeof(struct virtio_net_ctrl_mac) +
	       (size_t)ETH_ALEN * (netdev_uc_count(dev) + netdev_mc_count(dev));
}

/* The address lists as they are now, as a command. Return: NULL without memory. */
static struct vnmq_cmd *vnmq_filter_build(struct vnmq_priv *priv)
{
	struct net_device *dev = priv->dev;
	struct vnmq_cmd *cmd;
	size_t size;

	for (;;) {
		netif_addr_lock_bh(dev);
		size = vnmq_filter_size(dev);
		netif_addr_unlock_bh(dev);

		cmd = vnmq_cmd_alloc(VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_TABLE_SET, size);
		if (!cmd)
			return NULL;

		netif_addr_lock_bh(dev);
		if (vnmq_filter_size(dev) <= size) {
			cmd->split = vnmq_filter_put(priv, cmd->data, &dev->uc);
			cmd->len = cmd->split;
			cmd->len += vnmq_filter_put(priv, cmd->data + cmd->split, &dev->mc);
			netif_addr_unlock_bh(dev);
			return cmd;
		}
		netif_addr_unlock_bh(dev);
		kfree(cmd);	/* an address was added meanwhile */
	}
}

static void vnmq_rx_mode_work(struct work_struct *work)
{
	struct vnmq_priv *priv = container_of(to_delayed_work(work), struct vnmq_priv,
					       rx_mode_work);
	unsigned int flags = READ_ONCE(priv->dev->flags);
	bool promisc = flags & IFF_PROMISC;
	bool allmulti = flags & IFF_ALLMULTI;
	bool known = priv->sent_valid;
	bool again = false;
	struct vnmq_cmd *table;
	int ret = 0;

	table = vnmq_filter_build(priv);
	/* Rather too much than too little, for a while. */
	if (!table) {
		promisc = true;
		again = true;
	}

	/* What the device refuses keeps nothing else from it; one that does not answer waits. */
	if (!known || promisc != priv->sent_promisc)
		ret = vnmq_rx_send_bool(priv, VIRTIO_NET_CTRL_RX_PROMISC, promisc);
	if ((!ret || ret == -EINVAL) && (!known || allmulti != priv->sent_allmulti))
		ret = vnmq_rx_send_bool(priv, VIRTIO_NET_CTRL_RX_ALLMULTI, allmulti) ?: ret;
	if ((!ret || ret == -EINVAL) && table) {
		ret = vnmq_ctrl_exec(priv, table) ?: ret;
		table = NULL;
	}
	kfree(table);

	priv->sent_promisc = promisc;
	priv->sent_allmulti = allmulti;
	priv->sent_valid = !ret;
	if (ret && !priv->filter_again && net_ratelimit())
		netdev_warn(priv->dev, "the device did not take the receive filter: %d\n", ret);

	if (vnmq_ctrl_in_doubt(ret) || ret == -EBUSY || ret == -ENOMEM)
		again = true;
	priv->filter_again = again;
	if (again)
		queue_delayed_work(system_long_wq, &priv->rx_mode_work, VNMQ_FILTER_RETRY);
}

/**
 * vnmq_set_rx_mode - the receive filter changed
 * @dev: the device
 *
 * Context: netif_addr_lock.
 */
void vnmq_set_rx_mode(struct net_device *dev)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	if (priv->rx_mode_on)
		mod_delayed_work(system_long_wq, &priv->rx_mode_work, 0);
}

/**
 * vnmq_filter_init - before the device is registered
 * @priv: the device
 */
void vnmq_filter_init(struct vnmq_priv *priv)
{
	INIT_DELAYED_WORK(&priv->rx_mode_work, vnmq_rx_mode_work);
}

/**
 * vnmq_filter_start - the device is ready: changes of the filter go there from now on
 * @priv: the device
 *
 * Context: process.
 */
void vnmq_filter_start(struct vnmq_priv *priv)
{
	if (!virtio_has_feature(priv->vdev, VIRTIO_NET_F_CTRL_RX))
		return;
	netif_addr_lock_bh(priv->dev);
	priv->sent_valid = false;
	priv->rx_mode_on = true;
	netif_addr_unlock_bh(priv->dev);
}

/**
 * vnmq_filter_stop - no work runs or starts from now on
 * @priv: the device
 *
 * Context: process.
 */
void vnmq_filter_stop(struct vnmq_priv *priv)
{
	netif_addr_lock_bh(priv->dev);
	priv->rx_mode_on = false;
	netif_addr_unlock_bh(priv->dev);
	cancel_delayed_work_sync(&priv->rx_mode_work);
}

/**
 * vnmq_filter_resync - tell a device that was reset all of its filters
 * @priv: the device, ready, after vnmq_filter_start()
 *
 * Context: RTNL.
 */
void vnmq_filter_resync(struct vnmq_priv *priv)
{
	unsigned int vid;

	if (virtio_has_feature(priv->vdev, VIRTIO_NET_F_CTRL_MAC_ADDR) &&
	    vnmq_mac_send(priv, priv->dev->dev_addr))
		netdev_warn(priv->dev, "the device did not take the MAC address\n");
	if (priv->vlans) {
		for_each_set_bit(vid, priv->vlans, VLAN_N_VID) {
			__virtio16 id = __cpu_to_virtio16(priv->le, vid);

			if (vnmq_ctrl_send(priv, VIRTIO_NET_CTRL_VLAN, VIRTIO_NET_CTRL_VLAN_ADD,
					   &id, sizeof(id)))
				netdev_warn(priv->dev, "the device did not take VLAN %u\n", vid);
		}
	}
	netif_addr_lock_bh(priv->dev);
	vnmq_set_rx_mode(priv->dev);
	netif_addr_unlock_bh(priv->dev);
}

/**
 * vnmq_mac_send - give the device its MAC address in one piece
 * @priv: with VIRTIO_NET_F_CTRL_MAC_ADDR
 * @addr: ETH_ALEN bytes
 *
 * Return: 0 or an error of vnmq_ctrl_exec().
 * Context: process.
 */
int vnmq_mac_send(struct vnmq_priv *priv, const u8 *addr)
{
	return vnmq_ctrl_send(priv, VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_ADDR_SET,
			      addr, ETH_ALEN);
}

/**
 * vnmq_set_mac_address - `ip link set address`
 * @dev: the device
 * @addr: struct sockaddr
 *
 * The standby of a pair has the address by which its primary is found.
 *
 * Return: 0, or an error, and then the old address is in use.
 * Context: RTNL.
 */
int vnmq_set_mac_address(struct net_device *dev, void *addr)
{
	struct vnmq_priv *priv = netdev_priv(dev);
	struct virtio_device *vdev = priv->vdev;
	const u8 *mac = ((struct sockaddr *)addr)->sa_data;
	unsigned int i;
	int ret;

	if (virtio_has_feature(vdev, VIRTIO_NET_F_STANDBY))
		return -EOPNOTSUPP;
	ret = eth_prepare_mac_addr_change(dev, addr);
	if (ret)
		return ret;

	if (virtio_has_feature(vdev, VIRTIO_NET_F_CTRL_MAC_ADDR)) {
		ret = vnmq_mac_send(priv, mac);
		if (vnmq_ctrl_in_doubt(ret))
			vnmq_mac_send(priv, dev->dev_addr);
		if (ret)
			return ret;
	} else if (virtio_has_feature(vdev, VIRTIO_NET_F_MAC) &&
		   !virtio_has_feature(vdev, VIRTIO_F_VERSION_1)) {
		/* Only the configuration of a legacy device may be written, byte by byte. */
		for (i = 0; i < ETH_ALEN; i++)
			virtio_cwrite8(vdev, offsetof(struct virtio_net_config, mac) + i, mac[i]);
	}
	eth_commit_mac_addr_change(dev, addr);
	return 0;
}

static int vnmq_vlan_send(struct vnmq_priv *priv, u8 command, u16 vid)
{
	__virtio16 id = __cpu_to_virtio16(priv->le, vid);
	int ret;

	ret = vnmq_ctrl_send(priv, VIRTIO_NET_CTRL_VLAN, command, &id, sizeof(id));
	if (ret)
		return ret;
	if (command == VIRTIO_NET_CTRL_VLAN_ADD)
		__set_bit(vid, priv->vlans);
	else
		__clear_bit(vid, priv->vlans);
	return 0;
}

/**
 * vnmq_vlan_add - let frames of a VLAN through
 * @dev: with VIRTIO_NET_F_CTRL_VLAN
 * @proto: 802.1Q, the only one that the device filters
 * @vid: 0 to 4094
 *
 * Return: 0 or an error of vnmq_ctrl_exec().
 * Context: RTNL.
 */
int vnmq_vlan_add(struct net_device *dev, __be16 proto, u16 vid)
{
	return vnmq_vlan_send(netdev_priv(dev), VIRTIO_NET_CTRL_VLAN_ADD, vid);
}

/**
 * vnmq_vlan_kill - undo vnmq_vlan_add()
 * @dev: as there
 * @proto: as there
 * @vid: as there
 *
 * Return: 0 or an error of vnmq_ctrl_exec().
 * Context: RTNL.
 */
int vnmq_vlan_kill(struct net_device *dev, __be16 proto, u16 vid)
{
	return vnmq_vlan_send(netdev_priv(dev), VIRTIO_NET_CTRL_VLAN_DEL, vid);
}
