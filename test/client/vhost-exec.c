// SPDX-License-Identifier: GPL-2.0-only
/*
 * vhost-exec: an owner that becomes another program with its files open. The memory
 * that the rings were in has gone: nobody owns the device, nothing hangs, and another
 * device can be made.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tap.h"
#include "vhost.h"

static void refused(int fd, const char *name, unsigned long cmd, void *arg, int error)
{
	if (!ioctl(fd, cmd, arg))
		errx(1, "%s is taken", name);
	if (errno != error)
		err(1, "%s: not '%s', but", name, strerror(error));
}

static void send_frames(struct client *client, unsigned int count)
{
	struct ring *tx = &client->rings[TX];
	uint8_t *buf = client_alloc(client, 2048, 64);
	struct buf out = { buf, client->hlen + 60, false };

	memset(buf, 0, client->hlen);
	make_frame(buf + client->hlen, 60, 0);
	while (count--) {
		if (ring_add(tx, &out, 1) < 0)
			errx(1, "no room");
		ring_kick(tx);
		if (!ring_wait(tx, 5000) || ring_take(tx, NULL) < 0)
			errx(1, "a frame is lost");
	}
}

static struct client *start(const char *tap)
{
	struct client *client = client_setup(64, VERSION_1 | EVENT_IDX);

	client_start(client, tap_open(tap, client->hlen, 0));
	send_frames(client, 10);
	return client;
}

static void keep(int fd)
{
	if (fcntl(fd, F_SETFD, 0))
		err(1, "F_SETFD");
}

static void before(char *self)
{
	struct client *client;
	char fd[16], kick[16];

	enter_netns();
	client = start("tap0");
	keep(client->fd);
	keep(client->rings[TX].kick);
	snprintf(fd, sizeof(fd), "%d", client->fd);
	snprintf(kick, sizeof(kick), "%d", client->rings[TX].kick);
	execl("/proc/self/exe", self, fd, kick, NULL);
	err(1, "exec");
}

static void after(int fd, int kick)
{
	struct vhost_vring_file none = { .index = TX, .fd = -1 };
	struct vhost_vring_state state = { .index = TX };
	uint64_t one = 1;

	if (write(kick, &one, sizeof(one)) != sizeof(one))
		err(1, "kick");
	refused(fd, "VHOST_NET_SET_BACKEND", VHOST_NET_SET_BACKEND, &none, EPERM);
	refused(fd, "VHOST_GET_VRING_BASE", VHOST_GET_VRING_BASE, &state, EPERM);
	refused(fd, "VHOST_RESET_OWNER", VHOST_RESET_OWNER, NULL, EPERM);
	refused(fd, "VHOST_SET_OWNER", VHOST_SET_OWNER, NULL, EBUSY);

	/* Beside the old one, and after it. */
	client_close(start("tap1"));
	close(fd);
	client_close(start("tap2"));
}

int main(int argc, char **argv)
{
	if (argc == 3)
		after(atoi(argv[1]), atoi(argv[2]));
	else
		before(argv[0]);
	return 0;
}
