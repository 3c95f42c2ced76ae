// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupt coalescing (virtio 1.2 and 1.3, 5.1.6.5.9): how many frames or microseconds the device
 * may gather before it interrupts, for all queues of a direction or for one, and a receive
 * queue's numbers chosen by what it receives (DIM).
 *
 * The numbers of a queue are those that the device has: with each command that it may yet carry
 * out though nobody waits for it any more, the old numbers follow. A command for all queues
 * ends what single ones had. A device that was reset has none, and a queue that was reset has those
 * of all: they are told again.
 *
 * coal.lock is inside RTNL, and DIM's work takes it without RTNL: closing waits for that work.
 */
#include "virtio_net_mq.h"
#include "compat/dim.h"

#define VNMQ_COAL_TX_SET	0
#define VNMQ_COAL_RX_SET	1
#define VNMQ_COAL_VQ_SET	2

struct vnmq_coal_data {
	__le32 frames;
	__le32 usecs;
};

struct vnmq_coal_vq_data {
	__le16 vq;
	__le16 reserved;
	struct vnmq_coal_data coal;
};

static bool vnmq_coal_has_all(const struct vnmq_priv *priv)
{
	return virtio_has_feature(priv->vdev, VIRTIO_NET_F_NOTF_COAL);
}

static bool vnmq_coal_has_vq(const struct vnmq_priv *priv)
{
	return virtio_has_feature(priv->vdev, VNMQ_F_VQ_NOTF_COAL);
}

static bool vnmq_coal_equal(const struct vnmq_coal *a, const struct vnmq_coal *b)
{
	return a->frames == b->frames && a->usecs == b->usecs;
}

/* Of all queues of a direction. */
static struct vnmq_coal *vnmq_coal_all(struct vnmq_priv *priv, bool tx)
{
	return tx ? &priv->coal.tx : &priv->coal.rx;
}

/* Of one. */
static struct vnmq_coal *vnmq_coal_of(struct vnmq_priv *priv, bool tx, unsigned int pair)
{
	return tx ? &priv->sq[pair].coal : &priv->rq[pair].coal;
}

/* Return: as vnmq_ctrl_send(). */
static int vnmq_coal_send_all(struct vnmq_priv *priv, bool tx, const struct vnmq_coal *coal)
{
	struct vnmq_coal_data data = {
		.frames = cpu_to_le32(coal->frames),
		.usecs = cpu_to_le32(coal->usecs),
	};

	return vnmq_ctrl_send(priv, VIRTIO_NET_CTRL_NOTF_COAL,
			      tx ? VNMQ_COAL_TX_SET : VNMQ_COAL_RX_SET, &data, sizeof(data));
}

/* Return: as vnmq_ctrl_send(). */
static int vnmq_coal_send_vq(struct vnmq_priv *priv, bool tx, unsigned int pair,
			     const struct vnmq_coal *coal)
{
	struct vnmq_coal_vq_data data = {
		.vq = cpu_to_le16(tx ? vnmq_txq_to_vq(pair) : vnmq_rxq_to_vq(pair)),
		.coal.frames = cpu_to_le32(coal->frames),
		.coal.usecs = cpu_to_le32(coal->usecs),
	};

	return vnmq_ctrl_send(priv, VIRTIO_NET_CTRL_NOTF_COAL, VNMQ_COAL_VQ_SET,
			      &data, sizeof(data));
}

/*
 * Tell the device all numbers of a direction, whatever becomes of the first: it may carry all of
 * them out later. Return: the first error. Context: coal.lock.
 */
static int vnmq_coal_tell(struct vnmq_priv *priv, bool tx)
{
	const struct vnmq_coal *all = vnmq_coal_all(priv, tx);
	unsigned int i;
	int ret = 0;

	if (vnmq_coal_has_all(priv))
		ret = vnmq_coal_send_all(priv, tx, all);
	for (i = 0; i < priv->max_pairs && vnmq_coal_has_vq(priv); i++) {
		int err = 0;

		if (!vnmq_coal_equal(vnmq_coal_of(priv, tx, i), all))
			err = vnmq_coal_send_vq(priv, tx, i, vnmq_coal_of(priv, tx, i));
		ret = ret ?: err;
	}
	return ret;
}

/* Return: as vnmq_ctrl_send(); nothing changed unless 0. Context: coal.lock. */
static int vnmq_coal_change_all(struct vnmq_priv *priv, bool tx, const struct vnmq_coal *coal)
{
	int ret = vnmq_coal_send_all(priv, tx, coal);
	unsigned int i;

	if (vnmq_ctrl_in_doubt(ret))
		vnmq_coal_tell(priv, tx);
	if (ret)
		return ret;
	*vnmq_coal_all(priv, tx) = *coal;
	for (i = 0; i < priv->max_pairs; i++)
		*vnmq_coal_of(priv, tx, i) = *coal;
	return 0;
}

