/* SPDX-License-Identifier: GPL-2.0-only */
/* Pieces of pages for receive buffers: see frag.c. */
#ifndef VIRTIO_NET_MQ_FRAG_H
#define VIRTIO_NET_MQ_FRAG_H

#include <linux/types.h>

struct page;

/* Longest receive buffer, the size of the pages that buffers are cut from. */
#define VNMQ_MAX_BUFFER		32768

/*
 * Pieces of a page, handed out from its start to its end. refs is what this pool
 * still owns of the page's reference count, so that a piece costs no atomic.
 */
struct vnmq_frag_pool {
	struct page *page;
	void *va;
	unsigned int offset;
	unsigned int size;
	unsigned int refs;
};

void *vnmq_frag_alloc(struct vnmq_frag_pool *pool, unsigned int size, gfp_t gfp);
unsigned int vnmq_frag_take_rest(struct vnmq_frag_pool *pool, unsigned int less_than);
void vnmq_frag_free(void *buf);
void vnmq_frag_drain(struct vnmq_frag_pool *pool);

#endif /* VIRTIO_NET_MQ_FRAG_H */
