// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receive: poll, refill, hand to the stack. How a frame comes out of a buffer is in rx_small.c,
 * rx_mergeable.c and rx_big.c.
 */
#include "virtio_net_mq.h"

/* Without memory for buffers: poll again after this. */
#define VNMQ_REFILL_DELAY	max(HZ / 50, 1)

/**
 * vnmq_rx_done - the device returned receive buffers
 * @vq: the virtqueue of a receive queue
 *
 * Context: interrupt.
 */
void vnmq_rx_done(struct virtqueue *vq)
{
	struct vnmq_priv *priv = vq->vdev->priv;

	vnmq_napi_schedule(&priv->rq[vnmq_vq_to_pair(vq)].napi, vq);
}

/**
 * vnmq_rx_refill_timer - there was no memory for buffers a moment ago
 * @timer: refill_timer of the queue
 *
 * Context: timer. A NAPI that is off ignores it.
 */
void vnmq_rx_refill_timer(struct timer_list *timer)
{
	struct vnmq_rq *rq = container_of(timer, struct vnmq_rq, refill_timer);

	vnmq_napi_schedule(&rq->napi, rq->vq);
}

static int vnmq_rx_fill_one(struct vnmq_rq *rq, gfp_t gfp)
{
	switch (rq->priv->rx_mode) {
	case VNMQ_RX_MERGEABLE:
		return vnmq_mergeable_fill_one(rq, gfp);
	case VNMQ_RX_SMALL:
		return vnmq_small_fill_one(rq, gfp);
	default:
		return vnmq_big_fill_one(rq, gfp);
	}
}

/**
 * vnmq_rx_fill - post buffers until the ring is full, and tell the device once
 * @rq: the queue
 * @gfp: how hard to try
 *
 * Return: false when memory ran out.
 * Context: NAPI of @rq, or its NAPI is off.
 */
bool vnmq_rx_fill(struct vnmq_rq *rq, gfp_t gfp)
{
	struct virtqueue *vq = rq->vq;
	int ret = 0;

	while (vq->num_free) {
		ret = vnmq_rx_fill_one(rq, gfp);
		if (ret)
			break;
	}
	if (virtqueue_kick_prepare(vq) && virtqueue_notify(vq))
		vnmq_rx_count(rq, VNMQ_RX_KICKS, 1);
	/* No memory for an indirect table that is longer than the ring: nothing is posted. */
	if (ret == -ENOSPC && vq->num_free == virtqueue_get_vring_size(vq))
		ret = -ENOMEM;
	if (likely(ret != -ENOMEM))
		return true;
	vnmq_rx_count(rq, VNMQ_RX_REFILL_ERRORS, 1);
	return false;
}

/**
 * vnmq_rx_ring_min - how large a receive ring must be
 * @priv: layout chosen
 *
 * Return: descriptors that a buffer takes.
 */
unsigned int vnmq_rx_ring_min(const struct vnmq_priv *priv)
{
	if (priv->rx_mode != VNMQ_RX_BIG ||
	    virtio_has_feature(priv->vdev, VIRTIO_RING_F_INDIRECT_DESC))
		return 1;
	return priv->big_pages + !priv->any_layout;
}

/* Hand a complete frame to the stack. Return: its length, 0 if it had to be dropped. */
static unsigned int vnmq_rx_deliver(struct vnmq_rq *rq, struct sk_buff *skb,
				    const union vnmq_hdr *hdr, bool record)
{
	struct vnmq_priv *priv = rq->priv;
	unsigned int len = skb->len;

	if (unlikely(vnmq_hdr_to_skb(priv, &hdr->hdr, skb))) {
		vnmq_rx_count_drop(rq, VNMQ_RX_HEADER_ERRORS);
		kfree_skb(skb);
		return 0;
	}
	if (likely(record))
		skb_record_rx_queue(skb, rq->index);
	if (priv->dev->features & NETIF_F_RXHASH)
		vnmq_rss_hash_to_skb(&hdr->hash, skb);
	skb->protocol = eth_type_trans(skb, priv->dev);
	napi_gro_receive(&rq->napi, skb);
	return len;
}

static struct sk_buff *vnmq_rx_receive(struct vnmq_rq *rq, void *buf, void *ctx, unsigned int len,
				       union vnmq_hdr *hdr)
{
	switch (rq->priv->rx_mode) {
	case VNMQ_RX_MERGEABLE:
		return vnmq_mergeable_receive(rq, buf, ctx, len, hdr);
	case VNMQ_RX_SMALL:
		return vnmq_small_receive(rq, buf, ctx, len, hdr);
	default:
		return vnmq_big_receive(rq, buf, len, hdr);
	}
}

