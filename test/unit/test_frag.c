// SPDX-License-Identifier: GPL-2.0-only
/* virtio_net_mq/frag.c: pieces of pages, with long pages that run out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <linux/types.h>

/* What frag.c needs of the kernel. */
#ifndef PAGE_SIZE
#define PAGE_SIZE		4096
#endif
#define get_order(size)		((size) > PAGE_SIZE ? 3 : 0)
#define __GFP_DIRECT_RECLAIM	0x400u
#define __GFP_COMP		0u
#define __GFP_NOWARN		0u
#define __GFP_NORETRY		0u
#define __GFP_NOMEMALLOC	0u

struct page {
	int count;
	void *va;
};

static bool no_long_pages;
static int pages;

static struct page *alloc_pages(gfp_t gfp, unsigned int order)
{
	struct page *page;

	if (order && no_long_pages)
		return NULL;
	page = malloc(sizeof(*page));
	page->va = malloc(PAGE_SIZE << order);
	page->count = 1;
	pages++;
	return page;
}

#define alloc_page(gfp)			alloc_pages(gfp, 0)
#define page_address(page)		((page)->va)
#define page_is_pfmemalloc(page)	false
#define virt_to_head_page(buf)		((struct page *)(buf))	/* not called here */
#define page_ref_add(page, n)		((page)->count += (n))
#define page_ref_sub(page, n)		((page)->count -= (n))
#define page_ref_sub_and_test(page, n)	(!((page)->count -= (n)))
#define set_page_count(page, n)		((page)->count = (n))

static void put_page(struct page *page)
{
	if (--page->count)
		return;
	free(page->va);
	free(page);
	pages--;
}

#include "../../virtio_net_mq/frag.c"

/* Once long pages are there again, they are used again. */
static void recovers_from_single_pages(void **state)
{
	struct vnmq_frag_pool pool = {};
	unsigned int i;

	no_long_pages = true;
	for (i = 0; i < 3; i++)
		assert_null(vnmq_frag_alloc(&pool, 2 * PAGE_SIZE, 0));
	no_long_pages = false;
	assert_non_null(vnmq_frag_alloc(&pool, 2 * PAGE_SIZE, 0));
	put_page(pool.page);
	vnmq_frag_drain(&pool);
	assert_int_equal(pages, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recovers_from_single_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
