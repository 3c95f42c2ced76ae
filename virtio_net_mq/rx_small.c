// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small buffers: one frame of up to VNMQ_GOOD_FRAME bytes each. The skb is built around the buffer,
 * nothing is copied:
 *
 *	| pad | virtio_net_hdr | frame | skb_shared_info |
 *
 * The context of a buffer says whether it has the longer pad that XDP programs want.
 */
#include "virtio_net_mq.h"

#define VNMQ_CTX_XDP	((void *)1)

static unsigned int vnmq_small_pad(bool xdp)
{
	return NET_IP_ALIGN + (xdp ? XDP_PACKET_HEADROOM : NET_SKB_PAD);
}

static unsigned int vnmq_small_size(const struct vnmq_priv *priv, bool xdp)
{
	return ALIGN(vnmq_small_pad(xdp) + priv->hdr_len + VNMQ_GOOD_FRAME, SMP_CACHE_BYTES) +
	       ALIGN(VNMQ_SHINFO_LEN, SMP_CACHE_BYTES);
}

/**
 * vnmq_small_fill_one - post one buffer
 * @rq: the queue
 * @gfp: how hard to try
 *
 * Return: 0, -ENOMEM, or what the ring says.
 * Context: NAPI of @rq, or its NAPI is off.
 */
int vnmq_small_fill_one(struct vnmq_rq *rq, gfp_t gfp)
{
	struct vnmq_priv *priv = rq->priv;
	bool xdp = vnmq_rx_has_xdp(rq);
	void *buf;
	int ret;

	buf = vnmq_frag_alloc(&rq->frag, vnmq_small_size(priv, xdp), gfp);
	if (unlikely(!buf))
		return -ENOMEM;
	sg_set_buf(rq->sg, buf + vnmq_small_pad(xdp), priv->hdr_len + VNMQ_GOOD_FRAME);
	ret = virtqueue_add_inbuf_ctx(rq->vq, rq->sg, 1, buf, xdp ? VNMQ_CTX_XDP : NULL, gfp);
	if (unlikely(ret))
		vnmq_frag_free(buf);
	return ret;
}

/* Return: where the header is, NULL for a length that cannot be. */
static void *vnmq_small_header(const struct vnmq_priv *priv, void *buf, void *ctx,
			       unsigned int len)
{
	if (unlikely(len < priv->hdr_len + ETH_HLEN || len > priv->hdr_len + VNMQ_GOOD_FRAME))
		return NULL;
	return buf + vnmq_small_pad(ctx);
}

/**
 * vnmq_small_receive - take a frame out of its buffer
 * @rq: the queue
 * @buf: the buffer
 * @ctx: its context
 * @len: what the device says it wrote
 * @hdr: set to the frame's header
 *
 * Return: the frame, data at the Ethernet header, or NULL when it was dropped (and counted).
 * Context: NAPI of @rq.
 */
struct sk_buff *vnmq_small_receive(struct vnmq_rq *rq, void *buf, void *ctx, unsigned int len,
				   union vnmq_hdr *hdr)
{
	struct vnmq_priv *priv = rq->priv;
	void *data = vnmq_small_header(priv, buf, ctx, len);
	struct sk_buff *skb;

	if (unlikely(!data)) {
		vnmq_rx_count_drop(rq, VNMQ_RX_LENGTH_ERRORS);
		goto free;
	}
	*hdr = *(union vnmq_hdr *)data;

	skb = napi_build_skb(buf, vnmq_small_size(priv, ctx));
	if (unlikely(!skb)) {
		vnmq_rx_count_drop(rq, VNMQ_RX_SKB_ERRORS);
		goto free;
	}
	skb_reserve(skb, vnmq_small_pad(ctx) + priv->hdr_len);
	skb_put(skb, len - priv->hdr_len);
	return skb;

free:
	vnmq_frag_free(buf);
	return NULL;
}

/**
 * vnmq_small_to_xdp - take a frame out of its buffer, for an XDP program
 * @rq: the queue
 * @buf: the buffer
 * @ctx: its context
 * @len: what the device says it wrote
 * @xdp: set to the frame
 *
 * A frame in a buffer that was posted before the program came is copied.
 *
 * Return: false when it was dropped (and counted).
 * Context: NAPI of @rq.
 */
bool vnmq_small_to_xdp(struct vnmq_rq *rq, void *buf, void *ctx, unsigned int len,
		       struct xdp_buff *xdp)
{
	struct vnmq_priv *priv = rq->priv;
	unsigned int size = vnmq_small_size(priv, true);
	unsigned int headroom = vnmq_small_pad(true) + priv->hdr_len;
	void *data = vnmq_small_header(priv, buf, ctx, len);
	enum vnmq_rx_counter reason;
	struct virtio_net_hdr hdr;
	void *copy;

	if (unlikely(!data)) {
		reason = VNMQ_RX_LENGTH_ERRORS;
		goto drop;
	}
	hdr = *(struct virtio_net_hdr *)data;
	if (unlikely(!vnmq_xdp_takes(&hdr))) {
		reason = VNMQ_RX_XDP_DROPS;
		goto drop;
	}
	if (unlikely(!ctx)) {
		copy = vnmq_frag_alloc(&rq->frag, size, GFP_ATOMIC);
		if (!copy) {
			reason = VNMQ_RX_SKB_ERRORS;
			goto drop;
		}
		memcpy(copy + headroom, data + priv->hdr_len, len - priv->hdr_len);
		vnmq_frag_free(buf);
		buf = copy;
	}
	xdp_init_buff(xdp, size, &rq->xdp.rxq);
	xdp_prepare_buff(xdp, buf, headroom, len - priv->hdr_len, true);
	return true;

drop:
	vnmq_frag_free(buf);
	vnmq_rx_count_drop(rq, reason);
	return false;
}
