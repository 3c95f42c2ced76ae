// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that gets a signal every few hundred microseconds, as threads of virtual
 * machine managers do, starts and stops a device: none of its ioctls fails for that.
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "tap.h"
#include "vhost.h"

#define STARTS		100
#define MORE_SIGNALS	200	/* until there were so many while a device was started */

static volatile sig_atomic_t signals;

static void count(int number)
{
	(void)number;
	signals++;
}

static void every(unsigned int us)
{
	struct itimerval timer = { .it_interval.tv_usec = us, .it_value.tv_usec = us };

	if (setitimer(ITIMER_REAL, &timer, NULL))
		err(1, "setitimer");
}

int main(void)
{
	struct sigaction action = { .sa_handler = count, .sa_flags = SA_RESTART };
	unsigned int starts;
	int tap;

	enter_netns();
	tap = tap_open("tap0", 12, 0);
	if (sigaction(SIGALRM, &action, NULL))
		err(1, "sigaction");

	for (starts = 0; starts < STARTS || signals < MORE_SIGNALS; starts++) {
		struct client *client = client_setup(64, VERSION_1);

		every(300);
		client_start(client, tap);
		client_stop(client);
		every(0);
		client_close(client);
	}
	printf("%u starts, %d signals\n", starts, (int)signals);
	return 0;
}
