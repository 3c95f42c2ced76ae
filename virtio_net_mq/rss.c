// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receive-side scaling and the hash of received frames (virtio 1.2, 5.1.6.5.6.4, 5.1.6.5.7).
 *
 * With RSS the device delivers by a table from hash to queue; the command that sets it also
 * says how many transmit queues it may use, and takes the place of the one that sets the
 * number of pairs. Without RSS, a device that reports the hash of a frame gets a command of its
 * own that names the key and what is hashed.
 *
 * The table is computed from the number of pairs until a user sets one, which then stays:
 * ethtool refuses numbers of pairs that it does not fit. Everything here is under RTNL, and says
 * what the device has: what it refused was never here.
 */
#include "virtio_net_mq.h"

/* The shortest key that a device may limit drivers to. */
#define VNMQ_RSS_KEY_MIN	40
/* Entries we use at most; no device is known to offer so many. */
#define VNMQ_RSS_TABLE_MAX	4096U

#define VNMQ_RSS_TYPES	(VIRTIO_NET_RSS_HASH_TYPE_IPv4 | VIRTIO_NET_RSS_HASH_TYPE_TCPv4 | \
			 VIRTIO_NET_RSS_HASH_TYPE_UDPv4 | VIRTIO_NET_RSS_HASH_TYPE_IPv6 | \
			 VIRTIO_NET_RSS_HASH_TYPE_TCPv6 | VIRTIO_NET_RSS_HASH_TYPE_UDPv6)

#define VNMQ_RSS_ADDRESSES	(RXH_IP_SRC | RXH_IP_DST)
#define VNMQ_RSS_PORTS		(RXH_L4_B_0_1 | RXH_L4_B_2_3)

/* The command's data are a head, the table, and a tail with the key. */
struct vnmq_rss_head {
	__le32 types;
	__le16 mask;		/* of a hash: entries - 1 */
	__le16 unclassified;	/* queue of what has no hash */
	__le16 table[];
};

struct vnmq_rss_tail {
	__le16 tx_queues;
	u8 key_len;
	u8 key[];
} __packed;

/* What ethtool calls a flow, and the hash types that it may have. */
static const struct vnmq_rss_flow {
	u32 flow;
	u32 addresses;
	u32 ports;
} vnmq_rss_flows[] = {
	{ TCP_V4_FLOW, VIRTIO_NET_RSS_HASH_TYPE_IPv4, VIRTIO_NET_RSS_HASH_TYPE_TCPv4 },
	{ UDP_V4_FLOW, VIRTIO_NET_RSS_HASH_TYPE_IPv4, VIRTIO_NET_RSS_HASH_TYPE_UDPv4 },
	{ TCP_V6_FLOW, VIRTIO_NET_RSS_HASH_TYPE_IPv6, VIRTIO_NET_RSS_HASH_TYPE_TCPv6 },
	{ UDP_V6_FLOW, VIRTIO_NET_RSS_HASH_TYPE_IPv6, VIRTIO_NET_RSS_HASH_TYPE_UDPv6 },
	{ IPV4_FLOW, VIRTIO_NET_RSS_HASH_TYPE_IPv4, 0 },
	{ IPV6_FLOW, VIRTIO_NET_RSS_HASH_TYPE_IPv6, 0 },
};

/* Read the device's limits. Return: NULL, or what is wrong with them. */
static const char *vnmq_rss_read(struct virtio_device *vdev, struct vnmq_rss *rss, bool steer)
{
	u16 entries = 0;
	u32 types;
	u8 key;

	virtio_cread_le(vdev, struct virtio_net_config, rss_max_key_size, &key);
	virtio_cread_le(vdev, struct virtio_net_config, supported_hash_types, &types);
	if (steer)
		virtio_cread_le(vdev, struct virtio_net_config, rss_max_indirection_table_length,
				&entries);
	if (key < VNMQ_RSS_KEY_MIN)
		return "its key is too short";
	if (!(types & VNMQ_RSS_TYPES))
		return "it knows no type of hash";
	if (steer && !entries)
		return "its table is empty";

	rss->key_len = min_t(unsigned int, key, sizeof(rss->key));
	rss->types_all = types & VNMQ_RSS_TYPES;
	/* A table has a power of two of entries. */
	rss->entries = entries ? min(1U << (fls(entries) - 1), VNMQ_RSS_TABLE_MAX) : 0;
	return NULL;
}

