// SPDX-License-Identifier: GPL-2.0-only
/*
 * vhost-greedy: a guest that breaks no rule of its ring and asks for more than there is:
 * the worker lets go of the queue, and hands the backend nothing that it cannot take.
 *
 * vhost-greedy forever: one that has always more to send, until standard input ends. It
 * prints its pid when it has begun.
 */
#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "frames.h"

static struct port port;
static atomic_bool end;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void write_index(struct ring *ring, uint16_t idx)
{
	__atomic_store_n(&ring->avail->idx, idx, __ATOMIC_RELEASE);
}

static void kick(struct ring *ring)
{
	uint64_t one = 1;

	if (write(ring->kick, &one, sizeof(one)) != sizeof(one))
		err(1, "kick");
}

/* ------------------------------------------------------------------------
 * The index moves all the time, and there is never enough for the packet.
 */

static void *move_index(void *arg)
{
	struct ring *rx = &port.client->rings[RX];
	uint16_t add = 0;

	(void)arg;
	while (!end)
		write_index(rx, rx->next_avail + 1 + add++ % 64);
	return NULL;
}

static void moving_index(void)
{
	struct ring *rx;
	pthread_t thread;
	unsigned int i;
	double start;

	port_open(&port, "tap0", 256, VERSION_1 | MRG_RXBUF, 0);
	rx = &port.client->rings[RX];
	for (i = 0; i < rx->num; i++) {
		rx->desc[i] = (struct vring_desc){
			guest_address(port.client, port.buf), 1, VRING_DESC_F_WRITE, 0
		};
		rx->avail->ring[i] = i;
	}
	end = false;
	if (pthread_create(&thread, NULL, move_index, NULL))
		errx(1, "thread");
	for (i = 0; i < 50; i++) {
		send_frame(port.sock, LEN, i);
		kick(rx);
		start = now();
		if (set_backend(port.client, RX, -1))
			err(1, "stop");
		if (now() - start > 2)
			errx(1, "a run went on for %.1f s", now() - start);
		if (set_backend(port.client, RX, port.tap))
			err(1, "start");
	}
	end = true;
	pthread_join(thread, NULL);
	port_close(&port);
	printf("an index that moves all the time: ok\n");
}

/* ------------------------------------------------------------------------
 * Packets of lengths that no backend has
 */

#define PART	(32 << 20)

static void send_long(uint64_t len)
{
	struct client *client = port.client;
	struct ring *tx = &client->rings[TX];
	struct buf bufs[256];
	unsigned int count = 0;

	memset(client->mem + client->size - PART, 0, 64);
	while (len) {
		uint32_t part = len < PART ? len : PART;

		bufs[count++] = (struct buf){ client->mem + client->size - PART, part, false };
		len -= part;
	}
	if (ring_add(tx, bufs, count) < 0)
		errx(1, "ring is full");
	ring_kick(tx);
	if (!ring_wait(tx, 5000) || ring_take(tx, NULL) < 0)
		errx(1, "not returned");
}

static void long_packets(void)
{
	static const uint64_t lens[] = {
		1 << 20, 24 << 20, (1ULL << 31) - 200, (1ULL << 31) + 12, (1ULL << 32) - 200,
		(1ULL << 32) + 112, (1ULL << 32) + 65536,
	};
	unsigned int i;

	port_open(&port, "tap0", 256, VERSION_1, 0);
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		send_long(lens[i]);
		port_check(&port, "after a long packet");
		printf("%llu bytes: ok\n", (unsigned long long)lens[i]);
	}
	port_close(&port);
}

/* ------------------------------------------------------------------------
 * The same frame for ever
 */

static void *offer_all(void *arg)
{
	struct ring *tx = &port.client->rings[TX];

	(void)arg;
	for (;;) {
		write_index(tx, __atomic_load_n(&tx->used->idx, __ATOMIC_ACQUIRE) + tx->num);
		kick(tx);
	}
	return NULL;
}

static void forever(void)
{
	struct ring *tx;
	pthread_t thread;
	char byte;

	port_open(&port, "tap0", 32768, VERSION_1, 0);
	tx = &port.client->rings[TX];
	make_frame(port.buf + port.client->hlen, LEN, 0);
	/* All entries of the ring say 0. */
	tx->desc[0] = (struct vring_desc){
		guest_address(port.client, port.buf), port.client->hlen + LEN, 0, 0
	};
	if (pthread_create(&thread, NULL, offer_all, NULL))
		errx(1, "thread");
	printf("%d\n", getpid());
	if (read(STDIN_FILENO, &byte, 1) < 0)
		err(1, "standard input");
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	enter_netns();
	if (argc > 1 && !strcmp(argv[1], "forever")) {
		forever();
		return 0;
	}
	moving_index();
	long_packets();
	return 0;
}