/* Return: as vnmq_ctrl_send(); nothing changed unless 0. Context: coal.lock. */
static int vnmq_coal_change_vq(struct vnmq_priv *priv, bool tx, unsigned int pair,
			       const struct vnmq_coal *coal)
{
	int ret = vnmq_coal_send_vq(priv, tx, pair, coal);

	if (vnmq_ctrl_in_doubt(ret))
		vnmq_coal_send_vq(priv, tx, pair, vnmq_coal_of(priv, tx, pair));
	if (!ret)
		*vnmq_coal_of(priv, tx, pair) = *coal;
	return ret;
}

/* DIM has new numbers for a queue. The device's refusal leaves the old ones, until the next. */
static void vnmq_coal_dim_work(struct work_struct *work)
{
	struct dim *dim = container_of(work, struct dim, work);
	struct vnmq_rq *rq = container_of(dim, struct vnmq_rq, dim);
	struct vnmq_priv *priv = rq->priv;
	struct dim_cq_moder moder = vnmq_dim_moder(priv->dev, dim);
	struct vnmq_coal coal = { .frames = moder.pkts, .usecs = moder.usec };

	mutex_lock(&priv->coal.lock);
	if (rq->adaptive && !vnmq_coal_equal(&coal, &rq->coal))
		vnmq_coal_change_vq(priv, false, rq->index, &coal);
	mutex_unlock(&priv->coal.lock);
	dim->state = DIM_START_MEASURE;
}

/**
 * vnmq_coal_sample - tell DIM what the queue received
 * @rq: the queue, at the end of a poll that will be followed by an interrupt
 *
 * Context: NAPI of @rq.
 */
void vnmq_coal_sample(struct vnmq_rq *rq)
{
	struct dim_sample sample = {};

	dim_update_sample(++rq->events, u64_stats_read(&rq->count[VNMQ_RX_PACKETS]),
			  u64_stats_read(&rq->count[VNMQ_RX_BYTES]), &sample);
	vnmq_net_dim(&rq->dim, &sample);
}

/**
 * vnmq_coal_stop - no work of DIM's is left
 * @rq: a queue with NAPI off
 *
 * Context: process.
 */
void vnmq_coal_stop(struct vnmq_rq *rq)
{
	cancel_work_sync(&rq->dim.work);
	rq->dim.state = DIM_START_MEASURE;
}

/**
 * vnmq_coal_init - numbers of a new device
 * @priv: queues allocated, not registered yet
 *
 * No frames at all stand for transmit without NAPI, as they do in the stock driver.
 *
 * Return: 0 or -ENOMEM.
 * Context: probe.
 */
int vnmq_coal_init(struct vnmq_priv *priv)
{
	unsigned int i;

	mutex_init(&priv->coal.lock);
	for (i = 0; i < priv->max_pairs; i++) {
		INIT_WORK(&priv->rq[i].dim.work, vnmq_coal_dim_work);
		priv->rq[i].dim.mode = DIM_CQ_PERIOD_MODE_START_FROM_EQE;
		priv->sq[i].coal.frames = priv->sq[i].use_napi;
	}
	priv->coal.tx.frames = priv->sq[0].use_napi;
	return vnmq_coal_has_vq(priv) ? vnmq_dim_init(priv->dev, vnmq_coal_dim_work) : 0;
}

/**
 * vnmq_coal_exit - undo vnmq_coal_init()
 * @priv: not registered any more
 *
 * Context: process; takes RTNL.
 */
void vnmq_coal_exit(struct vnmq_priv *priv)
{
	vnmq_dim_exit(priv->dev);
}

static void vnmq_coal_resync_one(struct vnmq_priv *priv, bool tx)
{
	struct vnmq_coal *all = vnmq_coal_all(priv, tx);
	struct vnmq_coal none = { .frames = tx && priv->sq[0].use_napi };
	bool needed = !vnmq_coal_equal(all, &none);
	unsigned int i;

	for (i = 0; i < priv->max_pairs; i++)
		needed |= !vnmq_coal_equal(vnmq_coal_of(priv, tx, i), &none);
	if (!needed || !vnmq_coal_tell(priv, tx))
		return;
	netdev_warn(priv->dev, "the device did not take its interrupt coalescing again\n");
	*all = none;
	for (i = 0; i < priv->max_pairs; i++)
		*vnmq_coal_of(priv, tx, i) = none;
	vnmq_coal_tell(priv, tx);
}

/**
 * vnmq_coal_resync - tell a device that was reset its numbers again
 * @priv: the device, ready
 *
 * Context: RTNL.
 */
