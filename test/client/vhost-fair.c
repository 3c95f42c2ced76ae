// SPDX-License-Identifier: GPL-2.0-only
/*
 * One pair gives the worker all the work that it can, of a kind that must not count
 * for nothing: good packets, packets too short for their header, packets too large
 * for the guest's buffers, chains of empty descriptors. Another pair on the
 * same worker goes on all the same.
 */
#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frames.h"

#define NUM	32768
#define ROUNDS	100

static struct port calm, busy;
static atomic_bool end;
static uint32_t tx_len, rx_len;

/* One chain in every slot of the ring: to offer more of it is one store. */
static void fill(struct ring *ring, struct buf buf)
{
	unsigned int i;

	if (ring_add(ring, &buf, 1) < 0)
		errx(1, "ring is full");
	for (i = 1; i < ring->num; i++)
		ring->avail->ring[i] = ring->avail->ring[0];
}

/* As much as there may be, however fast the worker is. */
static void offer_all(struct ring *ring, bool kick)
{
	uint16_t used = __atomic_load_n(&ring->used->idx, __ATOMIC_ACQUIRE);
	uint64_t one = 1;

	__atomic_store_n(&ring->avail->idx, used + ring->num, __ATOMIC_RELEASE);
	if (kick && write(ring->kick, &one, sizeof(one)) != sizeof(one))
		err(1, "kick");
}

static void *keep_busy(void *arg)
{
	struct ring *tx = &busy.client->rings[TX], *rx = &busy.client->rings[RX];
	unsigned int i;

	(void)arg;
	memset(busy.buf, 0, 4096);
	if (tx_len)
		fill(tx, (struct buf){ busy.buf, tx_len, false });
	if (rx_len)
		fill(rx, (struct buf){ busy.buf + 32768, rx_len, true });
	for (i = 0; !end; i++) {
		if (tx_len)
			offer_all(tx, i % 1000 == 0);
		if (rx_len)
			offer_all(rx, i % 1000 == 0);
	}
	return NULL;
}

/* IPv4 and UDP, so that the tap spreads it over its queues. */
static void *flood(void *arg)
{
	int sock = sending_socket("tap0");
	uint8_t frame[1000] = {
		2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0,
		0x45, 0, 3, 0xda, 0, 0, 0, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2,
	};

	(void)arg;
	while (!end) {
		frame[35]++;
		if (send(sock, frame, sizeof(frame), 0) < 0)
			usleep(100);
	}
	close(sock);
	return NULL;
}

static void among(const char *what, uint32_t tx, uint32_t rx)
{
	pthread_t threads[2];
	unsigned int i;

	port_open(&calm, "tap0", 64, VERSION_1 | MRG_RXBUF, TAP_MULTI);
	port_open(&busy, "tap0", NUM, VERSION_1, TAP_MULTI);
	tx_len = tx;
	rx_len = rx;
	end = false;
	if (pthread_create(&threads[0], NULL, keep_busy, NULL) ||
	    (rx && pthread_create(&threads[1], NULL, flood, NULL)))
		errx(1, "thread");
	for (i = 0; i < ROUNDS; i++) {
		port_send(&calm);
		if (!port_sent(&calm, 10000))
			errx(1, "among %s: packet %u is stuck", what, i);
	}
	end = true;
	pthread_join(threads[0], NULL);
	if (rx)
		pthread_join(threads[1], NULL);
	printf("among %s: ok\n", what);
	port_close(&calm);
	port_close(&busy);
}

int main(void)
{
	enter_netns();
	among("good packets", 12 + 60, 0);
	among("headers too short", 5, 0);
	among("frames too short", 12 + 4, 0);
	among("large packets", 60000, 0);
	among("buffers too short", 0, 200);
	among("good buffers", 0, 2048);
	return 0;
}
