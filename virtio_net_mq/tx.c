// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transmit and its completions.
 *
 * With NAPI (the default) an skb belongs to its socket until the device returned it. The
 * interrupt is armed once a clean-up, at three quarters of what is then in the ring, and
 * transmit itself does not touch it: whenever the NAPI is not scheduled, the interrupt is armed
 * at an index that the device reaches. Whoever takes buffers from the ring arms it again
 * (vnmq_tx_arm()).
 *
 * Without NAPI (napi_tx=0) an skb leaves its socket when it is sent, transmit cleans up, and
 * the interrupt is off unless the queue is stopped.
 *
 * Byte queue limits count skbs sent with NAPI, for their completions come by themselves; neither
 * XDP frames nor skbs without NAPI, which may wait for the next that is sent. What a ring holds
 * says whether it was counted, so that either kind may be left from before a change of mode. An
 * empty new ring counts from the beginning (vnmq_tx_ring_changed()).
 */
#include "virtio_net_mq.h"

/* What a ring holds: an skb, or with one of these bits in its address ... */
#define VNMQ_TX_XDP		1UL	/* ... an XDP frame */
#define VNMQ_TX_UNLIMITED	2UL	/* ... an skb that byte queue limits do not count */
#define VNMQ_TX_BITS		(VNMQ_TX_XDP | VNMQ_TX_UNLIMITED)

static_assert(sizeof(union vnmq_hdr) <= sizeof_field(struct sk_buff, cb));

static void *vnmq_tx_tag(void *buf, unsigned long bits)
{
	return (void *)((unsigned long)buf | bits);
}

static unsigned long vnmq_tx_bits(const void *buf)
{
	return (unsigned long)buf & VNMQ_TX_BITS;
}

static void *vnmq_tx_untag(void *buf)
{
	return (void *)((unsigned long)buf & ~VNMQ_TX_BITS);
}

/* Free what the device returned. Return: how many. Context: tx queue lock. */
static unsigned int vnmq_tx_reclaim(struct vnmq_sq *sq, int budget)
{
	unsigned int packets = 0, limited = 0, limited_bytes = 0, len;
	u64 bytes = 0;
	void *buf;

	while ((buf = virtqueue_get_buf(sq->vq, &len))) {
		unsigned long bits = vnmq_tx_bits(buf);
		struct sk_buff *skb = buf;

		packets++;
		if (likely(!bits)) {
			limited++;
			limited_bytes += skb->len;
		} else if (bits & VNMQ_TX_XDP) {
			struct xdp_frame *frame = vnmq_tx_untag(buf);

			bytes += xdp_get_frame_len(frame);
			xdp_return_frame(frame);
			continue;
		} else {
			skb = vnmq_tx_untag(buf);
			bytes += skb->len;
		}
		napi_consume_skb(skb, budget);
	}
	if (packets) {
		u64_stats_update_begin(&sq->syncp);
		u64_stats_add(&sq->count[VNMQ_TX_PACKETS], packets);
		u64_stats_add(&sq->count[VNMQ_TX_BYTES], bytes + limited_bytes);
		u64_stats_update_end(&sq->syncp);
		netdev_tx_completed_queue(sq->txq, limited, limited_bytes);
	}
	return packets;
}

/*
 * Ask for an interrupt when three quarters of the ring's content are done. Return: false when
 * so much is done already; clean up again then. A ring that the device broke gives nothing back,
 * whatever it says. Context: tx queue lock.
 */
static bool vnmq_tx_arm(struct vnmq_sq *sq)
{
	return virtqueue_enable_cb_delayed(sq->vq) || virtqueue_is_broken(sq->vq);
}

/* Clean up and arm, until both hold. Context: tx queue lock, NAPI mode. */
static void vnmq_tx_clean(struct vnmq_sq *sq, int budget)
{
	do {
		/* Armed, the ring would move the interrupt with each buffer that is taken out. */
		virtqueue_disable_cb(sq->vq);
		vnmq_tx_reclaim(sq, budget);
	} while (!vnmq_tx_arm(sq));
}

/* A broken ring takes nothing: what waits for it is to be dropped, and not to wait for ever. */
static bool vnmq_tx_has_room(const struct vnmq_sq *sq)
{
	return sq->vq->num_free >= sq->need_free || virtqueue_is_broken(sq->vq);
}

/* Context: tx queue lock. */
static void vnmq_tx_wake(struct vnmq_sq *sq)
{
	if (!netif_tx_queue_stopped(sq->txq) || !vnmq_tx_has_room(sq))
		return;
	vnmq_tx_count(sq, VNMQ_TX_WAKE, 1);
	netif_tx_wake_queue(sq->txq);
}

