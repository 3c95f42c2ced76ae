// SPDX-License-Identifier: GPL-2.0-only
/*
 * VIRTIO_F_IN_ORDER: chains are used in the order in which they were made available, and a
 * batch of them gets one used entry, where its first would be, with the head of its last. All
 * frames of a run are one batch on the way out; on the way in each frame is one, of as
 * many buffers as it fills.
 */
#include <err.h>
#include <stdio.h>
#include <string.h>

#include "frames.h"

#define NUM		64
#define ROUNDS		60
#define SMALL		64	/* bytes of a buffer for mergeable frames */
#define NONE		0xffffffff
#define IN_ORDER	BIT(35)

static struct port port;
static struct vring_desc *tables;
static uint8_t *frames;

static void clear_used(struct ring *ring)
{
	memset(ring->used->ring, 0xff, NUM * sizeof(ring->used->ring[0]));
}

/* A descriptor for each entry: its head is its place. */
static void add(struct ring *ring, void *addr, uint32_t len, uint16_t flags)
{
	unsigned int at = ring->next_avail & (NUM - 1);

	ring->desc[at] = (struct vring_desc){ guest_address(port.client, addr), len, flags, 0 };
	if (flags & VRING_DESC_F_INDIRECT) {
		tables[at] = ring->desc[at];
		tables[at].flags = 0;
		ring->desc[at].addr = guest_address(port.client, &tables[at]);
		ring->desc[at].len = sizeof(tables[at]);
	}
	ring->avail->ring[at] = at;
	ring->next_avail++;
}

static void add_frames(struct ring *ring, unsigned int count, uint16_t flags)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		uint8_t *frame = frames + i * 1024;

		memset(frame, 0, port.client->hlen);
		make_frame(frame + port.client->hlen, LEN, port.number + i);
		add(ring, frame, port.client->hlen + LEN, flags);
	}
}

static void wait_used(struct ring *ring, uint16_t idx)
{
	while (__atomic_load_n(&ring->used->idx, __ATOMIC_ACQUIRE) != idx) {
		ring->next_used = ring->used->idx;
		if (!ring_wait(ring, 5000))
			errx(1, "used index %u, not %u", ring->used->idx, idx);
	}
	ring->next_used = idx;
}

/* One batch of @count from @first on, and entries beside it are as they were. */
static void check_batch(const struct ring *ring, uint16_t first, unsigned int count, uint32_t len)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		const struct vring_used_elem *elem = &ring->used->ring[(first + i) & (NUM - 1)];
		uint32_t id = i ? NONE : (first + count - 1) & (NUM - 1);

		if (elem->id != id || elem->len != (i ? NONE : len))
			errx(1, "entry %u of a batch of %u: head %u, %u bytes", i, count, elem->id,
			     elem->len);
	}
}

static void frames_arrive(unsigned int count)
{
	while (count--) {
		long got = receive_frame(port.sock, 5000, NULL);

		if (got != (long)port.number++)
			errx(1, "frame %ld arrived, not %u", got, port.number - 1);
	}
}

/* What is there when the backend comes is one run. */
static void transmit(uint16_t flags)
{
	struct ring *tx = &port.client->rings[TX];
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		unsigned int count = i * 7 % NUM + 1;
		uint16_t first = tx->next_avail;

		if (set_backend(port.client, TX, -1))
			err(1, "stop");
		clear_used(tx);
		add_frames(tx, count, flags);
		ring_publish(tx);
		if (set_backend(port.client, TX, port.tap))
			err(1, "start");
		wait_used(tx, tx->next_avail);
		check_batch(tx, first, count, 0);
		frames_arrive(count);
	}
}

static void receive(void)
{
	struct ring *rx = &port.client->rings[RX];
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		static const unsigned int lens[] = { 60, 1000, 200, 1400 };
		size_t len = lens[i % 4] + i, total = port.client->hlen + len;
		unsigned int count = (total + SMALL - 1) / SMALL, k;
		uint16_t first = rx->next_avail;
		uint8_t wanted[4096];

		clear_used(rx);
		memset(frames, 0, NUM * SMALL);
		for (k = 0; k < count; k++)
			add(rx, frames + k * SMALL, SMALL, VRING_DESC_F_WRITE);
		ring_kick(rx);
		if (!send_frame(port.sock, len, i))
			err(1, "send");
		wait_used(rx, rx->next_avail);
		check_batch(rx, first, count, total - (count - 1) * SMALL);
		make_frame(wanted, len, i);
		if (memcmp(frames + port.client->hlen, wanted, len))
			errx(1, "a frame of %zu bytes in %u buffers is not what was sent", len, count);
		if (((struct virtio_net_hdr_mrg_rxbuf *)frames)->num_buffers != count)
			errx(1, "num_buffers is wrong");
	}
}

/* What is good before a bad chain is returned, as one batch. */
static void fault(void)
{
	struct ring *tx = &port.client->rings[TX];
	uint16_t first = tx->next_avail;

	if (set_backend(port.client, TX, -1))
		err(1, "stop");
	clear_used(tx);
	add_frames(tx, 5, 0);
	add(tx, frames, LEN, VRING_DESC_F_WRITE);
	add_frames(tx, 3, 0);
	ring_publish(tx);
	if (set_backend(port.client, TX, port.tap))
		err(1, "start");
	if (!wait_event(tx->err, 5000))
		errx(1, "a bad chain was not told of");
	wait_used(tx, first + 5);
	check_batch(tx, first, 5, 0);
	frames_arrive(5);
	if (get_base(port.client, TX) != (uint16_t)(first + 5))
		errx(1, "the bad chain is not the next");
}

static void everything(uint64_t features)
{
	port_open(&port, "tap0", NUM, features, 0);
	frames = client_alloc(port.client, NUM * 1024, 4096);
	tables = client_alloc(port.client, NUM * sizeof(*tables), 16);
	transmit(0);
	transmit(VRING_DESC_F_INDIRECT);
	receive();
	fault();
	port_close(&port);
	printf("features %#llx: ok\n", (unsigned long long)features);
}

int main(void)
{
	const uint64_t features = VERSION_1 | MRG_RXBUF | INDIRECT | IN_ORDER;

	enter_netns();
	everything(features);
	everything(features | EVENT_IDX);
	return 0;
}
