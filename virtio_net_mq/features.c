// SPDX-License-Identifier: GPL-2.0-only
/*
 * Features (virtio 1.2, 5.1.3): what the driver knows, what depends on what, and what becomes
 * of them in the stack.
 */
#include "virtio_net_mq.h"

#define VNMQ_FEATURES \
	VIRTIO_NET_F_CSUM, VIRTIO_NET_F_GUEST_CSUM, VIRTIO_NET_F_CTRL_GUEST_OFFLOADS, \
	VIRTIO_NET_F_MTU, VIRTIO_NET_F_MAC, \
	VIRTIO_NET_F_GUEST_TSO4, VIRTIO_NET_F_GUEST_TSO6, VIRTIO_NET_F_GUEST_ECN, \
	VIRTIO_NET_F_GUEST_UFO, VNMQ_F_GUEST_USO4, VNMQ_F_GUEST_USO6, \
	VIRTIO_NET_F_HOST_TSO4, VIRTIO_NET_F_HOST_TSO6, VIRTIO_NET_F_HOST_ECN, \
	VIRTIO_NET_F_HOST_UFO, VNMQ_F_HOST_USO, VNMQ_F_GUEST_HDRLEN, /* it always is exact */ \
	VIRTIO_NET_F_MRG_RXBUF, VIRTIO_NET_F_STATUS, VIRTIO_NET_F_CTRL_VQ, VIRTIO_NET_F_CTRL_RX, \
	VIRTIO_NET_F_CTRL_VLAN, VIRTIO_NET_F_GUEST_ANNOUNCE, VIRTIO_NET_F_MQ, \
	VIRTIO_NET_F_CTRL_MAC_ADDR, VIRTIO_NET_F_SPEED_DUPLEX, \
	VIRTIO_NET_F_RSS, VIRTIO_NET_F_HASH_REPORT, VIRTIO_NET_F_NOTF_COAL, VNMQ_F_VQ_NOTF_COAL, \
	VIRTIO_NET_F_STANDBY

const unsigned int vnmq_features[] = { VNMQ_FEATURES };
const unsigned int vnmq_features_count = ARRAY_SIZE(vnmq_features);

const unsigned int vnmq_features_legacy[] = {
	VNMQ_FEATURES, VIRTIO_NET_F_GSO, VIRTIO_F_ANY_LAYOUT
};

const unsigned int vnmq_features_legacy_count = ARRAY_SIZE(vnmq_features_legacy);

/* A feature that means nothing without one of the others (virtio 1.2, 5.1.3.1). */
struct vnmq_dependency {
	unsigned int feature;
	const char *name;
	unsigned int needs[2];
	const char *needs_name;
};

