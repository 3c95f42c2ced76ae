// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Nth allocation of a start fails, for every N there is: the ioctl that needed it
 * says so, and the same once more, with memory, makes a device that works. Needs a
 * kernel with fault injection.
 *
 * usage: vhost-nomem [EVERY]
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "frames.h"

#ifndef VHOST_SET_FORK_FROM_OWNER
#define VHOST_SET_FORK_FROM_OWNER _IOW(VHOST_VIRTIO, 0x84, uint8_t)
#endif

#define FEATURES	(VERSION_1 | MRG_RXBUF | EVENT_IDX)

static int fail_nth = -1;

/* From now on the @nth chance to fail is taken; 0: none. */
static void fail(unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	/* The copy of the text is a chance, too. */
	while (pwrite(fail_nth, text, len, 0) != len) {
		if (errno != EFAULT)
			err(1, "fail-nth");
	}
}

/* Was there an @nth chance? */
static bool failed(void)
{
	char text[16] = "";

	if (pread(fail_nth, text, sizeof(text) - 1, 0) >= 0)
		return !atoi(text);
	/* The first one after the start was this. */
	if (errno != EFAULT)
		err(1, "fail-nth");
	return false;
}

/* From the owner to both backends. */
static int start(struct client *client, bool kthread, int tap)
{
	uint8_t task = !kthread;

	client->fd = open("/dev/vhost-net", O_RDWR | O_CLOEXEC);
	return client->fd < 0 ||
	       (kthread && vhost(client, VHOST_SET_FORK_FROM_OWNER, &task)) ||
	       vhost(client, VHOST_SET_OWNER, NULL) || set_features(client, FEATURES) ||
	       set_mem(client) || set_ring(&client->rings[RX]) ||
	       set_ring(&client->rings[TX]) || set_backend(client, TX, tap) ||
	       set_backend(client, RX, tap);
}

static void check_error(unsigned int nth)
{
	if (errno != ENOMEM && errno != EAGAIN && errno != EFAULT)
		err(1, "chance %u", nth);
}

/* What failed is tried again on the same file, as far as there is one. */
static void go_on(struct port *port)
{
	struct client *client = port->client;

	if (client->fd < 0)
		return;
	if (vhost(client, VHOST_SET_OWNER, NULL) && errno != EBUSY)
		err(1, "VHOST_SET_OWNER, again");
	if (set_backend(client, RX, -1) || set_backend(client, TX, -1))
		err(1, "a stop, after a start that failed");
	if (set_features(client, FEATURES) || set_mem(client) ||
	    set_ring(&client->rings[RX]) || set_ring(&client->rings[TX]) ||
	    set_backend(client, TX, port->tap) || set_backend(client, RX, port->tap))
		err(1, "a start, again");
	port_check(port, "after a start that failed");
	if (set_backend(client, RX, -1) || set_backend(client, TX, -1))
		err(1, "a stop");
}

/* Return: was there an @nth chance? */
static bool try(struct port *port, unsigned int nth, bool kthread)
{
	bool was;

	fail(nth);
	if (start(port->client, kthread, port->tap))
		check_error(nth);
	was = failed();
	fail(0);
	go_on(port);
	if (port->client->fd >= 0)
		close(port->client->fd);
	return was;
}

int main(int argc, char **argv)
{
	unsigned int every = argc > 1 ? atoi(argv[1]) : 1, nth, kthread;
	struct port port;

	setvbuf(stdout, NULL, _IOLBF, 0);
	enter_netns();
	port_open(&port, "tap0", 64, FEATURES, 0);
	client_stop(port.client);
	close(port.client->fd);
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fail_nth < 0)
		err(4, "no fault injection");

	for (kthread = 0; kthread < 2; kthread++) {
		/* Which they are differs a little each time. */
		for (nth = 1; try(&port, nth, kthread); nth += every)
			;
		printf("%s: about %u chances\n", kthread ? "kthread" : "task", nth - 1);
		if (nth < 20)
			errx(1, "too few");
	}
	return 0;
}