/*
 * What a broken ring holds does not come back until a reset takes it out; no limit waits for it.
 * Context: tx queue lock.
 */
static void vnmq_tx_forget_broken(struct vnmq_sq *sq)
{
	if (!virtqueue_is_broken(sq->vq))
		return;
	netdev_tx_reset_queue(sq->txq);
	netif_schedule_queue(sq->txq);
}

/**
 * vnmq_tx_ring_changed - decide when the queue is full
 * @sq: the queue; its ring may have got another size
 *
 * The longest skb takes VNMQ_TX_SG descriptors, or one when the device takes indirect ones. A
 * small ring waits for less: what does not fit then goes back to the stack for a while.
 *
 * A reset takes all buffers out of the ring, or none when it fails.
 *
 * Context: tx queue lock, or nobody sends.
 */
void vnmq_tx_ring_changed(struct vnmq_sq *sq)
{
	unsigned int size = virtqueue_get_vring_size(sq->vq);

	sq->max_descs = VNMQ_TX_SG;
	sq->need_free = clamp_t(unsigned int, size / 4, 1, VNMQ_TX_SG);
	if (!virtio_has_feature(sq->priv->vdev, VIRTIO_RING_F_INDIRECT_DESC)) {
		sq->max_descs = min_t(unsigned int, size, VNMQ_TX_SG);
		sq->need_free = sq->max_descs;
	}
	if (sq->vq->num_free == size)
		netdev_tx_reset_queue(sq->txq);
}

/**
 * vnmq_tx_ring_min - how large a transmit ring must be
 * @priv: layout chosen
 *
 * Return: descriptors that a frame takes at least.
 */
unsigned int vnmq_tx_ring_min(const struct vnmq_priv *priv)
{
	return priv->any_layout || virtio_has_feature(priv->vdev, VIRTIO_RING_F_INDIRECT_DESC) ?
	       1 : 2;
}

/**
 * vnmq_tx_done - the device returned skbs, as many as were asked for
 * @vq: the virtqueue of a transmit queue
 *
 * Context: interrupt.
 */
void vnmq_tx_done(struct virtqueue *vq)
{
	struct vnmq_priv *priv = vq->vdev->priv;
	struct vnmq_sq *sq = &priv->sq[vnmq_vq_to_pair(vq)];

	if (sq->use_napi) {
		vnmq_napi_schedule(&sq->napi, vq);
	} else if (!READ_ONCE(sq->off)) {
		virtqueue_disable_cb(vq);
		netif_tx_wake_queue(sq->txq);
	}
}

/**
 * vnmq_tx_poll - NAPI of a transmit queue
 * @napi: of the queue
 * @budget: 0 from netpoll
 *
 * Return: 0, completions are not counted against the budget.
 * Context: softirq; takes the tx queue lock.
 */
int vnmq_tx_poll(struct napi_struct *napi, int budget)
{
	struct vnmq_sq *sq = container_of(napi, struct vnmq_sq, napi);
	bool done;

	__netif_tx_lock(sq->txq, raw_smp_processor_id());
	virtqueue_disable_cb(sq->vq);
	vnmq_tx_reclaim(sq, budget);
	vnmq_tx_wake(sq);
	done = napi_complete_done(napi, 0);
	/* A poll of netpoll's is no scheduled one: none follows, so the interrupt must be armed. */
	if ((done || !budget) && !vnmq_tx_arm(sq))
		vnmq_napi_schedule(napi, sq->vq);
	__netif_tx_unlock(sq->txq);
	return 0;
}

/**
 * vnmq_tx_clean_from_rx - clean up along with the pair's receive queue
 * @sq: the transmit queue of the pair
 * @budget: of the receive poll
 *
 * What is sent is often answered: the receive interrupt then saves one of the transmit queue.
 *
 * Context: NAPI of the receive queue; takes the tx queue lock if it is free.
 */
void vnmq_tx_clean_from_rx(struct vnmq_sq *sq, int budget)
{
	if (!sq->use_napi || sq->vq->num_free == virtqueue_get_vring_size(sq->vq))
		return;
	if (!__netif_tx_trylock(sq->txq))
		return;
	/* Nothing returned: nothing to arm. */
	if (vnmq_tx_reclaim(sq, budget)) {
		vnmq_tx_clean(sq, budget);
		vnmq_tx_wake(sq);
	}
	__netif_tx_unlock(sq->txq);
}

/**
 * vnmq_tx_restart - let a queue run that may have been stopped
 * @sq: a queue whose pair was started, or whose ring is new
 *
 * Context: process; takes the tx queue lock.
 */
