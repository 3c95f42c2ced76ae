// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters: the stack's totals and `ethtool -S`.
 *
 * Names of per-queue counters are those of the stock driver (rx0_drops, tx3_kicks); packets and
 * bytes are there on every kernel, and each reason to drop a frame under its own name.
 */
#ifdef VNMQ_HAVE_STAT_OPS
#include <net/netdev_queues.h>
#endif

#include "virtio_net_mq.h"

static const char * const vnmq_rx_names[VNMQ_RX_COUNTERS] = {
	[VNMQ_RX_PACKETS]	= "packets",
	[VNMQ_RX_BYTES]		= "bytes",
	[VNMQ_RX_DROPS]		= "drops",
	[VNMQ_RX_KICKS]		= "kicks",
	[VNMQ_RX_LENGTH_ERRORS]	= "length_errors",
	[VNMQ_RX_HEADER_ERRORS]	= "header_errors",
	[VNMQ_RX_BUFFER_ERRORS]	= "buffer_errors",
	[VNMQ_RX_SKB_ERRORS]	= "skb_errors",
	[VNMQ_RX_XDP_DROPS]	= "xdp_drops",
	[VNMQ_RX_XDP_PACKETS]	= "xdp_packets",
	[VNMQ_RX_XDP_TX]	= "xdp_tx",
	[VNMQ_RX_XDP_REDIRECTS]	= "xdp_redirects",
	[VNMQ_RX_REFILL_ERRORS]	= "refill_errors",
};

static const char * const vnmq_tx_names[VNMQ_TX_COUNTERS] = {
	[VNMQ_TX_PACKETS]	= "packets",
	[VNMQ_TX_BYTES]		= "bytes",
	[VNMQ_TX_DROPS]		= "drops",
	[VNMQ_TX_KICKS]		= "kicks",
	[VNMQ_TX_STOP]		= "stop",
	[VNMQ_TX_WAKE]		= "wake",
	[VNMQ_TX_BUSY]		= "busy",
	[VNMQ_TX_HEADER_ERRORS]	= "header_errors",
	[VNMQ_TX_MEMORY_ERRORS]	= "memory_errors",
	[VNMQ_TX_RING_ERRORS]	= "ring_errors",
	[VNMQ_TX_RESET_DROPS]	= "reset_drops",
	[VNMQ_TX_XDP_TX]	= "xdp_tx",
	[VNMQ_TX_XDP_TX_DROPS]	= "xdp_tx_drops",
};

static const char * const vnmq_ctrl_names[VNMQ_CTRL_COUNTERS] = {
	[VNMQ_CTRL_COMMANDS]	= "commands",
	[VNMQ_CTRL_REFUSED]	= "refused",
	[VNMQ_CTRL_TIMEOUTS]	= "timeouts",
	[VNMQ_CTRL_LATE]	= "late_answers",
};

#define VNMQ_TX_VALUES	(VNMQ_TX_COUNTERS + 1)	/* and tx_timeouts */
#define VNMQ_MAX_VALUES	VNMQ_TX_VALUES		/* the longer of both rows */
static_assert((int)VNMQ_RX_COUNTERS <= VNMQ_MAX_VALUES);

/* A consistent copy. Context: any. */
static void vnmq_read_counters(const struct u64_stats_sync *syncp, const u64_stats_t *count,
			       unsigned int n, u64 *values)
{
	unsigned int start, i;

	do {
		start = vnmq_stats_begin(syncp);
		for (i = 0; i < n; i++)
			values[i] = u64_stats_read(&count[i]);
	} while (vnmq_stats_retry(syncp, start));
}

static void vnmq_read_rx(const struct vnmq_rq *rq, u64 *values)
{
	vnmq_read_counters(&rq->syncp, rq->count, VNMQ_RX_COUNTERS, values);
}

static void vnmq_read_tx(const struct vnmq_sq *sq, u64 *values)
{
	vnmq_read_counters(&sq->syncp, sq->count, VNMQ_TX_COUNTERS, values);
	values[VNMQ_TX_COUNTERS] = atomic_long_read(&sq->timeouts);
}

/**
 * vnmq_get_stats64 - totals over all queues
 * @dev: the device
 * @total: added to
 *
 * Context: any.
 */