/**
 * vnmq_rss_validate - decline what the device cannot mean
 * @vdev: before features are accepted
 *
 * Context: probe.
 */
void vnmq_rss_validate(struct virtio_device *vdev)
{
	bool steer = __virtio_test_bit(vdev, VIRTIO_NET_F_RSS);
	struct vnmq_rss rss;
	const char *why;

	if (!steer && !__virtio_test_bit(vdev, VIRTIO_NET_F_HASH_REPORT))
		return;
	why = vnmq_rss_read(vdev, &rss, steer);
	if (!why)
		return;
	dev_warn(&vdev->dev, "declined RSS and HASH_REPORT of the device: %s\n", why);
	__virtio_clear_bit(vdev, VIRTIO_NET_F_RSS);
	__virtio_clear_bit(vdev, VIRTIO_NET_F_HASH_REPORT);
}

/**
 * vnmq_rss_init - what a device that says nothing else gets: everything hashed, over all pairs
 * @priv: features negotiated, not registered yet
 *
 * Context: probe.
 */
void vnmq_rss_init(struct vnmq_priv *priv)
{
	bool report = virtio_has_feature(priv->vdev, VIRTIO_NET_F_HASH_REPORT);
	bool steer = virtio_has_feature(priv->vdev, VIRTIO_NET_F_RSS);
	struct vnmq_rss *rss = &priv->rss;
	const char *why;

	if (!steer && !report)
		return;
	why = vnmq_rss_read(priv->vdev, rss, steer);
	if (why) {
		dev_warn(&priv->vdev->dev, "without RSS: the device changed its limits, %s\n", why);
		return;
	}
	rss->steer = steer;
	rss->report = report;
	rss->types = rss->types_all;
	netdev_rss_key_fill(rss->key, rss->key_len);
	if (report)
		priv->dev->hw_features |= NETIF_F_RXHASH;
}

/* The user's table, or NULL for the computed one. */
static const u16 *vnmq_rss_table(const struct vnmq_priv *priv)
{
	return netif_is_rxfh_configured(priv->dev) ? priv->rss.table : NULL;
}

static unsigned int vnmq_rss_entry(const u16 *table, unsigned int index, unsigned int pairs)
{
	return ethtool_rxfh_indir_default(table ? table[index] : index, pairs);
}

/* Return: as vnmq_ctrl_exec(), or -ENOMEM. Context: RTNL. */
static int vnmq_rss_send(struct vnmq_priv *priv, const struct vnmq_rss *rss, const u16 *table,
			 unsigned int pairs)
{
	/* The command for the hash alone has the form of an RSS one with a single entry. */
	unsigned int entries = rss->steer ? rss->entries : 1, i;
	struct vnmq_rss_head *head;
	struct vnmq_rss_tail *tail;
	struct vnmq_cmd *cmd;

	cmd = vnmq_cmd_alloc(VIRTIO_NET_CTRL_MQ, rss->steer ? VIRTIO_NET_CTRL_MQ_RSS_CONFIG :
						 VIRTIO_NET_CTRL_MQ_HASH_CONFIG,
			     struct_size(head, table, entries) + sizeof(*tail) + rss->key_len);
	if (!cmd)
		return -ENOMEM;

	head = (struct vnmq_rss_head *)cmd->data;
	tail = (struct vnmq_rss_tail *)&head->table[entries];
	head->types = cpu_to_le32(rss->types);
	if (rss->steer) {
		head->mask = cpu_to_le16(entries - 1);
		for (i = 0; i < entries; i++)
			head->table[i] = cpu_to_le16(vnmq_rss_entry(table, i, pairs));
		tail->tx_queues = cpu_to_le16(pairs);
	}
	tail->key_len = rss->key_len;
	memcpy(tail->key, rss->key, rss->key_len);
	return vnmq_ctrl_exec(priv, cmd);
}

