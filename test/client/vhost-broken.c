// SPDX-License-Identifier: GPL-2.0-only
/*
 * A guest that breaks its ring, in every way there is: the ring stops, the error
 * eventfd fires once, what was good before is done, the other ring goes on, and
 * the worker sleeps. A new base brings the ring back.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"
#include "vhost.h"

#define NUM	256

static struct client *client;
static int tap, sock, log;
static uint8_t *buf;
static uint32_t number;

static void raw(struct ring *ring, unsigned int i, uint64_t addr, uint32_t len, uint16_t flags,
		uint16_t next)
{
	ring->desc[i] = (struct vring_desc){ addr, len, flags, next };
}

static void offer(struct ring *ring, uint16_t head)
{
	ring->avail->ring[ring->next_avail++ & (ring->num - 1)] = head;
}

/* ------------------------------------------------------------------------
 * The ways. Descriptors from 200 on are theirs.
 */

static void head_outside(struct ring *ring)
{
	offer(ring, NUM);
}

static void index_jump(struct ring *ring)
{
	ring->next_avail += NUM + 1;
}

static void loop(struct ring *ring)
{
	raw(ring, 200, guest_address(client, buf), 1, VRING_DESC_F_NEXT, 201);
	raw(ring, 201, guest_address(client, buf), 1, VRING_DESC_F_NEXT, 200);
	offer(ring, 200);
}

static void out_after_in(struct ring *ring)
{
	raw(ring, 200, guest_address(client, buf), 64, VRING_DESC_F_WRITE | VRING_DESC_F_NEXT, 201);
	raw(ring, 201, guest_address(client, buf), 64, 0, 0);
	offer(ring, 200);
}

static struct vring_desc *indirect(struct ring *ring, uint32_t len)
{
	struct vring_desc *table = (struct vring_desc *)(buf + 4096);

	raw(ring, 200, guest_address(client, table), len, VRING_DESC_F_INDIRECT, 0);
	offer(ring, 200);
	return table;
}

static void indirect_nested(struct ring *ring)
{
	indirect(ring, 16)[0] = (struct vring_desc){
		.addr = guest_address(client, buf), .len = 16, .flags = VRING_DESC_F_INDIRECT,
	};
}

static void indirect_too_big(struct ring *ring)
{
	indirect(ring, 16 * 65537);
}

static void indirect_odd(struct ring *ring)
{
	indirect(ring, 17);
}

static void indirect_loop(struct ring *ring)
{
	indirect(ring, 16)[0] = (struct vring_desc){
		.addr = guest_address(client, buf), .len = 16, .flags = VRING_DESC_F_NEXT,
	};
}

static void header_empty(struct ring *ring)
{
	raw(ring, 200, guest_address(client, buf), 0, 0, 0);
	offer(ring, 200);
}

static void direction(struct ring *ring)
{
	raw(ring, 200, guest_address(client, buf), 64, ring->index == TX ? VRING_DESC_F_WRITE : 0, 0);
	offer(ring, 200);
}

static void outside_memory(struct ring *ring)
{
	raw(ring, 200, GUEST_BASE + client->size - 63, 64, ring->index == TX ? 0 : VRING_DESC_F_WRITE, 0);
	offer(ring, 200);
}

static void over_the_top(struct ring *ring)
{
	raw(ring, 200, ~0ULL - 10, 64, ring->index == TX ? 0 : VRING_DESC_F_WRITE, 0);
	offer(ring, 200);
}

static void longest(struct ring *ring)
{
	raw(ring, 200, guest_address(client, buf), 0xffffffff, ring->index == TX ? 0 : VRING_DESC_F_WRITE, 0);
	offer(ring, 200);
}

/*
 * The last page of the guest's memory is not there for the owner to write. With a
 * header that vhost supplies, nobody but vhost writes the field there.
 */
static void header_not_writable(struct ring *ring)
{
	uint8_t *last = client->mem + client->size - 4096;

	raw(ring, 200, guest_address(client, last - 10), 10, VRING_DESC_F_WRITE | VRING_DESC_F_NEXT, 201);
	raw(ring, 201, guest_address(client, last), 2, VRING_DESC_F_WRITE | VRING_DESC_F_NEXT, 202);
	raw(ring, 202, guest_address(client, buf), 2048, VRING_DESC_F_WRITE, 0);
	if (mprotect(last, 4096, PROT_NONE))
		err(1, "mprotect");
	offer(ring, 200);
}

static const struct way {
	const char *name;
	const char *text;		/* in the kernel's log */
	void (*go)(struct ring *ring);
	unsigned int ring;
} ways[] = {
	{ "a head that is no descriptor", "Guest says index 256 > 256 is available", head_outside, TX },
	{ "an index that jumps", "Invalid available index change", index_jump, TX },
	{ "a loop", "Loop detected", loop, TX },
	{ "out after in", "Descriptor has out after in", out_after_in, TX },
	{ "a nested indirect table", "Nested indirect descriptor", indirect_nested, TX },
	{ "an indirect table too big", "Indirect buffer length too big", indirect_too_big, TX },
	{ "an indirect table of odd length", "Invalid length in indirect descriptor", indirect_odd, TX },
	{ "an empty packet", "Unexpected header len for TX", header_empty, TX },
	{ "a header that cannot be written", "Failed num_buffers write", header_not_writable, RX },
	/* From here on without text: the log is limited to ten at a time. */
	{ "a loop in an indirect table", NULL, indirect_loop, TX },
	{ "a buffer to write for TX", NULL, direction, TX },
	{ "a buffer to read for RX", NULL, direction, RX },
	{ "a buffer past the end of memory", NULL, outside_memory, TX },
	{ "a buffer past the end of memory for RX", NULL, outside_memory, RX },
	{ "a buffer over the top of addresses", NULL, over_the_top, TX },
	{ "the longest buffer", NULL, longest, TX },
	{ "the longest buffer for RX", NULL, longest, RX },
};

