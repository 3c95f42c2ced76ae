// SPDX-License-Identifier: GPL-2.0-only
/*
 * A watcher sets the number of threads of a group as soon as its directory is there;
 * the group comes and goes. Its workers are shown in it, and nowhere else.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"
#include "vhost.h"

#define ROUNDS	300
#define SECONDS	20	/* at most, where 300 rounds take longer */

static char group[100];
static bool done;
static unsigned long writes;

static void *watch(void *arg)
{
	char path[120];

	snprintf(path, sizeof(path), "%s/threads", group);
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
		int fd = open(path, O_WRONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		if (write(fd, "3", 1) == 1)
			writes++;
		close(fd);
		/* Once for each group, so that many come and go. */
		while (!access(path, F_OK) && !__atomic_load_n(&done, __ATOMIC_RELAXED))
			;
	}
	return arg;
}

static bool shown(const char *worker)
{
	char path[120];

	snprintf(path, sizeof(path), "%s/%s/pid", group, worker);
	return !access(path, F_OK);
}

int main(void)
{
	pthread_t watcher;
	time_t end = time(NULL) + SECONDS;
	unsigned int i;
	int tap;

	enter_netns();
	tap = tap_open("tap0", 12, 0);
	snprintf(group, sizeof(group), "/sys/class/misc/vhost-net/mq/%d-tap0", getpid());
	errno = pthread_create(&watcher, NULL, watch, NULL);
	if (errno)
		err(1, "pthread_create");

	for (i = 0; !writes || (i < ROUNDS && time(NULL) < end); i++) {
		struct client *client = client_setup(64, VERSION_1);

		client_start(client, tap);
		if (!access("/sys/worker0", F_OK))
			errx(1, "round %u: a worker is shown in the root of sysfs", i);
		if (!shown("worker0"))
			errx(1, "round %u: worker 0 is not shown", i);
		client_close(client);
	}
	__atomic_store_n(&done, true, __ATOMIC_RELAXED);
	pthread_join(watcher, NULL);
	printf("%u groups, %lu writes\n", i, writes);
	return 0;
}
