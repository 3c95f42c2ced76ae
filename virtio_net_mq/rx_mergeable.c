// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mergeable buffers (virtio 1.2, 5.1.6.3.1 and 5.1.6.4): a frame takes num_buffers of them.
 *
 * Their length follows the frames: an average of the length of what came recently, so that a
 * frame of the MTU takes one buffer and 64 KiB take whole pages. A buffer for short frames has
 * room for skb_shared_info behind what the device may write, so that the skb is built around it;
 * buffers for long frames lie side by side without gaps and become one fragment where they touch.
 * The context of a buffer is what the device may write, and whether that room is there.
 */
#include "virtio_net_mq.h"

#define VNMQ_MRG_TAIL		ALIGN(VNMQ_SHINFO_LEN, SMP_CACHE_BYTES)
/* Buffers up to this length have room behind them. */
#define VNMQ_MRG_TAIL_MAX	2048U
#define VNMQ_CTX_TAIL		1UL	/* lengths are even */

static void *vnmq_mrg_ctx(unsigned int room, bool tail)
{
	return (void *)(room | (tail ? VNMQ_CTX_TAIL : 0));
}

static unsigned int vnmq_mrg_room(void *ctx)
{
	return (unsigned long)ctx & ~VNMQ_CTX_TAIL;
}

static unsigned int vnmq_mrg_truesize(void *ctx)
{
	return vnmq_mrg_room(ctx) + ((unsigned long)ctx & VNMQ_CTX_TAIL ? VNMQ_MRG_TAIL : 0);
}

/**
 * vnmq_mergeable_min_len - the shortest buffers a queue may use
 * @rq: the queue; refill_at is set
 *
 * A device that has a frame longer than all posted buffers waits for more of them, and we for an
 * interrupt to post them: what is posted just before a refill must hold the longest frame.
 *
 * Return: bytes without the header.
 */
unsigned int vnmq_mergeable_min_len(const struct vnmq_rq *rq)
{
	const struct vnmq_priv *priv = rq->priv;
	unsigned int frame = VNMQ_MAX_FRAME;

	if (!vnmq_guest_gso(priv->vdev))
		frame = ETH_HLEN + VLAN_HLEN + priv->dev->max_mtu;
	return max_t(unsigned int, VNMQ_GOOD_FRAME,
		     DIV_ROUND_UP(priv->hdr_len + frame,
				  virtqueue_get_vring_size(rq->vq) - rq->refill_at));
}

/**
 * vnmq_mergeable_len - what the next buffer's length would be
 * @rq: the queue
 *
 * Return: bytes, header included.
 * Context: any; an estimate outside of the queue's NAPI.
 */
unsigned int vnmq_mergeable_len(struct vnmq_rq *rq)
{
	unsigned int hdr_len = rq->priv->hdr_len;
	unsigned int least = ALIGN(hdr_len + rq->min_len, SMP_CACHE_BYTES);
	unsigned int wanted = ALIGN(hdr_len + ewma_vnmq_len_read(&rq->avg_len), SMP_CACHE_BYTES);

	if (wanted > PAGE_SIZE)
		wanted = PAGE_SIZE;
	return min_t(unsigned int, max(wanted, least), VNMQ_MAX_BUFFER);
}

static void *vnmq_mrg_alloc(struct vnmq_rq *rq, void **ctx, gfp_t gfp)
{
	unsigned int room = vnmq_mergeable_len(rq);
	bool tail = !NET_IP_ALIGN && room <= VNMQ_MRG_TAIL_MAX;
	unsigned int size = room + (tail ? VNMQ_MRG_TAIL : 0);
	void *buf;

	while (rq->nr_spare) {
		struct vnmq_spare *spare = &rq->spare[--rq->nr_spare];

		if (vnmq_mrg_room(spare->ctx) >= room) {
			*ctx = spare->ctx;
			return spare->buf;
		}
		vnmq_frag_free(spare->buf);
	}

	buf = vnmq_frag_alloc(&rq->frag, size, gfp);
	if (unlikely(!buf))
		return NULL;
	if (!tail)
		room += vnmq_frag_take_rest(&rq->frag, size);
	*ctx = vnmq_mrg_ctx(room, tail);
	return buf;
}