/* ------------------------------------------------------------------------
 * What is to hold
 */

/* Is there a line of the kernel's log since the last call that has @text? */
static bool logged(const char *text)
{
	char line[2000];
	bool found = false;
	ssize_t got;

	while ((got = read(log, line, sizeof(line) - 1)) > 0) {
		line[got] = '\0';
		if (text && strstr(line, text))
			found = true;
	}
	return found;
}

static void add_good_tx(void)
{
	struct buf out = { buf, client->hlen + 100, false };

	memset(buf, 0, client->hlen);
	make_frame(buf + client->hlen, 100, number);
	if (ring_add(&client->rings[TX], &out, 1) < 0)
		errx(1, "ring is full");
}

static void check_tx(const char *name)
{
	long got = receive_frame(sock, 5000, NULL);

	if (got != (long)number)
		errx(1, "%s: frame %u did not arrive (%ld)", name, number, got);
	number++;
	if (!ring_wait(&client->rings[TX], 5000) || ring_take(&client->rings[TX], NULL) < 0)
		errx(1, "%s: frame was not returned", name);
}

static void check_rx(const char *name)
{
	struct buf in = { buf + 8192, 2048, true };
	uint32_t len;

	ring_add(&client->rings[RX], &in, 1);
	ring_kick(&client->rings[RX]);
	if (!send_frame(sock, 100, number))
		err(1, "send");
	if (!ring_wait(&client->rings[RX], 5000) || ring_take(&client->rings[RX], &len) < 0)
		errx(1, "%s: nothing received", name);
	if (len != client->hlen + 100 || frame_number(buf + 8192 + client->hlen) != number)
		errx(1, "%s: received something else", name);
	number++;
}

static void force_kick(struct ring *ring)
{
	uint64_t one = 1;

	ring_publish(ring);
	if (write(ring->kick, &one, sizeof(one)) != sizeof(one))
		err(1, "kick");
}

static void mend(struct ring *ring)
{
	uint16_t used = ring->used->idx;

	if (set_backend(client, ring->index, -1))
		err(1, "stop");
	if (get_base(client, ring->index) != used)
		errx(1, "base is %d, used index %u", get_base(client, ring->index), used);
	ring->next_avail = used;
	ring_publish(ring);
	if (set_state(client, VHOST_SET_VRING_BASE, ring->index, used) ||
	    set_backend(client, ring->index, tap))
		err(1, "start");
}

static void try_way(const struct way *way)
{
	struct ring *ring = &client->rings[way->ring];
	bool good = way->ring == TX && way->go != index_jump;
	unsigned int i;

	logged(NULL);
	/* Something good first, in the same run; an index says all or nothing. */
	if (good)
		add_good_tx();
	way->go(ring);
	force_kick(ring);
	if (good)
		check_tx(way->name);
	if (way->ring == RX && !send_frame(sock, 100, number))
		err(1, "send");

	if (!wait_event(ring->err, 5000))
		errx(1, "%s: no error event", way->name);
	if (way->text && !logged(way->text))
		errx(1, "%s: \"%s\" is not in the log", way->name, way->text);

	/* Once, whatever the guest does then. */
	for (i = 0; i < 10; i++)
		force_kick(ring);
	if (way->ring == TX)
		check_rx(way->name);
	else
		for (i = 0; i < 3; i++) {
			add_good_tx();
			ring_kick(&client->rings[TX]);
			check_tx(way->name);
		}
	if (wait_event(ring->err, 50))
		errx(1, "%s: a second error event", way->name);

	mend(ring);
	mprotect(client->mem, client->size, PROT_READ | PROT_WRITE);
	if (way->ring == TX) {
		add_good_tx();
		ring_kick(ring);
		check_tx(way->name);
	} else {
		/* The frame that was under way may be there still: not lost. */
		while (ring->avail->idx != ring->used->idx)
			ring_take(ring, NULL);
	}
	printf("%s: ok\n", way->name);
}

int main(void)
{
	unsigned int i;

	log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	if (log < 0)
		err(1, "/dev/kmsg");
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		bool supply = ways[i].go == header_not_writable;

		client = client_setup(NUM, VERSION_1 | MRG_RXBUF | INDIRECT | (supply ? VNET_HDR : 0));
		if (!i)
			enter_netns();
		tap = tap_open("tap0", supply ? 0 : client->hlen, 0);
		sock = packet_socket("tap0");
		buf = client_alloc(client, 65536, 4096);
		client_start(client, tap);
		try_way(&ways[i]);
		client_stop(client);
		client_close(client);
		close(sock);
		close(tap);
	}
	return 0;
}