void vnmq_coal_resync(struct vnmq_priv *priv)
{
	if (!vnmq_coal_has_all(priv) && !vnmq_coal_has_vq(priv))
		return;
	mutex_lock(&priv->coal.lock);
	vnmq_coal_resync_one(priv, false);
	vnmq_coal_resync_one(priv, true);
	mutex_unlock(&priv->coal.lock);
}

/**
 * vnmq_coal_pair_reset - tell the device the numbers of a pair whose queues were reset
 * @priv: the device
 * @pair: the pair
 *
 * Context: RTNL.
 */
void vnmq_coal_pair_reset(struct vnmq_priv *priv, unsigned int pair)
{
	unsigned int tx;

	if (!vnmq_coal_has_vq(priv))
		return;
	mutex_lock(&priv->coal.lock);
	for (tx = 0; tx <= 1; tx++) {
		struct vnmq_coal *all = vnmq_coal_all(priv, tx);
		struct vnmq_coal *coal = vnmq_coal_of(priv, tx, pair);

		if (!vnmq_coal_equal(coal, all) && vnmq_coal_send_vq(priv, tx, pair, coal))
			*coal = *all;
	}
	mutex_unlock(&priv->coal.lock);
}

/* Without the device's help there is just tx-frames, 0 or 1: transmit without or with NAPI. */
static int vnmq_coal_check_plain(const struct ethtool_coalesce *ec)
{
	if (ec->rx_coalesce_usecs || ec->tx_coalesce_usecs)
		return -EOPNOTSUPP;
	if (ec->tx_max_coalesced_frames > 1 || ec->rx_max_coalesced_frames != 1)
		return -EINVAL;
	return ec->use_adaptive_rx_coalesce ? -EOPNOTSUPP : 0;
}

static void vnmq_coal_get_plain(const struct vnmq_priv *priv, unsigned int pair,
				struct ethtool_coalesce *ec)
{
	ec->rx_max_coalesced_frames = 1;
	ec->tx_max_coalesced_frames = priv->sq[pair].use_napi;
}

/* DIM chooses the numbers: none may be given with it. */
static int vnmq_coal_check_adaptive(const struct vnmq_priv *priv, const struct vnmq_coal *rx,
				    const struct ethtool_coalesce *ec)
{
	if (!ec->use_adaptive_rx_coalesce)
		return 0;
	if (!vnmq_coal_has_vq(priv))
		return -EOPNOTSUPP;
	return ec->rx_coalesce_usecs == rx->usecs && ec->rx_max_coalesced_frames == rx->frames ?
	       0 : -EINVAL;
}

/* Pairs from @first to before @end; -EBUSY when that would change one in use. */
static int vnmq_coal_check_napi(const struct vnmq_priv *priv, unsigned int first,
				unsigned int end, bool use_napi)
{
	unsigned int i;

	if (!netif_running(priv->dev))
		return 0;
	for (i = first; i < end; i++) {
		if (priv->sq[i].use_napi != use_napi)
			return -EBUSY;
	}
	return 0;
}

/**
 * vnmq_get_coalesce - `ethtool -c`
 * @dev: the device
 * @ec: filled in
 * @kernel_ec: unused
 * @extack: unused
 *
 * Return: 0.
 * Context: RTNL.
 */
int vnmq_get_coalesce(struct net_device *dev, struct ethtool_coalesce *ec,
		      struct kernel_ethtool_coalesce *kernel_ec, struct netlink_ext_ack *extack)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	if (!vnmq_coal_has_all(priv)) {
		vnmq_coal_get_plain(priv, 0, ec);
		return 0;
	}
	ec->rx_coalesce_usecs = priv->coal.rx.usecs;
	ec->rx_max_coalesced_frames = priv->coal.rx.frames;
	ec->tx_coalesce_usecs = priv->coal.tx.usecs;
	ec->tx_max_coalesced_frames = priv->coal.tx.frames;
	ec->use_adaptive_rx_coalesce = priv->coal.adaptive;
	return 0;
}

/* Context: RTNL, coal.lock. */
static int vnmq_coal_set_all(struct vnmq_priv *priv, const struct ethtool_coalesce *ec)
{
	struct vnmq_coal rx = { ec->rx_max_coalesced_frames, ec->rx_coalesce_usecs };
	struct vnmq_coal tx = { ec->tx_max_coalesced_frames, ec->tx_coalesce_usecs };
	bool adaptive = ec->use_adaptive_rx_coalesce;
	unsigned int i;
	int ret;

	ret = vnmq_coal_check_adaptive(priv, &priv->coal.rx, ec) ?:
	      vnmq_coal_change_all(priv, true, &tx);
	if (!ret && !adaptive)
		ret = vnmq_coal_change_all(priv, false, &rx);
	if (ret)
		return ret;
	priv->coal.adaptive = adaptive;
	for (i = 0; i < priv->max_pairs; i++)
		WRITE_ONCE(priv->rq[i].adaptive, adaptive);
	return 0;
}