void vnmq_tx_restart(struct vnmq_sq *sq)
{
	__netif_tx_lock_bh(sq->txq);
	vnmq_tx_reclaim(sq, 0);
	if (sq->use_napi && !vnmq_tx_arm(sq))
		vnmq_napi_schedule(&sq->napi, sq->vq);
	vnmq_tx_wake(sq);
	__netif_tx_unlock_bh(sq->txq);
}

/* Return: how many entries of @sg the fragments took. */
static unsigned int vnmq_tx_map_frags(struct scatterlist *sg, const struct skb_shared_info *shinfo)
{
	unsigned int i;

	for (i = 0; i < shinfo->nr_frags; i++) {
		const skb_frag_t *frag = &shinfo->frags[i];

		sg_set_page(&sg[i], skb_frag_page(frag), skb_frag_size(frag), skb_frag_off(frag));
	}
	return i;
}

/* Add the first @n of sq->sg. Return: as virtqueue_add_outbuf(). Context: tx queue lock. */
static int vnmq_tx_add_sg(struct vnmq_sq *sq, unsigned int n, void *buf)
{
	int ret;

	sg_mark_end(&sq->sg[n - 1]);
	ret = virtqueue_add_outbuf(sq->vq, sq->sg, n, buf, GFP_ATOMIC);
	sg_unmark_end(&sq->sg[n - 1]);
	return ret;
}

/*
 * Add @skb with its header, which goes in front of the data or into the cb.
 * Return: 0 when the device owns it; else it is as it was. Context: tx queue lock.
 */
static int vnmq_tx_add(struct vnmq_sq *sq, struct sk_buff *skb)
{
	const struct vnmq_priv *priv = sq->priv;
	unsigned int hdr_len = priv->hdr_len, n = 0;
	struct scatterlist *sg = sq->sg;
	struct virtio_net_hdr *hdr;
	union vnmq_hdr saved;
	bool push;
	int ret;

	push = priv->any_layout && skb_headroom(skb) >= hdr_len && !skb_header_cloned(skb) &&
	       IS_ALIGNED((unsigned long)skb->data, __alignof__(*hdr));
	if (likely(push)) {
		hdr = (struct virtio_net_hdr *)(skb->data - hdr_len);
		sg_set_buf(&sg[n++], hdr, hdr_len + skb_headlen(skb));
	} else {
		hdr = (struct virtio_net_hdr *)skb->cb;
		memcpy(&saved, hdr, hdr_len);
		sg_set_buf(&sg[n++], hdr, hdr_len);
		if (likely(skb_headlen(skb)))
			sg_set_buf(&sg[n++], skb->data, skb_headlen(skb));
	}
	n += vnmq_tx_map_frags(&sg[n], skb_shinfo(skb));

	ret = vnmq_hdr_from_skb(priv, skb, hdr);
	if (unlikely(n > sq->max_descs))
		ret = ret ?: -ENOSPC;
	if (likely(!ret))
		ret = vnmq_tx_add_sg(sq, n, vnmq_tx_tag(skb, sq->use_napi ? 0 : VNMQ_TX_UNLIMITED));
	/* The stack keeps its own things in the cb of an skb that it gets back. */
	if (unlikely(ret) && !push)
		memcpy(hdr, &saved, hdr_len);
	return ret;
}

/*
 * The ring is full, or will be with the next skb. XDP may have come to a queue that is stopped
 * already. Context: tx queue lock.
 */
static void vnmq_tx_stop(struct vnmq_sq *sq)
{
	if (!netif_tx_queue_stopped(sq->txq)) {
		netif_tx_stop_queue(sq->txq);
		vnmq_tx_count(sq, VNMQ_TX_STOP, 1);
	}
	for (;;) {
		virtqueue_disable_cb(sq->vq);
		vnmq_tx_reclaim(sq, 0);
		if (vnmq_tx_has_room(sq)) {
			if (netif_tx_queue_stopped(sq->txq)) {
				vnmq_tx_count(sq, VNMQ_TX_WAKE, 1);
				netif_tx_start_queue(sq->txq);
			}
			if (!sq->use_napi)
				return;
		}
		/* Stopped or not, the interrupt comes before the ring runs empty. */
		if (vnmq_tx_arm(sq))
			return;
	}
}

/*
 * More descriptors than are free. Return: true when the stack keeps @skb for later, false when
 * it must be tried again now, in one piece. Context: tx queue lock.
 */