void vnmq_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *total)
{
	struct vnmq_priv *priv = netdev_priv(dev);
	u64 rx[VNMQ_RX_COUNTERS], tx[VNMQ_TX_VALUES], dropped;
	unsigned int i;

	for (i = 0; i < priv->max_pairs; i++) {
		vnmq_read_rx(&priv->rq[i], rx);
		total->rx_packets += rx[VNMQ_RX_PACKETS];
		total->rx_bytes += rx[VNMQ_RX_BYTES];
		dropped = rx[VNMQ_RX_SKB_ERRORS] + rx[VNMQ_RX_XDP_DROPS];
		total->rx_dropped += dropped;
		total->rx_length_errors += rx[VNMQ_RX_LENGTH_ERRORS] + rx[VNMQ_RX_BUFFER_ERRORS];
		total->rx_frame_errors += rx[VNMQ_RX_HEADER_ERRORS];
		total->rx_errors += rx[VNMQ_RX_DROPS] - dropped;

		vnmq_read_tx(&priv->sq[i], tx);
		total->tx_packets += tx[VNMQ_TX_PACKETS];
		total->tx_bytes += tx[VNMQ_TX_BYTES];
		total->tx_dropped += tx[VNMQ_TX_DROPS];
		total->tx_fifo_errors += tx[VNMQ_TX_RING_ERRORS];
		total->tx_errors += tx[VNMQ_TX_COUNTERS];	/* timeouts */
	}
}

/* Totals of all queues, then each queue in use, then the control queue. */
static unsigned int vnmq_stats_count(const struct vnmq_priv *priv)
{
	return (vnmq_pairs_used(priv) + 1) * (VNMQ_RX_COUNTERS + VNMQ_TX_VALUES) +
	       VNMQ_CTRL_COUNTERS;
}

/**
 * vnmq_get_sset_count - how many counters `ethtool -S` shows
 * @dev: the device
 * @set: ETH_SS_STATS
 *
 * Return: their number, or -EOPNOTSUPP for another set.
 * Context: RTNL.
 */
int vnmq_get_sset_count(struct net_device *dev, int set)
{
	return set == ETH_SS_STATS ? vnmq_stats_count(netdev_priv(dev)) : -EOPNOTSUPP;
}

static void vnmq_put_names(u8 **data, const char *prefix, const char * const *names,
			   unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		ethtool_sprintf(data, "%s_%s", prefix, names[i]);
}

static void vnmq_put_rx_names(u8 **data, const char *prefix)
{
	vnmq_put_names(data, prefix, vnmq_rx_names, VNMQ_RX_COUNTERS);
}

static void vnmq_put_tx_names(u8 **data, const char *prefix)
{
	vnmq_put_names(data, prefix, vnmq_tx_names, VNMQ_TX_COUNTERS);
	ethtool_sprintf(data, "%s_tx_timeouts", prefix);
}

/**
 * vnmq_get_strings - names of the counters
 * @dev: the device
 * @set: ETH_SS_STATS
 * @data: room for vnmq_get_sset_count() names
 *
 * Context: RTNL.
 */
void vnmq_get_strings(struct net_device *dev, u32 set, u8 *data)
{
	struct vnmq_priv *priv = netdev_priv(dev);
	char prefix[16];
	unsigned int i;

	if (set != ETH_SS_STATS)
		return;
	vnmq_put_rx_names(&data, "rx");
	vnmq_put_tx_names(&data, "tx");
	for (i = 0; i < vnmq_pairs_used(priv); i++) {
		snprintf(prefix, sizeof(prefix), "rx%u", i);
		vnmq_put_rx_names(&data, prefix);
	}
	for (i = 0; i < vnmq_pairs_used(priv); i++) {
		snprintf(prefix, sizeof(prefix), "tx%u", i);
		vnmq_put_tx_names(&data, prefix);
	}
	vnmq_put_names(&data, "cq", vnmq_ctrl_names, VNMQ_CTRL_COUNTERS);
}

static void vnmq_add(u64 *sum, const u64 *values, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		sum[i] += values[i];
}

/**
 * vnmq_get_ethtool_stats - values of the counters, in the order of vnmq_get_strings()
 * @dev: the device
 * @stats: unused
 * @data: room for vnmq_get_sset_count() values
 *
 * The totals count pairs that are out of use, too.
 *
 * Context: RTNL.
 */