#define VNMQ_NEEDS(feature, need) \
	{ VIRTIO_NET_F_##feature, #feature, { VIRTIO_NET_F_##need, VIRTIO_NET_F_##need }, #need }
#define VNMQ_OWN_NEEDS(feature, need) \
	{ VNMQ_F_##feature, #feature, { VIRTIO_NET_F_##need, VIRTIO_NET_F_##need }, #need }

/* In an order that lets one pass do: what depends on a dependent feature comes after it. */
static const struct vnmq_dependency vnmq_dependencies[] = {
	VNMQ_NEEDS(CTRL_RX, CTRL_VQ),
	VNMQ_NEEDS(CTRL_VLAN, CTRL_VQ),
	VNMQ_NEEDS(GUEST_ANNOUNCE, CTRL_VQ),
	VNMQ_NEEDS(GUEST_ANNOUNCE, STATUS),
	VNMQ_NEEDS(MQ, CTRL_VQ),
	VNMQ_NEEDS(CTRL_MAC_ADDR, CTRL_VQ),
	VNMQ_NEEDS(CTRL_GUEST_OFFLOADS, CTRL_VQ),
	VNMQ_NEEDS(RSS, CTRL_VQ),
	VNMQ_NEEDS(HASH_REPORT, CTRL_VQ),
	VNMQ_NEEDS(STANDBY, MAC),
	VNMQ_NEEDS(NOTF_COAL, CTRL_VQ),
	VNMQ_OWN_NEEDS(VQ_NOTF_COAL, CTRL_VQ),
	VNMQ_NEEDS(GUEST_TSO4, GUEST_CSUM),
	VNMQ_NEEDS(GUEST_TSO6, GUEST_CSUM),
	{ VIRTIO_NET_F_GUEST_ECN, "GUEST_ECN",
	  { VIRTIO_NET_F_GUEST_TSO4, VIRTIO_NET_F_GUEST_TSO6 }, "GUEST_TSO4 or GUEST_TSO6" },
	VNMQ_NEEDS(GUEST_UFO, GUEST_CSUM),
	VNMQ_OWN_NEEDS(GUEST_USO4, GUEST_CSUM),
	VNMQ_OWN_NEEDS(GUEST_USO6, GUEST_CSUM),
	VNMQ_NEEDS(HOST_TSO4, CSUM),
	VNMQ_NEEDS(HOST_TSO6, CSUM),
	{ VIRTIO_NET_F_HOST_ECN, "HOST_ECN",
	  { VIRTIO_NET_F_HOST_TSO4, VIRTIO_NET_F_HOST_TSO6 }, "HOST_TSO4 or HOST_TSO6" },
	VNMQ_NEEDS(HOST_UFO, CSUM),
	VNMQ_OWN_NEEDS(HOST_USO, CSUM),
};

/* What CTRL_GUEST_OFFLOADS may switch. */
static const unsigned int vnmq_guest_offload_bits[] = {
	VIRTIO_NET_F_GUEST_CSUM, VIRTIO_NET_F_GUEST_TSO4, VIRTIO_NET_F_GUEST_TSO6,
	VIRTIO_NET_F_GUEST_ECN, VIRTIO_NET_F_GUEST_UFO, VNMQ_F_GUEST_USO4, VNMQ_F_GUEST_USO6,
};

/* What NETIF_F_GRO_HW stands for: frames that the device merged. */
#define VNMQ_GRO_HW_OFFLOADS	(BIT_ULL(VIRTIO_NET_F_GUEST_TSO4) | \
				 BIT_ULL(VIRTIO_NET_F_GUEST_TSO6) | \
				 BIT_ULL(VIRTIO_NET_F_GUEST_ECN) | \
				 BIT_ULL(VIRTIO_NET_F_GUEST_UFO) | \
				 BIT_ULL(VNMQ_F_GUEST_USO4) | BIT_ULL(VNMQ_F_GUEST_USO6))

/* Decline what lacks what it depends on, and say so in one line. */
static void vnmq_decline_dependents(struct virtio_device *vdev)
{
	char declined[384];
	unsigned int i;
	int len = 0;

	for (i = 0; i < ARRAY_SIZE(vnmq_dependencies); i++) {
		const struct vnmq_dependency *dep = &vnmq_dependencies[i];

		if (!__virtio_test_bit(vdev, dep->feature) ||
		    __virtio_test_bit(vdev, dep->needs[0]) ||
		    __virtio_test_bit(vdev, dep->needs[1]))
			continue;
		len += scnprintf(declined + len, sizeof(declined) - len, "%s%s (needs %s)",
				 len ? ", " : "", dep->name, dep->needs_name);
		__virtio_clear_bit(vdev, dep->feature);
	}
	if (len)
		dev_warn(&vdev->dev, "declined what lacks what it needs: %s\n", declined);
}

/**
 * vnmq_validate - look at the offered features before they are accepted
 * @vdev: the device
 *
 * A feature without what it depends on is declined, and the device works without it.
 *
 * Return: 0, or -EINVAL when the transport gives no access to the configuration.
 * Context: probe.
 */
int vnmq_validate(struct virtio_device *vdev)
{
	if (!vdev->config->get) {
		dev_err(&vdev->dev, "no access to the device's configuration\n");
		return -EINVAL;
	}

	vnmq_decline_dependents(vdev);
	vnmq_rss_validate(vdev);

	if (__virtio_test_bit(vdev, VIRTIO_NET_F_MTU)) {
		u16 mtu = virtio_cread16(vdev, offsetof(struct virtio_net_config, mtu));

		if (mtu < ETH_MIN_MTU) {
			dev_warn(&vdev->dev, "the device's MTU of %u is too small: declined\n",
				 mtu);
			__virtio_clear_bit(vdev, VIRTIO_NET_F_MTU);
		}
	}
	return 0;
}

/**
 * vnmq_guest_gso - may the device deliver frames longer than the MTU
 * @vdev: with features negotiated
 *
 * Return: true if it may.
 */
bool vnmq_guest_gso(const struct virtio_device *vdev)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vnmq_guest_offload_bits); i++) {
		unsigned int bit = vnmq_guest_offload_bits[i];

		if (BIT_ULL(bit) & VNMQ_GRO_HW_OFFLOADS &&
		    virtio_has_feature(vdev, bit))
			return true;
	}
	return false;
}

/**
 * vnmq_features_init - offer the stack what was negotiated
 * @priv: not registered yet
 *
 * Context: probe.
 */
