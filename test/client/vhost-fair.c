// SPDX-License-Identifier: GPL-2.0-only
/*
 * One pair gives the worker all the work that it can, of a kind that must not count
 * for nothing: good packets, packets too short for their header, packets too large
 * for the guest's buffers, chains of empty descriptors. Another pair on the
 * same worker goes on all the same.
 */
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frames.h"

#define NUM	1024
#define ROUNDS	100

static struct port calm, busy;
static atomic_bool end;
static atomic_ulong work;
static uint32_t tx_len, rx_len;

static void *keep_busy(void *arg)
{
	struct client *client = busy.client;
	struct ring *tx = &client->rings[TX], *rx = &client->rings[RX];
	struct buf out = { busy.buf, tx_len, false };
	struct buf in = { busy.buf + 32768, rx_len, true };

	(void)arg;
	memset(busy.buf, 0, 4096);
	while (!end) {
		while (tx_len && ring_add(tx, &out, 1) >= 0)
			;
		while (rx_len && ring_add(rx, &in, 1) >= 0)
			;
		ring_kick(tx);
		ring_kick(rx);
		while (ring_take(tx, NULL) >= 0)
			work++;
		while (ring_take(rx, NULL) >= 0)
			work++;
		sched_yield();
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
	work = 0;
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
	printf("among %s (%lu): ok\n", what, (unsigned long)work);
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
