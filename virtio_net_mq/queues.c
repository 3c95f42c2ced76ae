// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues: from memory (alloc) over virtqueues (create) to traffic (start), and back.
 *
 * A pair that was started stays so until the device is closed, even when `ethtool -L` takes it away
 * from the stack: what is in its rings is still delivered and freed.
 */
#include <linux/cpu.h>

#include "virtio_net_mq.h"

static int vnmq_rq_init(struct vnmq_priv *priv, unsigned int index)
{
	struct vnmq_rq *rq = &priv->rq[index];

	rq->priv = priv;
	rq->index = index;
	snprintf(rq->name, sizeof(rq->name), "input.%u", index);
	vnmq_napi_add(priv->dev, &rq->napi, vnmq_rx_poll, vnmq_napi_weight, index);
	timer_setup(&rq->refill_timer, vnmq_rx_refill_timer, 0);
	sg_init_table(rq->sg, 1);
	ewma_vnmq_len_init(&rq->avg_len);
	u64_stats_init(&rq->syncp);
	return vnmq_xdp_init_rq(rq);
}

static void vnmq_sq_init(struct vnmq_priv *priv, unsigned int index)
{
	struct vnmq_sq *sq = &priv->sq[index];

	sq->priv = priv;
	sq->index = index;
	sq->txq = netdev_get_tx_queue(priv->dev, index);
	sq->use_napi = vnmq_napi_tx;
	sq->off = true;
	snprintf(sq->name, sizeof(sq->name), "output.%u", index);
	netif_napi_add_tx_weight(priv->dev, &sq->napi, vnmq_tx_poll, vnmq_napi_weight);
	sg_init_table(sq->sg, ARRAY_SIZE(sq->sg));
	sg_unmark_end(&sq->sg[ARRAY_SIZE(sq->sg) - 1]);
	u64_stats_init(&sq->syncp);
}

/**
 * vnmq_queues_free - undo vnmq_queues_alloc()
 * @priv: no virtqueues, no NAPI on
 *
 * Context: process.
 */
void vnmq_queues_free(struct vnmq_priv *priv)
{
	unsigned int i;

	for (i = 0; i < priv->max_pairs; i++) {
		__netif_napi_del(&priv->rq[i].napi);
		__netif_napi_del(&priv->sq[i].napi);
		vnmq_rx_free_memory(&priv->rq[i]);
		vnmq_xdp_exit_rq(&priv->rq[i]);
	}
	/* Once for all queues instead of once for each. */
	synchronize_net();
	kvfree(priv->sq);
	kvfree(priv->rq);
}

/**
 * vnmq_queues_alloc - memory for all pairs that the device has
 * @priv: max_pairs is set
 *
 * Return: 0 or -ENOMEM.
 * Context: probe.
 */
int vnmq_queues_alloc(struct vnmq_priv *priv)
{
	unsigned int i;
	int ret = 0;

	priv->rq = kvcalloc(priv->max_pairs, sizeof(*priv->rq), GFP_KERNEL);
	priv->sq = kvcalloc(priv->max_pairs, sizeof(*priv->sq), GFP_KERNEL);
	if (!priv->rq || !priv->sq) {
		kvfree(priv->sq);
		kvfree(priv->rq);
		return -ENOMEM;
	}
	for (i = 0; i < priv->max_pairs; i++) {
		ret = vnmq_rq_init(priv, i) ?: ret;
		vnmq_sq_init(priv, i);
	}
	if (ret)
		vnmq_queues_free(priv);
	return ret;
}

static int vnmq_ring_check(struct vnmq_priv *priv, struct virtqueue *vq, unsigned int min)
{
	unsigned int size = virtqueue_get_vring_size(vq);

	if (size >= min)
		return 0;
	dev_err(&priv->vdev->dev, "queue %s has a ring of %u, and a buffer takes %u descriptors\n",
		vq->name, size, min);
	return -EINVAL;
}

/**
 * vnmq_queues_create - find the virtqueues
 * @priv: the device, reset or new, with features negotiated
 *
 * Return: 0, -EINVAL when a ring is too small, or an error of the transport; nothing is left then.
 * Context: probe or restore.
 */
