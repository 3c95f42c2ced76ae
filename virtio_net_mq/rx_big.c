// SPDX-License-Identifier: GPL-2.0-only
/*
 * Big buffers: without mergeable buffers every buffer must hold the longest frame, 64 KiB when the
 * device may send such. A buffer is a set of pages; those that a frame reached go to its skb
 * and are replaced when the buffer is posted again, the others stay.
 *
 * The frame begins at VNMQ_BIG_DATA in the first page, the header right before it.
 */
#include "virtio_net_mq.h"

static unsigned int vnmq_big_room(const struct vnmq_big_buf *buf)
{
	return buf->count * PAGE_SIZE - VNMQ_BIG_DATA;
}

/**
 * vnmq_big_free - free a buffer and its pages
 * @buf: not in any ring
 *
 * Context: any.
 */
void vnmq_big_free(struct vnmq_big_buf *buf)
{
	unsigned int i;

	for (i = 0; i < buf->count; i++) {
		if (buf->pages[i])
			put_page(buf->pages[i]);
	}
	kfree(buf);
}

static void vnmq_big_put(struct vnmq_rq *rq, struct vnmq_big_buf *buf)
{
	buf->next = rq->big_free;
	rq->big_free = buf;
}

static struct vnmq_big_buf *vnmq_big_get(struct vnmq_rq *rq, gfp_t gfp)
{
	struct vnmq_big_buf *buf = rq->big_free;
	unsigned int i;

	if (buf) {
		rq->big_free = buf->next;
	} else {
		buf = kzalloc(struct_size(buf, pages, rq->priv->big_pages), gfp | __GFP_NOWARN);
		if (!buf)
			return NULL;
		buf->count = rq->priv->big_pages;
	}
	for (i = 0; i < buf->count; i++) {
		if (buf->pages[i])
			continue;
		buf->pages[i] = alloc_page(gfp | __GFP_NOWARN);
		if (unlikely(!buf->pages[i])) {
			vnmq_big_put(rq, buf);
			return NULL;
		}
	}
	return buf;
}

/**
 * vnmq_big_fill_one - post one buffer
 * @rq: the queue
 * @gfp: how hard to try
 *
 * Return: 0, -ENOMEM, or what the ring says.
 * Context: NAPI of @rq, or its NAPI is off.
 */
int vnmq_big_fill_one(struct vnmq_rq *rq, gfp_t gfp)
{
	unsigned int hdr_len = rq->priv->hdr_len, i, n = 0;
	struct vnmq_big_buf *buf;
	int ret;

	buf = vnmq_big_get(rq, gfp);
	if (unlikely(!buf))
		return -ENOMEM;

	sg_init_table(rq->sg, buf->count + !rq->priv->any_layout);
	if (rq->priv->any_layout) {
		sg_set_page(&rq->sg[n++], buf->pages[0], PAGE_SIZE - VNMQ_BIG_DATA + hdr_len,
			    VNMQ_BIG_DATA - hdr_len);
	} else {
		sg_set_page(&rq->sg[n++], buf->pages[0], hdr_len, VNMQ_BIG_DATA - hdr_len);
		sg_set_page(&rq->sg[n++], buf->pages[0], PAGE_SIZE - VNMQ_BIG_DATA, VNMQ_BIG_DATA);
	}
	for (i = 1; i < buf->count; i++)
		sg_set_page(&rq->sg[n++], buf->pages[i], PAGE_SIZE, 0);

	ret = virtqueue_add_inbuf(rq->vq, rq->sg, n, buf, gfp);
	if (unlikely(ret))
		vnmq_big_put(rq, buf);
	return ret;
}

/**
 * vnmq_big_receive - take a frame out of its buffer
 * @rq: the queue
 * @buf: the buffer
 * @len: what the device says it wrote
 * @hdr: set to the frame's header
 *
 * Return: the frame, data at the Ethernet header, or NULL when it was dropped (and counted).
 * Context: NAPI of @rq.
 */
struct sk_buff *vnmq_big_receive(struct vnmq_rq *rq, struct vnmq_big_buf *buf, unsigned int len,
				 union vnmq_hdr *hdr)
{
	unsigned int hdr_len = rq->priv->hdr_len;
	void *data = page_address(buf->pages[0]) + VNMQ_BIG_DATA;
	unsigned int copy, offset, i;
	struct sk_buff *skb;

	if (unlikely(len < hdr_len + ETH_HLEN || len > hdr_len + vnmq_big_room(buf))) {
		vnmq_rx_count_drop(rq, VNMQ_RX_LENGTH_ERRORS);
		vnmq_big_put(rq, buf);
		return NULL;
	}
	*hdr = *(union vnmq_hdr *)(data - hdr_len);
	len -= hdr_len;

	skb = napi_alloc_skb(&rq->napi, VNMQ_COPY_LEN);
	if (unlikely(!skb)) {
		vnmq_rx_count_drop(rq, VNMQ_RX_SKB_ERRORS);
		vnmq_big_put(rq, buf);
		return NULL;
	}
	copy = len;
	if (len > VNMQ_COPY_LEN)
		copy = vnmq_hdr_pull_len(rq->priv, &hdr->hdr);
	skb_put_data(skb, data, copy);
	len -= copy;

	offset = VNMQ_BIG_DATA + copy;
	for (i = 0; len; i++) {
		unsigned int part = min_t(unsigned int, len, PAGE_SIZE - offset);

		skb_add_rx_frag(skb, i, buf->pages[i], offset, part, PAGE_SIZE);
		buf->pages[i] = NULL;
		len -= part;
		offset = 0;
	}
	vnmq_big_put(rq, buf);
	return skb;
}
