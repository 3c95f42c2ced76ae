// SPDX-License-Identifier: GPL-2.0-only
/*
 * vhost-early: waits for /dev/vhost-net and starts a device at once, before whoever
 * loads the module on the same CPU gets any further. Says "ready" before it waits and
 * "started" when the device runs; ends with its standard input.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "tap.h"
#include "vhost.h"

int main(void)
{
	struct sched_param param = { .sched_priority = 1 };
	struct client *client;
	char byte;
	int tap;

	setvbuf(stdout, NULL, _IOLBF, 0);
	enter_netns();
	tap = tap_open("tap0", 12, 0);
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		err(1, "SCHED_FIFO");
	printf("ready\n");
	while (access("/dev/vhost-net", F_OK))
		usleep(100);
	client = client_setup(64, VERSION_1);
	client_start(client, tap);
	printf("started\n");
	if (read(0, &byte, 1) < 0)
		err(1, "read");
	client_close(client);
	return 0;
}