int vnmq_queues_create(struct vnmq_priv *priv)
{
	unsigned int count = 2 * priv->max_pairs, i;
	struct vnmq_vq_info *info;
	struct virtqueue **vqs;
	int ret = -ENOMEM;

	vqs = kvcalloc(count + 1, sizeof(*vqs), GFP_KERNEL);
	info = kvcalloc(count + 1, sizeof(*info), GFP_KERNEL);
	if (!vqs || !info)
		goto free;

	for (i = 0; i < priv->max_pairs; i++) {
		struct vnmq_vq_info *rx = &info[vnmq_rxq_to_vq(i)];
		struct vnmq_vq_info *tx = &info[vnmq_txq_to_vq(i)];

		rx->name = priv->rq[i].name;
		rx->callback = vnmq_rx_done;
		rx->ctx = priv->rx_mode != VNMQ_RX_BIG;
		tx->name = priv->sq[i].name;
		tx->callback = vnmq_tx_done;
	}
	if (vnmq_has_ctrl(priv)) {
		priv->ctrl.irq = vnmq_ctrl_use_irq(priv);
		info[count].name = "control";
		info[count].callback = priv->ctrl.irq ? vnmq_ctrl_done : NULL;
		count++;
	}

	ret = vnmq_find_vqs(priv->vdev, count, vqs, info);
	if (ret)
		goto free;
	for (i = 0; i < priv->max_pairs && !ret; i++)
		ret = vnmq_ring_check(priv, vqs[vnmq_rxq_to_vq(i)], vnmq_rx_ring_min(priv)) ?:
		      vnmq_ring_check(priv, vqs[vnmq_txq_to_vq(i)], vnmq_tx_ring_min(priv));
	if (ret) {
		virtio_reset_device(priv->vdev);
		priv->vdev->config->del_vqs(priv->vdev);
		goto free;
	}
	for (i = 0; i < priv->max_pairs; i++) {
		priv->rq[i].vq = vqs[vnmq_rxq_to_vq(i)];
		vnmq_rx_ring_changed(&priv->rq[i]);
		priv->sq[i].vq = vqs[vnmq_txq_to_vq(i)];
		vnmq_tx_ring_changed(&priv->sq[i]);
	}
	if (vnmq_has_ctrl(priv))
		priv->ctrl.vq = vqs[count - 1];
	priv->created = true;
free:
	kvfree(info);
	kvfree(vqs);
	return ret;
}

/**
 * vnmq_queues_destroy - free what is in the virtqueues, and them
 * @priv: the device has been reset, no pair is started; without virtqueues (a resume
 *	that failed) there is nothing to do
 *
 * Context: process; takes its time with many full rings.
 */
void vnmq_queues_destroy(struct vnmq_priv *priv)
{
	unsigned int i;
	void *buf;

	if (!priv->created)
		return;
	priv->created = false;
	vnmq_affinity_clear(priv);
	for (i = 0; i < priv->max_pairs; i++) {
		struct virtqueue *rx = priv->rq[i].vq, *tx = priv->sq[i].vq;

		while ((buf = virtqueue_detach_unused_buf(rx))) {
			vnmq_rx_recycle(rx, buf);
			cond_resched();
		}
		while ((buf = virtqueue_detach_unused_buf(tx))) {
			vnmq_tx_recycle(tx, buf);
			cond_resched();
		}
	}
	vnmq_ctrl_reap(&priv->ctrl);
	priv->vdev->config->del_vqs(priv->vdev);
}

static void vnmq_pair_start(struct vnmq_priv *priv, unsigned int index)
{
	struct vnmq_rq *rq = &priv->rq[index];
	struct vnmq_sq *sq = &priv->sq[index];

	if (rq->started)
		return;
	rq->started = true;
	WRITE_ONCE(sq->off, false);
	if (!vnmq_rx_fill(rq, GFP_KERNEL))
		mod_timer(&rq->refill_timer, jiffies + 1);
	napi_enable(&rq->napi);
	if (sq->use_napi)
		napi_enable(&sq->napi);
	vnmq_queue_set_napi(priv->dev, index, &rq->napi, sq->use_napi ? &sq->napi : NULL);

	/* What the device did while nobody listened had its interrupt already. */
	local_bh_disable();
	vnmq_napi_schedule(&rq->napi, rq->vq);
	local_bh_enable();
	vnmq_tx_restart(sq);
}

