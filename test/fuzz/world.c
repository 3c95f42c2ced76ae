// SPDX-License-Identifier: GPL-2.0-only
/* The owner's memory and who may touch it: see world.h. */
#include "world.h"

#include <stdarg.h>

u8 arena[ARENA] __attribute__((aligned(4096)));
u8 dirty[DIRTY] __attribute__((aligned(4096)));
struct vhmq_dev dev;

unsigned int vhmq_max_mem_regions = 16;
unsigned int vhmq_max_iotlb_entries = 16;

bool (*unit_user_fault)(const void *addr, size_t size, bool write);

void wrong(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

/* ------------------------------------------------------------------------
 * Input
 */

static const u8 *input;
static size_t left;

void input_set(const u8 *data, size_t size)
{
	input = data;
	left = size;
}

bool input_ends(void)
{
	return !left;
}

u8 u8_in(void)
{
	if (!left)
		return 0;
	left--;
	return *input++;
}

u16 u16_in(void)
{
	u16 low = u8_in();

	return low | u8_in() << 8;
}

u64 u64_in(void)
{
	u64 value = 0;
	unsigned int i;

	for (i = 0; i < 8; i++)
		value = value << 8 | u8_in();
	return value;
}

/* ------------------------------------------------------------------------
 * What is allowed
 */

bool in_arena(const void *addr, size_t size)
{
	u64 at = (uintptr_t)addr, first = (uintptr_t)arena;

	return at >= first && at - first <= ARENA && size <= ARENA - (at - first);
}

static bool in_dirty(const void *addr, size_t size)
{
	u64 at = (uintptr_t)addr, first = (uintptr_t)dirty;

	return at >= first && at - first <= DIRTY && size <= DIRTY - (at - first);
}

static bool within(u64 at, size_t size, u64 first, u64 len)
{
	return at >= first && at - first <= len && size <= len - (at - first);
}

/* Regions that together hold all of it. */
static bool is_mapped(const struct vhmq_mem *mem, u64 at, size_t size, u8 perm)
{
	u64 end = at + size;
	unsigned int i;

	while (at != end) {
		u64 reach = at;

		for (i = 0; i < mem->nr; i++) {
			const struct vhmq_region *region = &mem->regions[i];
			u64 len = region->last - region->start;

			if (region->perm & perm && at >= region->addr && at - region->addr <= len)
				reach = max(reach, region->addr + len + 1);
		}
		if (reach == at)
			return false;
		at = min(reach, end);
	}
	return true;
}

static bool is_ring(const struct vhmq_ring *ring, u64 at, size_t size, bool write)
{
	if (ring->iotlb)
		return false;
	if (within(at, size, ring->used_addr, vhmq_ring_used_size(ring->num, ring->event_idx)))
		return true;
	return !write && (within(at, size, ring->desc_addr, ring->num * sizeof(struct vring_desc)) ||
			  within(at, size, ring->avail_addr,
				 vhmq_ring_avail_size(ring->num, ring->event_idx)));
}

/* The bits of guest addresses from @first to @last; a word at a time is touched. */
static bool is_bits(const struct vhmq_ring *ring, u64 at, size_t size, u64 first, u64 last)
{
	u64 from = (uintptr_t)ring->log_base + first / VHMQ_LOG_PAGE / 8;
	u64 to = (uintptr_t)ring->log_base + last / VHMQ_LOG_PAGE / 8;

	from -= from % sizeof(long);
	to -= to % sizeof(long);
	return within(at, size, from, to - from + sizeof(long));
}

static bool is_log(const struct vhmq_ring *ring, u64 at, size_t size)
{
	unsigned int i;

	if (!ring->log_used)
		return false;
	if (!ring->iotlb)
		return is_bits(ring, at, size, ring->log_addr, ring->log_addr +
			       vhmq_ring_used_size(ring->num, ring->event_idx) - 1);
	for (i = 0; ring->physical && i < ring->physical->nr; i++) {
		if (is_bits(ring, at, size, ring->physical->regions[i].start,
			    ring->physical->regions[i].last))
			return true;
	}
	return false;
}

static bool is_allowed(const struct vhmq_ring *ring, u64 at, size_t size, bool write)
{
	u8 perm = write ? VHOST_ACCESS_WO : VHOST_ACCESS_RO;

	return is_ring(ring, at, size, write) || is_log(ring, at, size) ||
	       (ring->mem && is_mapped(ring->mem, at, size, perm));
}

/* ------------------------------------------------------------------------
 * Accesses
 */

/* More than any one call needs, and less than a guest could wish for. */
#define ACCESSES_MAX	100000

#define FLIPS		4
#define WRITES		4096

struct vhmq_queue *acting;
unsigned long accesses;

static struct flip {
	unsigned int left;		/* accesses; 0: not armed */
	u16 at;
	u64 value;
	unsigned int len;
} flips[FLIPS];

static unsigned int fault_left, next_flip;
static bool disturbed;

static struct {
	u64 at;
	size_t size;
} writes[WRITES];
static unsigned int writes_nr;

static void flip(void)
{
	unsigned int i;

	for (i = 0; i < FLIPS; i++) {
		struct flip *f = &flips[i];

		if (!f->left || --f->left)
			continue;
		memcpy(arena + min_t(u64, f->at % ARENA, ARENA - f->len), &f->value, f->len);
		disturbed = true;
	}
}

static bool judge(const void *addr, size_t size, bool write)
{
	if (!acting)
		return !in_arena(addr, size) && !in_dirty(addr, size);
	if (++accesses > ACCESSES_MAX)
		wrong("no end of accesses");
	flip();
	/* Nothing is there, whoever the owner is. */
	if (!addr)
		return true;
	if (!is_allowed(&acting->ring, (uintptr_t)addr, size, write))
		wrong("%s of %zu bytes at %p (arena %p) is not allowed",
		      write ? "write" : "read", size, addr, (void *)arena);
	if (fault_left && !--fault_left) {
		disturbed = true;
		return true;
	}
	if (in_dirty(addr, size))
		return false;
	if (!in_arena(addr, size))
		return true;
	if (write && writes_nr < WRITES) {
		writes[writes_nr].at = (uintptr_t)addr;
		writes[writes_nr++].size = size;
	}
	return false;
}

void begin(struct vhmq_queue *queue)
{
	unit_user_fault = judge;
	acting = queue;
	accesses = 0;
	disturbed = false;
	writes_nr = 0;
}

bool end(void)
{
	acting = NULL;
	return !disturbed;
}

void arm_flip(unsigned int nth, u16 at, u64 value, unsigned int len)
{
	flips[next_flip++ % FLIPS] = (struct flip){ nth, at, value, len };
}

void arm_fault(unsigned int nth)
{
	fault_left = nth;
}

bool armed(void)
{
	unsigned int i;
	bool ret = fault_left;

	for (i = 0; i < FLIPS; i++)
		ret |= flips[i].left;
	return ret;
}

void disarm(void)
{
	memset(flips, 0, sizeof(flips));
	fault_left = 0;
}

static void expect_page(const struct vhmq_ring *ring, u8 *expected, u64 addr)
{
	u64 page = addr / VHMQ_LOG_PAGE;
	u64 at = (uintptr_t)ring->log_base + page / 8 - (uintptr_t)dirty;

	must(at < DIRTY);
	expected[at] |= 1u << page % 8;
}

void expect_log(const struct vhmq_ring *ring, u8 *expected)
{
	unsigned int i, k, n;

	must(writes_nr < WRITES);
	for (i = 0; i < writes_nr; i++) {
		/* None is longer than a page. */
		for (k = 0; k < writes[i].size; k += max_t(size_t, writes[i].size - 1, 1)) {
			u64 at = writes[i].at + k;

			if (!ring->iotlb) {
				expect_page(ring, expected, ring->log_addr + (at - ring->used_addr));
				continue;
			}
			for (n = 0; ring->physical && n < ring->physical->nr; n++) {
				const struct vhmq_region *region = &ring->physical->regions[n];

				if (at >= region->addr &&
				    at - region->addr <= region->last - region->start)
					expect_page(ring, expected, region->start + (at - region->addr));
			}
		}
	}
}
