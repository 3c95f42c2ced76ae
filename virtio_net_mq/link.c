// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the device's configuration says of the link (virtio 1.2, 5.1.4, 5.1.6.5.4).
 *
 * Changes matter from open to stop. Two work items: link_work needs no RTNL, so that stop can
 * wait for it; announce_work takes RTNL and is waited for where that is not held.
 */
#include "virtio_net_mq.h"

/**
 * vnmq_link_update_speed - read speed and duplex
 * @priv: the device
 *
 * Values that mean nothing leave what was known before.
 *
 * Context: process.
 */
void vnmq_link_update_speed(struct vnmq_priv *priv)
{
	u32 speed;
	u8 duplex;

	if (!virtio_has_feature(priv->vdev, VIRTIO_NET_F_SPEED_DUPLEX))
		return;
	virtio_cread_le(priv->vdev, struct virtio_net_config, speed, &speed);
	if (ethtool_validate_speed(speed))
		WRITE_ONCE(priv->speed, speed);
	virtio_cread_le(priv->vdev, struct virtio_net_config, duplex, &duplex);
	if (ethtool_validate_duplex(duplex))
		WRITE_ONCE(priv->duplex, duplex);
}

static void vnmq_link_work(struct work_struct *work)
{
	struct vnmq_priv *priv = container_of(work, struct vnmq_priv, link_work);
	struct net_device *dev = priv->dev;
	u16 status = VIRTIO_NET_S_LINK_UP;

	if (virtio_has_feature(priv->vdev, VIRTIO_NET_F_STATUS))
		virtio_cread(priv->vdev, struct virtio_net_config, status, &status);

	if (status & VIRTIO_NET_S_ANNOUNCE &&
	    virtio_has_feature(priv->vdev, VIRTIO_NET_F_GUEST_ANNOUNCE))
		queue_work(system_long_wq, &priv->announce_work);

	/* A queue that is stopped because its ring is full stays so. */
	if (!(status & VIRTIO_NET_S_LINK_UP)) {
		netif_carrier_off(dev);
	} else if (!netif_carrier_ok(dev)) {
		vnmq_link_update_speed(priv);
		netif_carrier_on(dev);
	}
}

/* The virtual machine may have moved: tell the neighbours, then the device that it was done. */
static void vnmq_announce_work(struct work_struct *work)
{
	struct vnmq_priv *priv = container_of(work, struct vnmq_priv, announce_work);
	bool open;

	rtnl_lock();
	open = priv->running;
	if (open) {
		call_netdevice_notifiers(NETDEV_NOTIFY_PEERS, priv->dev);
		call_netdevice_notifiers(NETDEV_RESEND_IGMP, priv->dev);
	}
	rtnl_unlock();

	if (open && vnmq_ctrl_send(priv, VIRTIO_NET_CTRL_ANNOUNCE, VIRTIO_NET_CTRL_ANNOUNCE_ACK,
				   NULL, 0) && net_ratelimit())
		netdev_warn(priv->dev, "the device did not take the announcement\n");
}

/**
 * vnmq_config_changed - the device changed its configuration
 * @vdev: the device
 *
 * Context: interrupt, or the virtio core when it enables such reports.
 */
void vnmq_config_changed(struct virtio_device *vdev)
{
	struct vnmq_priv *priv = vdev->priv;
	unsigned long flags;

	spin_lock_irqsave(&priv->config_lock, flags);
	if (priv->config_on)
		schedule_work(&priv->link_work);
	spin_unlock_irqrestore(&priv->config_lock, flags);
}

/**
 * vnmq_link_init - before the device can report anything
 * @priv: the device
 */
void vnmq_link_init(struct vnmq_priv *priv)
{
	spin_lock_init(&priv->config_lock);
	INIT_WORK(&priv->link_work, vnmq_link_work);
	INIT_WORK(&priv->announce_work, vnmq_announce_work);
	priv->speed = SPEED_UNKNOWN;
	priv->duplex = DUPLEX_UNKNOWN;
}

/**
 * vnmq_link_start - follow the link, beginning with what it is now
 * @priv: the device is being opened
 *
 * Context: RTNL.
 */
void vnmq_link_start(struct vnmq_priv *priv)
{
	spin_lock_irq(&priv->config_lock);
	priv->config_on = true;
	schedule_work(&priv->link_work);
	spin_unlock_irq(&priv->config_lock);
	flush_work(&priv->link_work);
}

/**
 * vnmq_link_stop - undo vnmq_link_start()
 * @priv: the device is being closed
 *
 * Context: RTNL; an announcement that waits for RTNL finds the device closed.
 */
void vnmq_link_stop(struct vnmq_priv *priv)
{
	spin_lock_irq(&priv->config_lock);
	priv->config_on = false;
	spin_unlock_irq(&priv->config_lock);
	cancel_work_sync(&priv->link_work);
}

/**
 * vnmq_link_exit - wait for an announcement
 * @priv: closed
 *
 * Context: process, without RTNL.
 */
void vnmq_link_exit(struct vnmq_priv *priv)
{
	cancel_work_sync(&priv->announce_work);
}