static void vnmq_pair_stop(struct vnmq_priv *priv, unsigned int index)
{
	struct vnmq_rq *rq = &priv->rq[index];
	struct vnmq_sq *sq = &priv->sq[index];

	/* Turning a NAPI off twice would wait for ever. */
	if (!rq->started)
		return;
	rq->started = false;
	vnmq_queue_set_napi(priv->dev, index, NULL, NULL);
	if (sq->use_napi)
		napi_disable(&sq->napi);
	napi_disable(&rq->napi);
	/* Only the poll arms it, and there is none any more. */
	timer_delete_sync(&rq->refill_timer);
	vnmq_coal_stop(rq);
}

/**
 * vnmq_queues_start - traffic on the pairs that are in use
 * @priv: the device is ready (DRIVER_OK)
 *
 * Context: RTNL.
 */
void vnmq_queues_start(struct vnmq_priv *priv)
{
	unsigned int i;

	priv->running = true;
	for (i = 0; i < vnmq_pairs_used(priv); i++)
		vnmq_pair_start(priv, i);
}

/**
 * vnmq_queues_stop - no traffic on any pair
 * @priv: the stack may still send; a transmit queue that is stopped after this stays so
 *
 * Context: RTNL.
 */
void vnmq_queues_stop(struct vnmq_priv *priv)
{
	unsigned int i;

	priv->running = false;
	for (i = 0; i < priv->max_pairs; i++)
		WRITE_ONCE(priv->sq[i].off, true);
	virtio_synchronize_cbs(priv->vdev);
	for (i = 0; i < priv->max_pairs; i++)
		vnmq_pair_stop(priv, i);
}

/* Tell the device how many pairs to use (virtio 1.2, 5.1.6.5.6). Return: as vnmq_ctrl_exec(). */
static int vnmq_queues_send_count(struct vnmq_priv *priv, unsigned int pairs)
{
	struct virtio_net_ctrl_mq mq = {
		.virtqueue_pairs = __cpu_to_virtio16(priv->le, pairs),
	};

	if (priv->rss.steer)
		return vnmq_rss_send_count(priv, pairs);
	if (!virtio_has_feature(priv->vdev, VIRTIO_NET_F_MQ))
		return pairs == 1 ? 0 : -EOPNOTSUPP;
	return vnmq_ctrl_send(priv, VIRTIO_NET_CTRL_MQ, VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET,
			      &mq, sizeof(mq));
}

/*
 * The device is to use @pairs; when it does not, it is to use @old. Return: as vnmq_ctrl_exec().
 */
static int vnmq_queues_change_count(struct vnmq_priv *priv, unsigned int pairs, unsigned int old)
{
	int ret = vnmq_queues_send_count(priv, pairs);

	if (vnmq_ctrl_in_doubt(ret))
		vnmq_queues_send_count(priv, old);
	return ret;
}

/* Context: RTNL. CPUs neither come nor go between the new count and the masks made from it. */
static void vnmq_queues_spread(struct vnmq_priv *priv, unsigned int pairs, unsigned int xdp)
{
	cpus_read_lock();
	WRITE_ONCE(priv->curr_pairs, pairs);
	WRITE_ONCE(priv->xdp_first, xdp ? pairs : 0);
	priv->xdp_pairs = xdp;
	vnmq_affinity_set(priv);
	cpus_read_unlock();
}

/**
 * vnmq_queues_tell_count - a device that is ready hears how many pairs are in use
 * @priv: the device; a new one uses one pair
 *
 * Context: RTNL, before traffic.
 */
void vnmq_queues_tell_count(struct vnmq_priv *priv)
{
	if (priv->rss.steer) {
		if (!vnmq_queues_change_count(priv, vnmq_pairs_used(priv), 1))
			return;
		vnmq_rss_give_up(priv);
	} else if (priv->rss.report && vnmq_rss_send_count(priv, vnmq_pairs_used(priv))) {
		vnmq_rss_give_up(priv);
	}
	if (priv->max_pairs == 1 || !vnmq_queues_change_count(priv, vnmq_pairs_used(priv), 1))
		return;
	netdev_warn(priv->dev, "the device did not take %u queue pairs: using one\n",
		    vnmq_pairs_used(priv));
	/* Fewer queues never fail. */
	if (!netif_set_real_num_queues(priv->dev, 1, 1))
		vnmq_queues_spread(priv, 1, 0);
}

/*
 * The stack sends on @pairs, XDP on @xdp more. The device uses all of them, and the stack gets from
 * all of them, too. New pairs can carry traffic before the device hears of them, and the device
 * uses them before the stack does; the other way round, the stack lets go first, then the device.
 */
