// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mergeable buffers (virtio 1.2, 5.1.6.3.1 and 5.1.6.4): a frame takes num_buffers of them.
 *
 * Their length follows the frames: an average of the length of what came recently, so that a
 * frame of the MTU takes one buffer and 64 KiB take whole pages. A buffer for short frames has
 * room for skb_shared_info behind what the device may write, so that the skb is built around it;
 * buffers for long frames lie side by side without gaps and become one fragment where they touch.
 * The context of a buffer is what the device may write, and whether that room is there.
 *
 * A buffer that is posted while there is an XDP program has the program's headroom in front, too,
 * and takes a page at most. What the ring holds is where the device writes in each of them.
 */
#include "virtio_net_mq.h"

#define VNMQ_MRG_TAIL		ALIGN(VNMQ_SHINFO_LEN, SMP_CACHE_BYTES)
/* Buffers up to this length have room behind them. */
#define VNMQ_MRG_TAIL_MAX	2048U
/* Lengths are multiples of SMP_CACHE_BYTES. */
#define VNMQ_CTX_TAIL		1UL
#define VNMQ_CTX_XDP		2UL

static void *vnmq_mrg_ctx(unsigned int room, unsigned long flags)
{
	return (void *)(room | flags);
}

static unsigned int vnmq_mrg_room(void *ctx)
{
	return (unsigned long)ctx & ~(VNMQ_CTX_TAIL | VNMQ_CTX_XDP);
}

static bool vnmq_mrg_for_xdp(void *ctx)
{
	return (unsigned long)ctx & VNMQ_CTX_XDP;
}

static unsigned int vnmq_mrg_truesize(void *ctx)
{
	return vnmq_mrg_room(ctx) + ((unsigned long)ctx & VNMQ_CTX_TAIL ? VNMQ_MRG_TAIL : 0);
}

/**
 * vnmq_mergeable_min_len - the shortest buffers a queue may use
 * @priv: layout chosen
 * @posted: of them are in the ring just before a refill, at least
 *
 * A device that has a frame longer than all posted buffers waits for more of them, and we for an
 * interrupt to post them: what is posted then must hold the longest frame.
 *
 * Return: bytes without the header.
 */
unsigned int vnmq_mergeable_min_len(const struct vnmq_priv *priv, unsigned int posted)
{
	unsigned int frame = VNMQ_MAX_FRAME;

	if (!vnmq_guest_gso(priv->vdev))
		frame = ETH_HLEN + VLAN_HLEN + priv->dev->max_mtu;
	return max_t(unsigned int, VNMQ_GOOD_FRAME, DIV_ROUND_UP(priv->hdr_len + frame, posted));
}

static unsigned int vnmq_mrg_next_room(struct vnmq_rq *rq, bool xdp)
{
	unsigned int hdr_len = rq->priv->hdr_len;
	unsigned int least = ALIGN(hdr_len + rq->min_len, SMP_CACHE_BYTES);
	unsigned int wanted = ALIGN(hdr_len + ewma_vnmq_len_read(&rq->avg_len), SMP_CACHE_BYTES);

	if (unlikely(xdp)) {
		/* A frame has few fragments at most: none is short where frames may be long. */
		if (READ_ONCE(rq->priv->dev->mtu) > ETH_DATA_LEN)
			return VNMQ_XDP_ROOM;
		return min(max(wanted, least), VNMQ_XDP_ROOM);
	}
	if (wanted > PAGE_SIZE)
		wanted = PAGE_SIZE;
	return min_t(unsigned int, max(wanted, least), VNMQ_MAX_BUFFER);
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
	return vnmq_mrg_next_room(rq, vnmq_rx_has_xdp(rq));
}