void vnmq_features_init(struct vnmq_priv *priv)
{
	struct virtio_device *vdev = priv->vdev;
	struct net_device *dev = priv->dev;
	unsigned int i;

	dev->features |= NETIF_F_HIGHDMA;
	if (virtio_has_feature(vdev, VIRTIO_NET_F_CSUM)) {
		netdev_features_t gso = 0;

		if (virtio_has_feature(vdev, VIRTIO_NET_F_GSO))
			gso |= NETIF_F_TSO | NETIF_F_TSO_ECN | NETIF_F_TSO6;
		if (virtio_has_feature(vdev, VIRTIO_NET_F_HOST_TSO4))
			gso |= NETIF_F_TSO;
		if (virtio_has_feature(vdev, VIRTIO_NET_F_HOST_TSO6))
			gso |= NETIF_F_TSO6;
		if (virtio_has_feature(vdev, VIRTIO_NET_F_HOST_ECN))
			gso |= NETIF_F_TSO_ECN;
		if (virtio_has_feature(vdev, VNMQ_F_HOST_USO))
			gso |= NETIF_F_GSO_UDP_L4;
		/* Datagrams to be fragmented come from other virtual machines, never from here. */
		if (virtio_has_feature(vdev, VIRTIO_NET_F_HOST_UFO))
			gso |= NETIF_F_GSO_UDP;

		dev->hw_features |= NETIF_F_HW_CSUM | NETIF_F_SG | gso;
		if (vnmq_csum)
			dev->features |= NETIF_F_HW_CSUM | NETIF_F_SG;
		if (vnmq_csum && vnmq_gso)
			dev->features |= gso;
		dev->features |= NETIF_F_GSO_ROBUST;
	}
	/* Frames whose checksum the device left open count as good. */
	dev->features |= NETIF_F_RXCSUM;
	if (virtio_has_feature(vdev, VIRTIO_NET_F_CTRL_VLAN))
		dev->features |= NETIF_F_HW_VLAN_CTAG_FILTER;

	for (i = 0; i < ARRAY_SIZE(vnmq_guest_offload_bits); i++) {
		if (virtio_has_feature(vdev, vnmq_guest_offload_bits[i]))
			priv->guest_offloads_all |= BIT_ULL(vnmq_guest_offload_bits[i]);
	}
	priv->guest_offloads = priv->guest_offloads_all;
	/* Only what can be switched off is shown: the stack insists on that now and then. */
	if (virtio_has_feature(vdev, VIRTIO_NET_F_CTRL_GUEST_OFFLOADS) &&
	    priv->guest_offloads_all & VNMQ_GRO_HW_OFFLOADS) {
		dev->hw_features |= NETIF_F_GRO_HW;
		dev->features |= NETIF_F_GRO_HW;
	}

	dev->vlan_features = dev->features & ~NETIF_F_HW_VLAN_CTAG_FILTER;
}

/* What the device may use with @features of the stack: no XDP program is there. */
static u64 vnmq_offloads_of(const struct vnmq_priv *priv, netdev_features_t features)
{
	u64 offloads = priv->guest_offloads_all;

	if (priv->dev->hw_features & NETIF_F_GRO_HW && !(features & NETIF_F_GRO_HW))
		offloads &= ~VNMQ_GRO_HW_OFFLOADS;
	return offloads;
}

static int vnmq_offloads_send(struct vnmq_priv *priv, u64 offloads)
{
	__virtio64 value = __cpu_to_virtio64(priv->le, offloads);

	return vnmq_ctrl_send(priv, VIRTIO_NET_CTRL_GUEST_OFFLOADS,
			      VIRTIO_NET_CTRL_GUEST_OFFLOADS_SET, &value, sizeof(value));
}

static int vnmq_offloads_change(struct vnmq_priv *priv, u64 offloads)
{
	int ret = vnmq_offloads_send(priv, offloads);

	if (vnmq_ctrl_in_doubt(ret))
		vnmq_offloads_send(priv, priv->guest_offloads);
	if (!ret)
		priv->guest_offloads = offloads;
	return ret;
}

/**
 * vnmq_set_features - `ethtool -K`
 * @dev: the device
 * @features: wanted
 *
 * Return: 0, or an error, and then nothing changed.
 * Context: RTNL.
 */
int vnmq_set_features(struct net_device *dev, netdev_features_t features)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	if (!((dev->features ^ features) & NETIF_F_GRO_HW))
		return 0;
	/* The device hears of it when the program that keeps them off is gone. */
	if (priv->xdp_prog)
		return 0;
	return vnmq_offloads_change(priv, vnmq_offloads_of(priv, features));
}

/**
 * vnmq_features_set_xdp - an XDP program wants frames as they were sent
 * @priv: the device
 * @on: there is one; else receive offloads are again as `ethtool -K` has them
 *
 * Return: 0, or an error of vnmq_ctrl_exec(), and then nothing changed.
 * Context: RTNL.
 */
int vnmq_features_set_xdp(struct vnmq_priv *priv, bool on)
{
	u64 offloads = on ? 0 : vnmq_offloads_of(priv, priv->dev->features);

	return offloads == priv->guest_offloads ? 0 : vnmq_offloads_change(priv, offloads);
}

/**
 * vnmq_features_resync - switch off again in a device that was reset what was off before
 * @priv: the device, ready
 *
 * Return: 0 or an error of vnmq_ctrl_exec().
 * Context: RTNL.
 */
int vnmq_features_resync(struct vnmq_priv *priv)
{
	if (priv->guest_offloads == priv->guest_offloads_all)
		return 0;
	return vnmq_offloads_send(priv, priv->guest_offloads);
}