static int vnmq_queues_change(struct vnmq_priv *priv, unsigned int pairs, unsigned int xdp)
{
	unsigned int old_pairs = priv->curr_pairs, old = vnmq_pairs_used(priv);
	unsigned int used = pairs + xdp, i;
	int ret;

	if (priv->running) {
		for (i = old; i < used; i++)
			vnmq_pair_start(priv, i);
	}
	if (pairs < old_pairs) {
		ret = netif_set_real_num_tx_queues(priv->dev, pairs);
		if (ret)
			return ret;
	}
	ret = used == old ? 0 : vnmq_queues_change_count(priv, used, old);
	if (ret)
		goto err_tx;
	ret = netif_set_real_num_queues(priv->dev, pairs, max(used, old));
	if (ret) {
		vnmq_queues_send_count(priv, old);
		goto err_tx;
	}
	vnmq_queues_spread(priv, pairs, xdp);

	if (priv->running) {
		/* One that was full when it was taken away may have been emptied since. */
		for (i = old_pairs; i < used; i++)
			vnmq_tx_restart(&priv->sq[i]);
	}
	if (used >= old)
		return 0;
	/* No poll is left that names a queue which the stack is about to forget. */
	for (i = used; i < old; i++) {
		if (priv->rq[i].started)
			napi_synchronize(&priv->rq[i].napi);
	}
	return netif_set_real_num_rx_queues(priv->dev, used);

err_tx:
	if (netif_set_real_num_tx_queues(priv->dev, old_pairs))
		netdev_warn(priv->dev, "%u of %u transmit queues in use\n", pairs, old_pairs);
	return ret;
}

/**
 * vnmq_queues_set_count - use so many pairs from now on
 * @priv: the device, open or not
 * @pairs: 1 to max_pairs
 * @xdp: and one for each CPU for XDP to send on, if the device has so many
 *
 * Return: 0, or an error, and then the old number is still in use.
 * Context: RTNL; traffic goes on meanwhile.
 */
int vnmq_queues_set_count(struct vnmq_priv *priv, unsigned int pairs, bool xdp)
{
	unsigned int more = xdp && nr_cpu_ids <= priv->max_pairs - pairs ? nr_cpu_ids : 0;

	if (pairs == priv->curr_pairs && more == priv->xdp_pairs)
		return 0;
	return vnmq_queues_change(priv, pairs, more);
}

static int vnmq_pair_resize(struct vnmq_priv *priv, unsigned int index, u32 rx, u32 tx)
{
	struct vnmq_rq *rq = &priv->rq[index];
	struct vnmq_sq *sq = &priv->sq[index];
	bool started = rq->started;
	int ret;

	/* Nothing is lost where nothing changes. */
	if (virtqueue_get_vring_size(rq->vq) == rx && virtqueue_get_vring_size(sq->vq) == tx)
		return 0;
	WRITE_ONCE(sq->off, true);
	virtio_synchronize_cbs(priv->vdev);
	/*
	 * With both NAPIs off and no interrupt or watchdog that wakes it, the transmit queue stays
	 * stopped.
	 */
	vnmq_pair_stop(priv, index);
	__netif_tx_lock_bh(sq->txq);
	netif_tx_stop_queue(sq->txq);
	__netif_tx_unlock_bh(sq->txq);

	ret = vnmq_virtqueue_resize(rq->vq, rx, vnmq_rx_recycle);
	if (!ret)
		ret = vnmq_virtqueue_resize(sq->vq, tx, vnmq_tx_recycle);
	vnmq_rx_ring_changed(rq);
	vnmq_tx_ring_changed(sq);
	vnmq_coal_pair_reset(priv, index);

	if (started)
		vnmq_pair_start(priv, index);
	else
		vnmq_tx_restart(sq);
	return ret;
}

/**
 * vnmq_queues_resize - give all rings another size (virtio 1.2, 2.6.1)
 * @priv: with VIRTIO_F_RING_RESET
 * @rx: descriptors of a receive ring
 * @tx: descriptors of a transmit ring
 *
 * Frames in the rings are lost. One pair after the other, so that the others carry on.
 *
 * Return: 0 or the first error; pairs before that one have the new size.
 * Context: RTNL.
 */
int vnmq_queues_resize(struct vnmq_priv *priv, u32 rx, u32 tx)
{
	unsigned int i;
	int ret;

	for (i = 0; i < priv->max_pairs; i++) {
		ret = vnmq_pair_resize(priv, i, rx, tx);
		if (ret)
			return ret;
	}
	return 0;
}
