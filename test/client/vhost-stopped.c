// SPDX-License-Identifier: GPL-2.0-only
/*
 * An owner that is stopped (SIGSTOP, a debugger, a frozen cgroup) at any moment of
 * opening and closing its devices holds up nobody else: meanwhile another opens,
 * starts and closes a device of its own.
 *
 * usage: vhost-stopped [ROUNDS [SEED]]
 */
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "vhost.h"

static void open_and_close(const char *name)
{
	struct client *client = client_open(1 << 20);
	int tap;

	if (vhost(client, VHOST_SET_OWNER, NULL) || set_features(client, VERSION_1) ||
	    set_mem(client))
		err(1, "set up");
	client_setup_rings(client, 16);
	tap = tap_open(name, client->hlen, 0);
	client_start(client, tap);
	close(tap);
	client_close(client);
}

/* Opens and closes all the time. */
static pid_t start_victim(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (;;)
		open_and_close("tap0");
}

/* Opens and closes once for each byte, and says so. */
static pid_t start_other(int orders, int answers)
{
	pid_t pid = fork();
	char byte;

	if (pid)
		return pid;
	while (read(orders, &byte, 1) == 1) {
		open_and_close("tap1");
		if (write(answers, &byte, 1) != 1)
			err(1, "answer");
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? atoi(argv[1]) : 60, i;
	unsigned int seed = argc > 2 ? atoi(argv[2]) : 1;
	int orders[2], answers[2], status;
	pid_t victim, other;
	char byte = 0;

	enter_netns();
	if (pipe(orders) || pipe(answers))
		err(1, "pipe");
	victim = start_victim();
	other = start_other(orders[0], answers[1]);
	if (victim < 0 || other < 0)
		err(1, "fork");

	for (i = 0; i < rounds; i++) {
		struct pollfd poller = { .fd = answers[0], .events = POLLIN };

		usleep(rand_r(&seed) % 3000);
		kill(victim, SIGSTOP);
		if (write(orders[1], &byte, 1) != 1)
			err(1, "order");
		if (poll(&poller, 1, 10000) != 1 || read(answers[0], &byte, 1) != 1) {
			kill(victim, SIGKILL);
			kill(other, SIGKILL);
			errx(1, "round %u: a stopped owner holds up another", i);
		}
		kill(victim, SIGCONT);
		if (waitpid(victim, &status, WNOHANG) > 0)
			errx(1, "the stopped one has ended with %#x", status);
	}
	kill(victim, SIGKILL);
	kill(other, SIGKILL);
	if (waitpid(victim, NULL, 0) != victim || waitpid(other, NULL, 0) != other)
		err(1, "wait");
	return 0;
}
