// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small buffers: one frame of up to VNMQ_GOOD_FRAME bytes each. The skb is built around the buffer,
 * nothing is copied:
 *
 *	| pad | virtio_net_hdr | frame | skb_shared_info |
 */
#include "virtio_net_mq.h"

#define VNMQ_SMALL_PAD	(NET_IP_ALIGN + NET_SKB_PAD)

static unsigned int vnmq_small_size(const struct vnmq_priv *priv)
{
	return ALIGN(VNMQ_SMALL_PAD + priv->hdr_len + VNMQ_GOOD_FRAME, SMP_CACHE_BYTES) +
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
	void *buf;
	int ret;

	buf = vnmq_frag_alloc(&rq->frag, vnmq_small_size(priv), gfp);
	if (unlikely(!buf))
		return -ENOMEM;
	sg_set_buf(rq->sg, buf + VNMQ_SMALL_PAD, priv->hdr_len + VNMQ_GOOD_FRAME);
	ret = virtqueue_add_inbuf_ctx(rq->vq, rq->sg, 1, buf, NULL, gfp);
	if (unlikely(ret))
		vnmq_frag_free(buf);
	return ret;
}

/**
 * vnmq_small_receive - take a frame out of its buffer
 * @rq: the queue
 * @buf: the buffer
 * @len: what the device says it wrote
 * @hdr: set to the frame's header
 *
 * Return: the frame, data at the Ethernet header, or NULL when it was dropped (and counted).
 * Context: NAPI of @rq.
 */
struct sk_buff *vnmq_small_receive(struct vnmq_rq *rq, void *buf, unsigned int len,
				   union vnmq_hdr *hdr)
{
	struct vnmq_priv *priv = rq->priv;
	void *data = buf + VNMQ_SMALL_PAD;
	struct sk_buff *skb;

	if (unlikely(len < priv->hdr_len + ETH_HLEN || len > priv->hdr_len + VNMQ_GOOD_FRAME)) {
		vnmq_rx_count_drop(rq, VNMQ_RX_LENGTH_ERRORS);
		goto free;
	}
	*hdr = *(union vnmq_hdr *)data;

	skb = napi_build_skb(buf, vnmq_small_size(priv));
	if (unlikely(!skb)) {
		vnmq_rx_count_drop(rq, VNMQ_RX_SKB_ERRORS);
		goto free;
	}
	skb_reserve(skb, VNMQ_SMALL_PAD + priv->hdr_len);
	skb_put(skb, len - priv->hdr_len);
	return skb;

free:
	vnmq_frag_free(buf);
	return NULL;
}
