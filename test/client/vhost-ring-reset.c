// SPDX-License-Identifier: GPL-2.0-only
/*
 * VIRTIO_F_RING_RESET as a virtual machine manager does it: one ring loses its backend, and comes
 * back empty, elsewhere in memory and of another size, while the device's other ring and
 * another device have traffic. What was taken was returned and is done, what was not is as if it
 * had never been there, and the memory of the ring that was is touched no more.
 */
#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "frames.h"

#ifndef VIRTIO_F_RING_RESET
#define VIRTIO_F_RING_RESET 40
#endif

#define ROUNDS		100
#define OTHERS		50	/* frames of the other rings, at least */
#define NUM_MAX		256
#define AREA		0x3000	/* a page or more for each part of a ring */
#define UNTOUCHED	0xa5

struct side {
	struct port *port;
	unsigned int index;
	uint8_t *areas[2];
	unsigned int area;		/* in use */
	uint32_t expected;		/* number of the frame that comes next */
};

static atomic_bool end;

/* ------------------------------------------------------------------------
 * The others
 */

struct other {
	struct port port;
	bool (*once)(struct port *port);
	atomic_ulong frames;
	pthread_t thread;
};

static bool sends(struct port *port)
{
	port_send(port);
	return port_sent(port, 5000);
}

static bool receives(struct port *port)
{
	return port_receive(port, 5000);
}

static bool both(struct port *port)
{
	return sends(port) && receives(port);
}

static void *go_on(void *data)
{
	struct other *other = data;

	while (!end) {
		if (!other->once(&other->port))
			errx(1, "another ring stands still");
		other->frames++;
	}
	return NULL;
}

static void start(struct other *other, const struct port *port, bool (*once)(struct port *port))
{
	other->port = *port;
	other->once = once;
	other->frames = 0;
	if (pthread_create(&other->thread, NULL, go_on, other))
		errx(1, "thread");
}

/* ------------------------------------------------------------------------
 * The ring that is reset
 */

static struct ring *ring_of(const struct side *side)
{
	return &side->port->client->rings[side->index];
}

static void lay_out(struct side *side, unsigned int num)
{
	struct ring *ring = ring_of(side);
	uint8_t *at = side->areas[side->area];
	unsigned int i;

	memset(at, 0, AREA);
	ring->num = num;
	ring->desc = (void *)at;
	ring->avail = (void *)(at + 0x1000);
	ring->used = (void *)(at + 0x2000);
	ring->next_avail = 0;
	ring->next_used = 0;
	ring->free = 0;
	ring->nfree = num;
	for (i = 0; i < num; i++)
		ring->desc[i].next = i + 1;
}

static void check_untouched(const uint8_t *at)
{
	unsigned int i;

	for (i = 0; i < AREA; i++) {
		if (at[i] != UNTOUCHED)
			errx(1, "byte %#x of a ring that was reset is %#x", i, at[i]);
	}
}

/* Return: how many chains the device had taken. */
static unsigned int reset(struct side *side, unsigned int num)
{
	struct client *client = side->port->client;
	struct ring *ring = ring_of(side);
	unsigned int taken;
	int base;

	if (set_backend(client, side->index, -1))
		err(1, "VHOST_NET_SET_BACKEND -1");
	taken = __atomic_load_n(&ring->used->idx, __ATOMIC_ACQUIRE);
	base = get_base(client, side->index);
	if (base != (int)taken)
		errx(1, "the base is %d, and %u chains were returned", base, taken);
	while (ring_take(ring, NULL) >= 0)
		;

	memset(side->areas[side->area], UNTOUCHED, AREA);
	side->area ^= 1;
	check_untouched(side->areas[side->area]);
	lay_out(side, num);
	if (set_ring(ring) || set_backend(client, side->index, side->port->tap))
		err(1, "a ring after its reset");
	return taken;
}

static void open_side(struct side *side, struct port *port, unsigned int index)
{
	unsigned int i;

	memset(side, 0, sizeof(*side));
	side->port = port;
	side->index = index;
	for (i = 0; i < 2; i++) {
		side->areas[i] = client_alloc(port->client, AREA, 4096);
		memset(side->areas[i], UNTOUCHED, AREA);
	}
}