static bool vnmq_tx_defer(struct vnmq_sq *sq)
{
	if (sq->vq->num_free == virtqueue_get_vring_size(sq->vq))
		return false;
	netif_tx_stop_queue(sq->txq);
	vnmq_tx_count(sq, VNMQ_TX_BUSY, 1);
	do {
		virtqueue_disable_cb(sq->vq);
		if (vnmq_tx_reclaim(sq, 0) || virtqueue_is_broken(sq->vq)) {
			netif_tx_start_queue(sq->txq);
			if (!sq->use_napi)
				return true;
		}
	} while (!vnmq_tx_arm(sq));
	return true;
}

static void vnmq_tx_kick(struct vnmq_sq *sq)
{
	if (virtqueue_kick_prepare(sq->vq) && virtqueue_notify(sq->vq))
		vnmq_tx_count(sq, VNMQ_TX_KICKS, 1);
}

static void vnmq_tx_count_drop(struct vnmq_sq *sq, enum vnmq_tx_counter reason)
{
	vnmq_tx_count(sq, VNMQ_TX_DROPS, 1);
	vnmq_tx_count(sq, reason, 1);
}

static void vnmq_tx_drop(struct vnmq_sq *sq, struct sk_buff *skb, enum vnmq_tx_counter reason)
{
	vnmq_tx_count_drop(sq, reason);
	dev_kfree_skb_any(skb);
}

/*
 * The ring has @skb, and @more follow at once. Context: tx queue lock, under which nobody else
 * takes it out again.
 */
static void vnmq_tx_added(struct vnmq_sq *sq, struct sk_buff *skb, bool more)
{
	/* Either comes before a clean-up that may find it done already. */
	if (likely(sq->use_napi)) {
		__netdev_tx_sent_queue(sq->txq, skb->len, more);
	} else {
		skb_orphan(skb);
		skb_dst_drop(skb);
		nf_reset_ct(skb);
	}
	if (unlikely(!vnmq_tx_has_room(sq)))
		vnmq_tx_stop(sq);
}

/*
 * An skb that the ring did not take. Return: what the stack gets to hear. Context: tx queue
 * lock.
 */
static netdev_tx_t vnmq_tx_failed(struct vnmq_sq *sq, struct sk_buff *skb, int error, bool more)
{
	if (error == -ENOSPC && !virtqueue_is_broken(sq->vq)) {
		if (vnmq_tx_defer(sq)) {
			vnmq_tx_kick(sq);
			return NETDEV_TX_BUSY;
		}
		if (skb_linearize(skb) || skb_cow_head(skb, sq->priv->hdr_len)) {
			vnmq_tx_drop(sq, skb, VNMQ_TX_MEMORY_ERRORS);
			return NETDEV_TX_OK;
		}
		error = vnmq_tx_add(sq, skb);
		if (!error) {
			vnmq_tx_added(sq, skb, more);
			return NETDEV_TX_OK;
		}
	}
	vnmq_tx_drop(sq, skb, error == -EINVAL ? VNMQ_TX_HEADER_ERRORS : VNMQ_TX_RING_ERRORS);
	return NETDEV_TX_OK;
}

/**
 * vnmq_xmit - send an skb
 * @skb: with a queue chosen
 * @dev: the device
 *
 * Return: NETDEV_TX_OK, or NETDEV_TX_BUSY when a ring smaller than the skb is in use.
 * Context: tx queue lock.
 */
netdev_tx_t vnmq_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct vnmq_priv *priv = netdev_priv(dev);
	struct vnmq_sq *sq = &priv->sq[skb_get_queue_mapping(skb)];
	bool more = netdev_xmit_more();
	netdev_tx_t ret = NETDEV_TX_OK;
	int err;

	if (unlikely(!sq->use_napi)) {
		vnmq_tx_reclaim(sq, 0);
		if (skb_orphan_frags(skb, GFP_ATOMIC)) {
			vnmq_tx_drop(sq, skb, VNMQ_TX_MEMORY_ERRORS);
			goto kick;
		}
	}

	skb_tx_timestamp(skb);
	err = vnmq_tx_add(sq, skb);
	if (likely(!err))
		vnmq_tx_added(sq, skb, more);
	else
		ret = vnmq_tx_failed(sq, skb, err, more);
kick:
	if (!more || netif_xmit_stopped(sq->txq))
		vnmq_tx_kick(sq);
	return ret;
}