/**
 * vnmq_mergeable_fill_one - post one buffer
 * @rq: the queue
 * @gfp: how hard to try
 *
 * Return: 0, -ENOMEM, or what the ring says.
 * Context: NAPI of @rq, or its NAPI is off.
 */
int vnmq_mergeable_fill_one(struct vnmq_rq *rq, gfp_t gfp)
{
	void *buf, *ctx;
	int ret;

	buf = vnmq_mrg_alloc(rq, &ctx, gfp);
	if (unlikely(!buf))
		return -ENOMEM;
	sg_set_buf(rq->sg, buf, vnmq_mrg_room(ctx));
	ret = virtqueue_add_inbuf_ctx(rq->vq, rq->sg, 1, buf, ctx, gfp);
	if (unlikely(ret))
		vnmq_frag_free(buf);
	return ret;
}

static void vnmq_mrg_reuse(struct vnmq_rq *rq, void *buf, void *ctx)
{
	if (rq->nr_spare == VNMQ_SPARES) {
		vnmq_frag_free(buf);
		return;
	}
	rq->spare[rq->nr_spare].buf = buf;
	rq->spare[rq->nr_spare++].ctx = ctx;
}

static void vnmq_mrg_add_frag(struct sk_buff *skb, void *data, unsigned int len,
			      unsigned int truesize)
{
	struct page *page = virt_to_head_page(data);

	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, data - page_address(page), len,
			truesize);
}

/*
 * The skb for a frame's first buffer. It owns @buf afterwards, one way or another; NULL: no
 * memory.
 */
static struct sk_buff *vnmq_mrg_head(struct vnmq_rq *rq, void *buf, void *ctx, unsigned int len,
				     const struct virtio_net_hdr *hdr, bool whole)
{
	unsigned int hdr_len = rq->priv->hdr_len;
	unsigned int truesize = vnmq_mrg_truesize(ctx);
	unsigned int frame = len - hdr_len, copy;
	struct sk_buff *skb;

	if (!NET_IP_ALIGN && frame > VNMQ_COPY_LEN && truesize - len >= VNMQ_SHINFO_LEN) {
		skb = napi_build_skb(buf, truesize);
		if (unlikely(!skb))
			return NULL;
		skb_reserve(skb, hdr_len);
		skb_put(skb, frame);
		return skb;
	}

	skb = napi_alloc_skb(&rq->napi, VNMQ_COPY_LEN);
	if (unlikely(!skb))
		return NULL;
	copy = frame;
	if (frame > VNMQ_COPY_LEN || !whole)
		copy = min(frame, vnmq_hdr_pull_len(rq->priv, hdr));
	skb_put_data(skb, buf + hdr_len, copy);
	if (copy < frame)
		vnmq_mrg_add_frag(skb, buf + hdr_len + copy, frame - copy, truesize);
	else
		vnmq_mrg_reuse(rq, buf, ctx);
	return skb;
}

/*
 * Add a buffer to the frame that begins with @head. @tail is the last skb of its chain: with more
 * pieces than fit one skb the rest hangs on its frag_list.
 */
static bool vnmq_mrg_append(struct sk_buff *head, struct sk_buff **tail, void *buf,
			    unsigned int len, unsigned int truesize)
{
	struct page *page = virt_to_head_page(buf);
	struct sk_buff *skb = *tail;
	unsigned int nr = skb_shinfo(skb)->nr_frags;

	if (skb_can_coalesce(skb, nr, page, buf - page_address(page))) {
		skb_coalesce_rx_frag(skb, nr - 1, len, truesize);
		put_page(page);
	} else {
		if (unlikely(nr == MAX_SKB_FRAGS)) {
			struct sk_buff *more = alloc_skb(0, GFP_ATOMIC);

			if (!more)
				return false;
			if (skb == head)
				skb_shinfo(head)->frag_list = more;
			else
				skb->next = more;
			*tail = skb = more;
			head->truesize += more->truesize;
		}
		vnmq_mrg_add_frag(skb, buf, len, truesize);
	}
	if (skb != head) {
		head->len += len;
		head->data_len += len;
		head->truesize += truesize;
	}
	return true;
}