/**
 * vnmq_rss_send_count - the device is to use so many pairs
 * @priv: rss.steer or rss.report is set
 * @pairs: at most max_pairs
 *
 * Return: as vnmq_ctrl_exec(), or -ENOMEM.
 * Context: RTNL.
 */
int vnmq_rss_send_count(struct vnmq_priv *priv, unsigned int pairs)
{
	return vnmq_rss_send(priv, &priv->rss, vnmq_rss_table(priv), pairs);
}

/**
 * vnmq_rss_give_up - the device did not take what it said it could: do without
 * @priv: rss.steer or rss.report is set
 *
 * Context: RTNL.
 */
void vnmq_rss_give_up(struct vnmq_priv *priv)
{
	struct net_device *dev = priv->dev;

	netdev_warn(dev, "the device did not take the settings of its hash: without RSS\n");
	priv->rss.steer = false;
	priv->rss.report = false;
	priv->rss.types_all = 0;
	priv->rss.types = 0;
	dev->hw_features &= ~NETIF_F_RXHASH;
	dev->features &= ~NETIF_F_RXHASH;
}

/* The device is to have @rss and @table instead of priv->rss; when it does not, nothing changes. */
static int vnmq_rss_change(struct vnmq_priv *priv, const struct vnmq_rss *rss, const u16 *table)
{
	int ret = vnmq_rss_send(priv, rss, table, vnmq_pairs_used(priv));

	if (vnmq_ctrl_in_doubt(ret))
		vnmq_rss_send_count(priv, vnmq_pairs_used(priv));
	if (!ret)
		priv->rss = *rss;
	return ret;
}

/**
 * vnmq_rss_key_size - bytes of the key
 * @dev: the device
 *
 * Return: 0 without RSS and hash.
 */
u32 vnmq_rss_key_size(struct net_device *dev)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	return priv->rss.steer || priv->rss.report ? priv->rss.key_len : 0;
}

/**
 * vnmq_rss_indir_size - entries of the table
 * @dev: the device
 *
 * Return: 0 without RSS.
 */
u32 vnmq_rss_indir_size(struct net_device *dev)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	return priv->rss.steer ? priv->rss.entries : 0;
}

/**
 * vnmq_rss_get - `ethtool -x`
 * @dev: the device
 * @indir: room for vnmq_rss_indir_size() entries, or NULL
 * @key: room for vnmq_rss_key_size() bytes, or NULL
 *
 * Context: RTNL.
 */
void vnmq_rss_get(struct net_device *dev, u32 *indir, u8 *key)
{
	struct vnmq_priv *priv = netdev_priv(dev);
	const u16 *table = vnmq_rss_table(priv);
	unsigned int i, n = vnmq_rss_indir_size(dev);

	for (i = 0; indir && i < n; i++)
		indir[i] = vnmq_rss_entry(table, i, vnmq_pairs_used(priv));
	if (key)
		memcpy(key, priv->rss.key, vnmq_rss_key_size(dev));
}

/**
 * vnmq_rss_set - `ethtool -X`
 * @dev: the device
 * @indir: vnmq_rss_indir_size() queues in use, or NULL
 * @key: vnmq_rss_key_size() bytes, or NULL
 *
 * Return: 0, or an error, and then nothing changed; -EOPNOTSUPP for what the device does not have.
 * Context: RTNL.
 */
int vnmq_rss_set(struct net_device *dev, const u32 *indir, const u8 *key)
{
	struct vnmq_priv *priv = netdev_priv(dev);
	struct vnmq_rss rss = priv->rss;
	const u16 *table = vnmq_rss_table(priv);
	u16 *old = priv->rss.table;
	unsigned int i;
	int ret;

	if ((indir && !rss.steer) || (key && !rss.steer && !rss.report))
		return -EOPNOTSUPP;
	if (!indir && !key)
		return 0;
	if (key)
		memcpy(rss.key, key, rss.key_len);
	if (indir) {
		rss.table = kmalloc_array(rss.entries, sizeof(*rss.table), GFP_KERNEL);
		if (!rss.table)
			return -ENOMEM;
		for (i = 0; i < rss.entries; i++)
			rss.table[i] = indir[i];
		table = rss.table;
	}

	ret = vnmq_rss_change(priv, &rss, table);
	if (indir)
		kfree(ret ? rss.table : old);
	return ret;
}