/**
 * vnmq_set_coalesce - `ethtool -C`
 * @dev: the device
 * @ec: wanted
 * @kernel_ec: unused
 * @extack: unused
 *
 * Return: 0; -EBUSY for a change between transmit with and without NAPI while the device is open,
 * -EINVAL for numbers that there are not, or that the device refuses, -EOPNOTSUPP for what
 * it does not have, or an error of vnmq_ctrl_exec(). After an error for receive the
 * transmit numbers may be the new ones.
 * Context: RTNL.
 */
int vnmq_set_coalesce(struct net_device *dev, struct ethtool_coalesce *ec,
		      struct kernel_ethtool_coalesce *kernel_ec, struct netlink_ext_ack *extack)
{
	struct vnmq_priv *priv = netdev_priv(dev);
	bool use_napi = ec->tx_max_coalesced_frames;
	unsigned int i;
	int ret;

	ret = vnmq_coal_check_napi(priv, 0, priv->max_pairs, use_napi);
	if (ret)
		return ret;
	mutex_lock(&priv->coal.lock);
	ret = vnmq_coal_has_all(priv) ? vnmq_coal_set_all(priv, ec) : vnmq_coal_check_plain(ec);
	mutex_unlock(&priv->coal.lock);
	for (i = 0; i < priv->max_pairs && !ret; i++)
		priv->sq[i].use_napi = use_napi;
	return ret;
}

/**
 * vnmq_get_per_queue_coalesce - `ethtool --per-queue ... -c`
 * @dev: the device
 * @queue: pair
 * @ec: filled in
 *
 * Return: 0, or -EINVAL for a pair that there is not.
 * Context: RTNL.
 */
int vnmq_get_per_queue_coalesce(struct net_device *dev, u32 queue, struct ethtool_coalesce *ec)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	if (queue >= priv->max_pairs)
		return -EINVAL;
	if (!vnmq_coal_has_vq(priv)) {
		vnmq_coal_get_plain(priv, queue, ec);
		return 0;
	}
	mutex_lock(&priv->coal.lock);
	ec->rx_coalesce_usecs = priv->rq[queue].coal.usecs;
	ec->rx_max_coalesced_frames = priv->rq[queue].coal.frames;
	ec->tx_coalesce_usecs = priv->sq[queue].coal.usecs;
	ec->tx_max_coalesced_frames = priv->sq[queue].coal.frames;
	ec->use_adaptive_rx_coalesce = priv->rq[queue].adaptive;
	mutex_unlock(&priv->coal.lock);
	return 0;
}

/* Context: RTNL, coal.lock. */
static int vnmq_coal_set_pair(struct vnmq_priv *priv, unsigned int pair,
			      const struct ethtool_coalesce *ec)
{
	struct vnmq_coal rx = { ec->rx_max_coalesced_frames, ec->rx_coalesce_usecs };
	struct vnmq_coal tx = { ec->tx_max_coalesced_frames, ec->tx_coalesce_usecs };
	bool adaptive = ec->use_adaptive_rx_coalesce;
	int ret;

	ret = vnmq_coal_check_adaptive(priv, &priv->rq[pair].coal, ec);
	if (!ret && !adaptive)
		ret = vnmq_coal_change_vq(priv, false, pair, &rx);
	if (ret)
		return ret;
	WRITE_ONCE(priv->rq[pair].adaptive, adaptive);
	return vnmq_coal_change_vq(priv, true, pair, &tx);
}

/**
 * vnmq_set_per_queue_coalesce - `ethtool --per-queue ... -C`
 * @dev: the device
 * @queue: pair
 * @ec: wanted
 *
 * Return: as vnmq_set_coalesce(), or -EINVAL for a pair that there is not.
 * Context: RTNL.
 */
int vnmq_set_per_queue_coalesce(struct net_device *dev, u32 queue, struct ethtool_coalesce *ec)
{
	struct vnmq_priv *priv = netdev_priv(dev);
	bool use_napi = ec->tx_max_coalesced_frames;
	int ret;

	if (queue >= priv->max_pairs)
		return -EINVAL;
	ret = vnmq_coal_check_napi(priv, queue, queue + 1, use_napi);
	if (ret)
		return ret;
	mutex_lock(&priv->coal.lock);
	ret = vnmq_coal_has_vq(priv) ? vnmq_coal_set_pair(priv, queue, ec) :
				       vnmq_coal_check_plain(ec);
	mutex_unlock(&priv->coal.lock);
	if (!ret)
		priv->sq[queue].use_napi = use_napi;
	return ret;
}
