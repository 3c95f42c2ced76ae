// SPDX-License-Identifier: GPL-2.0-only
/*
 * Start, stop and start again in every way that clients do, under traffic: a new
 * backend in place of the old one, a stop and its base, RESET_OWNER, a start with
 * kicks that have overflowed, a file that is closed while its work is under way, an
 * owner that is killed while another holds the file.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frames.h"

#define FEATURES	(VERSION_1 | MRG_RXBUF | EVENT_IDX)

static void stop_and_start(void)
{
	struct port port;
	unsigned int i;

	port_open(&port, "tap0", 64, FEATURES, 0);
	for (i = 0; i < 200; i++) {
		port_check(&port, "between stops");
		client_stop(port.client);
		if (get_base(port.client, TX) != port.client->rings[TX].next_avail)
			errx(1, "base %d, added %u", get_base(port.client, TX),
			     port.client->rings[TX].next_avail);
		/* What is added while it is stopped is not lost, nor is its kick needed. */
		port_send(&port);
		client_start(port.client, port.tap);
		if (!port_sent(&port, 5000))
			errx(1, "what was added before the start did not arrive");
	}
	port_close(&port);
	printf("stop and start: ok\n");
}

static void other_backend(void)
{
	int other = tap_open("tap1", 12, 0), taps[2], socks[2];
	struct port port;
	unsigned int i;

	port_open(&port, "tap0", 64, FEATURES, 0);
	taps[0] = port.tap;
	taps[1] = other;
	socks[0] = port.sock;
	socks[1] = packet_socket("tap1");
	for (i = 1; i < 200; i++) {
		if (set_backend(port.client, TX, taps[i & 1]) ||
		    set_backend(port.client, RX, taps[i & 1]))
			err(1, "another backend");
		port.sock = socks[i & 1];
		port_check(&port, "on another tap");
		/* A backend that cannot be leaves the one there is. */
		if (!set_backend(port.client, TX, port.client->fd) || errno != ENOTSOCK)
			errx(1, "the wrong kind of file was taken");
		port_check(&port, "after a wrong backend");
	}
	port.tap = taps[0];
	port.sock = socks[0];
	port_close(&port);
	close(other);
	close(socks[1]);
	printf("another backend: ok\n");
}

static void reset_owner(void)
{
	struct port port;
	unsigned int i;

	port_open(&port, "tap0", 64, FEATURES, 0);
	for (i = 0; i < 100; i++) {
		struct client *client = port.client;
		unsigned int k;

		port_check(&port, "owned");
		port_send(&port);
		if (vhost(client, VHOST_RESET_OWNER, NULL))
			err(1, "VHOST_RESET_OWNER");
		if (!set_backend(client, TX, port.tap) || errno != EPERM)
			errx(1, "a device without owner took a backend");
		receive_frame(port.sock, 0, NULL);
		port.number++;
		client->allocated = 0;
		for (k = 0; k < RINGS; k++) {
			close(client->rings[k].kick);
			close(client->rings[k].call);
			close(client->rings[k].err);
			client->rings[k] = (struct ring){ .client = client, .index = k };
		}
		memset(client->mem, 0, 1 << 20);
		if (vhost(client, VHOST_SET_OWNER, NULL) || set_features(client, FEATURES) ||
		    set_mem(client))
			err(1, "a second owner");
		client_setup_rings(client, 64);
		port.buf = client_alloc(client, 65536, 4096);
		client_start(client, port.tap);
	}
	port_close(&port);
	printf("RESET_OWNER: ok\n");
}

/* A kick that has overflowed is a kick; read, it serves as before. */
static void overflowed_kicks(void)
{
	struct port port;
	unsigned int i, k;

	port_open(&port, "tap0", 64, FEATURES, 0);
	for (i = 0; i < 50; i++) {
		client_stop(port.client);
		port_send(&port);
		for (k = 0; k < RINGS; k++) {
			int kick = port.client->rings[k].kick;

			wait_event(kick, 0);
			event_overflow(kick);
		}
		client_start(port.client, port.tap);
		if (!port_sent(&port, 5000))
			errx(1, "what was added before the start did not arrive");
		for (k = 0; k < RINGS; k++) {
			if (!wait_event(port.client->rings[k].kick, 0))
				errx(1, "the overflowed kick is not there");
		}
		port_check(&port, "after an overflow");
	}
	port_close(&port);
	printf("overflowed kicks: ok\n");
}

/*
 * The owner dies by SIGKILL under traffic and this process holds the file: what it
 * asks for then is answered, and the last close ends it all.
 */
static void killed_owner(void)
{
	struct client *client;
	struct port port;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		int status, ready[2];
		char byte;
		pid_t pid;

		client = client_open(64 << 20);
		memset(&port, 0, sizeof(port));
		port.client = client;
		port.tap = tap_open("tap0", 12, 0);
		port.sock = packet_socket("tap0");
		if (pipe(ready))
			err(1, "pipe");
		pid = fork();
		if (!pid) {
			if (vhost(client, VHOST_SET_OWNER, NULL) || set_features(client, FEATURES) ||
			    set_mem(client))
				err(1, "child");
			client_setup_rings(client, 64);
			port.buf = client_alloc(client, 65536, 4096);
			client_start(client, port.tap);
			for (;;) {
				port_check(&port, "child");
				if (write(ready[1], "x", 1) != 1)
					err(1, "child");
			}
		}
		if (read(ready[0], &byte, 1) != 1)
			err(1, "child");
		if (kill(pid, SIGKILL) || waitpid(pid, &status, 0) != pid)
			err(1, "kill");
		if (!set_backend(client, TX, -1) || errno != EPERM)
			errx(1, "not the owner, and SET_BACKEND did not say so");
		if (!set_state(client, VHOST_SET_VRING_NUM, TX, 64) || errno != EPERM)
			errx(1, "not the owner, and SET_VRING_NUM did not say so");
		client_close(client);
		close(port.tap);
		close(port.sock);
		close(ready[0]);
		close(ready[1]);
	}
	printf("killed owner: ok\n");
}

int main(void)
{
	enter_netns();
	stop_and_start();
	other_backend();
	reset_owner();
	overflowed_kicks();
	killed_owner();
	return 0;
}