static const struct vnmq_rss_flow *vnmq_rss_flow(u32 flow)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vnmq_rss_flows); i++) {
		if (vnmq_rss_flows[i].flow == flow)
			return &vnmq_rss_flows[i];
	}
	return NULL;
}

/**
 * vnmq_rss_get_fields - `ethtool -n DEV rx-flow-hash`
 * @dev: the device
 * @type: a kind of flow
 *
 * Return: RXH_*, 0 for what has no hash.
 * Context: RTNL.
 */
u32 vnmq_rss_get_fields(struct net_device *dev, u32 type)
{
	const struct vnmq_rss_flow *flow = vnmq_rss_flow(type);
	u32 types = ((struct vnmq_priv *)netdev_priv(dev))->rss.types;

	if (!flow)
		return 0;
	if (types & flow->ports)
		return VNMQ_RSS_ADDRESSES | VNMQ_RSS_PORTS;
	return types & flow->addresses ? VNMQ_RSS_ADDRESSES : 0;
}

/**
 * vnmq_rss_set_fields - `ethtool -N DEV rx-flow-hash`
 * @dev: the device
 * @type: a kind of flow
 * @fields: RXH_*: addresses, addresses and ports, or RXH_DISCARD for no hash
 *
 * What has no hash goes to the first queue. A flow whose ports are hashed has its addresses hashed
 * without ports (fragments), too, as every flow of its IP version then has.
 *
 * Return: 0; -EINVAL when the device cannot do that or refuses; another error of
 * vnmq_ctrl_exec(). Nothing changed then.
 * Context: RTNL.
 */
int vnmq_rss_set_fields(struct net_device *dev, u32 type, u32 fields)
{
	const struct vnmq_rss_flow *flow = vnmq_rss_flow(type);
	struct vnmq_priv *priv = netdev_priv(dev);
	struct vnmq_rss rss = priv->rss;

	if (!flow)
		return -EINVAL;
	rss.types &= ~(flow->addresses | flow->ports);
	if (fields == VNMQ_RSS_ADDRESSES)
		rss.types |= flow->addresses;
	else if (fields == (VNMQ_RSS_ADDRESSES | VNMQ_RSS_PORTS) && flow->ports)
		rss.types |= flow->addresses | flow->ports;
	else if (!(fields & RXH_DISCARD))
		return -EINVAL;

	if (rss.types & ~rss.types_all)
		return -EINVAL;
	if (rss.types == priv->rss.types)
		return 0;
	return vnmq_rss_change(priv, &rss, vnmq_rss_table(priv));
}

/**
 * vnmq_rss_hash_to_skb - what the device computed
 * @hdr: a copy that the device cannot reach
 * @skb: the frame
 *
 * Context: NAPI.
 */
void vnmq_rss_hash_to_skb(const struct vnmq_hdr_hash *hdr, struct sk_buff *skb)
{
	u32 hash = le16_to_cpu(hdr->hash_low) | (u32)le16_to_cpu(hdr->hash_high) << 16;

	switch (le16_to_cpu(hdr->report)) {
	case VIRTIO_NET_HASH_REPORT_TCPv4:
	case VIRTIO_NET_HASH_REPORT_UDPv4:
	case VIRTIO_NET_HASH_REPORT_TCPv6:
	case VIRTIO_NET_HASH_REPORT_UDPv6:
	case VIRTIO_NET_HASH_REPORT_TCPv6_EX:
	case VIRTIO_NET_HASH_REPORT_UDPv6_EX:
		skb_set_hash(skb, hash, PKT_HASH_TYPE_L4);
		break;
	case VIRTIO_NET_HASH_REPORT_IPv4:
	case VIRTIO_NET_HASH_REPORT_IPv6:
	case VIRTIO_NET_HASH_REPORT_IPv6_EX:
		skb_set_hash(skb, hash, PKT_HASH_TYPE_L3);
		break;
	}
}
