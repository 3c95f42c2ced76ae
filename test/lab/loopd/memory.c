// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's memory, mapped through the test module. An address in a ring is a
 * physical address. x86 has holes between its pieces of memory, which /proc/iomem
 * names; a user-mode kernel has one piece, which begins at 0.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/vhost.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loopd.h"

#define MAX_REGIONS	64	/* vhost's own limit */
#define LOW_MEMORY	0x100000ULL	/* the first MiB of a PC: nothing is allocated there */

static struct vhost_memory *table;

static void add_region(uint64_t start, uint64_t end)
{
	struct vhost_memory_region *region = &table->regions[table->nregions];
	uint64_t page = sysconf(_SC_PAGESIZE);
	void *at;

	start = (start + page - 1) & ~(page - 1);
	end &= ~(page - 1);
	if (end <= start)
		return;
	if (table->nregions == MAX_REGIONS)
		fail("memory has more than %d pieces", MAX_REGIONS);
	at = mmap(NULL, end - start, PROT_READ | PROT_WRITE, MAP_SHARED, loop_fd, start);
	if (at == MAP_FAILED)
		fail("cannot map memory 0x%" PRIx64 "-0x%" PRIx64 ": %s", start, end,
		     strerror(errno));
	region->guest_phys_addr = start;
	region->memory_size = end - start;
	region->userspace_addr = (uintptr_t)at;
	table->nregions++;
}

void memory_map(void)
{
	uint64_t start, end, top;
	char line[256];
	FILE *f;

	table = calloc(1, sizeof(*table) + MAX_REGIONS * sizeof(table->regions[0]));
	if (!table)
		fail("no memory");
	f = fopen("/proc/iomem", "r");
	while (f && fgets(line, sizeof(line), f)) {
		/* pieces of a piece are indented */
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " : ", &start, &end) == 2 &&
		    line[0] != ' ' && strstr(line, " : System RAM") && end >= LOW_MEMORY)
			add_region(start, end + 1);
	}
	if (f)
		fclose(f);
	if (table->nregions)
		return;
	if (ioctl(loop_fd, VLOOP_GET_TOP, &top))
		fail("VLOOP_GET_TOP: %s", strerror(errno));
	add_region(0, top);
}

/* The program's address of @len bytes at @addr, or NULL where there is no memory. */
void *memory_at(uint64_t addr, uint64_t len)
{
	const struct vhost_memory_region *region;
	uint32_t i;

	for (i = 0; i < table->nregions; i++) {
		region = &table->regions[i];
		if (addr >= region->guest_phys_addr && len <= region->memory_size &&
		    addr - region->guest_phys_addr <= region->memory_size - len)
			return (void *)(uintptr_t)(region->userspace_addr +
						   (addr - region->guest_phys_addr));
	}
	return NULL;
}

struct vhost_memory *memory_table(void)
{
	return table;
}