/* Return: 0 when the device owns @frame. Context: tx queue lock. */
static int vnmq_tx_add_xdp(struct vnmq_sq *sq, struct xdp_frame *frame)
{
	const struct vnmq_priv *priv = sq->priv;
	unsigned int hdr_len = priv->hdr_len, n = 0;
	struct scatterlist *sg = sq->sg;
	void *hdr = frame->data - hdr_len;

	if (unlikely(frame->headroom < hdr_len))
		return -EOVERFLOW;
	memset(hdr, 0, hdr_len);	/* VIRTIO_NET_HDR_GSO_NONE is 0 */
	if (likely(priv->any_layout)) {
		sg_set_buf(&sg[n++], hdr, hdr_len + frame->len);
	} else {
		sg_set_buf(&sg[n++], hdr, hdr_len);
		sg_set_buf(&sg[n++], frame->data, frame->len);
	}
	if (unlikely(xdp_frame_has_frags(frame)))
		n += vnmq_tx_map_frags(&sg[n], xdp_get_shared_info_from_frame(frame));
	if (unlikely(n > sq->max_descs))
		return -EMSGSIZE;
	return vnmq_tx_add_sg(sq, n, vnmq_tx_tag(frame, VNMQ_TX_XDP));
}

/**
 * vnmq_tx_xdp - send XDP frames
 * @sq: the queue, which the stack may use, too
 * @frames: of this or another device
 * @n: how many
 *
 * Return: how many the ring took; the others are still the caller's.
 * Context: softirq; takes the tx queue lock.
 */
int vnmq_tx_xdp(struct vnmq_sq *sq, struct xdp_frame **frames, int n)
{
	int sent = 0;

	__netif_tx_lock(sq->txq, smp_processor_id());
	if (unlikely(sq->off))
		goto unlock;
	if (unlikely(!sq->use_napi)) {
		vnmq_tx_reclaim(sq, 0);
	} else if (unlikely(!vnmq_tx_has_room(sq))) {
		vnmq_tx_clean(sq, 0);
		vnmq_tx_wake(sq);
	}
	while (sent < n && !vnmq_tx_add_xdp(sq, frames[sent]))
		sent++;
	if (unlikely(!vnmq_tx_has_room(sq)))
		vnmq_tx_stop(sq);
	vnmq_tx_kick(sq);
unlock:
	u64_stats_update_begin(&sq->syncp);
	u64_stats_add(&sq->count[VNMQ_TX_XDP_TX], n);
	u64_stats_add(&sq->count[VNMQ_TX_XDP_TX_DROPS], n - sent);
	u64_stats_update_end(&sq->syncp);
	__netif_tx_unlock(sq->txq);
	return sent;
}

/**
 * vnmq_tx_recycle - free an skb or XDP frame that the device gives back unsent
 * @vq: the virtqueue of a transmit queue, which has been reset
 * @buf: what the ring held
 *
 * Context: process; nothing else uses the queue.
 */
void vnmq_tx_recycle(struct virtqueue *vq, void *buf)
{
	struct vnmq_priv *priv = vq->vdev->priv;
	struct vnmq_sq *sq = &priv->sq[vnmq_vq_to_pair(vq)];

	if (vnmq_tx_bits(buf) & VNMQ_TX_XDP) {
		vnmq_tx_count_drop(sq, VNMQ_TX_RESET_DROPS);
		xdp_return_frame(vnmq_tx_untag(buf));
	} else {
		vnmq_tx_drop(sq, vnmq_tx_untag(buf), VNMQ_TX_RESET_DROPS);
	}
}

/**
 * vnmq_tx_timeout - a stopped queue did not run for watchdog_timeo
 * @dev: the device
 * @index: the queue
 *
 * The host may have stopped to serve this queue; the others go on, and so does this one when
 * it is served again. An interrupt that was lost is made up for.
 *
 * Context: timer.
 */
void vnmq_tx_timeout(struct net_device *dev, unsigned int index)
{
	struct vnmq_priv *priv = netdev_priv(dev);
	struct vnmq_sq *sq = &priv->sq[index];

	atomic_long_inc(&sq->timeouts);
	netdev_err(dev, "queue %s stands still: %u of %u descriptors free, %llu sent, %ld timeouts\n",
		   sq->vq->name, sq->vq->num_free, virtqueue_get_vring_size(sq->vq),
		   (unsigned long long)u64_stats_read(&sq->count[VNMQ_TX_PACKETS]),
		   atomic_long_read(&sq->timeouts));
	if (sq->use_napi && !virtqueue_is_broken(sq->vq)) {
		vnmq_napi_schedule(&sq->napi, sq->vq);
		return;
	}
	/* Who sets off stops the queue under its lock afterwards: a wake comes before that. */
	__netif_tx_lock(sq->txq, smp_processor_id());
	if (!READ_ONCE(sq->off)) {
		vnmq_tx_reclaim(sq, 0);
		vnmq_tx_forget_broken(sq);
		vnmq_tx_wake(sq);
	}
	__netif_tx_unlock(sq->txq);
}
