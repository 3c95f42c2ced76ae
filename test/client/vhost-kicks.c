// SPDX-License-Identifier: GPL-2.0-only
/*
 * No wake-up is lost: single packets at random distances, so that a kick or a
 * packet meets the worker wherever it is on its way to sleep.
 *
 * usage: vhost-kicks [ROUNDS]
 */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "frames.h"

#define NUM	4		/* so that the ring runs empty and full often */
#define LIMIT	5000		/* ms */

static unsigned long rounds = 20000;

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* About as long as the worker takes to a round. */
static void pause_some(unsigned int *seed)
{
	unsigned long long until = now() + rand_r(seed) % 30000;

	while (now() < until)
		;
}

static void transmit(struct port *port, const char *name)
{
	struct ring *tx = &port->client->rings[TX];
	struct buf out = { port->buf, port->client->hlen + LEN, false };
	unsigned long sent = 0, done = 0;
	unsigned int seed = 1;

	make_frame(port->buf + port->client->hlen, LEN, 0);
	while (done < rounds) {
		if (sent < rounds && ring_add(tx, &out, 1) >= 0) {
			ring_kick(tx);
			sent++;
		} else if (!ring_wait(tx, LIMIT)) {
			errx(1, "%s: nothing returned, %lu of %lu", name, done, sent);
		}
		if (rand_r(&seed) & 1)
			pause_some(&seed);
		while (ring_take(tx, NULL) >= 0)
			done++;
	}
	printf("%s: %lu packets, %lu kicks\n", name, done, tx->kicks);
}

/*
 * One packet at a time, each a moment after the last came back, as the worker is about to ask for
 * kicks. Nothing sleeps here, so that many meet that moment.
 */
static void chase(struct port *port, const char *name)
{
	struct ring *tx = &port->client->rings[TX];
	struct buf out = { port->buf, port->client->hlen + LEN, false };
	unsigned long i, checks;
	unsigned int seed = 4;

	for (i = 0; i < 2 * rounds; i++) {
		unsigned long long until = 0;
		volatile unsigned int spin = rand_r(&seed) % 4000;

		if (ring_add(tx, &out, 1) < 0)
			errx(1, "%s: no room", name);
		ring_kick(tx);
		for (checks = 1; ring_take(tx, NULL) < 0; checks++) {
			if (checks % 1000)
				continue;
			if (!until)
				until = now() + LIMIT * 1000000ULL;
			else if (now() > until)
				errx(1, "%s: nothing returned, %lu", name, i);
		}
		while (spin)
			spin--;
	}
	printf("%s: %lu packets, %lu kicks\n", name, i, tx->kicks);
}

static void *send_all(void *arg)
{
	struct port *port = arg;
	unsigned int seed = 2;
	unsigned long i;
	int sock = sending_socket("tap0");

	for (i = 0; i < rounds; i++) {
		if (!send_frame(sock, LEN, i))
			err(1, "send");
		if (rand_r(&seed) & 1)
			pause_some(&seed);
	}
	close(sock);
	(void)port;
	return NULL;
}

static void receive(struct port *port, const char *name)
{
	struct ring *rx = &port->client->rings[RX];
	unsigned long done = 0;
	unsigned int seed = 3;
	pthread_t thread;

	if (pthread_create(&thread, NULL, send_all, port))
		errx(1, "thread");
	while (done < rounds) {
		struct buf in = { port->buf, 2048, true };

		if (ring_add(rx, &in, 1) >= 0)
			ring_kick(rx);
		else if (!ring_wait(rx, LIMIT))
			errx(1, "%s: nothing received after %lu", name, done);
		if (rand_r(&seed) & 1)
			pause_some(&seed);
		while (ring_take(rx, NULL) >= 0)
			done++;
	}
	pthread_join(thread, NULL);
	printf("%s: %lu packets, %lu kicks\n", name, done, rx->kicks);
}

static void both(const char *name, uint64_t features)
{
	struct port port;
	char what[100];

	port_open(&port, "tap0", NUM, features, 0);
	close(port.sock);
	port.sock = sending_socket("tap0");
	/* Room for all that the guest is slow to take. */
	link_set_txqueuelen("tap0", rounds + 1);
	snprintf(what, sizeof(what), "%s, transmit", name);
	transmit(&port, what);
	snprintf(what, sizeof(what), "%s, chased", name);
	chase(&port, what);
	snprintf(what, sizeof(what), "%s, receive", name);
	receive(&port, what);
	port_close(&port);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 0);
	enter_netns();
	both("flags", VERSION_1 | MRG_RXBUF);
	both("event index", VERSION_1 | MRG_RXBUF | EVENT_IDX);
	both("legacy, flags", 0);
	return 0;
}
