// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pieces of pages for receive buffers.
 *
 * A pool holds one page, of up to 32 KiB, and hands out pieces of it in ascending
 * order: buffers that the device fills one after the other lie side by side, and
 * the fragments of one frame become one. All references that the pieces will need
 * are taken when the page comes in, and what is left over is given back when it is
 * used up.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/page_ref.h>

#include "frag.h"

#define VNMQ_FRAG_ORDER	get_order(VNMQ_MAX_BUFFER)
/* More pieces than a page can have, one of the smallest buffers being 64 bytes. */
#define VNMQ_FRAG_REFS	1024

/**
 * vnmq_frag_drain - give back the page that pieces come from
 * @pool: empty afterwards, and usable
 *
 * Context: the owner of @pool.
 */
void vnmq_frag_drain(struct vnmq_frag_pool *pool)
{
	if (pool->page) {
		page_ref_sub(pool->page, pool->refs - 1);
		put_page(pool->page);
	}
	memset(pool, 0, sizeof(*pool));
}

static bool vnmq_frag_next_page(struct vnmq_frag_pool *pool, unsigned int size, gfp_t gfp)
{
	struct page *page;

	/*
	 * Once more would mark what comes next as taken from the last reserves, too; or it is a
	 * single page, from when there was no longer one, and never enough.
	 */
	if (pool->page && (page_is_pfmemalloc(pool->page) || size > pool->size))
		vnmq_frag_drain(pool);
	page = pool->page;

	/* All pieces came back already: the same page again, hot in the cache. */
	if (page && page_ref_sub_and_test(page, pool->refs)) {
		set_page_count(page, VNMQ_FRAG_REFS);
		goto reset;
	}

	pool->page = NULL;
	pool->offset = 0;
	pool->size = 0;
	page = NULL;
	if (VNMQ_FRAG_ORDER)
		page = alloc_pages((gfp & ~__GFP_DIRECT_RECLAIM) | __GFP_COMP | __GFP_NOWARN |
				   __GFP_NORETRY | __GFP_NOMEMALLOC, VNMQ_FRAG_ORDER);
	pool->size = PAGE_SIZE << VNMQ_FRAG_ORDER;
	if (!page) {
		page = alloc_page(gfp | __GFP_NOWARN);
		pool->size = PAGE_SIZE;
	}
	if (!page) {
		pool->size = 0;
		return false;
	}
	page_ref_add(page, VNMQ_FRAG_REFS - 1);
	pool->page = page;
	pool->va = page_address(page);
reset:
	pool->refs = VNMQ_FRAG_REFS;
	pool->offset = 0;
	return true;
}

/**
 * vnmq_frag_alloc - a piece of a page
 * @pool: where from
 * @size: bytes, a multiple of SMP_CACHE_BYTES and at most VNMQ_MAX_BUFFER; above PAGE_SIZE
 * there is less
 *	hope of getting it
 * @gfp: how hard to try for a new page
 *
 * Return: the piece, which owns a reference to its page, or NULL.
 * Context: the owner of @pool (NAPI of its queue).
 */
void *vnmq_frag_alloc(struct vnmq_frag_pool *pool, unsigned int size, gfp_t gfp)
{
	void *buf;

	if (unlikely(pool->offset + size > pool->size) &&
	    (!vnmq_frag_next_page(pool, size, gfp) || size > pool->size))
		return NULL;
	buf = pool->va + pool->offset;
	pool->offset += size;
	pool->refs--;
	return buf;
}

/**
 * vnmq_frag_take_rest - what would be wasted at the end of the page
 * @pool: the pool that vnmq_frag_alloc() was just called for
 * @less_than: leave the rest alone if it is as long as this
 *
 * Return: bytes that the last piece may use behind its end.
 * Context: as vnmq_frag_alloc().
 */
unsigned int vnmq_frag_take_rest(struct vnmq_frag_pool *pool, unsigned int less_than)
{
	unsigned int rest = pool->size - pool->offset;

	if (rest >= less_than)
		return 0;
	pool->offset = pool->size;
	return rest;
}

/**
 * vnmq_frag_free - give back a piece that no skb took over
 * @buf: from vnmq_frag_alloc()
 *
 * Context: any.
 */
void vnmq_frag_free(void *buf)
{
	put_page(virt_to_head_page(buf));
}