static int vnmq_rx_frames(struct vnmq_rq *rq, int budget)
{
	/* After a shrink the ring may still hold frames; the stack no longer knows the queue. */
	bool record = rq->index < READ_ONCE(rq->priv->curr_pairs);
	struct bpf_prog *prog = rcu_dereference_bh(rq->xdp_prog);
	unsigned int packets = 0, frame, len;
	union vnmq_hdr hdr;
	struct sk_buff *skb;
	void *buf, *ctx;
	int done = 0;
	u64 bytes = 0;

	while (done < budget && (buf = virtqueue_get_buf_ctx(rq->vq, &len, &ctx))) {
		done++;
		if (unlikely(prog))
			skb = vnmq_xdp_receive(rq, prog, buf, ctx, len, &hdr);
		else
			skb = vnmq_rx_receive(rq, buf, ctx, len, &hdr);
		if (unlikely(!skb))
			continue;
		frame = vnmq_rx_deliver(rq, skb, &hdr, record);
		if (likely(frame)) {
			packets++;
			bytes += frame;
		}
	}

	if (unlikely(prog))
		vnmq_xdp_poll_end(rq);
	if (packets) {
		u64_stats_update_begin(&rq->syncp);
		u64_stats_add(&rq->count[VNMQ_RX_PACKETS], packets);
		u64_stats_add(&rq->count[VNMQ_RX_BYTES], bytes);
		u64_stats_update_end(&rq->syncp);
	}
	return done;
}

static void vnmq_rx_complete(struct vnmq_rq *rq, int done)
{
	unsigned int opaque;

	if (unlikely(READ_ONCE(rq->adaptive)))
		vnmq_coal_sample(rq);
	opaque = virtqueue_enable_cb_prepare(rq->vq);
	if (!napi_complete_done(&rq->napi, done)) {
		virtqueue_disable_cb(rq->vq);
		return;
	}
	/* Used since the interrupt was asked for: the device may have looked before. */
	if (unlikely(virtqueue_poll(rq->vq, opaque)))
		vnmq_napi_schedule(&rq->napi, rq->vq);
}

/**
 * vnmq_rx_poll - NAPI of a receive queue
 * @napi: of the queue
 * @budget: frames; 0 from netpoll, which only wants the transmit ring cleaned
 *
 * Return: frames taken from the ring, dropped ones included.
 * Context: softirq.
 */
int vnmq_rx_poll(struct napi_struct *napi, int budget)
{
	struct vnmq_rq *rq = container_of(napi, struct vnmq_rq, napi);
	int done;

	vnmq_tx_clean_from_rx(&rq->priv->sq[rq->index], budget);
	if (!budget)
		return 0;

	virtqueue_disable_cb(rq->vq);
	done = vnmq_rx_frames(rq, budget);

	if (rq->vq->num_free > rq->refill_at && unlikely(!vnmq_rx_fill(rq, GFP_ATOMIC)))
		mod_timer(&rq->refill_timer, jiffies + VNMQ_REFILL_DELAY);

	if (done < budget)
		vnmq_rx_complete(rq, done);
	return done;
}

/* Many buffers at once cost less than one after the other; a small ring needs all that it has. */
static unsigned int vnmq_rx_refill_at(unsigned int size)
{
	return size < NAPI_POLL_WEIGHT ? 0 : NAPI_POLL_WEIGHT / 2;
}

/**
 * vnmq_rx_ring_holds - can a ring of mergeable buffers hold the longest frame
 * @priv: layout chosen
 * @size: descriptors of the ring
 * @xdp: in buffers for an XDP program, which stay when it goes and frames are long again
 *
 * Return: true if it can, or with another layout, where each buffer does.
 */
bool vnmq_rx_ring_holds(const struct vnmq_priv *priv, unsigned int size, bool xdp)
{
	unsigned int posted = size - vnmq_rx_refill_at(size);

	return priv->rx_mode != VNMQ_RX_MERGEABLE ||
	       priv->hdr_len + vnmq_mergeable_min_len(priv, posted) <=
	       (xdp ? VNMQ_XDP_ROOM : VNMQ_MAX_BUFFER);
}

/**
 * vnmq_rx_ring_changed - the ring is new or has got another size
 * @rq: the queue
 *
 * Context: process, NAPI off.
 */
void vnmq_rx_ring_changed(struct vnmq_rq *rq)
{
	unsigned int size = virtqueue_get_vring_size(rq->vq);

	rq->refill_at = vnmq_rx_refill_at(size);
	rq->min_len = vnmq_mergeable_min_len(rq->priv, size - rq->refill_at);
}

/**
 * vnmq_rx_recycle - free a buffer that the device gives back unused
 * @vq: the virtqueue of a receive queue, which has been reset
 * @buf: the buffer
 *
 * Context: process, NAPI off.
 */
void vnmq_rx_recycle(struct virtqueue *vq, void *buf)
{
	struct vnmq_priv *priv = vq->vdev->priv;

	if (priv->rx_mode == VNMQ_RX_BIG)
		vnmq_big_free(buf);
	else
		vnmq_frag_free(buf);
}

/**
 * vnmq_rx_free_memory - free what the queue keeps for its next buffers
 * @rq: a queue with NAPI off
 *
 * Context: process.
 */
void vnmq_rx_free_memory(struct vnmq_rq *rq)
{
	struct vnmq_big_buf *big;

	while ((big = rq->big_free)) {
		rq->big_free = big->next;
		vnmq_big_free(big);
	}
	vnmq_mergeable_free_spares(rq);
	vnmq_frag_drain(&rq->frag);
}
