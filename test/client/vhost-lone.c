// SPDX-License-Identifier: GPL-2.0-only
/*
 * vhost-lone SECONDS: single frames with pauses of random length, some of them just
 * as long as a worker takes to fall asleep. None may be lost or wait for the next.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"
#include "vhost.h"

#define WAIT_MS	5000

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void pause_us(unsigned int us)
{
	double end = now() + us / 1e6;

	if (us > 200)
		usleep(us - 100);
	while (now() < end)
		;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 5), start, took, worst = 0, sum = 0;
	struct client *client;
	unsigned long frames = 0;
	struct ring *tx;
	struct buf out;
	uint8_t *buf;

	enter_netns();
	client = client_setup(16, VERSION_1 | EVENT_IDX);
	client_start(client, tap_open("tap0", client->hlen, 0));
	tx = &client->rings[TX];
	buf = client_alloc(client, 2048, 64);
	memset(buf, 0, client->hlen);
	make_frame(buf + client->hlen, 60, 0);
	out = (struct buf) { buf, client->hlen + 60, false };

	while (now() < end) {
		/* Mostly short; the time that a worker needs changes by itself. */
		pause_us(rand() % 64 ? rand() % 50 : rand() % 2000);
		start = now();
		if (ring_add(tx, &out, 1) < 0)
			errx(1, "no room");
		ring_kick(tx);
		/* Half of them without an interrupt to wait for. */
		if (frames & 1) {
			while (ring_take(tx, NULL) < 0)
				if (now() - start > WAIT_MS / 1000)
					errx(1, "frame %lu is lost", frames);
		} else if (!ring_wait(tx, WAIT_MS) || ring_take(tx, NULL) < 0) {
			errx(1, "frame %lu is lost", frames);
		}
		took = now() - start;
		sum += took;
		if (took > worst)
			worst = took;
		frames++;
	}
	printf("%lu frames, %.0f us on average, %.0f at most, %lu kicks\n", frames,
	       sum / frames * 1e6, worst * 1e6, tx->kicks);
	return 0;
}
