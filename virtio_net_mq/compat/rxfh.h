/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ethtool's operations for the receive hash, in the form that the kernel wants: VNMQ_RXFH_OPS
 * is a part of struct ethtool_ops. Included once.
 */
#ifndef VNMQ_COMPAT_RXFH_H
#define VNMQ_COMPAT_RXFH_H

static int vnmq_rxfh_check(u8 hfunc)
{
	return hfunc == ETH_RSS_HASH_NO_CHANGE || hfunc == ETH_RSS_HASH_TOP ? 0 : -EOPNOTSUPP;
}

/* 6.8: one structure instead of the arguments. */
#ifdef VNMQ_HAVE_RXFH_PARAM
static int vnmq_get_rxfh(struct net_device *dev, struct ethtool_rxfh_param *rxfh)
{
	vnmq_rss_get(dev, rxfh->indir, rxfh->key);
	rxfh->hfunc = ETH_RSS_HASH_TOP;
	return 0;
}

static int vnmq_set_rxfh(struct net_device *dev, struct ethtool_rxfh_param *rxfh,
			 struct netlink_ext_ack *extack)
{
	return vnmq_rxfh_check(rxfh->hfunc) ?: vnmq_rss_set(dev, rxfh->indir, rxfh->key);
}
#else
static int vnmq_get_rxfh(struct net_device *dev, u32 *indir, u8 *key, u8 *hfunc)
{
	vnmq_rss_get(dev, indir, key);
	if (hfunc)
		*hfunc = ETH_RSS_HASH_TOP;
	return 0;
}

static int vnmq_set_rxfh(struct net_device *dev, const u32 *indir, const u8 *key, const u8 hfunc)
{
	return vnmq_rxfh_check(hfunc) ?: vnmq_rss_set(dev, indir, key);
}
#endif

/* 6.17 and stable: what is hashed has operations of its own. */
#ifdef VNMQ_HAVE_RXFH_FIELDS
static int vnmq_get_rxfh_fields(struct net_device *dev, struct ethtool_rxfh_fields *fields)
{
	fields->data = vnmq_rss_get_fields(dev, fields->flow_type);
	return 0;
}

static int vnmq_set_rxfh_fields(struct net_device *dev, const struct ethtool_rxfh_fields *fields,
				struct netlink_ext_ack *extack)
{
	return vnmq_rss_set_fields(dev, fields->flow_type, fields->data);
}

#define VNMQ_RXFH_FIELDS_OPS \
	.get_rxfh_fields	= vnmq_get_rxfh_fields, \
	.set_rxfh_fields	= vnmq_set_rxfh_fields,
#else
static int vnmq_set_rxnfc(struct net_device *dev, struct ethtool_rxnfc *info)
{
	return info->cmd == ETHTOOL_SRXFH ?
	       vnmq_rss_set_fields(dev, info->flow_type, info->data) : -EOPNOTSUPP;
}

#define VNMQ_RXFH_FIELDS_OPS	.set_rxnfc = vnmq_set_rxnfc,
#endif

/* 6.18: so has the number of receive queues. */
#ifdef VNMQ_HAVE_RX_RING_COUNT
static u32 vnmq_get_rx_ring_count(struct net_device *dev)
{
	return vnmq_pairs_used(netdev_priv(dev));
}

#define VNMQ_RX_RINGS_OPS	.get_rx_ring_count = vnmq_get_rx_ring_count,
#else
static int vnmq_get_rxnfc(struct net_device *dev, struct ethtool_rxnfc *info, u32 *rules)
{
	switch (info->cmd) {
	case ETHTOOL_GRXRINGS:
		info->data = vnmq_pairs_used(netdev_priv(dev));
		return 0;
#ifndef VNMQ_HAVE_RXFH_FIELDS
	case ETHTOOL_GRXFH:
		info->data = vnmq_rss_get_fields(dev, info->flow_type);
		return 0;
#endif
	default:
		return -EOPNOTSUPP;
	}
}

#define VNMQ_RX_RINGS_OPS	.get_rxnfc = vnmq_get_rxnfc,
#endif

#define VNMQ_RXFH_OPS \
	.get_rxfh_key_size	= vnmq_rss_key_size, \
	.get_rxfh_indir_size	= vnmq_rss_indir_size, \
	.get_rxfh		= vnmq_get_rxfh, \
	.set_rxfh		= vnmq_set_rxfh, \
	VNMQ_RXFH_FIELDS_OPS \
	VNMQ_RX_RINGS_OPS

#endif /* VNMQ_COMPAT_RXFH_H */
