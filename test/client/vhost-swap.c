// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kick and call eventfds that change all the time, or are not there, under
 * traffic both ways: nothing is lost.
 *
 * usage: vhost-swap [FRAMES]
 */
#include <err.h>
#include <sched.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "frames.h"

static struct port port;
static atomic_bool end;
static atomic_ulong swaps;

static int new_event(void)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	if (fd < 0)
		err(1, "eventfd");
	return fd;
}

/*
 * Each swap: a new eventfd that forwards nothing, then the old one again. What was
 * told to the new one is told to the old one by us, as who swaps has to.
 */
static void swap_call(unsigned int ring)
{
	int fd = new_event();
	uint64_t count;

	if (set_file(port.client, VHOST_SET_VRING_CALL, ring, fd) ||
	    set_file(port.client, VHOST_SET_VRING_CALL, ring, port.client->rings[ring].call))
		err(1, "VHOST_SET_VRING_CALL");
	if (read(fd, &count, sizeof(count)) == sizeof(count) &&
	    write(port.client->rings[ring].call, &count, sizeof(count)) != sizeof(count))
		err(1, "forward");
	close(fd);
}

/* A kick meanwhile is found because an eventfd that is set again is looked at. */
static void swap_kick(unsigned int ring)
{
	int fd = new_event();

	if (set_file(port.client, VHOST_SET_VRING_KICK, ring, fd) ||
	    set_file(port.client, VHOST_SET_VRING_KICK, ring, -1) ||
	    set_file(port.client, VHOST_SET_VRING_KICK, ring, port.client->rings[ring].kick))
		err(1, "VHOST_SET_VRING_KICK");
	close(fd);
}

static void *swap_all(void *arg)
{
	(void)arg;
	while (!end) {
		swap_call(swaps & 1);
		swap_kick(swaps & 1);
		swaps++;
		sched_yield();
	}
	return NULL;
}

/* A client that polls: it has no call eventfd, and kicks by another way. */
static void poll_without_call(void)
{
	struct ring *tx = &port.client->rings[TX];
	unsigned int i;

	if (set_file(port.client, VHOST_SET_VRING_CALL, TX, -1))
		err(1, "VHOST_SET_VRING_CALL -1");
	for (i = 0; i < 100; i++) {
		port_send(&port);
		if (receive_frame(port.sock, 5000, NULL) != (long)port.number++)
			errx(1, "without call eventfd: frame did not arrive");
		while (ring_take(tx, NULL) < 0)
			usleep(10);
	}
	if (set_file(port.client, VHOST_SET_VRING_CALL, TX, tx->call))
		err(1, "VHOST_SET_VRING_CALL");
	port_check(&port, "with call eventfd again");
}

int main(int argc, char **argv)
{
	unsigned long frames = argc > 1 ? strtoul(argv[1], NULL, 0) : 5000, i;
	pthread_t thread;

	enter_netns();
	port_open(&port, "tap0", 64, VERSION_1 | MRG_RXBUF | EVENT_IDX, 0);
	if (pthread_create(&thread, NULL, swap_all, NULL))
		errx(1, "thread");
	for (i = 0; i < frames; i++)
		port_check(&port, "while eventfds change");
	end = true;
	pthread_join(thread, NULL);
	if (swaps < 10)
		errx(1, "only %lu swaps", swaps);
	printf("%lu frames each way, %lu swaps\n", frames, swaps);
	poll_without_call();
	port_close(&port);
	return 0;
}