/* Take the other buffers of a frame that is dropped out of the ring. */
static void vnmq_mrg_skip(struct vnmq_rq *rq, unsigned int count)
{
	unsigned int len;
	void *buf, *ctx;

	while (count-- && (buf = virtqueue_get_buf_ctx(rq->vq, &len, &ctx)))
		vnmq_mrg_reuse(rq, buf, ctx);
}

/**
 * vnmq_mergeable_receive - take a frame out of its buffers
 * @rq: the queue
 * @buf: the first buffer
 * @ctx: its context
 * @len: what the device says it wrote there
 * @hdr: set to the frame's header
 *
 * Return: the frame, data at the Ethernet header, or NULL when it was dropped (and counted).
 * Context: NAPI of @rq.
 */
struct sk_buff *vnmq_mergeable_receive(struct vnmq_rq *rq, void *buf, void *ctx, unsigned int len,
				       union vnmq_hdr *hdr)
{
	struct vnmq_priv *priv = rq->priv;
	enum vnmq_rx_counter reason = VNMQ_RX_LENGTH_ERRORS;
	struct sk_buff *head = NULL, *tail;
	unsigned int left = 0;

	if (unlikely(len < priv->hdr_len + ETH_HLEN))
		goto drop_buf;
	*hdr = *(union vnmq_hdr *)buf;
	left = __virtio16_to_cpu(priv->le, hdr->mrg.num_buffers);
	if (unlikely(left - 1 >= virtqueue_get_vring_size(rq->vq))) {
		/* No saying where the next frame begins: take this buffer for all of it. */
		left = 0;
		reason = VNMQ_RX_BUFFER_ERRORS;
		goto drop_buf;
	}
	left--;
	if (unlikely(len > vnmq_mrg_room(ctx)))
		goto drop_buf;

	head = vnmq_mrg_head(rq, buf, ctx, len, &hdr->hdr, !left);
	if (unlikely(!head)) {
		reason = VNMQ_RX_SKB_ERRORS;
		goto drop_buf;
	}

	for (tail = head; left; left--) {
		buf = virtqueue_get_buf_ctx(rq->vq, &len, &ctx);
		if (unlikely(!buf)) {
			left = 0;
			reason = VNMQ_RX_BUFFER_ERRORS;
			goto drop_skb;
		}
		if (unlikely(!len || len > vnmq_mrg_room(ctx) ||
			     head->len + len > VNMQ_MAX_FRAME)) {
			left--;
			goto drop_buf;
		}
		if (unlikely(!vnmq_mrg_append(head, &tail, buf, len, vnmq_mrg_truesize(ctx)))) {
			left--;
			reason = VNMQ_RX_SKB_ERRORS;
			goto drop_buf;
		}
	}
	ewma_vnmq_len_add(&rq->avg_len, head->len);
	return head;

drop_buf:
	vnmq_mrg_reuse(rq, buf, ctx);
drop_skb:
	vnmq_mrg_skip(rq, left);
	kfree_skb(head);
	vnmq_rx_count_drop(rq, reason);
	return NULL;
}

/**
 * vnmq_mergeable_free_spares - free buffers kept for the next fill
 * @rq: a queue with NAPI off
 *
 * Context: process.
 */
void vnmq_mergeable_free_spares(struct vnmq_rq *rq)
{
	while (rq->nr_spare)
		vnmq_frag_free(rq->spare[--rq->nr_spare].buf);
}
