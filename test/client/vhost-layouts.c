// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of 18 bytes to 60 KB both ways, cut into buffers at random places, the
 * header too, in rings of several sizes, with and without indirect tables,
 * mergeable buffers, and the header of version 1; the guest's memory in several
 * regions whose borders run through frames and tables.
 *
 * usage: vhost-layouts [FRAMES [SEED]]
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"
#include "vhost.h"

#define MTU		65000
#define REGION		(1 << 20)
#define REGIONS		8

static struct client *client;
static int tap, sock;
static unsigned int seed;

static unsigned int any(unsigned int from, unsigned int to)
{
	return from + rand_r(&seed) % (to - from + 1);
}

/*
 * The client's memory is one for the guest, and here regions that lie in reverse
 * order: what touches there does not touch here. The client reads and writes
 * it through a second mapping, in the guest's order.
 */
static void scatter_memory(void)
{
	struct {
		struct vhost_memory head;
		struct vhost_memory_region regions[REGIONS];
	} table = { .head.nregions = REGIONS };
	int fd = memfd_create("guest", 0);
	size_t size = REGIONS * (size_t)REGION;
	uint8_t *ordered, *scattered;
	unsigned int i;

	if (fd < 0 || ftruncate(fd, size) || pwrite(fd, client->mem, REGION, 0) != REGION)
		err(1, "memfd");
	ordered = mmap(client->mem, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	scattered = mmap(NULL, size * 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ordered == MAP_FAILED || scattered == MAP_FAILED)
		err(1, "mmap");
	for (i = 0; i < REGIONS; i++) {
		uint8_t *at = scattered + (REGIONS - 1 - i) * 2 * (size_t)REGION;

		if (mmap(at, REGION, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 i * (off_t)REGION) == MAP_FAILED)
			err(1, "mmap");
		table.regions[i].guest_phys_addr = GUEST_BASE + i * (uint64_t)REGION;
		table.regions[i].memory_size = REGION;
		table.regions[i].userspace_addr = (uintptr_t)at;
	}
	close(fd);
	if (vhost(client, VHOST_SET_MEM_TABLE, &table))
		err(1, "VHOST_SET_MEM_TABLE");
}

/* Cuts @len bytes at @at into at most @max pieces. */
static unsigned int cut(struct buf *bufs, unsigned int max, uint8_t *at, unsigned int len,
			bool write)
{
	unsigned int count = 0;

	while (len) {
		unsigned int piece = count + 1 == max || any(0, 3) == 0 ? len : any(1, len);

		bufs[count++] = (struct buf){ at, piece, write };
		at += piece;
		len -= piece;
	}
	return count;
}

/* A place for @len bytes, often over the border of regions; not among the rings. */
static uint8_t *place(unsigned int len)
{
	uint8_t *border = client->mem + any(3, REGIONS - 2) * (size_t)REGION;

	return border - any(0, len);
}

static unsigned int any_len(void)
{
	switch (any(0, 3)) {
	case 0:
		return any(18, 100);
	case 1:
		return any(18, 1514);
	case 2:
		return any(3000, 4300);
	default:
		return any(18, 60000);
	}
}

static int add(struct ring *ring, const struct buf *bufs, unsigned int count)
{
	struct vring_desc *table = (struct vring_desc *)(client->mem + REGION);

	if (!(client->features & INDIRECT) || any(0, 1))
		return ring_add(ring, bufs, count);
	/* Of the first one the table too lies over a border. */
	if (ring->nfree == ring->num)
		table = (struct vring_desc *)(client->mem + REGION * 2 - 16 * any(0, count));
	else
		table += (ring->next_avail & 511) * 8;
	return ring_add_indirect(ring, table, bufs, count);
}

static void transmit(unsigned int number)
{
	struct ring *tx = &client->rings[TX];
	unsigned int len = any_len(), max = tx->num < 8 ? tx->num : any(1, 8);
	uint8_t *at = place(len + client->hlen);
	struct buf bufs[8];
	size_t got_len;
	long got;

	memset(at, 0, client->hlen);
	make_frame(at + client->hlen, len, number);
	if (add(tx, bufs, cut(bufs, max, at, len + client->hlen, false)) < 0)
		errx(1, "the transmit ring is full");
	ring_kick(tx);
	got = receive_frame(sock, 5000, &got_len);
	if (got != (long)number || got_len != len)
		errx(1, "sent frame %u of %u bytes, got %ld of %zu", number, len, got, got_len);
	if (!ring_wait(tx, 5000))
		errx(1, "frame %u of %u bytes is not returned", number, len);
	ring_take(tx, NULL);
}

static void receive(unsigned int number)
{
	struct ring *rx = &client->rings[RX];
	unsigned int len = any_len(), room, total = 0, heads = 0, used, i;
	uint8_t *start, *at, frame[65536], wanted[65536];
	unsigned int max = rx->num < 8 ? rx->num : 8;

	if (client->features & MRG_RXBUF)
		room = (len + client->hlen) / rx->num + any(100, 4096);
	else
		room = len + client->hlen + any(0, 100);
	if (room < 200)
		room = 200;
	start = client->mem + 3 * (size_t)REGION + any(0, REGION);
	for (at = start; total < len + client->hlen; at += room) {
		struct buf bufs[8];

		/* Buffers follow each other in the guest's memory. */
		if (add(rx, bufs, cut(bufs, rx->nfree > rx->num / 2 ? any(1, max / 2 ?: 1) : 1,
				      at, room, true)) < 0)
			break;
		heads++;
		total += room;
	}
	if (total < len + client->hlen) {
		/* A small ring cannot hold it: dropped, unless the rest comes. */
		len = total - client->hlen;
		if (len < 18)
			errx(1, "no room");
	}
	ring_kick(rx);
	if (!send_frame(sock, len, number))
		err(1, "send of %u bytes", len);

	for (used = 0, i = 1; used < len + client->hlen; i++) {
		uint32_t part;

		if (!ring_wait(rx, 5000))
			errx(1, "frame %u of %u bytes: received %u", number, len, used);
		ring_take(rx, &part);
		if (part > room)
			errx(1, "%u bytes in a buffer of %u", part, room);
		used += part;
		if (i > heads)
			errx(1, "more buffers than there are");
	}
	if (client->hlen == 12 && start[10] + start[11] * 256U != i - 1)
		errx(1, "num_buffers %u of %u", start[10] + start[11] * 256U, i - 1);
	memcpy(frame, start + client->hlen, len);
	make_frame(wanted, len, number);
	if (used != len + client->hlen || memcmp(frame, wanted, len))
		errx(1, "frame %u of %u bytes: %u received, or others", number, len, used);

	/* The rest of the buffers goes back with the backend. */
	if (i - 1 < heads) {
		int base;

		if (set_backend(client, RX, -1))
			err(1, "stop");
		base = get_base(client, RX);
		if (base != rx->used->idx)
			errx(1, "base %d, used index %u", base, rx->used->idx);
		for (i = 0; i < rx->num; i++)
			rx->desc[i] = (struct vring_desc){ .next = i + 1 };
		rx->free = 0;
		rx->nfree = rx->num;
		rx->next_avail = base;
		rx->avail->idx = base;
		if (set_backend(client, RX, tap))
			err(1, "start");
	}
}

static void run(const char *name, unsigned int num, uint64_t features, unsigned int frames)
{
	unsigned int i;

	client = client_setup(num, features);
	tap = tap_open("tap0", client->hlen, 0);
	if (run_command("ip link set tap0 mtu 65000"))
		errx(1, "mtu");
	sock = packet_socket("tap0");
	if (client->allocated > REGION)
		errx(1, "the rings are too large");
	scatter_memory();
	client_start(client, tap);
	for (i = 0; i < frames; i++) {
		transmit(i);
		receive(i);
	}
	client_stop(client);
	client_close(client);
	close(tap);
	close(sock);
	printf("%s, ring of %u: ok\n", name, num);
}

int main(int argc, char **argv)
{
	unsigned int frames = argc > 1 ? atoi(argv[1]) : 300;
	static const unsigned int sizes[] = { 1, 2, 64, 256, 16384 };
	unsigned int i;

	seed = argc > 2 ? atoi(argv[2]) : 1;
	enter_netns();
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		run("version 1, mergeable, indirect, event index", sizes[i],
		    VERSION_1 | MRG_RXBUF | INDIRECT | EVENT_IDX, frames);
		run("version 1, indirect", sizes[i], VERSION_1 | INDIRECT, frames);
		run("legacy", sizes[i], 0, frames);
		run("legacy, mergeable", sizes[i], MRG_RXBUF | EVENT_IDX, frames);
	}
	return 0;
}
