/* SPDX-License-Identifier: GPL-2.0-only */
/* A ring and a guest's memory, for the tests of ring_split.c. */
#ifndef UNIT_RING_FIXTURE_H
#define UNIT_RING_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include <linux/uaccess.h>
#include <linux/vhost_types.h>

#include "ring_split.h"

/* Two regions that touch in the guest and not here, a hole, and the last page. */
#define LOW		0x10000ull
#define HIGH		0x20000ull
#define HOLE		0x30000ull
#define TOP		(0ull - 0x1000)
#define SIZE		0x10000

static u8 *low, *high, *top;
static struct vhmq_mem *mem;
static struct vhmq_ring ring;
static u16 next;			/* of the guest */

static struct iovec iov[UIO_MAXIOV];
static struct vhmq_chain chain;

static unsigned int failures;
static char failure[200];

unsigned int vhmq_max_mem_regions = 64;
unsigned int vhmq_max_iotlb_entries = 2048;

void vhmq_ring_fail(struct vhmq_ring *r, const char *format, ...)
{
	va_list args;

	if (r->broken)
		return;
	r->broken = true;
	failures++;
	va_start(args, format);
	vsnprintf(failure, sizeof(failure), format, args);
	va_end(args);
}

/* The part of the guest's memory that was logged last, and how often. */
static u64 logged_addr, logged_len;
static unsigned int logged;
static int log_result;

int vhmq_log_mark(u8 __user *base, u64 addr, u64 len)
{
	logged_addr = addr;
	logged_len = len;
	logged++;
	return log_result;
}

static const void *logged_at;

int vhmq_log_mark_written(u8 __user *base, const struct vhmq_mem *m, const void __user *at,
			  size_t len)
{
	logged_at = at;
	logged_len = len;
	logged++;
	return log_result;
}

/* What the owner was asked for last, and how often. */
static u64 missed;
static u8 missed_perm;
static unsigned int misses;

void vhmq_ring_miss(struct vhmq_ring *r, u64 addr, u8 perm)
{
	missed = addr;
	missed_perm = perm;
	misses++;
}

static inline void add_region(u64 start, u64 len, void *addr)
{
	struct vhmq_region *region = &mem->regions[mem->nr++];

	region->start = start;
	region->last = start + len - 1;
	region->addr = (uintptr_t)addr;
	region->perm = VHOST_ACCESS_RW;
}

static inline void setup_ring(unsigned int num)
{
	vhmq_ring_reset(&ring);
	ring.num = num;
	ring.little_endian = true;
	ring.desc_addr = (uintptr_t)calloc(num, sizeof(struct vring_desc));
	ring.avail_addr = (uintptr_t)calloc(1, vhmq_ring_avail_size(num, true));
	ring.used_addr = (uintptr_t)calloc(1, vhmq_ring_used_size(num, true));
	ring.mem = mem;
	next = 0;
	assert_int_equal(vhmq_ring_start(&ring), 0);
	vhmq_ring_disable_kick(&ring);
}

static inline void free_ring(void)
{
	free(ring.desc);
	free(ring.avail);
	free(ring.used);
}

static inline void resize(unsigned int num)
{
	free_ring();
	setup_ring(num);
}

static inline int setup(void **state)
{
	low = malloc(SIZE);
	high = malloc(SIZE);
	top = malloc(0x1000);
	mem = calloc(1, sizeof(*mem) + 8 * sizeof(mem->regions[0]));
	add_region(TOP, 0x1000, top);
	add_region(HIGH, SIZE, high);
	add_region(LOW, SIZE, low);
	vhmq_mem_sort(mem);
	failures = 0;
	failure[0] = '\0';
	logged = 0;
	log_result = 0;
	misses = 0;
	unit_user_fault = NULL;
	setup_ring(8);
	return 0;
}

static inline int teardown(void **state)
{
	unit_user_fault = NULL;
	free_ring();
	free(mem);
	free(low);
	free(high);
	free(top);
	return 0;
}

static inline void set_desc(struct vring_desc *desc, u64 addr, u32 len, u16 flags, u16 n)
{
	desc->addr = cpu_to_le64(addr);
	desc->len = cpu_to_le32(len);
	desc->flags = cpu_to_le16(flags);
	desc->next = cpu_to_le16(n);
}

static inline void desc(unsigned int i, u64 addr, u32 len, u16 flags, u16 n)
{
	set_desc(&ring.desc[i], addr, len, flags, n);
}

static inline void offer(u16 head)
{
	ring.avail->ring[next++ & (ring.num - 1)] = cpu_to_le16(head);
	ring.avail->idx = cpu_to_le16(next);
}

static inline int pop(void)
{
	return vhmq_ring_pop(&ring, iov, ARRAY_SIZE(iov), &chain);
}

static inline void assert_failed(int ret, const char *text)
{
	assert_true(ret < 0);
	assert_int_equal(failures, 1);
	if (!strstr(failure, text))
		fail_msg("\"%s\" is not in \"%s\"", text, failure);
	/* Told once; nothing more is popped. */
	assert_int_equal(pop(), -EIO);
	assert_int_equal(failures, 1);
}

static inline u16 used_idx(void)
{
	return le16_to_cpu(ring.used->idx);
}

static inline int push(u32 head, u32 len)
{
	struct vhmq_used_elem elem = {
		.id = vhmq_cpu_to_32(&ring, head),
		.len = vhmq_cpu_to_32(&ring, len),
	};

	return vhmq_ring_push(&ring, &elem, 1);
}

static inline struct vring_desc *table_at(u8 *base, unsigned int offset)
{
	return (struct vring_desc *)(base + offset);
}

#define ring_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