static uint32_t next_arrived(struct side *side)
{
	long number = receive_frame(side->port->sock, 5000, NULL);

	if (number != (long)side->expected)
		errx(1, "frame %ld left, not %u", number, side->expected);
	return side->expected++;
}

/* Frames on their way; those that the device has not taken are sent again. */
static void reset_tx(struct side *side, uint8_t *frames, unsigned int num, unsigned int count)
{
	struct client *client = side->port->client;
	struct ring *ring = ring_of(side);
	uint32_t first = side->expected;
	unsigned int i, taken;

	for (i = 0; i < count; i++) {
		uint8_t *frame = frames + i * 256;
		struct buf out = { frame, client->hlen + LEN, false };

		memset(frame, 0, client->hlen);
		make_frame(frame + client->hlen, LEN, first + i);
		if (ring_add(ring, &out, 1) < 0)
			errx(1, "no room");
		ring_kick(ring);
	}
	taken = reset(side, num);
	if (taken > count)
		errx(1, "%u of %u chains were returned", taken, count);
	for (i = 0; i < taken; i++)
		next_arrived(side);
}

/* Frames that come while there are no buffers wait for the ring that is to come. */
static void reset_rx(struct side *side, uint8_t *buffers, unsigned int num, unsigned int count)
{
	struct client *client = side->port->client;
	struct ring *ring = ring_of(side);
	struct buf in = { .len = 256, .write = true };
	unsigned int i, taken;

	for (i = 0; i < count; i++) {
		in.addr = buffers + i * 256;
		memset(in.addr, 0, in.len);
		if (ring_add(ring, &in, 1) < 0)
			errx(1, "no room");
		ring_kick(ring);
		if (!send_frame(side->port->sock, LEN, side->port->number++))
			err(1, "send");
	}
	taken = reset(side, num);
	if (taken > count)
		errx(1, "%u of %u chains were returned", taken, count);
	for (i = 0; i < taken; i++) {
		uint32_t number = frame_number(buffers + i * 256 + client->hlen);

		if (number != side->expected++)
			errx(1, "frame %u was received, not %u", number, side->expected - 1);
	}
	/* Whatever has not come yet. */
	while (side->expected != side->port->number) {
		uint32_t number;

		in.addr = buffers;
		if (ring_add(ring, &in, 1) < 0)
			errx(1, "no room");
		ring_kick(ring);
		if (!ring_wait(ring, 5000))
			errx(1, "frame %u was lost", side->expected);
		ring_take(ring, NULL);
		number = frame_number(buffers + client->hlen);
		if (number != side->expected++)
			errx(1, "frame %u was received, not %u", number, side->expected - 1);
	}
	/* The next round has an empty ring. */
	reset(side, num);
}

static void rounds(unsigned int index, uint64_t features)
{
	static const unsigned int nums[] = { 64, 16, NUM_MAX, 8 };
	struct other own = {}, another = {};
	struct port port, second;
	struct side side;
	unsigned int i;
	uint8_t *bufs;

	end = false;
	port_open(&port, "tap0", 64, features, 0);
	port_open(&second, "tap1", 64, features, 0);
	open_side(&side, &port, index);
	bufs = client_alloc(port.client, 8 * 256, 4096);
	reset(&side, 64);
	start(&own, &port, index == TX ? receives : sends);
	start(&another, &second, both);

	for (i = 0; i < ROUNDS || own.frames < OTHERS || another.frames < OTHERS; i++)
		(index == TX ? reset_tx : reset_rx)(&side, bufs, nums[i % 4], i % 9);
	end = true;
	pthread_join(own.thread, NULL);
	pthread_join(another.thread, NULL);
	printf("%s, features %#llx: %u resets, %u frames; others %lu and %lu\n",
	       index == TX ? "transmit" : "receive", (unsigned long long)features, i,
	       side.expected, own.frames, another.frames);
	if (!side.expected)
		errx(1, "no frame passed the ring that was reset");
	port_close(&port);
	port_close(&second);
}

int main(void)
{
	const uint64_t features = VERSION_1 | MRG_RXBUF | BIT(VIRTIO_F_RING_RESET);
	unsigned int index;

	enter_netns();
	for (index = 0; index < RINGS; index++) {
		rounds(index, features);
		rounds(index, features | EVENT_IDX);
	}
	return 0;
}
