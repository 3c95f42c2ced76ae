// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tap that changes under the traffic of two pairs: queues detached and attached, the
 * ring resized, the link down and up, another name space, the device deleted,
 * files closed in any order, NAPI. Nothing hangs, and what is there afterwards
 * works.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frames.h"

#define NUM	256

static struct port calm, stormy;
static pthread_t storms[2];
static atomic_bool end;
static atomic_ulong transmitted, received, sent;

/* The guest of the stormy pair: all it can, unchecked. */
static void *storm_guest(void *arg)
{
	struct client *client = stormy.client;
	struct ring *tx = &client->rings[TX], *rx = &client->rings[RX];
	struct buf out = { stormy.buf, client->hlen + LEN, false };
	struct buf in = { stormy.buf + 32768, 2048, true };

	(void)arg;
	make_frame(stormy.buf + client->hlen, LEN, 0);
	while (!end) {
		unsigned int i;

		for (i = 0; i < 32 && ring_add(tx, &out, 1) >= 0; i++)
			;
		ring_kick(tx);
		while (ring_add(rx, &in, 1) >= 0)
			;
		ring_kick(rx);
		while (ring_take(tx, NULL) >= 0)
			transmitted++;
		while (ring_take(rx, NULL) >= 0)
			received++;
		sched_yield();
	}
	return NULL;
}

/* The host's side; flows of many kinds, so that both queues get some. */
static void *storm_host(void *arg)
{
	int sock = sending_socket("tap0");
	uint8_t frame[LEN] = {
		2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0,
		0x45, 0, 0, LEN - 14, 0, 0, 0, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2,
	};

	(void)arg;
	while (!end) {
		frame[35] = sent;
		if (send(sock, frame, sizeof(frame), 0) < 0)
			usleep(100);
		sent++;
	}
	close(sock);
	return NULL;
}

static void wait_for_more(atomic_ulong *counter, const char *what, const char *when)
{
	unsigned long before = *counter;
	unsigned int i;

	for (i = 0; *counter < before + 10; i++) {
		if (i == 5000)
			errx(1, "%s: nothing more %s", when, what);
		usleep(1000);
	}
}

/* The guest's buffers come back whatever becomes of the packets. */
static void check_transmit(const char *when)
{
	wait_for_more(&transmitted, "transmitted", when);
}

static void setup(const char *what, unsigned int flags)
{
	printf("%s\n", what);
	fflush(stdout);
	port_open(&calm, "tap0", NUM, VERSION_1 | MRG_RXBUF | EVENT_IDX, TAP_MULTI | flags);
	port_open(&stormy, "tap0", NUM, VERSION_1 | MRG_RXBUF | EVENT_IDX, TAP_MULTI | flags);
	end = false;
	if (pthread_create(&storms[0], NULL, storm_guest, NULL) ||
	    pthread_create(&storms[1], NULL, storm_host, NULL))
		errx(1, "thread");
	check_transmit(what);
	wait_for_more(&received, "received", what);
}

static void calm_down(void)
{
	unsigned int i;

	end = true;
	for (i = 0; i < 2; i++)
		pthread_join(storms[i], NULL);
}

static void teardown(void)
{
	calm_down();
	port_close(&calm);
	port_close(&stormy);
}

static void detach_and_attach(void)
{
	unsigned int i;

	setup("detach and attach", 0);
	for (i = 0; i < 20; i++) {
		if (tap_attach(stormy.tap, false))
			err(1, "detach");
		check_transmit("detached");
		if (tap_attach(stormy.tap, true))
			err(1, "attach");
		wait_for_more(&received, "received", "attached");
	}
	/* As a machine manager does for fewer queues, and more. */
	for (i = 0; i < 20; i++) {
		client_stop(stormy.client);
		if (tap_attach(stormy.tap, false))
			err(1, "detach");
		if (tap_attach(stormy.tap, true))
			err(1, "attach");
		client_start(stormy.client, stormy.tap);
		wait_for_more(&received, "received", "started");
	}
	teardown();
}

static void resize(void)
{
	static const int lens[] = { 1, 1000, 2, 500, 10000 };
	unsigned int i;

	setup("txqueuelen", 0);
	for (i = 0; i < 50; i++) {
		if (link_set_txqueuelen("tap0", lens[i % 5]))
			err(1, "txqueuelen %d", lens[i % 5]);
		wait_for_more(&received, "received", "resized");
	}
	teardown();
}

static void down_and_up(void)
{
	unsigned int i;

	setup("link down and up", TAP_NAPI);
	for (i = 0; i < 10; i++) {
		if (run_command("ip link set tap0 down"))
			errx(1, "ip link set down");
		check_transmit("link down");
		link_up("tap0");
		wait_for_more(&received, "received", "link up");
	}
	teardown();
}

static void other_netns(void)
{
	setup("another name space", 0);
	if (run_command("ip netns add vhost-tap && ip link set tap0 netns vhost-tap"))
		errx(1, "ip link set netns");
	check_transmit("moved");
	teardown();
	if (run_command("ip netns del vhost-tap"))
		errx(1, "ip netns del");
}

static void deleted(void)
{
	setup("device deleted", 0);
	if (run_command("ip link del tap0"))
		errx(1, "ip link del");
	check_transmit("deleted");
	client_stop(stormy.client);
	if (!set_backend(stormy.client, TX, stormy.tap) || errno != EINVAL)
		errx(1, "a queue without device was taken as a backend");
	teardown();
}

static void closed_first(void)
{
	setup("tap closed before vhost", 0);
	close(stormy.tap);
	stormy.tap = open("/dev/null", O_RDWR);
	check_transmit("closed");
	wait_for_more(&received, "received", "closed");
	teardown();
}

static void vhost_closed_first(void)
{
	unsigned int i;

	for (i = 0; i < 20; i++) {
		setup("vhost closed under traffic", i & 1 ? TAP_NAPI : 0);
		close(stormy.client->fd);
		stormy.client->fd = open("/dev/null", O_RDWR);
		teardown();
	}
}

int main(void)
{
	enter_netns();
	detach_and_attach();
	resize();
	down_and_up();
	other_netns();
	deleted();
	closed_first();
	vhost_closed_first();
	return 0;
}