static void *vnmq_mrg_alloc(struct vnmq_rq *rq, void **ctx, gfp_t gfp)
{
	bool xdp = vnmq_rx_has_xdp(rq);
	unsigned int room = vnmq_mrg_next_room(rq, xdp);
	bool tail = xdp || (!NET_IP_ALIGN && room <= VNMQ_MRG_TAIL_MAX);
	unsigned int front = xdp ? XDP_PACKET_HEADROOM : 0;
	unsigned int size = front + room + (tail ? VNMQ_MRG_TAIL : 0);
	void *buf;

	while (rq->nr_spare) {
		struct vnmq_spare *spare = &rq->spare[--rq->nr_spare];

		if (vnmq_mrg_room(spare->ctx) >= room && vnmq_mrg_for_xdp(spare->ctx) == xdp) {
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
	*ctx = vnmq_mrg_ctx(room, (tail ? VNMQ_CTX_TAIL : 0) | (xdp ? VNMQ_CTX_XDP : 0));
	return buf + front;
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

/* The next of a frame's @left buffers; NULL, with none left, when the device did not return it. */
static void *vnmq_mrg_next(struct vnmq_rq *rq, unsigned int *len, void **ctx, unsigned int *left)
{
	void *buf = virtqueue_get_buf_ctx(rq->vq, len, ctx);

	*left = likely(buf) ? *left - 1 : 0;
	return buf;
}

/* A frame is dropped: @buf, if there is one, and the @left after it stay here. */
static void vnmq_mrg_drop(struct vnmq_rq *rq, void *buf, void *ctx, unsigned int left,
			  enum vnmq_rx_counter reason)
{
	if (buf)
		vnmq_mrg_reuse(rq, buf, ctx);
	vnmq_mrg_skip(rq, left);
	vnmq_rx_count_drop(rq, reason);
}

/*
 * Look at a frame's first buffer: @left is how many more belong to it. Return: false to drop all
 * of them, for @reason.
 */
static bool vnmq_mrg_first(const struct vnmq_rq *rq, const void *buf, void *ctx, unsigned int len,
			   union vnmq_hdr *hdr, unsigned int *left, enum vnmq_rx_counter *reason)
{
	const struct vnmq_priv *priv = rq->priv;
	unsigned int others;

	*left = 0;
	*reason = VNMQ_RX_LENGTH_ERRORS;
	if (unlikely(len < priv->hdr_len + ETH_HLEN))
		return false;
	*hdr = *(const union vnmq_hdr *)buf;
	others = __virtio16_to_cpu(priv->le, hdr->mrg.num_buffers) - 1;
	if (unlikely(others >= virtqueue_get_vring_size(rq->vq))) {
		/* No saying where the next frame begins: take this buffer for all of it. */
		*reason = VNMQ_RX_BUFFER_ERRORS;
		return false;
	}
	*left = others;
	return likely(len <= vnmq_mrg_room(ctx));
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
	enum vnmq_rx_counter reason;
	struct sk_buff *head = NULL, *tail;
	unsigned int left;

	if (unlikely(!vnmq_mrg_first(rq, buf, ctx, len, hdr, &left, &reason)))
		goto drop;

	reason = VNMQ_RX_SKB_ERRORS;
	head = vnmq_mrg_head(rq, buf, ctx, len, &hdr->hdr, !left);
	if (unlikely(!head))
		goto drop;

	tail = head;
	while (left) {
		buf = vnmq_mrg_next(rq, &len, &ctx, &left);
		reason = VNMQ_RX_BUFFER_ERRORS;
		if (unlikely(!buf))
			goto drop;
		reason = VNMQ_RX_LENGTH_ERRORS;
		if (unlikely(!len || len > vnmq_mrg_room(ctx) ||
			     head->len + len > VNMQ_MAX_FRAME))
			goto drop;
		reason = VNMQ_RX_SKB_ERRORS;
		if (unlikely(!vnmq_mrg_append(head, &tail, buf, len, vnmq_mrg_truesize(ctx))))
			goto drop;
	}
	ewma_vnmq_len_add(&rq->avg_len, head->len);
	return head;

drop:
	vnmq_mrg_drop(rq, buf, ctx, left, reason);
	kfree_skb(head);
	return NULL;
}

/* Another buffer of a frame for a program that knows fragments, which owns @buf if it fits. */
static bool vnmq_mrg_xdp_frag(struct xdp_buff *xdp, void *buf, void *ctx, unsigned int len)
{
	struct skb_shared_info *shinfo = xdp_get_shared_info_from_buff(xdp);
	struct page *page = virt_to_head_page(buf);

	if (!xdp_buff_has_frags(xdp)) {
		xdp_buff_set_frags_flag(xdp);
		shinfo->nr_frags = 0;
		shinfo->xdp_frags_size = 0;
	}
	if (unlikely(shinfo->nr_frags == MAX_SKB_FRAGS))
		return false;
	vnmq_xdp_add_truesize(shinfo, vnmq_mrg_truesize(ctx));
	__skb_fill_page_desc_noacc(shinfo, shinfo->nr_frags++, page, buf - page_address(page), len);
	shinfo->xdp_frags_size += len;
	if (unlikely(page_is_pfmemalloc(page)))
		xdp_buff_set_frag_pfmemalloc(xdp);
	return true;
}

/* The same for one that does not: the frame grows in the page that it was copied to. */
static bool vnmq_mrg_xdp_copy(struct vnmq_rq *rq, struct xdp_buff *xdp, void *buf, void *ctx,
			      unsigned int len)
{
	if (unlikely(len > xdp_data_hard_end(xdp) - xdp->data_end))
		return false;
	memcpy(xdp->data_end, buf, len);
	xdp->data_end += len;
	vnmq_mrg_reuse(rq, buf, ctx);
	return true;
}

/*
 * The first buffer's part of a frame: where it is, or copied to a page of its own. Return: false
 * without one.
 */
static bool vnmq_mrg_xdp_head(struct vnmq_rq *rq, struct xdp_buff *xdp, void *buf, void *ctx,
			      unsigned int len, bool in_place)
{
	unsigned int hdr_len = rq->priv->hdr_len;
	void *page;

	if (likely(in_place)) {
		xdp_init_buff(xdp, XDP_PACKET_HEADROOM + vnmq_mrg_truesize(ctx), &rq->xdp.rxq);
		xdp_prepare_buff(xdp, buf - XDP_PACKET_HEADROOM, XDP_PACKET_HEADROOM + hdr_len,
				 len - hdr_len, true);
		return true;
	}
	page = vnmq_frag_alloc(&rq->frag, PAGE_SIZE, GFP_ATOMIC);
	if (!page)
		return false;
	memcpy(page + XDP_PACKET_HEADROOM, buf + hdr_len, len - hdr_len);
	vnmq_mrg_reuse(rq, buf, ctx);
	xdp_init_buff(xdp, PAGE_SIZE, &rq->xdp.rxq);
	xdp_prepare_buff(xdp, page, XDP_PACKET_HEADROOM, len - hdr_len, true);
	return true;
}

/**
 * vnmq_mergeable_to_xdp - take a frame out of its buffers, for an XDP program
 * @rq: the queue
 * @buf: the first buffer
 * @ctx: its context
 * @len: what the device says it wrote there
 * @xdp: set to the frame
 * @frags: the program knows fragments; for others the frame is copied to one piece
 *
 * What was posted before the program came has no headroom, and is copied, too.
 *
 * Return: false when it was dropped (and counted).
 * Context: NAPI of @rq.
 */
bool vnmq_mergeable_to_xdp(struct vnmq_rq *rq, void *buf, void *ctx, unsigned int len,
			   struct xdp_buff *xdp, bool frags)
{
	unsigned int left, total = len - rq->priv->hdr_len;
	enum vnmq_rx_counter reason;
	union vnmq_hdr hdr;
	bool in_place;

	if (unlikely(!vnmq_mrg_first(rq, buf, ctx, len, &hdr, &left, &reason)))
		goto drop_first;
	in_place = vnmq_mrg_for_xdp(ctx) && (frags || !left);
	reason = VNMQ_RX_XDP_DROPS;
	if (unlikely(!vnmq_xdp_takes(&hdr.hdr) || (!in_place && total > VNMQ_XDP_ROOM)))
		goto drop_first;
	reason = VNMQ_RX_SKB_ERRORS;
	if (unlikely(!vnmq_mrg_xdp_head(rq, xdp, buf, ctx, len, in_place)))
		goto drop_first;

	while (left) {
		buf = vnmq_mrg_next(rq, &len, &ctx, &left);
		reason = VNMQ_RX_BUFFER_ERRORS;
		if (unlikely(!buf))
			goto drop;
		total += len;
		reason = VNMQ_RX_LENGTH_ERRORS;
		if (unlikely(!len || len > vnmq_mrg_room(ctx) || total > VNMQ_MAX_FRAME))
			goto drop;
		reason = VNMQ_RX_XDP_DROPS;
		if (unlikely(!(frags ? vnmq_mrg_xdp_frag(xdp, buf, ctx, len) :
				       vnmq_mrg_xdp_copy(rq, xdp, buf, ctx, len))))
			goto drop;
	}
	ewma_vnmq_len_add(&rq->avg_len, total);
	return true;

drop:
	xdp_return_buff(xdp);
drop_first:
	vnmq_mrg_drop(rq, buf, ctx, left, reason);
	return false;
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