void vnmq_get_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	struct vnmq_priv *priv = netdev_priv(dev);
	u64 *rx_sum = data, *tx_sum = data + VNMQ_RX_COUNTERS;
	u64 *at = tx_sum + VNMQ_TX_VALUES;
	u64 values[VNMQ_MAX_VALUES];
	unsigned int i;

	memset(data, 0, sizeof(*data) * (VNMQ_RX_COUNTERS + VNMQ_TX_VALUES));
	for (i = 0; i < priv->max_pairs; i++) {
		vnmq_read_rx(&priv->rq[i], values);
		vnmq_add(rx_sum, values, VNMQ_RX_COUNTERS);
		if (i < vnmq_pairs_used(priv)) {
			memcpy(at, values, sizeof(*at) * VNMQ_RX_COUNTERS);
			at += VNMQ_RX_COUNTERS;
		}
	}
	for (i = 0; i < priv->max_pairs; i++) {
		vnmq_read_tx(&priv->sq[i], values);
		vnmq_add(tx_sum, values, VNMQ_TX_VALUES);
		if (i < vnmq_pairs_used(priv)) {
			memcpy(at, values, sizeof(*at) * VNMQ_TX_VALUES);
			at += VNMQ_TX_VALUES;
		}
	}
	for (i = 0; i < VNMQ_CTRL_COUNTERS; i++)
		*at++ = atomic_long_read(&priv->ctrl.count[i]);
}

#ifdef VNMQ_HAVE_STAT_OPS
static void vnmq_qstat_rx(struct net_device *dev, int index, struct netdev_queue_stats_rx *stats)
{
	struct vnmq_priv *priv = netdev_priv(dev);
	u64 values[VNMQ_RX_COUNTERS];

	vnmq_read_rx(&priv->rq[index], values);
	stats->packets = values[VNMQ_RX_PACKETS];
	stats->bytes = values[VNMQ_RX_BYTES];
	stats->alloc_fail = values[VNMQ_RX_SKB_ERRORS] + values[VNMQ_RX_REFILL_ERRORS];
}

static void vnmq_qstat_tx(struct net_device *dev, int index, struct netdev_queue_stats_tx *stats)
{
	struct vnmq_priv *priv = netdev_priv(dev);
	u64 values[VNMQ_TX_VALUES];

	vnmq_read_tx(&priv->sq[index], values);
	stats->packets = values[VNMQ_TX_PACKETS];
	stats->bytes = values[VNMQ_TX_BYTES];
	stats->stop = values[VNMQ_TX_STOP];
	stats->wake = values[VNMQ_TX_WAKE];
}

/* What pairs did that are out of use now. */
static void vnmq_qstat_base(struct net_device *dev, struct netdev_queue_stats_rx *rx,
			    struct netdev_queue_stats_tx *tx)
{
	struct vnmq_priv *priv = netdev_priv(dev);
	unsigned int i;

	rx->packets = 0;
	rx->bytes = 0;
	rx->alloc_fail = 0;
	tx->packets = 0;
	tx->bytes = 0;
	tx->stop = 0;
	tx->wake = 0;
	for (i = vnmq_pairs_used(priv); i < priv->max_pairs; i++) {
		struct netdev_queue_stats_rx one;

		vnmq_qstat_rx(dev, i, &one);
		rx->packets += one.packets;
		rx->bytes += one.bytes;
		rx->alloc_fail += one.alloc_fail;
	}
	/* On pairs of XDP's the stack does not send. */
	for (i = priv->curr_pairs; i < priv->max_pairs; i++) {
		struct netdev_queue_stats_tx one;

		vnmq_qstat_tx(dev, i, &one);
		tx->packets += one.packets;
		tx->bytes += one.bytes;
		tx->stop += one.stop;
		tx->wake += one.wake;
	}
}

static const struct netdev_stat_ops vnmq_stat_ops = {
	.get_queue_stats_rx	= vnmq_qstat_rx,
	.get_queue_stats_tx	= vnmq_qstat_tx,
	.get_base_stats		= vnmq_qstat_base,
};
#endif

/**
 * vnmq_stats_init - counters of single queues over netlink, where the kernel has that
 * @dev: not registered yet
 */
void vnmq_stats_init(struct net_device *dev)
{
#ifdef VNMQ_HAVE_STAT_OPS
	dev->stat_ops = &vnmq_stat_ops;
#endif
}
